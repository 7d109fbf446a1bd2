"""A store of its own for each test, and a person who posts to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from database.accounts.users import create_user
from database.activities.reading import Activity
from database.conversations.repository import create_conversation
from database.engine.database import Database
from tests.database.conftest import database, statements, take_turn, users_dir

from .made import Game

__all__ = ["database", "statements", "take_turn", "users_dir"]
ADA, EVE = "ada@example.org", "eve@example.org"


@pytest.fixture
def recipes() -> RecipeRegistry:
    """The recipes of the product and one from outside."""
    made = RecipeRegistry(BUILT_IN)
    made.register(Game(), source="a-game")
    return made


@pytest.fixture
def room(database: Database) -> Callable[..., str]:
    """A new conversation: room(), room("eve@example.org")."""
    create_user(database=database, user_email=ADA, password="correct horse battery", name="Ada")
    create_user(database=database, user_email=EVE, password="correct horse battery", name="Eve")

    def make(user_email: str = ADA) -> str:
        return create_conversation(database=database, user_email=user_email, domain="assistant").conversation_id

    return make


@pytest.fixture
def post(database: Database, recipes: RecipeRegistry) -> Callable[..., Activity]:
    """Posts an activity of Ada's: post(conversation_id, "Hello") or post(conversation_id, type=…, payload=…)."""

    def post(conversation_id: str, text: str | None = None, *, user_email: str = ADA, **more: Any) -> Activity:
        said: dict[str, Any] = {"type": "chat_message", "payload": {"text": text}} if text is not None else {}
        return post_activity(
            user_email, conversation_id=conversation_id, recipes=recipes, database=database, **{**said, **more}
        )

    return post
