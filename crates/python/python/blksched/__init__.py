"""Linux's disk I/O schedulers, outside the kernel: which one, which knobs, and why?

>>> import blksched as bs
>>> job = bs.workload("reader-and-writer")
>>> r = bs.simulate(job, bs.disk("hdd-7200"), "mq-deadline", time="1s")
>>> r.jobs["reader"].read.clat.p50 > 0
True

Times are integers in nanoseconds. polars, pyarrow, pandas and duckdb read tables (`Table`) through Arrow's PyCapsule
interface.
"""

from __future__ import annotations

from ._blksched import Cause, Contrast, Piece, Proposal, Request, Story, Table, Verdict, __version__
from ._catalogue import Listing, disks, elevators, knobs, workloads
from ._elevator import Elevator, World, laws
from ._errors import Error, InputError, LawBroken
from ._grid import Grid, grid, sweep
from ._input import Disk, Job, disk, fio, program, trace, workload
from ._run import Comparison, Done, Explanation, JobResult, Latency, Result, compare, simulate
from ._tune import Tuned, tune

__all__ = [
    "Cause", "Comparison", "Contrast", "Disk", "Done", "Elevator", "Error", "Explanation", "Grid", "InputError", "Job",
    "JobResult", "Latency", "LawBroken", "Listing", "Piece", "Proposal", "Request", "Result", "Story", "Table", "Tuned",
    "Verdict", "World", "__version__", "compare", "disk", "disks", "elevators", "fio", "grid", "knobs", "laws", "program",
    "simulate", "sweep", "trace", "tune", "workload", "workloads",
]
