"""Exported JSON files come in again without loss: those of today, and those of released versions."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from activity.export import INCLUDED, export
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, get_conversations_for_user
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.history.editing import delete_message, edit_message, show_or_hide_message
from database.history.reading import list_messages
from database.history.threads import get_thread, rename_thread
from database.maintenance.verification import verify_store
from database.turns.identity import AcceptedTurn
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import accept_again
from portability.errors import BrokenImportError
from portability.importers.anaphora import import_export
from tests.activity.chain import CastleDefense, store
from tests.load.invariants import broken_invariants
from tests.released_stores import FOLDER

ADA, EVE = "ada@example.org", "eve@example.org"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Database]]:
    """Opens an empty store of this name."""
    folders = []

    def open_one(name: str) -> Database:
        folders.append(str(tmp_path / name))
        return open_store(folders[-1])

    yield open_one
    for folder in folders:
        close_store(folder)


def talk(database: Database, title: str, *turns: tuple[str, str]) -> str:
    row = create_conversation(database=database, user_email=ADA, domain="assistant")
    conversation = Conversation(ADA, database, row.conversation_id)
    for question, answer in turns:
        conversation.persist_current_turn(question, answer, {"model": "a-model"}, title=title)
    return row.conversation_id


def exported(database: Database, *, email: str = ADA, **filters: Any) -> dict[str, Any]:
    recipes = RecipeRegistry([*BUILT_IN, CastleDefense()])
    made = export(email, database=database, recipes=recipes, fmt="json", **filters)
    whole: dict[str, Any] = json.loads(b"".join(made.chunks))
    whole.pop("exported_at")
    return whole


def put_in(database: Database, whole: dict[str, Any], *, email: str = ADA) -> tuple[int, int]:
    stored = import_export(json.dumps(whole).encode(), database=database, user_email=email)
    return stored.conversations, stored.activities


def chain(database: Database) -> tuple[str, str, str]:
    """A thread of chat, game, system and data over two conversations: their ids, and that of the thread."""
    here, there = talk(database, "Castle", ("Should we?", "Yes.")), talk(database, "Elsewhere", ("Hello", "Hi."))
    question = list_messages(database=database, user_email=ADA, conversation_id=here)[0]
    own: dict[str, Any] = {"user_email": ADA, "conversation_id": here}
    action = store(database, **own, type_name="game_action", payload={"type": "spawn"}, reply_to=question.message_id)
    thread_id = exported(database, room=here)["threads"][0]["thread_id"]
    own["conversation_id"] = there
    event = {"type_name": "system_event", "payload": {"description": "Spawned"}, "session_id": "one"}
    first = store(database, **own, **event, thread_id=thread_id, actor=("system", ""))
    change = {"type_name": "data_change", "recipe": "system-monitoring", "reply_to": first.short_id}
    store(database, **own, **change, payload={"field": "costs", "old": 100, "new": 50}, actor=("user", ADA))
    assert action.short_id != first.short_id
    return here, there, thread_id


def lively_talk(database: Database) -> str:
    """A conversation with variants, edits, a deleted question, a hidden message and branches; its id."""
    row = create_conversation(database=database, user_email=ADA, domain="assistant")
    own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    first = said(own, "How much?", title="Water")
    again = accept_again(**own, message_id=first.response_message_id, model_name="another")
    part = {"id": 1, "kind": "notice", "at": 0, "text": "Again."}
    ended = {"response_message_id": again.response_message_id, "status": "complete", "config": {"model": "another"}}
    finish_turn(**own, **ended, text="Two litres.", parts=[part])
    edit_message(**own, message_id=first.user_message_id, text="How much water?", index=1)
    said(own, "Really?", instead_of=first.user_message_id)
    gone = said(own, "And now?")
    delete_message(**own, message_id=gone.user_message_id, index=3)
    hidden = list_messages(**own)[-1]
    show_or_hide_message(**own, message_id=hidden.message_id, index=3, show_hide="hide")
    return row.conversation_id


def said(own: dict[str, Any], text: str, *, title: str | None = None, **question: Any) -> AcceptedTurn:
    turn = accept_turn(**own, text=text, config={}, **question)
    answer = {"response_message_id": turn.response_message_id, "text": text.upper(), "status": "complete"}
    finish_turn(**own, **answer, config={"model": "a-model"}, title=title)
    return turn


def texts_in(database: Database, room: str) -> list[tuple[str, str]]:
    rows = list_messages(database=database, user_email=ADA, conversation_id=room)
    return [(row.text, row.show_hide) for row in rows]


def test_a_thread_over_domains_and_conversations_comes_in_again_without_loss(
    opened: Callable[[str], Database], tmp_path: Path
) -> None:
    source, empty = opened("source"), opened("empty")
    here, there, thread_id = chain(source)
    whole = exported(source, thread=thread_id)
    assert whole["count"] == 4
    assert [each["conversation_id"] for each in whole["other_conversations"]] == [there]
    assert put_in(empty, whole) == (2, 4)
    assert exported(empty, thread=thread_id) == whole
    assert exported(empty, recipe=CastleDefense.domain) == exported(source, recipe=CastleDefense.domain)
    assert exported(source, room=here)["activities"][0] in exported(empty, room=here)["activities"]
    assert broken_invariants(tmp_path / "empty") == {}
    with pytest.raises(ConflictError):
        put_in(empty, whole)


def test_a_conversation_comes_in_again_with_variants_edits_branches_and_its_address(
    opened: Callable[[str], Database],
) -> None:
    source, empty = opened("source"), opened("empty")
    room = lively_talk(source)
    whole = exported(source, room=room, include=INCLUDED)
    told = json.dumps(whole)
    assert '"number": 2' in told
    assert '"replaced_at"' in told
    assert '"branch_of": "' in told
    put_in(empty, whole)
    assert exported(empty, room=room, include=INCLUDED) == whole
    friendly_id = whole["conversation"]["conversation_friendly_id"]
    assert exported(empty, room=friendly_id, include=INCLUDED) == whole
    shown = [("Really?", "show"), ("REALLY?", "show"), ("AND NOW?", "hide")]
    assert texts_in(source, room) == texts_in(empty, room) == shown
    for database in (source, empty):
        assert list(verify_store(database=database)) == []


def test_in_another_account_the_conversation_gets_an_id_of_its_own(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    whole = exported(source, room=talk(source, "Castle", ("Should we?", "Yes.")))
    put_in(empty, whole, email=EVE)
    (row,) = get_conversations_for_user(database=empty, user_email=EVE, domain="assistant")
    assert (row.title, row.message_count) == ("Castle", 2)
    assert row.conversation_id.startswith(f"{EVE}_")
    (question, _) = exported(empty, email=EVE, room=row.conversation_id)["activities"]
    assert question["actor"]["id"] == EVE


def test_a_file_brings_no_permissions(opened: Callable[[str], Database]) -> None:
    """Whoever made it can't let tools do anything without asking."""
    here, there = opened("here"), opened("there")
    whole = exported(here, room=talk(here, "About Rivers", ("Which?", "The Po.")))
    permissions = {"allow_writing": True, "allowed_tools": ["delete"], "agents_allowed_tools": {"a": ["delete"]}}
    whole["conversation"]["settings"] = {"temperature": 0.5, **permissions}
    put_in(there, whole)
    (row,) = get_conversations_for_user(user_email=ADA, database=there)
    assert row.settings == {"temperature": 0.5}


