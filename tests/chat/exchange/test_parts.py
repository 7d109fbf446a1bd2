"""Parts of messages: streamed, stored, listed, copied, exported, shared as far as they may be, closed after a crash."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Connection, func, select, update

from activity import parts
from activity.export import export
from activity.parts import ExportedPart, in_reading_order
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from chat.exchange import events
from chat.exchange.parts import AnswerParts
from chat.turns.accept import ANSWER_AGAIN
from chat.turns.runner import TurnRunner
from chat.turns.streams import Journal, LiveStream, Row
from Conversation import Conversation
from database.conversations.deletion import erase_binned
from database.conversations.repository import delete_conversation
from database.engine.database import Job
from database.history import reading
from database.maintenance.verification import verify_store
from database.migrations import m0012_message_parts
from database.schema import message_parts, messages
from database.search.indexing import index_pending
from database.sharing import shares
from database.sharing.copying import clone_conversation
from database.turns.events import append_events, numbered, read_events
from database.turns.recovery import close_interrupted_turns
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import choose_variant
from language_models.ports import Delta
from language_models.testing import Hold, Reply, ScriptedChatModel
from search.messages import search_conversation
from tests.chat.conftest import EMAIL, Talk, joined, wait_until

THOUGHTS = [Delta(thinking="Crumbs? "), Delta(thinking="Hardly."), "No ", "crumbs."]
CALL = {"id": 1, "kind": "tool_call", "at": 2, "name": "read_document", "arguments": {"path": "secret.md"}}


def thinking(*more: str | Delta | Hold) -> ScriptedChatModel:
    """A model that thinks, then answers."""
    return ScriptedChatModel(replies=[Reply(*THOUGHTS, *more)])


def own(talk: Talk, conversation: Conversation) -> dict[str, str]:
    return {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}


def with_parts(talk: Talk, *given: dict[str, Any], text: str = "No crumbs.") -> Conversation:
    """A conversation of one turn whose answer has these parts."""
    conversation = talk.new()
    here = own(talk, conversation)
    turn = accept_turn(**here, text="Are there crumbs?", config={})
    answer = {"response_message_id": turn.response_message_id, "text": text, "status": "complete"}
    finish_turn(**here, **answer, config={}, title="Crumbs", parts=given)
    return talk.again(conversation)


def answer_of(talk: Talk, conversation: Conversation) -> dict[str, Any]:
    return talk.again(conversation).get_message_list()[-1]


def told(told_events: Sequence[dict[str, Any]], kind: str) -> str:
    """The text of all parts of this kind, as a watcher puts it together."""
    first = [event["part"].get("text", "") for event in told_events if event.get("part", {}).get("kind") == kind]
    return "".join(first + [event["part_text"]["text"] for event in told_events if "part_text" in event])


def exported(talk: Talk, conversation: Conversation, fmt: str) -> str:
    who = own(talk, conversation)
    room, email = who.pop("conversation_id"), who.pop("user_email")
    return b"".join(export(email, **who, recipes=RecipeRegistry(BUILT_IN), room=room, fmt=fmt).chunks).decode()


def test_thinking_is_streamed_and_stored_apart_from_the_words(talk: Talk) -> None:
    talk.models.main_model = thinking()
    conversation = talk.new()
    said = talk.say(conversation, "Are there crumbs?")
    assert (joined(said), told(said, "thinking")) == ("No crumbs.", "Crumbs? Hardly.")
    answer = answer_of(talk, conversation)
    assert answer["text"] == "No crumbs."
    assert answer["parts"] == [{"id": 1, "kind": "thinking", "at": 0, "text": "Crumbs? Hardly."}]


def test_thinking_is_neither_given_to_models_nor_found(talk: Talk) -> None:
    talk.models.main_model = thinking()
    conversation = talk.new()
    talk.say(conversation, "Are there crumbs?")
    talk.say(conversation, "And now?")
    assert not any("Hardly" in message["content"] for message in talk.models.main_model.prompts[-1])
    while index_pending(database=talk.database):
        pass
    found = {word: search_conversation(**own(talk, conversation), q=word, limit=9) for word in ("hardly", "crumbs")}
    assert (found["hardly"], len(found["crumbs"])) == ([], 3)


def test_a_plain_message_has_no_rows_of_parts(talk: Talk) -> None:
    conversation = talk.new()
    talk.say(conversation, "Are there crumbs?")
    with talk.store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(message_parts)).scalar() == 0
    assert answer_of(talk, conversation)["parts"] == []


def test_thinking_between_words_stands_where_it_came(talk: Talk) -> None:
    talk.models.main_model = thinking(Delta(thinking="Sure?"), " Sure.")
    conversation = talk.new()
    talk.say(conversation, "Are there crumbs?")
    answer = answer_of(talk, conversation)
    assert [(part["at"], part["text"]) for part in answer["parts"]] == [(0, "Crumbs? Hardly."), (10, "Sure?")]
    order = [
        str(piece) if isinstance(piece, str) else piece.body
        for piece in in_reading_order(answer["text"], answer["parts"])
    ]
    assert order == ["Crumbs? Hardly.", "No crumbs.", "Sure?", " Sure."]


def test_a_tool_call_gets_its_result_in_its_place() -> None:
    answer = AnswerParts()
    opened = answer.add("tool_call", at=0, name="read_document")
    changed = answer.replace(opened["part"]["id"], result="found")
    assert (opened["part"]["id"], changed["part"]["result"]) == (1, "found")
    assert answer.stored() == [{"id": 1, "kind": "tool_call", "at": 0, "name": "read_document", "result": "found"}]


def test_the_journal_joins_pieces_of_thinking_that_come_faster_than_it_commits() -> None:
    commits: list[Sequence[Row]] = []

    async def submit(rows: Sequence[Row], _writes: Sequence[Job[object]]) -> None:
        commits.append(rows)

    async def run() -> None:
        journal = Journal(submit=submit, on_failure=lambda _stream, error: pytest.fail(str(error)))
        stream = LiveStream(message_id="m", conversation_id="c", user_email=EMAIL)
        for event in (events.part_text(1, "a"), events.part_text(1, "b"), events.part_text(2, "c"), events.text("d")):
            journal.append(stream, event)
        await journal.settle(stream)

    asyncio.run(run())
    stored = [orjson.loads(event) for rows in commits for _, _, event in rows]
    assert [event.get("part_text", {}).get("text", event["text"]) for event in stored] == ["ab", "c", "d"]


def test_a_crash_keeps_what_was_thought(talk: Talk) -> None:
    conversation = talk.new()
    here = own(talk, conversation)
    turn = accept_turn(**here, text="Are there crumbs?", config={})
    answer = AnswerParts()
    contents = [answer.think("Crumbs? ", at=0), answer.think("Hardly.", at=0), events.text("No ")]
    rows = [(turn.response_message_id, seq, event) for seq, event in numbered(contents, after=0)]
    talk.store.write(lambda connection: append_events(connection, rows))
    copy = here | {"conversation_id": clone_conversation(**here).conversation_id}
    close_interrupted_turns(database=talk.database)
    for place in (here, copy):
        closed = reading.list_messages(**place)[-1]
        assert (closed.text, closed.status) == ("No ", "interrupted")
        assert [part["text"] for part in closed.parts] == ["Crumbs? Hardly."]
    assert list(verify_store(database=talk.database)) == []


def test_whoever_watches_later_is_told_of_the_parts(talk: Talk) -> None:
    conversation = with_parts(talk, CALL)
    answer = answer_of(talk, conversation)
    read = read_events(database=talk.database, user_email=EMAIL, message_id=answer["message_id"], after=0)
    assert [event["part"] for _, line in read.events if "part" in (event := orjson.loads(line))] == [CALL]


def test_each_variant_has_parts_of_its_own(talk: Talk) -> None:
    conversation = talk.new()
    talk.say(conversation, "Are there crumbs?")
    message_id = answer_of(talk, conversation)["message_id"]
    talk.models.main_model = thinking()
    list(talk.again(conversation).reply(talk.query("", **{ANSWER_AGAIN: message_id})))
    assert [part["kind"] for part in answer_of(talk, conversation)["parts"]] == ["thinking"]
    choose_variant(database=talk.database, user_email=EMAIL, message_id=message_id, number=1)
    assert answer_of(talk, conversation)["parts"] == []
    variants = json.loads(exported(talk, conversation, "json"))["activities"][-1]["message"]["variants"]
    assert [[part["kind"] for part in variant["parts"]] for variant in variants] == [[], ["thinking"]]
    assert list(verify_store(database=talk.database)) == []


def test_parts_come_along_into_clones_and_bundles_and_go_with_their_message(talk: Talk, tmp_path: Path) -> None:
    conversation = with_parts(talk, CALL)
    copy = clone_conversation(**own(talk, conversation))
    assert Conversation(EMAIL, talk.store, copy.conversation_id).get_message_list()[-1]["parts"] == [CALL]
    conversation.save_local(tmp_path / "bundle")
    assert Conversation.load_local(tmp_path / "bundle").get_message_list()[-1]["parts"] == [CALL]
    for gone in (conversation.conversation_id, copy.conversation_id):
        delete_conversation(database=talk.database, user_email=EMAIL, conversation_id=gone)
        erase_binned(database=talk.database, user_email=EMAIL, conversation_id=gone)
    with talk.store.reading() as connection:
        assert connection.execute(select(message_parts)).all() == []


def test_exports_show_parts_between_the_words(talk: Talk) -> None:
    thought = {"id": 1, "kind": "thinking", "at": 0, "text": "Hm & <b>"}
    notice = {"id": 3, "kind": "notice", "at": 10, "text": "It *was* cut."}
    conversation = with_parts(talk, thought, CALL | {"id": 2}, notice)
    assert json.loads(exported(talk, conversation, "json"))["activities"][-1]["message"]["parts"] == [
        thought,
        CALL | {"id": 2},
        notice,
    ]
    written = exported(talk, conversation, "markdown")
    order = [
        "*Thinking*",
        "> Hm & <b>",
        "> No",
        "*Tool: read\\_document*",
        "secret.md",
        "> crumbs.",
        "*Note: It \\*was",
    ]
    places = [written.index(piece.replace("> crumbs.", ">  crumbs.")) for piece in order]
    assert places == sorted(places)
    page = exported(talk, conversation, "html")
    assert "<summary>Thinking</summary>" in page
    assert "Hm &amp; &lt;b&gt;" in page
    assert '<p class="part">Note: It *was* cut.</p>' in page


def test_a_shared_link_shows_no_thinking_and_of_a_tool_call_its_name_alone(talk: Talk) -> None:
    thought = {"id": 1, "kind": "thinking", "at": 0, "text": "a secret thought"}
    conversation = with_parts(talk, thought, CALL | {"id": 2})
    key = {"secret_key": "of this server"}
    for filters, seen in (
        ({}, None),
        ({"show_part": parts.shared}, [{"kind": "tool_call", "at": 2, "name": "read_document"}]),
    ):
        share = shares.share_conversation(**own(talk, conversation), **key, **filters)
        assert share.token is not None
        question, answer = shares.read_share(database=talk.database, token=share.token).messages
        assert "parts" not in question
        assert answer.get("parts") == seen


def test_a_kind_from_outside_is_stored_exported_and_shared_like_any_other(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adding a kind is one object and one line, as documentation/architecture.md shows."""

    class Poll:
        name = "poll"

        def exported(self, part: parts.Part) -> ExportedPart:
            return ExportedPart(
                title=f"Poll: {part['question']}", body="\n".join(f"- {each}" for each in part["options"])
            )

        def shared(self, part: parts.Part) -> dict[str, Any]:
            return {"question": part["question"]}

    poll = {"id": 1, "kind": "poll", "at": 0, "question": "Crumbs?", "options": ["yes", "no"]}
    conversation = with_parts(talk, poll)
    assert answer_of(talk, conversation)["parts"] == [poll]
    assert (parts.shared(poll), "*poll*" in exported(talk, conversation, "markdown")) == (None, True)
    monkeypatch.setitem(parts.KINDS, "poll", Poll())
    assert parts.shared(poll) == {"kind": "poll", "at": 0, "question": "Crumbs?"}
    assert "*Poll: Crumbs?*\n\n> - yes\n> - no" in exported(talk, conversation, "markdown")


