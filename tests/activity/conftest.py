"""A store of its own for each test."""

from tests.database.conftest import database, statements, take_turn, users_dir

__all__ = ["database", "statements", "take_turn", "users_dir"]