def test_ids_that_another_person_has_are_made_anew_and_all_that_names_them_follows(
    opened: Callable[[str], Database], tmp_path: Path
) -> None:
    source = opened("source")
    _, _, thread_id = chain(source)
    whole = exported(source, thread=thread_id)
    told = json.dumps(whole)
    root = whole["activities"][0]
    root["references"] = [
        {"ref": "@x", "kind": "message", "status": "resolved", "target": {"message_id": root["replies"][0]["id"]}}
    ]
    assert put_in(source, whole, email=EVE) == (2, 4)
    (hers,) = exported(source, email=EVE, recipe=CastleDefense.domain)["threads"]
    assert hers["thread_id"] != thread_id
    again = exported(source, email=EVE, thread=hers["thread_id"])
    new_root = again["activities"][0]
    ids = {each["id"]: new["id"] for each, new in zip(flat(whole), flat(again), strict=True)}
    assert not set(ids) & set(ids.values())
    assert again["thread"]["root_activity_id"] == new_root["id"] == ids[root["id"]]
    assert [new["reply_to_id"] for new in flat(again)] == [ids.get(each["reply_to_id"]) for each in flat(whole)]
    assert new_root["references"][0]["target"]["message_id"] == new_root["replies"][0]["id"]
    for field in ("short_id", "content", "payload", "created_at", "position"):
        assert [new[field] for new in flat(again)] == [each[field] for each in flat(whole)]
    assert json.dumps(exported(source, thread=thread_id)) == told
    assert broken_invariants(tmp_path / "source") == {}


