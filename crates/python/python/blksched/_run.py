"""One load under one scheduler, or under several."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, Sequence, Union

from ._blksched import Cause, ComparisonData, ExplanationData, Simulation, Story, Table, Verdict
from ._blksched import compare as _compare
from ._blksched import simulate as _simulate
from ._elevator import Elevator, named
from ._input import Disk, Job, _question

Scheduler = Union[str, "type[Elevator]"]
Knob = Union[int, str]


@dataclass(frozen=True)
class Latency:
    """Completion latencies in ns; None: nothing completed, or too few for that percentile."""

    mean: float | None
    p50: int | None
    p90: int | None
    p99: int | None
    p99_9: int | None
    max: int | None


@dataclass(frozen=True)
class Done:
    """What a job did in one direction; bytes, bytes/s, 1/s."""

    ios: int
    bytes: int
    bw: float
    iops: float
    clat: Latency


@dataclass(frozen=True)
class JobResult:
    """One job; a direction in which it did nothing is None."""

    name: str
    processes: int
    stall_ns: int
    directions: Mapping[str, Done]

    def _of(self, what: str) -> Done:
        if what not in self.directions:
            does = ", ".join(self.directions) or "nothing"
            raise AttributeError(f"{self.name} does no {what} (it does: {does})")
        return self.directions[what]

    @property
    def read(self) -> Done:
        return self._of("read")

    @property
    def write(self) -> Done:
        return self._of("write")

    @property
    def trim(self) -> Done:
        return self._of("trim")

    @property
    def sync(self) -> Done:
        return self._of("sync")


class _Rendered:
    """What the command line prints, too: rendered once, when it is first asked for."""

    def __init__(self, inner: ComparisonData | ExplanationData) -> None:
        self._pages: tuple[str, str, str] | None = None
        self._render = inner.rendered

    @property
    def _rendered(self) -> tuple[str, str, str]:
        if self._pages is None:
            self._pages = self._render()
        return self._pages

    @property
    def text(self) -> str:
        """As the command line prints it."""
        return self._rendered[0]

    @property
    def data(self) -> dict[str, Any]:
        """The document of docs/schema.md."""
        data: dict[str, Any] = json.loads(self._rendered[1])
        return data

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._rendered[2]


class Explanation(_Rendered):
    """Where the slowest I/Os' time went, and who waited for whom."""

    def __init__(self, inner: ExplanationData) -> None:
        super().__init__(inner)
        self._inner = inner

    @property
    def stories(self) -> list[Story]:
        """The slowest I/Os, each piece by piece."""
        return self._inner.stories

    @property
    def blame(self) -> Table:
        """A row per process, rule and process waited for (docs/schema.md: `explain --parquet`)."""
        return self._inner.blame

    @property
    def answer(self) -> list[str]:
        """The answer, a sentence each: what the slowest I/O waited for, and for whom others waited."""
        return self._inner.answer

    @property
    def culprit(self) -> str | None:
        """The job that others waited for longest, in a sentence; None if nobody waited for another."""
        return self._inner.culprit

    @property
    def notes(self) -> list[str]:
        """What you should know besides."""
        return self._inner.notes


class Result:
    """The result of a simulation."""

    def __init__(self, inner: Simulation) -> None:
        self._inner = inner
        found = json.loads(inner.json())
        run = found["run"]
        self.scheduler: str = found["scheduler"]
        self.settings: str = found["settings"]
        self.seed: int = found["seed"]
        self.elapsed_ns: int = run["elapsed_ns"]
        self.requests_done: int = run["requests"]
        self.utilisation: float = run["utilisation"]
        self.seeking: float = run["seeking"]
        self.fairness: float | None = run["fairness"]
        self.trace_hash: str = run["trace_hash"]
        self.jobs: dict[str, JobResult] = _jobs(found["parts"])

    @property
    def requests(self) -> Table:
        """A row per request that the disk got: job, place, and times in ns. (The run is repeated for it.)"""
        return self._inner.requests()

    @property
    def decisions(self) -> Table:
        """A row per request that the disk got: what it waited for in ns, and why its batch began."""
        return self._inner.decisions()

    def explain(self, slowest: int = 5) -> Explanation:
        """Why the slowest I/Os were slow, and which job is to blame."""
        return Explanation(self._inner.explain(slowest))

    def __repr__(self) -> str:
        lines = [f"{self.scheduler} {self.settings}".strip() + f", seed {self.seed}, {self.elapsed_ns / 1e9:.3f} s"]
        for job in self.jobs.values():
            for what, done in job.directions.items():
                mean = "-" if done.clat.mean is None else f"{done.clat.mean / 1e6:.3f}"
                p99 = "-" if done.clat.p99 is None else f"{done.clat.p99 / 1e6:.3f}"
                rate = f"{done.ios} I/Os, {done.bw / 2**20:.2f} MiB/s"
                lines.append(f"{job.name} {what}: {rate}, mean {mean} ms, p99 {p99} ms")
        return "\n".join(lines)


