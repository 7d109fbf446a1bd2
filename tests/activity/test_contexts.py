"""What a model is told of an activity: its thread, over all domains, then the activity itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from activity.recipes import ActivityContext, ActivityType, Recipe, RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from database.activities.reading import Activity
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.editing import show_or_hide_message
from database.history.reading import list_messages
from database.turns.identity import FinishedTurn

from .made import activity

pytestmark = pytest.mark.contract
ADA = "ada@example.org"


class Closed(Recipe):
    """A domain whose contexts are of its own making."""

    domain, title = "closed", "Closed"
    cross_domain_replies = False

    @staticmethod
    def build(activity: Activity, context: ActivityContext) -> list[str]:
        """The context of a move."""
        return [activity.type, *(line.line for line in context.thread), str(context.cross_domain)]

    activity_types = {"move": ActivityType(icon="♟", section="Moves", schema={}, context_builder=build)}


def test_a_thread_of_messages_is_told_without_what_is_hidden(
    database: Database, take_turn: Callable[..., FinishedTurn]
) -> None:
    room = create_conversation(database=database, user_email=ADA, domain="assistant").conversation_id
    first = take_turn(ADA, room, text="Should we?")
    reply = take_turn(ADA, room, text="Yes", answer="Done", reply_to=first.user_message_id)
    take_turn(ADA, room, text="Hidden", reply_to=first.user_message_id)
    own = {"database": database, "user_email": ADA, "conversation_id": room}
    hidden = list_messages(**own)[4]
    show_or_hide_message(**own, message_id=hidden.message_id, index=None, show_hide="hide")
    thread_id = list_messages(**own)[0].thread_id
    assert thread_id is not None

    registry = RecipeRegistry(BUILT_IN)
    told = registry.build_thread_context(ADA, thread_id, database=database)
    assert [line.line for line in told[:3]] == [
        f"[#{first.user_short_id}] {ADA}: Should we?",
        f"[#{reply.user_short_id}] {ADA}: Yes (reply to #{first.user_short_id})",
        f"[#{reply.response_short_id}] : Done (reply to #{reply.user_short_id})",
    ]
    assert [line.activity.text for line in told[3:]] == ["Hi there"]
    assert {line.recipe for line in told} == {"general-discussion"}
    assert registry.build_thread_context("eve@example.org", thread_id, database=database) == []

    context = registry.build_context(told[1].activity, database=database, title="Towers")
    assert context == [
        "Thread context (Towers):",
        f"  [#{first.user_short_id}] {ADA}: Should we?",
        "",
        "Current activity:",
        f"  [#{reply.user_short_id}] {ADA}: Yes (reply to #{first.user_short_id})",
    ]


def test_a_type_builds_its_own_context(database: Database) -> None:
    registry = RecipeRegistry([Closed()])
    move = activity(recipe="closed", type="move", thread_id="t")
    assert registry.build_context(move, database=database) == ["move", "False"]


def test_the_current_activity_reads_as_its_type_formats_it(database: Database) -> None:
    class Chess(Recipe):
        domain, title = "chess", "Chess"
        activity_types = {
            "move": ActivityType(icon="♟", section="Moves", schema={}, formatter=lambda move: f"[#{move.short_id}] Qh5")
        }

    told = RecipeRegistry([Chess()]).build_context(activity(recipe="chess", type="move"), database=database)
    assert told == ["Current activity:", "  [#48abcd] Qh5"]
