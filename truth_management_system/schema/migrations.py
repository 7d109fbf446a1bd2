"""The changes that led to today's tables, in order. Each is frozen: it names no table object of today."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent

FIRST_VERSION = 20
"""Numbers below are those of an earlier implementation's files."""

SCHEMA_VERSION = 20


def _statements(version: int) -> list[str]:
    """The statements of a file, which are separated by empty lines; comments are lines that begin with "--"."""
    lines = (_FOLDER / f"v{version:04}.sql").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [statement.strip() for statement in text.split("\n\n") if statement.strip()]


MIGRATIONS: dict[int, list[str]] = {
    version: _statements(version) for version in range(FIRST_VERSION, SCHEMA_VERSION + 1)
}
"""Statements that lead to a version from the one before, in order."""
