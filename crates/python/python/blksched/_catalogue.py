"""The catalogue: the same lists as `blksched list`."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Iterator

from ._blksched import answer


class Listing:
    """A list of dictionaries that prints as a table."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.title: str = table["title"]
        self.headers: dict[str, str] = {column["key"]: column["header"] for column in table["columns"]}
        self.rows: list[dict[str, Any]] = table["rows"]

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


def _tables(name: str) -> list[dict[str, Any]]:
    text, _, _ = answer("list", ([name], None), ["--json"])
    tables: list[dict[str, Any]] = json.loads(text)["tables"]
    return tables


def elevators() -> Listing:
    """Every scheduler: name, kernels, character, knobs.

    >>> "bfq" in [row["name"] for row in elevators()]
    True
    """
    return Listing(_tables("elevators")[0])


def disks() -> Listing:
    """Every built-in disk."""
    return Listing(_tables("disks")[0])


def workloads() -> Listing:
    """Every built-in workload."""
    return Listing(_tables("workloads")[0])


def knobs(elevator: str) -> Listing:
    """A scheduler's knobs: name, unit, default, range, meaning.

    >>> "slice_idle" in [row["name"] for row in knobs("bfq")]
    True
    """
    for table in _tables(elevator):
        keys = [column["key"] for column in table["columns"]]
        if "default" in keys or "knob" in keys:
            first = keys[0]
            rows = [{"name": row.get(first), **row} for row in table["rows"]]
            return Listing({**table, "rows": rows})
    return Listing({"title": "knobs", "columns": [{"key": "name", "header": "knob"}], "rows": []})