def _jobs(parts: list[dict[str, Any]]) -> dict[str, JobResult]:
    jobs: dict[str, JobResult] = {}
    for part in parts:
        before = jobs.get(part["job"])
        directions = dict(before.directions) if before else {}
        done = part["done"]
        if done:
            p50, p90, p99, p99_9 = done["percentiles_ns"]
            clat = Latency(done["mean_ns"], p50, p90, p99, p99_9, done["max_ns"])
            directions[done["what"]] = Done(done["ios"], done["bytes"], done["bw"], done["iops"], clat)
        jobs[part["job"]] = JobResult(part["job"], part["processes"], part["stall_ns"], directions)
    return jobs


def spec(elevator: Scheduler, knobs: Mapping[str, Knob] | None = None) -> str:
    """`bfq:slice_idle=0`, from a name or a class and its knobs."""
    turned = "".join(f":{name}={value}" for name, value in (knobs or {}).items())
    return named(elevator) + turned


def simulate(
    job: Job | str,
    disk: Disk | str,
    elevator: Scheduler,
    *,
    knobs: Mapping[str, Knob] | None = None,
    seed: int = 1,
    time: str | float | None = None,
    host: str | None = None,
    fs: str | None = None,
    starts: str | None = None,
) -> Result:
    """One load under one scheduler; the same arguments give the same result, everywhere.

    >>> r = simulate("reader-and-writer", "hdd-7200", "none", time="500ms")
    >>> sorted(r.jobs)
    ['reader', 'writer']
    """
    question = _question(job, disk, time=time, seed=seed, host=host, fs=fs, starts=starts)
    return Result(_simulate(question, spec(elevator, knobs)))


class Comparison(_Rendered):
    """What differs beyond chance, what to do, and why."""

    def __init__(self, inner: ComparisonData) -> None:
        super().__init__(inner)
        self._inner = inner

    @property
    def verdict(self) -> Verdict:
        """The answer: `proposal`, `roles`, `contrasts` with intervals, `validation`, `hangs_on`, `notes`; `str()` says
        all of it in words."""
        return self._inner.verdict

    @property
    def figures(self) -> Table:
        """A row per scheduler, seed, job, direction and figure, in base units (docs/schema.md: `compare --csv`)."""
        return self._inner.figures

    @property
    def why(self) -> list[Cause]:
        """Why figures differ from the first scheduler's: what requests wait for, here and there."""
        return self._inner.why

    @property
    def use(self) -> str | None:
        """The scheduler to use instead of the first; None: keep it."""
        proposal = self.verdict.proposal
        return proposal.name if proposal else None


def compare(
    job: Job | str,
    disk: Disk | str,
    elevators: Sequence[Scheduler] | None = None,
    *,
    seeds: int = 5,
    seed: int = 1,
    goal: str | None = None,
    time: str | float | None = None,
    host: str | None = None,
    fs: str | None = None,
    starts: str | None = None,
) -> Comparison:
    """One load under several schedulers; the first is your default, with which the others are compared.

    >>> c = compare("reader-and-writer", "null", ["none", "mq-deadline"], seeds=2, time="10ms")
    >>> c.verdict.proposal is None, c.verdict.default
    (True, 'none')
    """
    question = _question(job, disk, time=time, seed=seed, host=host, fs=fs, starts=starts)
    names = [] if elevators is None else [spec(elevator) for elevator in elevators]
    return Comparison(_compare(question, names, seeds, goal))
