"""An activity is checked, placed in its thread and stored at once, or nothing of it is."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from activity.recipes import ActivityType, Recipe, RecipeRegistry
from activity.recipes.errors import (
    AmbiguousTypeError,
    CrossDomainReplyError,
    InvalidPayloadError,
    RecipeNotFoundError,
    UnknownTypeError,
)
from activity.resolving import resolve_activity
from database.activities import storing
from database.activities.reading import Activity
from database.agents.repository import AgentRules, create_agent
from database.changes import changes_after
from database.conversations.repository import delete_conversation, get_conversation, update_conversation
from database.engine.database import Database
from database.engine.errors import (
    ActivityNotFoundError,
    AmbiguousReferenceError,
    ConversationNotFoundError,
    InvalidChangeError,
    ThreadMismatchError,
    ThreadNotFoundError,
)
from database.history.editing import delete_message
from database.history.reading import list_messages
from database.schema import activities, threads
from database.timeline.posting import Actor
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn

from .conftest import ADA, EVE
from .made import ANY

pytestmark = pytest.mark.contract
Post = Callable[..., Activity]
Room = Callable[..., str]
EVENT: dict[str, Any] = {"type": "system_event", "payload": {"description": "It runs"}}


def rows(database: Database) -> int:
    """How many activities and threads are stored."""
    with database.reading() as connection:
        return sum(
            connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (activities, threads)
        )


def test_a_message_is_posted_as_a_question_without_an_answer(database: Database, room: Room, post: Post) -> None:
    here = room()
    own = {"database": database, "user_email": ADA, "conversation_id": here}
    posted = post(here, "Should we add towers?")
    assert (posted.text, posted.payload, posted.actor_name, posted.is_message) == (
        "Should we add towers?",
        {},
        "Ada",
        True,
    )
    (message,) = list_messages(**own)
    assert (message.message_id, message.index, message.sender, message.status) == (
        posted.activity_id,
        1,
        "user",
        "complete",
    )
    assert message.message_short_hash is not None
    stored = get_conversation(**own)
    assert (stored.message_count, stored.title) == (1, "add towers")
    assert stored.conversation_friendly_id
    post(here, "And walls?")
    assert [row.index for row in list_messages(**own)] == [1, 2]
    assert get_conversation(**own).title == "add towers"
    kinds = [
        (change.kind, change.change) for change in changes_after(database=database, user_email=ADA, after=0, most=99)
    ]
    assert kinds[-2:] == [("message", "created"), ("activity", "created")]


def test_nothing_else_is_a_message_or_has_an_index(database: Database, room: Room, post: Post) -> None:
    here = room()
    posted = post(here, **EVENT)
    said = post(here, recipe="game", type="chat_message", payload={"text": "Go!"})
    assert [posted.is_message, said.is_message, said.text] == [False, False, None]
    assert list_messages(database=database, user_email=ADA, conversation_id=here) == []
    assert get_conversation(database=database, user_email=ADA, conversation_id=here).message_count == 0


def test_a_message_posted_during_the_first_turn_leaves_the_title_to_it(
    database: Database, room: Room, post: Post
) -> None:
    here = room()
    own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": here}
    accepted = accept_turn(**own, text="How do pools work?", config={})
    post(here, "I wonder too")
    ended = {"text": "Well", "status": "complete", "config": {}, "title": "Pools"}
    finish_turn(**own, response_message_id=accepted.response_message_id, **ended)
    found = list_messages(**own)
    assert [row.text for row in found] == ["How do pools work?", "Well", "I wonder too"]
    assert all(row.message_short_hash for row in found)
    assert (get_conversation(**own).title, get_conversation(**own).message_count) == ("Pools", 3)


def test_a_reply_to_what_is_in_no_thread_makes_one_with_both(database: Database, room: Room, post: Post) -> None:
    here, there = room(), room()
    root = post(here, "Should we?")
    reply = post(there, reply_to=f"#{root.short_id.upper()}", **EVENT)
    assert reply.thread_id is not None
    assert (reply.reply_to_id, reply.reply_to_short_id) == (root.activity_id, root.short_id)
    assert resolve_activity(ADA, root.activity_id, database=database).thread_id == reply.thread_id
    second = post(here, "Good", reply_to=reply.activity_id)
    assert (second.thread_id, second.reply_to_id) == (reply.thread_id, reply.activity_id)
    with database.reading() as connection:
        assert connection.execute(select(threads.c.root_activity_id)).scalars().all() == [root.activity_id]


def test_two_replies_at_once_make_one_thread(database: Database, room: Room, post: Post) -> None:
    here = room()
    root = post(here, "Should we?")
    together = threading.Barrier(4)
    found: list[str | None] = []

    def reply() -> None:
        together.wait()
        found.append(post(here, reply_to=root.activity_id, **EVENT).thread_id)

    replying = [threading.Thread(target=reply) for _ in range(4)]
    for each in replying:
        each.start()
    for each in replying:
        each.join()
    assert len(found) == 4
    assert set(found) == {resolve_activity(ADA, root.activity_id, database=database).thread_id}
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(threads)).scalar_one() == 1


def test_a_reply_inherits_the_thread_and_cannot_name_another(database: Database, room: Room, post: Post) -> None:
    here = room()
    first, second = post(here, "One"), post(here, "Two")
    thread = post(here, "Reply", reply_to=first.activity_id).thread_id
    post(here, "Also", reply_to=first.activity_id, thread_id=thread)
    before = rows(database)
    other = post(here, "Other", reply_to=second.activity_id).thread_id
    assert other != thread
    for parent, named in ((first, other), (second, thread), (post(here, "Three"), thread)):
        with pytest.raises(ThreadMismatchError):
            post(here, "No", reply_to=parent.activity_id, thread_id=named)
    assert rows(database) == before + 3  # "Other", its thread, "Three"


def test_an_activity_joins_a_thread_without_replying(room: Room, post: Post) -> None:
    here, there = room(), room()
    thread = post(here, "Reply", reply_to=post(here, "One").activity_id).thread_id
    joined = post(there, thread_id=thread, **EVENT)
    assert (joined.thread_id, joined.reply_to_id) == (thread, None)
    foreign = room(EVE)
    for named in (thread, "nothing"):
        with pytest.raises(ThreadNotFoundError):
            post(foreign, user_email=EVE, thread_id=named, **EVENT)


def test_the_rule_of_the_recipe_places_what_names_no_thread(database: Database, room: Room, post: Post) -> None:
    here, there = room(), room()
    move: dict[str, Any] = {"type": "game_action", "payload": {"type": "jump"}}
    first = post(here, session_id="s1", **move)
    second = post(there, session_id="s1", **move)
    assert first.thread_id is not None
    assert (second.thread_id, second.session_id) == (first.thread_id, "s1")
    assert post(here, session_id="s2", **move).thread_id not in (None, first.thread_id)
    assert post(here, **move).thread_id is None
    assert post(here, recipe="game", type="chat_message", payload={"text": "x"}, session_id="s1").thread_id is None
    assert post(room(EVE), user_email=EVE, session_id="s1", **move).thread_id not in (None, first.thread_id)
    reply = post(here, session_id="s1", reply_to=post(here, "One").activity_id, **move)
    assert reply.thread_id not in (None, first.thread_id)
    with database.reading() as connection:
        roots = connection.execute(select(threads.c.root_activity_id)).scalars().all()
    assert first.activity_id in roots


def test_a_closed_domain_replies_to_its_own_activities_alone(
    database: Database, recipes: RecipeRegistry, room: Room, post: Post
) -> None:
    class Closed(Recipe):
        domain, title, cross_domain_replies = "closed", "Closed", False
        activity_types = {"move": ActivityType(icon="♟", section="Moves", schema=ANY)}

    recipes.register(Closed(), source="closed")
    here = room()
    said = post(here, "Hello")
    before = rows(database)
    with pytest.raises(CrossDomainReplyError, match="closed"):
        post(here, type="move", payload={}, reply_to=said.activity_id)
    assert rows(database) == before
    move = post(here, type="move", payload={})
    assert post(here, type="move", payload={}, reply_to=move.activity_id).thread_id
    assert post(here, "Nice", reply_to=move.activity_id).thread_id


def test_what_is_wrong_is_refused_and_leaves_nothing(
    database: Database, recipes: RecipeRegistry, room: Room, post: Post
) -> None:
    class Other(Recipe):
        domain, title = "other", "Other"
        activity_types = {"game_action": ActivityType(icon="🎲", section="Moves", schema=ANY)}

    recipes.register(Other(), source="other")
    here, foreign = room(), room(EVE)
    eves = post(foreign, "Hello", user_email=EVE)
    kept = rows(database)
    for error, more in (
        (AmbiguousTypeError, {"type": "game_action", "payload": {}}),
        (UnknownTypeError, {"type": "nothing", "payload": {}}),
        (RecipeNotFoundError, {"type": "nothing", "recipe": "nothing", "payload": {}}),
        (InvalidPayloadError, {"type": "chat_message", "payload": {}}),
        (InvalidPayloadError, {"type": "system_event", "payload": {"description": 1}}),
        (ActivityNotFoundError, {**EVENT, "reply_to": eves.activity_id}),
        (ActivityNotFoundError, {**EVENT, "reply_to": eves.short_id}),
        (ActivityNotFoundError, {**EVENT, "reply_to": "nothing"}),
        (ActivityNotFoundError, {**EVENT, "reply_to": ""}),
    ):
        with pytest.raises(error):
            post(here, **more)
    with pytest.raises(ConversationNotFoundError):
        post(foreign, **EVENT)
    delete_conversation(database=database, user_email=ADA, conversation_id=here)
    with pytest.raises(ConversationNotFoundError):
        post(here, "Hello")
    assert rows(database) == kept


def test_a_conversation_that_keeps_nothing_takes_no_activities(database: Database, room: Room, post: Post) -> None:
    here = room()
    update_conversation(database=database, user_email=ADA, conversation_id=here, changes={"stateless": True})
    with pytest.raises(InvalidChangeError):
        post(here, "Hello")
    assert rows(database) == 0


def test_agents_and_programs_post_under_their_names(database: Database, room: Room, post: Post) -> None:
    here = room()
    agent = create_agent(database=database, user_email=ADA, rules=AgentRules(title="The Designer"))
    own = post(here, "Here it is", actor=Actor(type="agent", id="the_designer", name=""))
    assert (own.actor_id, own.actor_name) == (agent.agent_id, "The Designer")
    other = post(here, "Hm", actor=Actor(type="agent", id="gpt-game", name="GameDesigner AI"))
    assert (other.actor_id, other.actor_name) == ("gpt-game", "GameDesigner AI")
    found = list_messages(database=database, user_email=ADA, conversation_id=here)
    assert [(row.source_agent_id, row.source_agent_title) for row in found] == [
        (agent.agent_id, "The Designer"),
        (None, "GameDesigner AI"),
    ]


def test_references_mean_the_nearest_activity(
    database: Database, room: Room, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, elsewhere = room(), room(), room()
    tails = iter(("1", "2", "3", "4"))

    def colliding() -> uuid.UUID:
        return uuid.UUID(f"00000000-0000-4000-8000-00000{next(tails)}abcdef")

    root = post(elsewhere, "Root")
    monkeypatch.setattr(storing, "uuid7", colliding)
    in_there = post(there, **EVENT)
    in_here = post(here, **EVENT)
    longer = post(here, **EVENT)
    monkeypatch.undo()
    assert (in_there.short_id, in_here.short_id, longer.short_id) == ("abcdef", "abcdef", "3abcdef"[-8:].rjust(8, "0"))

    def meant(reference: str, conversation_id: str | None = None) -> str:
        return resolve_activity(ADA, reference, conversation_id, database=database).activity_id

    assert meant("#ABCDEF", here) == in_here.activity_id
    assert meant("abcdef", there) == in_there.activity_id
    assert meant(f"#{longer.short_id}") == longer.activity_id
    assert meant(in_here.activity_id.replace("-", "").upper(), there) == in_here.activity_id
    for nowhere in (elsewhere, None):
        with pytest.raises(AmbiguousReferenceError) as refused:
            meant("#abcdef", nowhere)
    assert set(refused.value.details["candidates"]) == {
        in_here.activity_id,
        in_there.activity_id,
    }
    post(there, reply_to=root.activity_id, **EVENT)
    thread = resolve_activity(ADA, root.activity_id, database=database).thread_id
    post(elsewhere, "x", reply_to=in_there.activity_id)
    assert thread is not None
    assert meant("#abcdef", elsewhere) == in_there.activity_id
    for reference in ("#abcdef", in_here.activity_id, "", "#", "zz"):
        with pytest.raises(ActivityNotFoundError):
            resolve_activity(EVE, reference, here, database=database)


def test_a_parent_in_a_deleted_conversation_is_shown_as_deleted(
    database: Database, recipes: RecipeRegistry, room: Room, post: Post
) -> None:
    there, here = room(), room()
    reply = post(here, reply_to=post(there, "Root").activity_id, **EVENT)
    assert reply.thread_id is not None
    assert resolve_activity(ADA, reply.activity_id, database=database).reply_to_short_id is not None
    delete_conversation(database=database, user_email=ADA, conversation_id=there)
    assert resolve_activity(ADA, reply.activity_id, database=database).reply_to_short_id is None
    (line,) = recipes.build_thread_context(ADA, reply.thread_id, database=database)
    assert line.line == f"[#{reply.short_id}] 🔔 system_event: It runs (reply to (deleted))"


def test_a_deleted_parent_is_shown_as_deleted_and_the_reply_keeps_it(
    database: Database, recipes: RecipeRegistry, room: Room, post: Post
) -> None:
    here = room()
    root = post(here, "Root")
    reply = post(here, reply_to=root.activity_id, **EVENT)
    delete_message(database=database, user_email=ADA, conversation_id=here, message_id=root.activity_id, index=None)
    assert reply.thread_id is not None
    (line,) = recipes.build_thread_context(ADA, reply.thread_id, database=database)
    assert line.line == f"[#{reply.short_id}] 🔔 system_event: It runs (reply to (deleted))"
    assert line.activity.reply_to_id == root.activity_id
    with pytest.raises(ActivityNotFoundError):
        post(here, reply_to=root.activity_id, **EVENT)


def test_a_turn_replies_to_activities_of_other_conversations_too(
    database: Database, room: Room, post: Post, take_turn: Callable[..., FinishedTurn]
) -> None:
    here, there = room(), room()
    event = post(there, **EVENT)
    turn = take_turn(ADA, here, reply_to=f"#{event.short_id}")
    question = resolve_activity(ADA, turn.user_message_id, database=database)
    assert question.reply_to_id == event.activity_id
    assert question.thread_id == resolve_activity(ADA, event.activity_id, database=database).thread_id


def test_a_call_of_a_tool_is_in_the_thread_of_its_question(
    database: Database, recipes: RecipeRegistry, room: Room, post: Post
) -> None:
    here = room()
    own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": here}
    event = post(here, **EVENT)
    accepted = accept_turn(**own, text="What runs?", config={}, reply_to=event.activity_id)
    call = {"id": 1, "kind": "tool_call", "at": 0, "name": "look", "status": "complete"}
    ended: dict[str, Any] = {"text": "It.", "status": "complete", "config": {"model": "small"}, "parts": [call]}
    finish_turn(**own, response_message_id=accepted.response_message_id, **ended)
    thread_id = resolve_activity(ADA, event.activity_id, database=database).thread_id
    assert thread_id is not None
    lines = [line.line for line in recipes.build_thread_context(ADA, thread_id, database=database)]
    assert lines[-1].endswith(f"🔧 tool_invocation: look complete (reply to #{accepted.user_short_id})")
