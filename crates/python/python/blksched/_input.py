"""Workloads and disks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Job:
    """A workload. `+` combines two, which run at once."""

    words: tuple[str, ...] = ()
    text: tuple[str, str] | None = None

    def __add__(self, other: Job) -> Job:
        if self.text and other.text:
            name = f"{self.text[0]} {other.text[0]}"
            return Job(self.words + other.words, (name, f"{self.text[1]}\n{other.text[1]}"))
        return Job(self.words + other.words, self.text or other.text)


def fio(text: str, *, name: str = "job") -> Job:
    """A fio job file's text; `name` is for messages.

    >>> fio("[a]\\nrw=randread\\nsize=1m").words
    ()
    """
    return Job(text=(name, text))


def workload(name: str) -> Job:
    """A built-in workload (`bs.workloads()`), or a job file by its path."""
    return Job((name,))


def program(name: str, **parameters: Any) -> Job:
    """A program of the mails, as in `bs.program("dd", size="1g")`.

    >>> program("dd", size="1g", start="5s").words
    ('dd:size=1g,start=5s',)
    """
    return Job((_with(name, parameters),))


def trace(path: str | os.PathLike[str], **said: Any) -> Job:
    """A recorded trace, and how to read and replay it, as in `timing="closed"`."""
    return Job((_with(os.fspath(path), said),))


def _with(name: str, parameters: dict[str, Any]) -> str:
    said = ",".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name}:{said}" if said else name


@dataclass(frozen=True)
class Disk:
    """A disk, and the depth of its queue."""

    name: str
    depth: int | None = None
    attached: str | None = None


class _DiskMaker(Protocol):
    def __call__(self, name: str, *, depth: int | None = None, attached: str | None = None) -> Disk: ...

    def toml(self, path: str | os.PathLike[str]) -> Disk: ...


class _Disk:
    """A disk by its name: `bs.disks()`, `iocost:MODEL`, `raid5:4xhdd-7200`; `disk.toml(path)` for your own."""

    def __call__(self, name: str, *, depth: int | None = None, attached: str | None = None) -> Disk:
        return Disk(name, depth, attached)

    def toml(self, path: str | os.PathLike[str]) -> Disk:
        return Disk(os.fspath(path))


disk: _DiskMaker = _Disk()


def _disk(said: Disk | str) -> Disk:
    return said if isinstance(said, Disk) else Disk(said)


def _job(said: Job | str) -> Job:
    return said if isinstance(said, Job) else workload(said)


def _question(
    job: Job | str,
    disk: Disk | str,
    *,
    time: str | float | None = None,
    seed: int | None = None,
    host: str | None = None,
    fs: str | None = None,
    starts: str | None = None,
) -> dict[str, Any]:
    """What is asked, as the compiled half takes it."""
    load, on = _job(job), _disk(disk)
    return {
        "jobs": list(load.words),
        "text": load.text,
        "disk": on.name,
        "depth": on.depth,
        "attached": on.attached,
        "time": None if time is None else str(time),
        "seed": seed,
        "host": host,
        "fs": fs,
        "starts": starts,
    }
