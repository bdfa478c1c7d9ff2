"""What takes long, or other packages: types, Optuna, Polars, DuckDB, DataFusion, notebooks, a cluster of two nodes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import blksched as bs

pytestmark = pytest.mark.slow
HERE = Path(__file__).resolve().parent
PLAN = """
loads = ["reader-and-writer", "beside-a-backup", "four-streams", "priorities"]
disks = ["hdd-7200"]
schedulers = ["mq-deadline", "bfq:slice_idle=0/8ms"]
seeds = 4
time = "2s"
"""


def test_the_wheels_command_works() -> None:
    program = Path(sys.executable).with_name("blksched")
    command = [str(program), "simulate", "--name=a", "--rw=read", "--size=1m", "--disk=null"]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0 and "under " in said.stdout, said.stderr


def test_types_hold() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", str(HERE / "../pyproject.toml")]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout


def test_tuning_is_checked_on_seeds_that_it_has_not_seen() -> None:
    pytest.importorskip("optuna")
    app = "[app]\nrw=randread\nsize=4g\ndirect=1\ntime_based\nruntime=100\n"
    job = bs.fio(app + "[log]\nrw=write\nbs=1m\nsize=4g\ndirect=1\ntime_based\nruntime=100\n")
    best = bs.tune(job, "hdd-7200", "mq-deadline", goal="p99(app.read)", trials=30, seeds=2, time="5s")
    assert best.verdict.split()[0] in ("Use", "Leave", "Nothing")
    assert best.interval[0] <= best.ratio <= best.interval[1] and len(best.study.trials) == 30
    both = bs.tune(job, "hdd-7200", "bfq", goal=["app: p99 read", "bw(log)"], trials=15, seeds=1, time="3s")
    assert both.front and all(len(one.by_goal) == 2 for one in both.front)


def test_the_lines_of_the_documentation_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    document = (HERE / "../../../docs/sweep.md").read_text()
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "blksched", "sweep", "plan.toml", "--out", "results"]
    assert subprocess.run(command).returncode == 0
    sql = re.search(r"```sql\n(.*?)```", document, re.S)
    assert sql and len(duckdb.sql(sql.group(1)).fetchall()) == 3
    # Also the line in `blksched sweep --help`.
    helped = subprocess.run([*command[:4], "--help"], capture_output=True, text=True).stdout
    line = re.search(r'duckdb -c "(.*?)"', " ".join(helped.split()))
    assert line and len(duckdb.sql(line.group(1)).fetchall()) == 2, helped
    blocks = re.findall(r"```python\n(.*?)```", document, re.S)
    shown = {}
    for block in blocks:
        if "datafusion" in block:
            pytest.importorskip("datafusion")
        shown[block] = []
        exec(block, {"print": lambda *what, into=shown[block]: into.append(what)})
    assert len(blocks) >= 2 and all(shown.values())
    assert len(polars.DataFrame(bs.sweep("reader-and-writer", "null", bs.grid(elevator="none"), time="10ms"))) == 2


def test_the_job_of_the_documentation_is_one() -> None:
    validate, yaml = pytest.importorskip("kubernetes_validate"), pytest.importorskip("yaml")
    document = (HERE / "../../../docs/sweep.md").read_text()
    text = re.search(r"```yaml\n(.*?)```", document, re.S)
    assert text
    job = yaml.safe_load(text.group(1))
    validate.validate(job, "1.30", strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate({**job, "spec": {**job["spec"], "completionsMode": "Indexed"}}, "1.30", strict=True)


@pytest.mark.parametrize("name", sorted(path.name for path in (HERE / "../notebooks").glob("*.ipynb")))
def test_a_notebook_runs(name: str) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(HERE / "../notebooks" / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()


def test_a_cluster_that_loses_a_node_loses_and_doubles_nothing(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    import blksched.ray as cluster_sweep

    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    command = [sys.executable, "-m", "blksched", "sweep", str(plan), "--out", str(tmp_path / "alone")]
    assert subprocess.run(command).returncode == 0
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        killed: list[int] = []

        def progress(done: int, total: int) -> None:
            assert total == 4
            if not killed:
                killed.append(done)
                cluster.remove_node(second, allow_graceful=False)

        began = time.monotonic()
        table = cluster_sweep.sweep(plan, progress=progress)
        print(f"{time.monotonic() - began:.1f} s")
    finally:
        ray.shutdown()
        cluster.shutdown()
    import pyarrow.parquet

    alone = pyarrow.parquet.read_table(tmp_path / "alone")
    assert killed == [1]
    line = lambda row: repr(sorted(row.items()))  # noqa: E731
    assert sorted(map(line, table.to_pylist())) == sorted(map(line, alone.to_pylist()))
