"""Clones: the same words under identifiers of their own, whole or not at all."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from sqlalchemy import insert, select, update

from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from conversation_reference_utils import unique_message_short_hash
from database import schema
from database.activities.reading import Activity
from database.conversations import conversation
from database.conversations import repository as conversations
from database.conversations.deletion import erase_incomplete
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, MessageNotFoundError, StorageFailedError
from database.history.editing import delete_message
from database.maintenance.verification import verify_store
from database.sharing import copying
from database.turns.events import append_events
from database.turns.turns import accept_turn
from database.workspaces import repository as workspaces

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


def make(database: Database, **values: Any) -> str:
    return conversations.create_conversation(
        database=database, user_email=ANN, **{"domain": "assistant", **values}
    ).conversation_id


def clone(database: Database, conversation_id: str) -> conversation.ConversationRow:
    return copying.clone_conversation(database=database, user_email=ANN, conversation_id=conversation_id)


def stored(database: Database, conversation_id: str) -> list[Any]:
    query = (
        select(schema.messages, schema.activities.c["activity_id", "short_id", "reply_to_id", "thread_id"])
        .join_from(schema.messages, schema.activities, schema.activities.c.seq == schema.messages.c.seq)
        .where(schema.messages.c.conversation_id == conversation_id)
        .order_by(schema.messages.c.ordinal)
    )
    with database.reading() as connection:
        return list(connection.execute(query))


def test_a_clone_says_the_same_under_identifiers_of_its_own(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    for number in range(60):
        take_turn(ANN, source_id, text="yes", answer=f"answer {number}", title="React Hooks")
    source = conversations.get_conversation(database=database, user_email=ANN, conversation_id=source_id)
    copy = clone(database, source_id)
    before, after = stored(database, source_id), stored(database, copy.conversation_id)

    assert [(row.text, row.sender, row.created_at) for row in after] == [
        (row.text, row.sender, row.created_at) for row in before
    ]
    assert copy.conversation_friendly_id not in (None, source.conversation_friendly_id)
    assert (copy.title, copy.message_count, copy.last_ordinal) == ("React Hooks (copy)", 120, 120)
    for name in ("message_id", "message_short_hash", "seq"):
        ids = [getattr(row, name) for row in before + after]
        assert len(set(ids)) == 240 or name == "message_short_hash"
    hashes = [row.message_short_hash for row in after]
    assert len(set(hashes)) == 120
    assert not any(value.isdigit() for value in hashes)
    assert len({row.short_id for row in after}) == 120
    assert all(row.activity_id == row.message_id for row in after)


def test_hashes_of_a_clone_are_made_with_its_own_friendly_id(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    take_turn(ANN, source_id, text="yes", answer="no")
    copy = clone(database, source_id)
    expected = [unique_message_short_hash(copy.conversation_friendly_id or "", text, ()) for text in ("yes", "no")]
    assert [row.message_short_hash for row in stored(database, copy.conversation_id)] == expected


def test_answers_and_replies_of_a_clone_lead_within_the_clone(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    first = take_turn(ANN, source_id)
    take_turn(ANN, source_id, text="And?", reply_to=first.response_message_id)
    rows = stored(database, clone(database, source_id).conversation_id)
    assert rows[1].in_answer_to == rows[0].message_id
    assert rows[2].reply_to_id == rows[1].message_id
    assert rows[1].thread_id == rows[2].thread_id is not None
    assert rows[2].thread_id not in {row.thread_id for row in stored(database, source_id)}
    with database.reading() as connection:
        root = select(schema.threads.c.root_activity_id).where(schema.threads.c.thread_id == rows[1].thread_id)
        assert connection.execute(root).scalar_one() == rows[1].message_id


def test_replies_of_a_clone_and_a_fork_to_other_conversations_stay(database: Database, take_turn: Any) -> None:
    elsewhere, source_id = make(database), make(database)
    asked = take_turn(ANN, elsewhere)
    turn = take_turn(ANN, source_id, text="And?", reply_to=asked.user_message_id)
    happened(database, source_id, "Replied", reply_to=asked.response_message_id)
    fork = copying.fork_conversation(
        database=database, user_email=ANN, conversation_id=source_id, message_id=turn.response_message_id
    )
    for copy in (clone(database, source_id), fork):
        assert stored(database, copy.conversation_id)[0].reply_to_id == asked.user_message_id
        with database.reading() as connection:
            of = schema.activities.c
            events = (of.conversation_id == copy.conversation_id, of.type == "system_event")
            assert connection.execute(select(of.reply_to_id).where(*events)).scalars().all() == [
                asked.response_message_id
            ]
    if database.backend.file is not None:
        assert [finding for finding in verify_store(database=database) if not finding.fine] == []


def test_a_clone_replies_to_nothing_of_its_source(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    first = take_turn(ANN, source_id)
    take_turn(ANN, source_id, text="And?", reply_to=first.response_message_id)
    where: dict[str, Any] = {"database": database, "user_email": ANN, "conversation_id": source_id}
    delete_message(**where, message_id=first.response_message_id, index=None)
    assert stored(database, clone(database, source_id).conversation_id)[1].reply_to_id is None


def test_references_typed_in_the_source_lead_where_they_led(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    turn = take_turn(ANN, source_id)
    entry = {"position": 0, "user_email": ANN, "ref": "@conversation_x_message_1", "kind": "message"}
    target = {"status": "resolved", "target_conversation_id": "c", "target_message_id": "m", "target_id": None}
    reference = insert(schema.message_references).values(message_id=turn.user_message_id, **entry, **target)
    database.write(lambda connection: connection.execute(reference).rowcount)
    copied = stored(database, clone(database, source_id).conversation_id)[0]
    with database.reading() as connection:
        rows = connection.execute(select(schema.message_references)).all()
    assert {row.message_id for row in rows} == {turn.user_message_id, copied.message_id}
    assert {row.target_message_id for row in rows} == {"m"}


def test_settings_workspace_and_summary_are_kept_and_deleted_messages_left_out(
    database: Database, take_turn: Any
) -> None:
    own = {"database": database, "user_email": ANN}
    work = workspaces.create_workspace(**own, domain="assistant", workspace_name="Work")
    source_id = make(database, workspace_id=work["workspace_id"])
    for _ in range(3):
        take_turn(ANN, source_id)
    changes = {"settings": {"model": "x"}, "running_summary": "So far", "summarised_ordinal": 4, "flag": "red"}
    conversations.update_conversation(**own, conversation_id=source_id, changes=changes)
    gone = update(schema.messages).where(schema.messages.c.ordinal == 2).values(deleted_at="2026-01-01")
    database.write(lambda connection: connection.execute(gone).rowcount)
    copy = clone(database, source_id)
    assert (copy.workspace_name, copy.settings, copy.flag) == ("Work", {"model": "x"}, "red")
    assert (copy.running_summary, copy.summarised_ordinal, copy.message_count) == ("So far", 3, 5)
    assert [row.ordinal for row in stored(database, copy.conversation_id)] == [1, 2, 3, 4, 5]


def test_an_answer_in_the_making_is_copied_as_far_as_it_got(database: Database) -> None:
    source_id = make(database)
    own = {"database": database, "user_email": ANN, "conversation_id": source_id}
    turn = accept_turn(**own, text="Tell me about whales", config={})
    events = [
        (turn.response_message_id, n, orjson.dumps({"seq": n, "text": t})) for n, t in ((1, "They "), (2, "sing"))
    ]
    database.write(lambda connection: append_events(connection, events))
    copy = clone(database, source_id)
    answer = stored(database, copy.conversation_id)[1]
    assert (answer.text, answer.status) == ("They sing", "interrupted")
    assert copy.running_message_id is None
    assert "whales" in copy.title
    assert copy.conversation_friendly_id is not None
    assert stored(database, source_id)[1].status == "streaming"


def test_an_empty_conversation_clones_to_an_empty_one_without_a_friendly_id(database: Database) -> None:
    copy = clone(database, make(database))
    assert (copy.message_count, copy.conversation_friendly_id, copy.deleted_at) == (0, None, None)


def test_nobody_clones_what_is_not_theirs(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    take_turn(ANN, source_id)
    for wrong in (source_id, "missing"):
        with pytest.raises(ConversationNotFoundError):
            copying.clone_conversation(database=database, user_email=BEN, conversation_id=wrong)
    assert conversations.get_conversations_for_user(database=database, user_email=BEN) == []


def allow_pages(database: Database, more: int | None) -> None:
    """Let the store's file grow by `more` pages of 4,096 bytes at most; None: as far as it likes."""

    def limit(connection: Any) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        allowed = 2**32 - 2 if more is None else pages + more
        connection.exec_driver_sql(f"PRAGMA max_page_count = {allowed}").close()

    database.write(limit)


