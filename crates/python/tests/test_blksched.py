"""The package as its users see it: what it gives, how it refuses, and that it is the same program."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow
import pytest

import blksched as bs

JOB = """
[app]
rw=randread
bs=4k
size=64m
direct=1
time_based
runtime=100
[log]
rw=write
bs=64k
size=64m
direct=1
time_based
runtime=100
"""


def test_the_examples_of_the_documentation_hold(doctests) -> None:
    tried = 0
    for name, result in doctests:
        assert result.failed == 0, name
        tried += result.attempted
    assert tried >= 15


def test_a_result_has_its_jobs_and_integers_in_ns() -> None:
    r = bs.simulate(bs.fio(JOB), bs.disk("hdd-7200", depth=31), "bfq", knobs={"slice_idle": 0}, seed=1, time="2s")
    assert set(r.jobs) == {"app", "log"}
    clat = r.jobs["app"].read.clat
    assert isinstance(clat.p50, int) and 0 < clat.p50 <= clat.p90 <= clat.max
    assert r.settings.startswith("slice_idle=0") and r.scheduler == "bfq"
    with pytest.raises(AttributeError, match="app does no write"):
        r.jobs["app"].write
    again = bs.simulate(bs.fio(JOB), bs.disk("hdd-7200", depth=31), "bfq", knobs={"slice_idle": 0}, seed=1, time="2s")
    other = bs.simulate(bs.fio(JOB), bs.disk("hdd-7200", depth=31), "bfq", knobs={"slice_idle": 0}, seed=2, time="2s")
    assert r.trace_hash == again.trace_hash != other.trace_hash


def test_tables_go_to_arrow_as_they_are() -> None:
    r = bs.simulate(bs.fio(JOB), "hdd-7200", "mq-deadline", time="1s")
    requests, decisions = pyarrow.table(r.requests), pyarrow.table(r.decisions)
    assert requests.num_rows == decisions.num_rows >= r.requests_done > 10
    row = requests.slice(0, 1).to_pylist()[0]
    assert row["queued_ns"] <= row["issued_ns"] < row["completed_ns"] and row["job"] in ("app", "log")
    causes = [name for name in decisions.column_names if name.startswith("waited_for_")]
    for row in decisions.to_pylist()[:50]:
        if row["waited_ns"] is not None:
            assert sum(row[name] for name in causes) == row["waited_ns"], row
    assert len(r.requests) == requests.num_rows and r.requests.rows(1)[0] == requests.slice(0, 1).to_pylist()[0]
    assert pyarrow.schema(r.requests) == requests.schema


def test_the_slowest_are_explained() -> None:
    r = bs.simulate(bs.fio(JOB), "hdd-7200-ideal", "mq-deadline", time="1s")
    story = r.explain(slowest=3)
    assert len(story.stories) == 3 and story.notes == story.data["notes"]
    assert story.answer == story.data["answer"] and "'s slowest I/O (" in story.answer[0], story.answer
    # Nobody waits for others for a fifth of their time; with many writes in flight somebody does.
    assert story.culprit is None
    deep = JOB.replace("bs=64k", "bs=64k\nioengine=libaio\niodepth=32")
    blamed = bs.simulate(bs.fio(deep), "hdd-7200", "none", time="1s").explain(slowest=1).culprit
    assert blamed is not None and blamed.startswith("Others waited most for "), blamed
    for told, documented in zip(story.stories, story.data["stories"], strict=True):
        assert sum(piece.ns for piece in told.pieces) == told.latency_ns
        assert told.pieces[0].from_ns == told.begun_ns and told.process in ("app", "log")
        for name in ("io", "process", "op", "sector", "sectors", "begun_ns", "latency_ns", "sentence"):
            assert getattr(told, name) == documented[name], name
        for piece, of in zip(told.pieces, documented["pieces"], strict=True):
            assert {name: getattr(piece, name) for name in of} == of
        assert str(told) in " ".join(repr(story).split())
    rows = pyarrow.table(story.blame).to_pylist()
    assert rows == story.data["blame"] and "<td" in story._repr_html_()
    # The same run: every I/O of it is in the blame.
    assert sum(total["ios"] for total in story.data["totals"]) >= sum(
        done.ios for job in r.jobs.values() for done in job.directions.values()
    )


def test_a_comparison_is_a_verdict_a_text_and_a_page() -> None:
    c = bs.compare(bs.fio(JOB), "hdd-7200", ["none", "mq-deadline"], seeds=2, time="2s")
    assert repr(c).splitlines()[1].startswith(("Keep none", "Use mq-deadline"))
    assert c.data["schema"].startswith("blksched/compare/") and "<td" in c._repr_html_()


def test_a_verdict_is_values_and_its_figures_are_arrow() -> None:
    c = bs.compare(bs.fio(JOB), "hdd-7200", ["mq-deadline", "bfq"], seeds=3, time="2s")
    verdict = c.verdict
    assert verdict.default == "mq-deadline" and verdict.goal == "balance" and verdict.unranked is None
    assert [(job, role) for job, role, _ in verdict.roles] == [("app", "latency-bound"), ("log", "bulk")]
    assert (verdict.proposal is None) == (verdict.kept_because is not None) == (c.data["action"]["use"] is None)
    documented = c.data["contrasts"]
    assert [(one.job, one.figure) for one in verdict.contrasts] == [(one["job"], one["figure"]) for one in documented]
    for one, other in zip(verdict.contrasts, documented):
        low, high = one.interval
        assert one.scheduler == "bfq" and low <= one.ratio <= high and one.differs == other["differs"]
        assert one.ratio == other["ratio"]["ratio"] and one.p == other["p_corrected"]
    assert verdict.sentences == c.data["verdict"] and verdict.notes == c.data["notes"]
    assert any("response times off by" in said for said in verdict.validation) and verdict.hangs_on in verdict.sentences
    figures = pyarrow.table(c.figures)
    rows = figures.to_pylist()
    assert {row["seed"] for row in rows} == {1, 2, 3} and {row["scheduler"] for row in rows} == {"mq-deadline", "bfq"}
    mean = [row["value"] for row in rows if (row["job"], row["what"], row["figure"]) == ("app", "read", "mean")]
    app = [s["jobs"][0]["read"]["clat"]["mean"]["values"] for s in c.data["schedulers"]]
    assert mean == app[0] + app[1]
    assert [cause.here_ns for cause in c.why] == [cause["here_ns"] for cause in c.data["causes"]]
    assert all(cause.text in str(verdict) for cause in c.why)


def test_a_proposal_has_its_gain_its_price_and_its_files() -> None:
    elevators = ["bfq:slice_idle=8ms", "none", "mq-deadline:fifo_batch=1"]
    c = bs.compare("reader-and-writer", "ide-2002", elevators, seeds=5, time="3s")
    proposal = c.verdict.proposal
    assert proposal and proposal.name == str(proposal) == c.use == "none" and proposal.scheduler == "none"
    assert c.verdict.default.startswith("bfq slice_idle=") and proposal.knobs == [] and proposal.price == []
    low, high = proposal.interval
    assert 1.05 <= proposal.times_better and low <= proposal.times_better <= high and proposal.p <= 0.05
    assert proposal.gains and all(": " in gain for gain in proposal.gains)


def test_a_question_that_is_not_understood_says_what_was_expected() -> None:
    for wrong, words in [
        ({"host": "cpuss=4"}, "did you mean `cpus`"),
        ({"fs": "ext5"}, "fs: unknown file system `ext5`"),
        ({"fs": "btrfs"}, "this file system is not modelled"),
        ({"fs": "xfs:logbsz=64k"}, "did you mean `logbsize`"),
        ({"time": "soon"}, "time: "),
        ({"starts": "late"}, "expected as-said, drawn, one-first"),
        ({"seeds": 0}, "expected a number from 1"),
        ({"goal": "ap: p99 read"}, "did you mean `app`"),
    ]:
        with pytest.raises(bs.InputError, match=words):
            bs.compare(bs.fio(JOB), "hdd-7200", ["none", "bfq"], **{"time": "10ms", **wrong})
    with pytest.raises(bs.InputError, match="did you mean `sata`"):
        bs.compare(bs.fio(JOB), bs.disk("hdd-7200", attached="stata"), ["none", "bfq"], time="10ms")


def test_what_was_probably_meant_is_data() -> None:
    def refused(**wrong: object) -> tuple[str | None, str | None]:
        asked = {"job": bs.fio(JOB), "disk": "hdd-7200", "elevators": ["none", "bfq"], "time": "10ms", **wrong}
        with pytest.raises(bs.InputError) as caught:
            bs.compare(**asked)  # type: ignore[arg-type]
        assert caught.value.word is None or caught.value.word in str(caught.value)
        return caught.value.word, caught.value.nearest

    assert refused(disk="hdd-7201") == ("hdd-7201", "hdd-7200")
    assert refused(elevators=["none", "bqf"]) == ("bqf", "bfq")
    assert refused(elevators=["bfq:slice_idel=0"]) == ("slice_idel", "slice_idle")
    assert refused(job="reader-and-writr") == ("reader-and-writr", "reader-and-writer")
    assert refused(job=bs.program("dd", sise="1g")) == ("sise", "size")
    assert refused(job=bs.fio("[app]\nrw=read\nsizee=1g\n"))[1] == "size"
    assert refused(host="cpuss=4") == ("cpuss", "cpus")
    assert refused(goal="ap: p99 read") == ("ap", "app")
    assert refused(time="soon") == (None, None)


def test_a_sweep_is_a_row_per_run_job_and_direction() -> None:
    cells = bs.grid(elevator=["mq-deadline", "none:nr_requests=16"], seed=range(3))
    table = pyarrow.table(bs.sweep(bs.fio(JOB), "hdd-7200", cells, time="500ms"))
    assert table.num_rows == len(cells) * 2
    one = bs.simulate(bs.fio(JOB), "hdd-7200", "mq-deadline", seed=2, time="500ms")
    rows = [row for row in table.to_pylist() if row["scheduler"] == "mq-deadline" and row["seed"] == 2]
    same = [row for row in rows if row["job"] == "log"]
    assert len(same) == 1 and same[0]["time_limit_ns"] == 500_000_000 and one.jobs["log"].write.ios > 0
    assert len(set(table.column("trace_hash").to_pylist())) > 3


def test_a_mistake_says_where(tmp_path: Path) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.simulate(bs.fio("[app]\nrw=raedrand\n", name="my.fio"), "hdd-7200", "bfq")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("my.fio", 2, 4)
    assert isinstance(caught.value, ValueError) and "\x1b" not in str(caught.value)
    with pytest.raises(bs.InputError, match="slice_idle"):
        bs.simulate(bs.fio(JOB), "hdd-7200", "bfq", knobs={"slice_idel": 0})
    with pytest.raises(bs.InputError, match="hdd-7200"):
        bs.simulate(bs.fio(JOB), "hdd-7201", "bfq")
    path = tmp_path / "my.toml"
    path.write_text("model = 7\n")
    with pytest.raises(bs.InputError) as caught:
        bs.simulate(bs.fio(JOB), bs.disk.toml(path), "bfq")
    assert caught.value.file and caught.value.file.endswith("my.toml") and caught.value.line


def test_other_threads_run_meanwhile() -> None:
    done: list[int] = []

    def work() -> None:
        done.append(bs.simulate(bs.fio(JOB), "nvme-ssd", "none", time="2s").requests_done)

    worker = threading.Thread(target=work)
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert done and turns > 20


def test_an_interrupt_ends_a_comparison() -> None:
    text = (
        "import blksched as bs, sys\nprint('begun', flush=True)\n"
        "try: bs.compare('reader-and-writer', 'nvme-ssd', seeds=5000, time='10s')\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    # A shell ignores interrupts in background jobs, and so would their children.
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout and process.stdout.readline() == "begun\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "interrupted" in said


def test_what_there_is() -> None:
    assert {"bfq", "mq-deadline"} <= {row["name"] for row in bs.elevators()}
    assert "hdd-7200" in [row["name"] for row in bs.disks()]
    assert "fifo_batch" in repr(bs.knobs("mq-deadline")) and "<table>" in bs.knobs("bfq")._repr_html_()
    [batch] = [row for row in bs.knobs("mq-deadline@6.1") if row["name"] == "fifo_batch"]
    assert batch["default"] == 16
    with pytest.raises(bs.InputError, match="did you mean `bfq`"):
        bs.knobs("bfqq")


class Fifo(bs.Elevator):
    """First in, first out."""

    def __init__(self) -> None:
        self.queued: list[bs.Request] = []

    def insert(self, now: int, rq: bs.Request) -> None:
        self.queued.append(rq)

    def dispatch(self, now: int) -> bs.Request:
        return self.queued.pop(0)

    def requeue(self, now: int, rq: bs.Request) -> None:
        self.queued.insert(0, rq)


class Loses(Fifo):
    """Forgets every fourth request."""

    def insert(self, now: int, rq: bs.Request) -> None:
        if rq.id % 4:
            super().insert(now, rq)

    def dispatch(self, now: int) -> bs.Request | None:
        return self.queued.pop(0) if self.queued else None


def test_a_class_is_a_scheduler_and_keeps_the_laws() -> None:
    bs.laws(Fifo)
    own = bs.simulate(bs.fio(JOB), "hdd-7200", Fifo, time="1s")
    c = bs.compare(bs.fio(JOB), "hdd-7200", ["mq-deadline", Fifo], seeds=2, time="500ms")
    assert own.requests_done > 10 and "fifo-py" in repr(c)


def test_who_loses_requests_is_told_which_law() -> None:
    with pytest.raises(bs.LawBroken, match="fifo|loses-py"):
        bs.laws(Loses)


def test_what_a_class_raises_reaches_its_caller() -> None:
    class Breaks(Fifo):
        def dispatch(self, now: int) -> bs.Request:
            raise ZeroDivisionError("on purpose")

    class Invents(Fifo):
        def dispatch(self, now: int) -> bs.Request:
            super().dispatch(now)
            return type("Made", (), {"id": 10**9})()  # type: ignore[return-value]

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        bs.simulate(bs.fio(JOB), "hdd-7200", Breaks, time="1s")
    with pytest.raises(bs.InputError, match="request 1000000000 is not queued"):
        bs.simulate(bs.fio(JOB), "hdd-7200", Invents, time="1s")


def test_a_world_asks_and_comes_to_what_a_class_comes_to() -> None:
    world = bs.World(bs.fio(JOB), "hdd-7200", time="300ms")
    seen = world.reset()
    steps = 0
    while seen is not None:
        assert seen.queued and seen.in_flight >= 0
        steps += 1
        seen = world.step(seen.queued[0])
    assert world.result is not None and steps > 5
    assert world.result.trace_hash == bs.simulate(bs.fio(JOB), "hdd-7200", Fifo, time="300ms").trace_hash
    assert world.reset(seed=2) is not None
    world.close()
    with pytest.raises(bs.InputError, match="reset"):
        world.step(None)


def test_a_plan_is_made_in_memory_stretch_by_stretch() -> None:
    from blksched._blksched import plan_rows, plan_size

    text = 'loads = ["reader-and-writer", "beside-a-backup"]\ndisks = ["null"]\nschedulers = ["none"]\n'
    text += 'seeds = 4\ntime = "5ms"\n'
    assert plan_size("plan.toml", text) == (8, 4)
    whole = pyarrow.table(plan_rows("plan.toml", text, 0, 8, 2)).to_pylist()
    parts = [pyarrow.table(plan_rows("plan.toml", text, at, at + 4, 1)).to_pylist() for at in (0, 4)]
    key = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
    assert sorted(whole, key=key) == sorted(parts[0] + parts[1], key=key)
    # A run has the same key, however it is made.
    cells = bs.grid(elevator="none", seed=range(1, 5))
    alone = pyarrow.table(bs.sweep("reader-and-writer", "null", cells, time="5ms"))
    assert set(alone.column("key").to_pylist()) == {row["key"] for row in parts[0]}
    with pytest.raises(bs.InputError) as caught:
        plan_size("plan.toml", "loads = 3\n")
    assert caught.value.line == 1


def test_the_command_line_comes_along() -> None:
    said = subprocess.run([sys.executable, "-m", "blksched", "list", "elevators"], capture_output=True, text=True)
    assert said.returncode == 0 and "mq-deadline" in said.stdout
    wrong = subprocess.run([sys.executable, "-m", "blksched", "compare", "no-such"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "neither a file nor a workload" in wrong.stderr