def test_verify_tells_of_parts_that_nobody_sees(talk: Talk) -> None:
    with_parts(talk, CALL)
    talk.store.write(lambda connection: connection.execute(update(messages).values(has_parts=0)))
    assert [finding.rule for finding in verify_store(database=talk.database)] == ["parts"]


def test_notices_of_earlier_versions_become_parts(talk: Talk) -> None:
    conversation = with_parts(talk)

    def migrate(connection: Connection) -> None:
        connection.execute(update(messages).values(config={"model": "a", "notice": "It was cut."}))
        m0012_message_parts.upgrade(connection)

    talk.store.write(migrate)
    answer = answer_of(talk, conversation)
    assert answer["config"] == {"model": "a"}
    assert answer["parts"] == [{"id": 1, "kind": "notice", "at": len(answer["text"]), "text": "It was cut."}]


def test_an_answer_is_cancelled_in_the_middle_of_its_thinking(talk: Talk, runner: TurnRunner) -> None:
    gate = Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply(Delta(thinking="Endless"), gate)])
    conversation = talk.new()
    runner.start(conversation, talk.query("Are there crumbs?"))
    assert gate.wait_until_reached()
    runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    wait_until(lambda: runner.running() == 0)
    answer = answer_of(talk, conversation)
    assert (answer["status"], answer["text"], [part["text"] for part in answer["parts"]]) == (
        "cancelled",
        "",
        ["Endless"],
    )