@pytest.mark.only_sqlite
def test_a_clone_for_which_there_is_no_room_is_never_seen_and_is_gone_after_the_next_start(
    database: Database, take_turn: Any
) -> None:
    source_id = make(database)
    for _ in range(4):
        take_turn(ANN, source_id, text="long " * 80_000)
    # Each long message takes about a hundred pages, and a slice holds two of them: the first slice fits.
    allow_pages(database, 300)
    with pytest.raises(StorageFailedError):
        clone(database, source_id)
    allow_pages(database, None)

    (only,) = conversations.get_conversations_for_user(database=database, user_email=ANN)
    assert only.conversation_id == source_id
    assert erase_incomplete(database=database) == 1
    with database.reading() as connection:
        assert set(connection.execute(select(schema.activities.c.conversation_id)).scalars()) == {source_id}
        assert set(connection.execute(select(schema.conversations.c.conversation_id)).scalars()) == {source_id}
    assert erase_incomplete(database=database) == 0


def test_a_clone_may_begin_with_an_answer_that_has_no_word_yet(database: Database) -> None:
    source_id = make(database)
    own = {"database": database, "user_email": ANN, "conversation_id": source_id}
    accepted = accept_turn(**own, text="yes", config={})
    delete_message(**own, message_id=accepted.user_message_id, index=1)
    [answer] = stored(database, clone(database, source_id).conversation_id)
    assert (answer.text, answer.status, answer.in_answer_to) == ("", "interrupted", None)


