"""The changes that led to today's tables, in order. Each is frozen: it names no table object of today."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent

FIRST_VERSION = 20
"""Numbers below are those of an earlier implementation's files."""

SCHEMA_VERSION = 22


def statements(version: int, *, dialect: str) -> list[str]:
    """The statements that lead to a version from the one before, in order; for "sqlite" or "postgresql".

    In their file they are separated by empty lines; comments are lines that begin with "--".
    """
    name = f"v{version:04}.sql" if dialect == "sqlite" else f"v{version:04}.{dialect}.sql"
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [statement.strip() for statement in text.split("\n\n") if statement.strip()]
