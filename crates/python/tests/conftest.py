"""What the tests share."""

from __future__ import annotations

import doctest
import importlib

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long, or needs packages besides")


@pytest.fixture
def modules() -> list[str]:
    inner = ["_catalogue", "_elevator", "_grid", "_input", "_run", "_tune"]
    return ["blksched", *(f"blksched.{name}" for name in inner)]


@pytest.fixture
def doctests(modules: list[str]) -> list[tuple[str, doctest.TestResults]]:
    return [(name, doctest.testmod(importlib.import_module(name))) for name in modules]