def fork(database: Database, conversation_id: str, message_id: str) -> conversation.ConversationRow:
    return copying.fork_conversation(
        database=database, user_email=ANN, conversation_id=conversation_id, message_id=message_id
    )


def test_a_fork_ends_with_the_message_it_was_made_from(database: Database, take_turn: Any) -> None:
    source_id = make(database)
    for number in range(40):
        take_turn(ANN, source_id, text=f"question {number}", answer=f"answer {number}", title="React Hooks")
    before = stored(database, source_id)
    own = {"database": database, "user_email": ANN, "conversation_id": source_id}
    delete_message(**own, message_id=before[3].message_id, index=4)
    copy = fork(database, source_id, before[60].message_id)
    after = stored(database, copy.conversation_id)
    assert [row.text for row in after] == [row.text for row in before[:61] if row.text != "answer 1"]
    assert (copy.title, copy.message_count) == ("React Hooks (fork)", 60)
    assert copy.conversation_friendly_id not in (None, before[0].conversation_id)
    assert not {row.message_id for row in after} & {row.message_id for row in before}
    assert not {row.message_short_hash for row in after} & {row.message_short_hash for row in before}
    assert len(stored(database, source_id)) == 80
    take_turn(ANN, copy.conversation_id, text="another way")
    assert [row.text for row in stored(database, copy.conversation_id)][-2:] == ["another way", "Hi there"]


