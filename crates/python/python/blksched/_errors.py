"""Exceptions."""

from __future__ import annotations


class Error(Exception):
    """Something could not be done.

    `file`, `line` and `column` say where, as far as that is known; lines and columns count from 1. `word` is what was
    not understood, `nearest` what was probably meant.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        word: str | None = None,
        nearest: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.word = word
        self.nearest = nearest


class InputError(Error, ValueError):
    """The input was not understood; the message says what was expected."""


class LawBroken(Error, AssertionError):
    """An elevator breaks a law; the message names the law, and the seed that shows it."""
