"""Threads get titles from the cheap model, beside everything else; a person's own title stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from activity.resolving import resolve_activity
from activity.threads import thread_title
from chat.turns.titles import ThreadTitles
from database.changes import THREAD, changes_after
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.editing import delete_message
from database.history.threads import get_thread, rename_thread
from language_models.errors import ModelUnavailableError
from language_models.roles.unavailable import UnavailableChatModel
from language_models.testing import Reply, ScriptedChatModel
from tests.database.conftest import database, users_dir

__all__ = ["database", "users_dir"]
pytestmark = pytest.mark.contract
ADA = "ada@example.org"
RECIPES = RecipeRegistry(BUILT_IN)


@pytest.fixture
def room(database: Database) -> str:
    return create_conversation(database=database, user_email=ADA, domain="assistant").conversation_id


@pytest.fixture
def thread(database: Database, room: str) -> Callable[[str], tuple[str, str]]:
    """Begins a thread with this text; its id, and that of its root."""

    def begin(text: str) -> tuple[str, str]:
        own = {"conversation_id": room, "type": "chat_message", "recipes": RECIPES, "database": database}
        root = post_activity(ADA, payload={"text": text}, **own)
        reply = post_activity(ADA, payload={"text": "Yes"}, reply_to=root.activity_id, **own)
        assert reply.thread_id is not None
        return reply.thread_id, root.activity_id

    return begin


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def titles(database: Database, model: ScriptedChatModel, *, clock: Callable[[], float] | None = None) -> ThreadTitles:
    return ThreadTitles(database=database, recipes=RECIPES, model=lambda: model, seconds=30.0, clock=clock or Clock())


def title_of(database: Database, thread_id: str) -> str:
    return thread_title(ADA, thread_id, recipes=RECIPES, database=database)


def test_the_first_words_stand_until_the_model_has_made_a_title(
    database: Database, thread: Callable[[str], tuple[str, str]]
) -> None:
    here, root = thread("Should we add a castle defense minigame to this?")
    assert title_of(database, here) == "Should we add a castle defense"
    model = ScriptedChatModel.saying("Title: Castle Defense\nPlans")
    assert titles(database, model).make_waiting() == 1
    assert "Should we add a castle" in model.prompts[0][0]["content"]
    assert title_of(database, here) == "Castle Defense"
    changed = changes_after(database=database, user_email=ADA, after=0, most=100)
    assert [each.change for each in changed if each.kind == THREAD.name] == ["created", "changed"]
    # Asked once; and a title that quotes what was deleted is shown no more.
    assert titles(database, ScriptedChatModel.saying("Never")).make_waiting() == 0
    where = {"database": database, "user_email": ADA, "message_id": root}
    delete_message(**where, conversation_id=get_room(database, root), index=None)
    assert title_of(database, here) == "(deleted)"


def get_room(database: Database, activity_id: str) -> str:
    return resolve_activity(ADA, activity_id, database=database).conversation_id


def test_a_title_of_the_persons_own_stays_and_an_empty_one_asks_the_model_again(
    database: Database, thread: Callable[[str], tuple[str, str]]
) -> None:
    here, _ = thread("Should we?")
    rename_thread(database=database, user_email=ADA, thread_id=here, title="Ours")
    assert titles(database, ScriptedChatModel.saying("Never")).make_waiting() == 0
    assert title_of(database, here) == "Ours"
    rename_thread(database=database, user_email=ADA, thread_id=here, title="")
    assert title_of(database, here) == "Should we"
    assert titles(database, ScriptedChatModel.saying("A Castle")).make_waiting() == 1
    assert title_of(database, here) == "A Castle"


def test_without_a_model_threads_wait_under_their_first_words(
    database: Database, thread: Callable[[str], tuple[str, str]]
) -> None:
    here, _ = thread("Should we?")
    nobody = UnavailableChatModel(name="none", advice="No model.", error=ModelUnavailableError)
    waiting = ThreadTitles(database=database, recipes=RECIPES, model=lambda: nobody, seconds=30.0)
    assert waiting.make_waiting() == 0
    assert title_of(database, here) == "Should we"
    # A later start, with a model, finds what still waits.
    assert titles(database, ScriptedChatModel.saying("A Castle")).make_waiting() == 1


def test_a_failing_model_is_left_alone_for_a_minute_and_holds_no_other_thread_up(
    database: Database, thread: Callable[[str], tuple[str, str]]
) -> None:
    first, second = thread("First one")[0], thread("Second one")[0]
    clock = Clock()
    down = ModelUnavailableError("down")
    model = ScriptedChatModel(replies=[Reply(down), Reply("The Second"), Reply(down), Reply(down), Reply("The First")])
    asking = titles(database, model, clock=clock)
    assert asking.make_waiting() == asking.make_waiting() == 0
    assert len(model.prompts) == 1
    for made in (1, 0, 0, 0):
        clock.now += 61
        assert asking.make_waiting() == made
    assert [title_of(database, each) for each in (first, second)] == ["First one", "The Second"]
    assert len(model.prompts) == 4
    assert get_thread(database=database, user_email=ADA, thread_id=first).made_title == ""