@pytest.mark.parametrize(("message", "kept"), [(5, ""), (12, "Hooks were explained.")])
def test_a_fork_knows_nothing_of_what_comes_later(database: Database, take_turn: Any, message: int, kept: str) -> None:
    source_id = make(database)
    for _ in range(8):
        take_turn(ANN, source_id)
    own = {"database": database, "user_email": ANN, "conversation_id": source_id}
    summary = {"running_summary": "Hooks were explained.", "summarised_ordinal": 10}
    conversations.update_conversation(**own, changes=summary)
    copy = fork(database, source_id, stored(database, source_id)[message].message_id)
    assert (copy.running_summary, copy.summarised_ordinal) == (kept, 10 if kept else 0)


def test_a_fork_begins_at_a_live_message_of_its_own_conversation(database: Database, take_turn: Any) -> None:
    source_id, other_id = make(database), make(database)
    gone = take_turn(ANN, source_id).user_message_id
    elsewhere = take_turn(ANN, other_id).user_message_id
    own = {"database": database, "user_email": ANN, "conversation_id": source_id}
    delete_message(**own, message_id=gone, index=1)
    for message_id in (gone, elsewhere, "nothing"):
        with pytest.raises(MessageNotFoundError):
            fork(database, source_id, message_id)
    with pytest.raises(ConversationNotFoundError):
        copying.fork_conversation(**own | {"user_email": BEN}, message_id=elsewhere)


def happened(database: Database, room: str, description: str, **more: Any) -> Activity:
    """Post an event to a conversation."""
    said = {"type": "system_event", "payload": {"description": description}}
    recipes = RecipeRegistry(BUILT_IN)
    return post_activity(ANN, conversation_id=room, recipes=recipes, database=database, **said, **more)


def told(database: Database, room: str) -> list[str]:
    """What stands in a conversation, in order, without ids."""
    with database.reading() as connection:
        here = select(schema.activities).where(schema.activities.c.conversation_id == room)
        rows = connection.execute(here.order_by(schema.activities.c.seq)).all()
    numbers = {row.activity_id: number for number, row in enumerate(rows)}
    return [f"{row.payload.get('description', 'message')} < {numbers.get(row.reply_to_id)}" for row in rows]


def test_a_clone_has_the_other_activities_in_their_places_and_threads_of_its_own(
    database: Database, take_turn: Any
) -> None:
    room = make(database)
    first = happened(database, room, "Begun")
    turn = take_turn(ANN, room)
    reply = happened(database, room, "Replied", reply_to=turn.user_message_id)
    take_turn(ANN, room, reply_to=reply.activity_id)
    happened(database, room, "Ended", reply_to=first.activity_id)
    copy = clone(database, room).conversation_id
    assert told(database, copy) == told(database, room)
    assert told(database, copy)[0] == "Begun < None"
    assert told(database, copy)[3:5] == ["Replied < 1", "message < 3"]
    with database.reading() as connection:
        of = schema.activities.c
        rooms = select(of.conversation_id, of.thread_id).where(of.thread_id.is_not(None)).distinct()
        ours = connection.execute(rooms).all()
        roots = connection.execute(
            select(of.conversation_id).join(schema.threads, schema.threads.c.root_activity_id == of.activity_id)
        ).scalars()
        assert sorted(roots) == sorted([room, room, copy, copy])
    assert len({row.thread_id for row in ours}) == len(ours) == 4
    if database.backend.file is not None:
        assert [finding for finding in verify_store(database=database) if not finding.fine] == []


def test_a_fork_has_the_other_activities_up_to_its_end(database: Database, take_turn: Any) -> None:
    room = make(database)
    happened(database, room, "Begun")
    turn = take_turn(ANN, room)
    happened(database, room, "Answered", reply_to=turn.user_message_id)
    take_turn(ANN, room)
    happened(database, room, "Later")
    forked = fork(database, room, turn.response_message_id).conversation_id
    assert told(database, forked) == ["Begun < None", "message < None", "message < None", "Answered < 1"]


def test_a_conversation_of_events_alone_is_cloned(database: Database) -> None:
    room = make(database)
    happened(database, room, "Begun")
    assert told(database, clone(database, room).conversation_id) == ["Begun < None"]
