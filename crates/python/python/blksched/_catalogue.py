"""The catalogue: the same lists as `blksched list`."""

from __future__ import annotations

from html import escape
from typing import Any, Iterator

from . import _blksched


class Listing:
    """A list of dictionaries that prints as a table."""

    def __init__(self, listing: tuple[str, list[tuple[str, str]], list[dict[str, Any]]]) -> None:
        self.title, columns, self.rows = listing
        self.headers: dict[str, str] = dict(columns)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, nth: int) -> dict[str, Any]:
        return self.rows[nth]

    def __repr__(self) -> str:
        lines = [list(self.headers.values())]
        lines += [[str(row.get(key, "")) for key in self.headers] for row in self.rows]
        widths = [max(len(line[nth]) for line in lines) for nth in range(len(self.headers))]
        shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join(shown)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(header)}</th>" for header in self.headers.values())
        cells = [[escape(str(row.get(key, ""))) for key in self.headers] for row in self.rows]
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def elevators() -> Listing:
    """Every scheduler: name, kernels, character, knobs.

    >>> "bfq" in [row["name"] for row in elevators()]
    True
    """
    return Listing(_blksched.elevators())


def disks() -> Listing:
    """Every built-in disk."""
    return Listing(_blksched.disks())


def workloads() -> Listing:
    """Every built-in workload."""
    return Listing(_blksched.workloads())


def knobs(elevator: str) -> Listing:
    """A scheduler's knobs: name, unit, default, range, meaning.

    >>> "slice_idle" in [row["name"] for row in knobs("bfq")]
    True
    """
    return Listing(_blksched.knobs(elevator))
