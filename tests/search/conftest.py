"""The store that tests of searching share with those of the database."""

from __future__ import annotations

from tests.database.conftest import database, statements, take_turn, users_dir

__all__ = ["database", "statements", "take_turn", "users_dir"]