def flat(whole: dict[str, Any]) -> list[dict[str, Any]]:
    waiting, found = list(whole["activities"]), []
    while waiting:
        each = waiting.pop(0)
        found.append(each)
        waiting = [*each["replies"], *waiting]
    return found


def test_an_import_refuses_what_is_here_already_in_the_same_words_whoever_has_it(
    opened: Callable[[str], Database],
) -> None:
    source, empty = opened("source"), opened("empty")
    whole = exported(source, room=talk(source, "Castle", ("Should we?", "Yes.")))
    # The stranger's file is stored in any case: only what is the person's own is refused.
    assert put_in(empty, whole, email=EVE) == put_in(source, whole, email=EVE) == (1, 2)
    for database in (source, empty):
        with pytest.raises(ConflictError, match="is here already"):
            put_in(database, exported_of_only_room(database), email=EVE)


def exported_of_only_room(database: Database) -> dict[str, Any]:
    (row,) = get_conversations_for_user(database=database, user_email=EVE, domain="assistant")
    return exported(database, email=EVE, room=row.conversation_id)


def test_short_ids_are_kept_in_whichever_order_they_come(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    whole = exported(source, room=talk(source, "Castle", ("Should we?", "Yes."), ("Really?", "Yes!")))
    short_ids = [each["short_id"] for each in whole["activities"]]
    for each, other in zip(whole["activities"], reversed(short_ids), strict=True):
        each["short_id"] = other
    put_in(empty, whole)
    assert exported(empty, room=whole["conversation"]["conversation_id"]) == whole


def test_a_session_that_goes_on_here_keeps_its_thread(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    _, _, thread_id = chain(source)
    whole = exported(source, thread=thread_id)
    whole["thread"]["session_key"] = "a-session"
    put_in(empty, whole)
    again = json.loads(json.dumps(whole).replace(thread_id, "00000000-0000-4000-8000-000000000000"))
    for number, each in enumerate(flat(again)):
        again = json.loads(json.dumps(again).replace(each["id"], f"00000000-0000-4000-8000-{number + 1:012}"))
    put_in(empty, again)
    other = exported(empty, thread="00000000-0000-4000-8000-000000000000")["thread"]
    assert other["session_key"] is None
    assert exported(empty, thread=thread_id)["thread"]["session_key"] == "a-session"


@pytest.mark.parametrize("name", ["schema-03", "schema-04", "schema-05"])
def test_files_of_earlier_versions_come_in(name: str, opened: Callable[[str], Database], tmp_path: Path) -> None:
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        answers = json.loads(archive.read("answers.json"))
    files = [each["answer"] for each in answers if each["path"].startswith("/export_conversation/")]
    assert len(files) == 4
    for number, file in enumerate(files):
        database = opened(str(number))
        assert put_in(database, file) == (1, len(file["messages"]))
        here = exported(database, room=file["conversation"]["conversation_id"])
        rows = list_messages(database=database, user_email=ADA, conversation_id=file["conversation"]["conversation_id"])
        assert [row.text for row in rows] == [message["text"] for message in file["messages"]]
        for field in ("message_id", "message_short_hash", "short_id", "thread_id", "reply_to_id", "in_answer_to"):
            assert [getattr(row, field) for row in rows] == [message[field] for message in file["messages"]], field
        assert [len(row.variants) for row in rows] == [len(message["variants"]) for message in file["messages"]]
        assert here["conversation"]["title"] == file["conversation"]["title"]
        assert broken_invariants(tmp_path / str(number)) == {}


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"schema": 2}',
        b'{"schema": 1, "activities": {"id": 1}}',
        b'{"schema": 1, "activities": [1]}',
        b'{"schema": 1, "activities": [{"id": "x"}]}',
        b'{"schema": 1, "conversation": {"title": 1}}',
        b'{"format": "anaphora-export", "version": 1}',
        b'{"format": "anaphora-export", "version": 1, "conversation": {}, "messages": [{}]}',
        b'{"format": "anaphora-export", "version": 9, "messages": []}',
    ],
)
def test_what_is_no_export_is_refused_in_one_sentence(broken: bytes, opened: Callable[[str], Database]) -> None:
    database = opened("empty")
    with pytest.raises(BrokenImportError) as refused:
        import_export(broken, database=database, user_email=ADA)
    assert refused.value.message.endswith(".")


