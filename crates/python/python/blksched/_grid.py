"""Many settings of one load, as one table."""

from __future__ import annotations

from itertools import product
from typing import Any, Iterable, Iterator, Mapping, Sequence

from ._blksched import Table, many
from ._elevator import Elevator
from ._errors import InputError
from ._input import Disk, Job, _question
from ._run import Knob, Scheduler, spec


class Grid:
    """Every combination of these values; the last changes fastest."""

    def __init__(self, axes: Mapping[str, Sequence[Any]]) -> None:
        self.axes = dict(axes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for values in product(*self.axes.values()):
            yield dict(zip(self.axes, values))

    def __len__(self) -> int:
        length = 1
        for values in self.axes.values():
            length *= len(values)
        return length

    def __repr__(self) -> str:
        shown = " × ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        return f"Grid({shown} = {len(self)})"


def grid(
    *,
    elevator: Scheduler | Iterable[Scheduler],
    seed: int | Iterable[int] = 1,
    **knobs: Knob | Iterable[Knob],
) -> Grid:
    """Schedulers, knobs and seeds, each one value or several.

    >>> len(grid(elevator=["mq-deadline"], fifo_batch=[1, 4, 16], seed=range(5)))
    15
    """
    axes: dict[str, Sequence[Any]] = {"elevator": _several(elevator)}
    axes.update({name: _several(values) for name, values in knobs.items()})
    axes["seed"] = _several(seed)
    for name, values in axes.items():
        if not values:
            raise InputError(f"{name} has no value: expected one at least")
    return Grid(axes)


def _several(said: Any) -> Sequence[Any]:
    one = isinstance(said, (str, int)) or (isinstance(said, type) and issubclass(said, Elevator))
    return [said] if one else list(said)


def sweep(
    job: Job | str,
    disk: Disk | str,
    cells: Grid | Iterable[Mapping[str, Any]],
    *,
    time: str | float | None = None,
    host: str | None = None,
    fs: str | None = None,
    starts: str | None = None,
) -> Table:
    """Every cell on all cores: a row per run, job and direction, in the columns of docs/schema.md (`key` counts them).

    >>> t = sweep("reader-and-writer", "null", grid(elevator="mq-deadline", fifo_batch=[1, 16]), time="10ms")
    >>> sorted(set(t.column("knob_fifo_batch")))
    [1, 16]
    """
    specs = []
    for cell in cells:
        knobs = {name: value for name, value in cell.items() if name not in ("elevator", "seed")}
        specs.append((spec(cell["elevator"], knobs), int(cell.get("seed", 1))))
    return many(_question(job, disk, time=time, host=host, fs=fs, starts=starts), specs)
