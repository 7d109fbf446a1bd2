"""Bundles: a conversation in a folder, opened without a database, refused when it holds code."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dill
import orjson
import pytest

from chat.exchange.ports import TurnServices
from chat.exchange.turn import Answerer
from chat.turns.accept import ANSWERERS
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import (
    add_conversation,
    create_conversation,
    find_by_friendly_id,
    get_conversation,
)
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, InvalidChangeError
from database.history.branches import choose_branch
from database.history.editing import delete_message
from database.history.reading import list_messages
from database.messages.message import message_shape
from database.turns.turns import accept_turn, finish_turn
from language_models.file_lock import locked
from language_models.testing import ScriptedChatModel
from portability.bundles import BRANCHED_VERSION, FORMAT, load_sibling, read_index, zipped_bundle
from portability.errors import BrokenBundleError, BundleNotFoundError, UnsafeBundleError
from tests.chat.conftest import ScriptedModels
from tests.live_server import ROOT

EMAIL = "ada@example.com"


def conversation_id(letter: str, email: str = EMAIL) -> str:
    return f"{email}_{letter * 36}"


def saved(root: Path, letter: str = "a", *, email: str = EMAIL) -> Conversation:
    conversation = Conversation(email, root, conversation_id(letter, email))
    conversation.persist_current_turn("How?", "Like\r\nthis: é 👍🏽", title="React Optimization Notes")
    conversation.save_local()
    return conversation


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def database(database_url: str | None, tmp_path: Path) -> Iterator[Database]:
    """A store beside the bundles."""
    database = open_store(tmp_path / "users", database_url=database_url)
    yield database
    close_store(database.folder)


def test_a_zipped_bundle_opens_again(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    content = b"".join(zipped_bundle(conversation.conversation_id, conversation.save_local))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "out")
    again = Conversation.load_local(tmp_path / "out" / conversation.conversation_id)
    assert [message["text"] for message in again.get_message_list()] == ["How?", "Like\r\nthis: é 👍🏽"]


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    opened = Conversation.load_local(tmp_path / conversation.conversation_id)
    assert opened.get_message_list() == conversation.get_message_list()
    assert opened.get_metadata() == conversation.get_metadata()
    assert (opened.user_id, opened.domain) == (conversation.user_id, conversation.domain)
    assert opened.get_metadata()["conversation_friendly_id"].startswith("react_optimization_")


def test_the_folder_holds_the_three_files_of_the_format_and_nothing_else(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    name = conversation.conversation_id
    assert set(snapshot(tmp_path / name)) == {f"{name}.index", f"{name}-messages.json", f"{name}-memory.json"}
    assert read_index(tmp_path / name)["format"] == FORMAT


def test_a_conversation_opened_from_a_bundle_goes_on_and_keeps_its_hashes(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    folder = tmp_path / conversation.conversation_id
    before = [message["message_short_hash"] for message in conversation.get_message_list()]
    opened = Conversation.load_local(folder)
    opened.persist_current_turn("And then?", "That.")
    again = Conversation.load_local(folder)
    assert [message["message_short_hash"] for message in again.get_message_list()][:2] == before
    assert [message["text"] for message in again.get_message_list()][2:] == ["And then?", "That."]


def test_a_bundle_brings_no_permission_of_what_tools_may_do_without_asking(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    folder = tmp_path / conversation.conversation_id
    file = folder / f"{conversation.conversation_id}-memory.json"
    memory = orjson.loads(file.read_bytes())
    permissions = {"allow_writing": True, "allowed_tools": ["time__now"], "agents_allowed_tools": {"a": ["time__now"]}}
    file.write_bytes(orjson.dumps({**memory, "settings": {"temperature": 1.0, **permissions}}))
    assert Conversation.load_local(folder).get_metadata()["conversation_settings"] == {"temperature": 1.0}


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("library", [pickle, dill], ids=["pickle", "dill"])
def test_an_index_with_code_is_refused_and_the_folder_left_untouched(tmp_path: Path, library: object) -> None:
    conversation = saved(tmp_path / "bundles")
    folder = tmp_path / "bundles" / conversation.conversation_id
    marker = tmp_path / "ran"
    state = {"format": FORMAT, "version": 1, "conversation_id": Evil(marker)}
    (folder / f"{conversation.conversation_id}.index").write_bytes(library.dumps(state))  # type: ignore[attr-defined]
    before = snapshot(folder)
    with pytest.raises(UnsafeBundleError):
        Conversation.load_local(folder)
    assert not marker.exists()
    assert snapshot(folder) == before


@pytest.mark.parametrize("name", ["eval", "getattr", "__import__", "set", "object"])
def test_an_index_that_names_a_builtin_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / saved(tmp_path).conversation_id
    (folder / f"{folder.name}.index").write_bytes(b"\x80\x04cbuiltins\n" + name.encode() + b"\n.")
    with pytest.raises(UnsafeBundleError, match=f"builtins.{name}"):
        Conversation.load_local(folder)


def test_an_index_that_refers_to_something_outside_of_itself_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / saved(tmp_path).conversation_id
    (folder / f"{folder.name}.index").write_bytes(b"\x80\x04Vanother file\nQ.")
    with pytest.raises(UnsafeBundleError):
        Conversation.load_local(folder)


def test_an_index_that_names_another_conversation_reads_no_file_of_it(tmp_path: Path) -> None:
    mine, hers = saved(tmp_path), saved(tmp_path / "hers", "b", email="eve@example.com")
    index = tmp_path / mine.conversation_id / f"{mine.conversation_id}.index"
    state = pickle.loads(index.read_bytes())
    for name in (hers.conversation_id, f"../hers/{hers.conversation_id}/{hers.conversation_id}"):
        index.write_bytes(pickle.dumps(state | {"conversation_id": name}))
        with pytest.raises(BrokenBundleError, match="index"):
            read_index(index.parent)


def test_an_index_with_an_object_of_a_class_is_refused(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    folder = tmp_path / conversation.conversation_id
    (folder / f"{conversation.conversation_id}.index").write_bytes(dill.dumps(Path("x")))
    with pytest.raises(UnsafeBundleError):
        Conversation.load_local(folder)


@pytest.mark.parametrize("index", [b"", b"garbage", pickle.dumps([1]), pickle.dumps({"format": FORMAT, "version": 99})])
def test_a_damaged_index_is_a_clear_error(tmp_path: Path, index: bytes) -> None:
    conversation = saved(tmp_path)
    folder = tmp_path / conversation.conversation_id
    (folder / f"{conversation.conversation_id}.index").write_bytes(index)
    with pytest.raises(BrokenBundleError):
        Conversation.load_local(folder)


def test_a_missing_or_half_written_bundle_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BundleNotFoundError):
        Conversation.load_local(tmp_path / "nothing")
    conversation = saved(tmp_path)
    folder = tmp_path / conversation.conversation_id
    (folder / f"{conversation.conversation_id}-messages.json").write_text("[{", encoding="utf-8")
    with pytest.raises(BrokenBundleError):
        Conversation.load_local(folder)


def index_with(folder: Path, **fields: Any) -> None:
    """Write the index of the bundle in `folder` anew, with other fields; None leaves one out."""
    (index,) = folder.glob("*.index")
    state = read_index(folder) | fields
    index.write_bytes(pickle.dumps({name: value for name, value in state.items() if value is not None}))


@pytest.mark.parametrize("fields", [{"conversation_id": None}, {"user_id": 7}, {"conversation_friendly_id": ["a"]}])
def test_an_index_with_fields_of_other_types_is_a_clear_error(tmp_path: Path, fields: dict[str, Any]) -> None:
    folder = saved(tmp_path)._storage
    index_with(folder, **fields)
    with pytest.raises(BrokenBundleError):
        Conversation.load_local(folder)


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("messages", "[1]"),
        ("messages", '[{"message_id": "1", "sender": "user"}]'),
        ("messages", '[{"message_id": "1", "sender": "user", "text": "", "config": []}]'),
        ("messages", "[" * 200_000),
        ("memory", '{"title": 7}'),
    ],
)
def test_messages_and_memory_of_other_types_are_a_clear_error(tmp_path: Path, part: str, content: str) -> None:
    conversation = saved(tmp_path)
    folder = tmp_path / conversation.conversation_id
    (folder / f"{conversation.conversation_id}-{part}.json").write_text(content, encoding="utf-8")
    with pytest.raises(BrokenBundleError):
        Conversation.load_local(folder)


def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    conversation = Conversation(EMAIL, tmp_path / "bundles", "../../escape")
    with pytest.raises(BrokenBundleError):
        conversation.save_local(tmp_path / "bundles")
    assert not list(tmp_path.rglob("*escape*"))


def test_references_lead_to_the_bundle_beside(tmp_path: Path) -> None:
    source = saved(tmp_path, "a")
    name = f"conversation_{source.get_metadata()['conversation_friendly_id']}_message_2"
    reader = Conversation(EMAIL, tmp_path, conversation_id("b"))
    assert "Like\r\nthis: é 👍🏽" in reader._get_pkb_context(EMAIL, "", referenced_friendly_ids=[name])


@pytest.mark.parametrize(
    "fields", [{"conversation_id": None}, {"conversation_friendly_id": ["a"]}, {"user_id": None}, {"domain": None}]
)
def test_a_broken_bundle_beside_spoils_no_reference_to_another(
    tmp_path: Path, fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    neighbour = saved(tmp_path, "0")
    index_with(tmp_path / neighbour.conversation_id, **fields)
    source = saved(tmp_path, "a")
    friendly_id = source.get_metadata()["conversation_friendly_id"]
    reader = Conversation(EMAIL, tmp_path, conversation_id("b"))
    refs = [(f"conversation_{friendly_id}_message_2", friendly_id, "2")]
    resolved = reader._resolve_conversation_message_refs(refs, EMAIL, None)
    assert [text.split(":\n", 1)[1] for _, text in resolved] == ["Like\r\nthis: é 👍🏽"]
    assert f"the bundle in {neighbour.conversation_id} is passed over" in caplog.text
    with pytest.raises(ConversationNotFoundError):
        load_sibling(tmp_path, neighbour.conversation_id, user_email=EMAIL, open_bundle=Conversation.load_local)


def test_the_bundle_of_somebody_else_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    foreign = saved(tmp_path, "a", email="eve@example.com")
    name = f"conversation_{foreign.get_metadata()['conversation_friendly_id']}_message_2"
    reader = Conversation(EMAIL, tmp_path, conversation_id("b"))
    assert reader._get_pkb_context(EMAIL, "", referenced_friendly_ids=[name]) == ""
    with pytest.raises(ConversationNotFoundError):
        load_sibling(tmp_path, foreign.conversation_id, user_email=EMAIL, open_bundle=Conversation.load_local)


def test_a_bundle_that_is_there_is_opened_and_never_emptied(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    again = Conversation(EMAIL, tmp_path, conversation.conversation_id)
    again.save_local()
    opened = Conversation.load_local(tmp_path / conversation.conversation_id)
    assert opened.get_message_list() == conversation.get_message_list()
    with pytest.raises(ConversationNotFoundError):
        Conversation("eve@example.com", tmp_path, conversation.conversation_id)


@pytest.mark.contract
def test_a_bundle_registered_in_a_store_is_found_there_by_its_friendly_id(database: Database, tmp_path: Path) -> None:
    source = Conversation(EMAIL, tmp_path / "bundles", conversation_id("a"))
    add_conversation(user_email=EMAIL, database=database, conversation_id=source.conversation_id)
    source.persist_current_turn("How?", "Like this.", title="React Optimization", users_dir=str(database.folder))
    source.save_local()
    friendly_id = source.get_metadata()["conversation_friendly_id"]
    who = {"database": database, "user_email": EMAIL}
    assert find_by_friendly_id(**who, conversation_friendly_id=friendly_id) == source.conversation_id
    reader = Conversation(EMAIL, tmp_path / "bundles", conversation_id("b"))
    refs = [(f"conversation_{friendly_id}_message_2", friendly_id, "2")]
    resolved = reader._resolve_conversation_message_refs(refs, EMAIL, str(database.folder))
    assert [text.split(":\n", 1)[1] for _, text in resolved] == ["Like this."]

    def lists_only(_: str) -> Any:
        return SimpleNamespace(get_message_list=source.get_message_list, get_metadata=source.get_metadata)

    assert reader._resolve_conversation_message_refs(refs, EMAIL, str(database.folder), lists_only) == resolved


@pytest.mark.contract
def test_a_turn_that_the_store_cant_hold_is_refused_before_anything_is_stored(
    database: Database, tmp_path: Path
) -> None:
    stray = Conversation("ann@example.org", tmp_path / "storage", "b1")
    for _ in range(2):
        with pytest.raises(InvalidChangeError):
            stray.persist_current_turn("How?", "Like this.", users_dir=str(database.folder))
    assert stray.get_message_list() == []


def test_a_registered_bundle_is_in_the_list_with_its_title_and_can_be_referred_to_unsaved(
    database: Database, tmp_path: Path
) -> None:
    source = Conversation(EMAIL, tmp_path / "bundles", conversation_id("a"))
    source.persist_current_turn("How?", "Like this.", title="React Optimization", users_dir=str(database.folder))
    source.persist_current_turn("Why?", "Because.", users_dir=str(database.folder))
    metadata = source.get_metadata()
    row = get_conversation(database=database, user_email=EMAIL, conversation_id=source.conversation_id)
    assert (row.title, row.message_count) == ("React Optimization", 4)
    assert row.conversation_friendly_id == metadata["conversation_friendly_id"]
    stored = Conversation(EMAIL, database, source.conversation_id)
    hashes = [message["message_short_hash"] for message in stored.get_message_list()]
    assert hashes == [message["message_short_hash"] for message in source.get_message_list()]

    reader = Conversation(EMAIL, tmp_path / "bundles", conversation_id("b"))
    ref = f"conversation_{metadata['conversation_friendly_id']}_message_1"
    context = reader._get_pkb_context(EMAIL, "And?", referenced_friendly_ids=[ref], users_dir=str(database.folder))
    assert reader._extract_referenced_claims(context) == context
    assert f'ref="@{ref}"' in context
    assert "How?</pkb_item>" in context


@pytest.mark.contract
def test_a_friendly_id_never_changes(database: Database, tmp_path: Path) -> None:
    conversation = Conversation(EMAIL, tmp_path / "bundles", conversation_id("a"))
    conversation.persist_current_turn("How?", "So.", title="First Title", users_dir=str(database.folder))
    before = conversation.get_metadata()["conversation_friendly_id"]
    memory = {"title": "Quite Other Words", "created_at": "2026"}
    conversation._ensure_conversation_friendly_id(memory, str(database.folder))
    assert memory["conversation_friendly_id"] == before
    assert conversation.get_metadata()["conversation_friendly_id"] == before
    with pytest.raises(ValueError, match="conversation_friendly_id"):
        conversation.set_field("conversation_friendly_id", "evil")


def test_the_memory_can_be_read_changed_and_set_again(tmp_path: Path) -> None:
    conversation = saved(tmp_path)
    memory = conversation.get_field("memory")
    memory |= {"title": "By Hand", "colour": "green"}
    conversation.set_field("memory", memory)
    assert conversation.get_field("title") == "By Hand"
    assert conversation.get_field("title_force_set") is True
    assert conversation.get_field("colour") == "green"
    with pytest.raises(ValueError, match="messages"):
        conversation.set_field("messages", [])


def test_what_a_killed_process_left_of_an_open_bundle_is_removed_by_the_next(tmp_path: Path) -> None:
    saved(tmp_path)
    left, used = tmp_path / "anaphora-bundle-left", tmp_path / "anaphora-bundle-used"
    for folder in (left, used):
        folder.mkdir()
        (folder / "in_use").touch()
        (folder / "users.db").write_bytes(b"what somebody said")
    opening = f"from Conversation import Conversation; Conversation({EMAIL!r}, '.', {conversation_id('a')!r})"
    with locked(used / "in_use", while_waiting=pytest.fail):
        command = [sys.executable, "-c", opening]
        subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}, check=True
        )
    assert [path.name for path in tmp_path.glob("anaphora-bundle-*")] == [used.name]


def branched(database: Database) -> Conversation:
    """A conversation in a store whose first question was asked again, and then its second one."""
    who = {"database": database, "user_email": EMAIL}
    row = create_conversation(**who, domain="assistant")
    own = {**who, "conversation_id": row.conversation_id}

    def say(text: str, *, instead_of: str | None = None) -> str:
        turn = accept_turn(**own, text=text, config={}, instead_of=instead_of)
        ended = {"response_message_id": turn.response_message_id, "text": text.upper(), "status": "complete"}
        finish_turn(**own, **ended, config={}, title="Talk")
        return turn.user_message_id

    first = say("one")
    second = say("two")
    say("uno", instead_of=first)
    choose_branch(**who, message_id=first, number=1)
    say("deux", instead_of=second)
    return Conversation(EMAIL, database, row.conversation_id)


@pytest.mark.contract
def test_a_bundle_keeps_all_branches_and_which_of_them_is_active(database: Database, tmp_path: Path) -> None:
    stored = branched(database)
    opened = Conversation.load_local(stored.save_local(tmp_path / "bundle"))
    assert read_index(tmp_path / "bundle")["version"] == BRANCHED_VERSION
    assert [message["text"] for message in opened.get_message_list()] == ["one", "ONE", "deux", "DEUX"]
    shown = ("message_id", "message_index", "message_short_hash", "branch", "short_id")
    told, kept = stored.get_message_list(), opened.get_message_list()
    assert [[message[name] for name in shown] for message in kept] == [[one[name] for name in shown] for one in told]
    again = Conversation.load_local(opened.save_local(tmp_path / "again"))
    assert again._history.messages_of_all_branches() == opened._history.messages_of_all_branches()
    assert len(again._history.messages_of_all_branches()[0]) == 8
    for message in stored._history.messages_of_all_branches()[0]:
        found = opened.message_by_hash(message["message_short_hash"])
        assert found is not None
        assert found["text"] == message["text"]


@pytest.mark.contract
def test_a_deleted_question_keeps_its_branches_in_a_bundle_and_not_its_text(database: Database, tmp_path: Path) -> None:
    stored = branched(database)
    (question, *_) = stored.get_message_list()
    who = {"database": database, "user_email": EMAIL, "conversation_id": stored.conversation_id}
    delete_message(**who, message_id=question["message_id"], index=1)
    folder = Conversation(EMAIL, database, stored.conversation_id).save_local(tmp_path / "bundle")
    assert all(b'"one"' not in data for data in snapshot(folder).values())
    opened = Conversation.load_local(folder)
    assert [message["text"] for message in opened.get_message_list()] == ["ONE", "deux", "DEUX"]
    assert "uno" in {message["text"] for message in opened._history.messages_of_all_branches()[0]}


@pytest.mark.parametrize("broken", [{"branch_id": "nowhere"}, {"branch_of": "nothing"}], ids=str)
def test_a_bundle_whose_branches_lead_nowhere_is_a_clear_error(broken: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / saved(tmp_path).conversation_id
    (path,) = folder.glob("*-messages.json")
    messages = json.loads(path.read_text())
    messages[0] |= broken
    path.write_text(json.dumps(messages))
    with pytest.raises(BrokenBundleError):
        Conversation.load_local(folder)


@pytest.mark.contract
def test_a_bundle_keeps_several_answers_to_a_question(database: Database, tmp_path: Path) -> None:
    conversation = Conversation(EMAIL, tmp_path, conversation_id("a"))
    models = [ScriptedChatModel.saying("Yes."), ScriptedChatModel.saying("No.")]
    services = TurnServices(models=ScriptedModels())
    query = {"messageText": "Is it so?", "_services": services, "_users_dir": str(database.folder)}
    list(conversation.reply(query | {ANSWERERS: [Answerer(model=model) for model in models]}))
    opened = Conversation.load_local(conversation.save_local())
    who = {"database": database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    for rows in (opened.get_message_list(), [message_shape(row) for row in list_messages(**who)]):
        said = [(row["sender"], row["text"]) for row in rows]
        assert said == [("user", "Is it so?"), ("model", "Yes."), ("model", "No.")]
    question, *answers = list_messages(**who)
    assert {answer.in_answer_to for answer in answers} == {question.message_id}
    opened.persist_current_turn("And now?", "Later.")
    assert [message["text"] for message in opened.get_message_list()][-2:] == ["And now?", "Later."]
