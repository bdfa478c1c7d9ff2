"""A plan on a Ray cluster: one task per load with all its configurations. Needs `pip install 'blksched[ray]'`.

A task that is lost with its node is repeated elsewhere; runs are deterministic, so its rows are the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ._blksched import plan_rows, plan_size

if TYPE_CHECKING:
    import pyarrow


def sweep(
    plan: str | os.PathLike[str],
    *,
    retries: int = 10,
    cpus: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pyarrow.Table:
    """Every run of a plan (docs/sweep.md), as one Arrow table; the files that it names must be on every node.

    `progress` is called after each task with the number done and the total.
    """
    import pyarrow
    import ray

    path = Path(plan)
    text, name = path.read_text(), os.fspath(path)
    runs, per_load = plan_size(name, text)

    @ray.remote(num_cpus=cpus, max_retries=retries)
    def stretch(begin: int, end: int) -> Any:
        return pyarrow.table(plan_rows(name, text, begin, end, cpus))

    waiting = [stretch.remote(begin, min(begin + per_load, runs)) for begin in range(0, runs, per_load)]
    order, total = {task: nth for nth, task in enumerate(waiting)}, len(waiting)
    tables: dict[int, Any] = {}
    while waiting:
        ready, waiting = ray.wait(waiting)
        for task in ready:
            tables[order[task]] = ray.get(task)
        if progress is not None:
            progress(len(tables), total)
    return pyarrow.concat_tables([tables[nth] for nth in sorted(tables)])