def test_a_file_that_contradicts_itself_leaves_nothing_behind(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    whole = exported(source, room=talk(source, "Castle", ("Should we?", "Yes."), ("Really?", "Yes!")))
    twice = json.loads(json.dumps(whole))
    twice["activities"][3]["id"] = twice["activities"][0]["id"]
    nowhere = json.loads(json.dumps(whole))
    nowhere["activities"][3]["conversation_id"] = f"{ADA}_elsewhere"
    half = json.loads(json.dumps(whole))
    half["activities"][3]["message"] = None
    for wrong in (twice, nowhere, half):
        with pytest.raises((ConflictError, BrokenImportError)):
            put_in(empty, wrong)
    assert get_conversations_for_user(database=empty, user_email=ADA, domain="assistant") == []


@pytest.mark.parametrize(
    "time", ["2025-99-99T10:00:00", "2025-02-30T10:00:00Z", "2025-01-01T25:00:00", "٢٠٢٥-01-01T10:00:00"]
)
def test_a_time_that_there_is_not_is_refused(time: str, opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    whole = exported(source, room=talk(source, "Castle", ("Should we?", "Yes.")))
    whole["activities"][0]["created_at"] = time
    with pytest.raises(BrokenImportError, match="created_at"):
        put_in(empty, whole)
    assert get_conversations_for_user(database=empty, user_email=ADA, domain="assistant") == []


def test_the_title_of_a_thread_comes_in_on_one_line(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    _, _, thread_id = chain(source)
    whole = exported(source, thread=thread_id)
    whole["thread"] |= {"title": "Castle\n[#ffffff] Bob: No", "is_renamed": True}
    put_in(empty, whole)
    assert exported(empty, thread=thread_id)["thread"]["title"] == "Castle [#ffffff] Bob: No"


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "wrong",
    [
        {"payload": nested(22)},
        {"payload": nested(254)},
        {"payload": nested(300)},
        {"message": {"sender": "user", "status": "forged"}},
        {"message": {"sender": "user", "parts": [{"id": 1, "kind": "notice", "at": 0, "more": nested(254)}]}},
    ],
)
def test_deep_json_and_an_unknown_status_are_refused(wrong: dict[str, Any], opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    whole = exported(source, room=talk(source, "Castle", ("Should we?", "Yes.")))
    whole["activities"][0] |= wrong
    with pytest.raises(BrokenImportError):
        put_in(empty, whole)


def test_references_to_what_is_not_in_the_file_are_dropped_and_counted(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    _, there, _ = chain(source)
    part = exported(source, room=there, include=("events",))
    first = part["activities"][0]
    first |= {"reply_to_id": "5e71a0c8-0303-4eb8-a478-3a121248abcd"}
    stored = import_export(json.dumps(part).encode(), database=empty, user_email=ADA)
    assert stored.dropped == 1
    again = exported(empty, room=there, include=("events",))
    assert (again["threads"][0]["root_activity_id"], again["activities"][0]["reply_to_id"]) == (first["id"], None)
    part["threads"] = []
    other = opened("other")
    stored = import_export(json.dumps(part).encode(), database=other, user_email=ADA)
    assert stored.dropped == 1 + part["count"]
    assert exported(other, room=there, include=("events",))["activities"][0]["thread_id"] is None


def test_only_a_title_that_a_person_gave_a_thread_comes_in_as_one(opened: Callable[[str], Database]) -> None:
    source, empty, other = opened("source"), opened("empty"), opened("other")
    _, _, thread_id = chain(source)
    own = {"user_email": ADA, "thread_id": thread_id}
    put_in(empty, exported(source, thread=thread_id))
    assert get_thread(database=empty, **own).title == ""
    rename_thread(database=source, **own, title="The walls")
    put_in(other, exported(source, thread=thread_id))
    assert get_thread(database=other, **own).title == "The walls"


def updated(database: Database, whole: dict[str, Any], *, email: str = ADA) -> tuple[int, int, int]:
    stored = import_export(json.dumps(whole).encode(), database=database, user_email=email)
    return stored.conversations, stored.activities, stored.updated


def own_of(room: str) -> dict[str, Any]:
    return {"user_email": ADA, "conversation_id": room}


def test_a_longer_export_brings_what_is_new_with_variants_edits_branches_and_threads(
    opened: Callable[[str], Database],
) -> None:
    source, empty = opened("source"), opened("empty")
    room = talk(source, "Water", ("How much?", "One litre."))
    put_in(empty, exported(source, room=room, include=INCLUDED))
    own: dict[str, Any] = {"database": source, **own_of(room)}
    question, answer = list_messages(**own)
    again = accept_again(**own, message_id=answer.message_id, model_name="another")
    ended = {"response_message_id": again.response_message_id, "status": "complete", "config": {"model": "another"}}
    finish_turn(**own, **ended, text="Two litres.")
    edit_message(**own, message_id=question.message_id, text="How much water?", index=1)
    said(own, "Really?", instead_of=question.message_id)
    said(own, "And now?")
    store(
        source,
        **own_of(room),
        type_name="game_action",
        payload={"type": "x"},
        reply_to=said(own, "Go?").user_message_id,
    )
    whole = exported(source, room=room, include=INCLUDED)

    assert updated(empty, whole) == (0, 7, 1)
    here = exported(empty, room=room, include=INCLUDED)
    here["conversation"]["updated_at"] = whole["conversation"]["updated_at"]
    assert here == whole
    assert texts_in(empty, room) == texts_in(source, room)
    assert list(verify_store(database=empty)) == []
    with pytest.raises(ConflictError, match="is here already"):
        put_in(empty, whole)


def test_a_longer_export_leaves_alone_what_the_person_said_and_changed_here(
    opened: Callable[[str], Database],
) -> None:
    source, empty = opened("source"), opened("empty")
    room = talk(source, "Water", ("How much?", "One litre."))
    first = exported(source, room=room, include=INCLUDED)
    put_in(empty, first)
    there, here = ({"database": each, **own_of(room)} for each in (source, empty))
    question = list_messages(**here)[0]
    edit_message(**here, message_id=question.message_id, text="How much here?", index=1)
    edit_message(**there, message_id=question.message_id, text="How much there?", index=1)
    said(here, "Here?")
    said(there, "There?")
    said(there, "And there?")
    whole = exported(source, room=room, include=INCLUDED)
    mine = texts_in(empty, room)

    assert updated(empty, whole) == (0, 4, 1)
    assert texts_in(empty, room) == mine
    branches = {each["content"]: each["message"] for each in flat(exported(empty, room=room, include=INCLUDED))}
    asked_here = next(each["id"] for each in flat(exported(empty, room=room)) if each["content"] == "Here?")
    assert branches["There?"]["branch_of"] == asked_here
    assert branches["AND THERE?"]["branch_id"] == branches["There?"]["branch_id"]
    assert list(verify_store(database=empty)) == []
    with pytest.raises(ConflictError, match="is here already"):
        put_in(source, first)  # an older export has nothing new
    assert list_messages(**there)[0].text == "How much there?"


def test_a_longer_export_updates_the_copy_of_another_account_beside_its_owner(
    opened: Callable[[str], Database], tmp_path: Path
) -> None:
    source = opened("source")
    room = talk(source, "Water", ("How much?", "One litre."))
    put_in(source, exported(source, room=room), email=EVE)
    (hers,) = get_conversations_for_user(database=source, user_email=EVE, domain="assistant")
    said({"database": source, **own_of(room)}, "And now?")
    assert updated(source, exported(source, room=room), email=EVE) == (0, 2, 1)
    rows = list_messages(database=source, user_email=EVE, conversation_id=hers.conversation_id)
    assert [row.text for row in rows] == ["How much?", "One litre.", "And now?", "AND NOW?"]
    assert len(texts_in(source, room)) == 4
    assert broken_invariants(tmp_path / "source") == {}


def test_a_longer_export_of_contradictory_branches_changes_nothing(opened: Callable[[str], Database]) -> None:
    source, empty = opened("source"), opened("empty")
    room = talk(source, "Water", ("How much?", "One litre."))
    put_in(empty, exported(source, room=room))
    said({"database": source, **own_of(room)}, "And now?")
    whole = exported(source, room=room)
    flat(whole)[-1]["message"]["branch_id"] = flat(whole)[0]["id"]
    with pytest.raises(ConflictError):
        put_in(empty, whole)
    assert len(texts_in(empty, room)) == 2
