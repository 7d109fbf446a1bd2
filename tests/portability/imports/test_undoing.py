"""An import that is taken back leaves the store as it was before, but for what the person changed since."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from activity.export import INCLUDED, export
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, get_conversations_for_user, update_conversation
from database.engine.database import Database
from database.history.editing import edit_message
from database.history.reading import list_messages
from database.imports.repository import Import
from database.schema import activities, imported_changes, messages, threads
from database.search.index import waiting_behind
from database.turns.turns import finish_turn
from database.turns.variants import accept_again
from database.workspaces.repository import load_workspaces
from portability.importers.anaphora import import_export
from sentences import say

from .conftest import ADA, conversation, message
from .longer_exports import SOURCES, account, chatgpt, own_export

Write = Callable[[Path, int], None]
TakeBack = Callable[[Import], Import]
MENDED = {"Answer 1 of 1": "Mended 1 of 1", "Text a1": "Mended a1"}
"""Texts of first exports as longer ones have them; of one length, so that bytes can be replaced anywhere."""


def told(database: Database) -> list[Any]:
    """All conversations as they are exported, and the names of folders."""
    own: dict[str, Any] = {"database": database, "recipes": RecipeRegistry(BUILT_IN), "fmt": "json"}
    found = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
    made = [b"".join(export(ADA, **own, room=row.conversation_id, include=INCLUDED).chunks) for row in found]
    folders = load_workspaces(database=database, user_email=ADA, domain="assistant")
    exported = [{**json.loads(each), "exported_at": None} for each in made]
    for each in exported:
        # Where something was taken back, the next import compares everything.
        (each["conversation"]["origin"] or {}).pop("digest", None)
    return [*exported, sorted(each["workspace_name"] for each in folders)]


def mend(path: Path) -> None:
    """Change the text of the first answer, where the source is one that knows messages by ids."""
    if path.suffix == ".json" and path.name != "chat_sessions.json":
        content = path.read_text()
        for former, text in MENDED.items():
            content = content.replace(former, text)
        path.write_text(content)


def change_elsewhere(folder: Path) -> None:
    """Let the store whose conversation is exported have an edited question, and an answer made again."""
    database = open_store(str(folder))
    try:
        (row,) = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
        own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
        question, answer = (each.message_id for each in list_messages(**own)[:2])
        edit_message(**own, message_id=question, index=1, text="Question, edited")
        accept_again(**own, message_id=answer, model_name="m")
        finish_turn(**own, response_message_id=answer, text="Another answer", status="complete", config={})
    finally:
        close_store(str(folder))


def count(database: Database, *tables: Any) -> int:
    with database.reading() as connection:
        return sum(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)


def round_trip(database: Database, path: Path, write: Write, brought: Any, taken_back: TakeBack) -> None:
    """Import, import a longer and changed file, take the second back, take the first back."""
    empty = told(database)
    write(path, 1)
    first = brought(path)
    assert (first.state, first.imported) == ("done", 1)
    before = told(database)
    if write in {own_export, account}:
        change_elsewhere(path.parent / "elsewhere")
    write(path, 3)
    mend(path)
    second = brought(path)
    assert (second.state, second.updated, second.failures) == ("done", 1, [])
    after = told(database)
    assert after != before
    undone = taken_back(second)
    assert (undone.state, undone.kept) == ("undone", [])
    assert told(database) == before
    assert brought(path).updated == 1
    assert [len(each["activities"]) for each in told(database)[:-1]] == [len(after[0]["activities"])]
    assert taken_back(first).kept == []
    assert told(database) == empty
    assert count(database, messages, activities, threads, imported_changes) == 0
    with database.reading() as connection:
        assert waiting_behind(connection) is None


@pytest.mark.parametrize(("write", "name"), SOURCES)
def test_taking_both_imports_back_leaves_the_store_as_before(
    write: Callable[[Path, int], None],
    name: str,
    tmp_path: Path,
    database: Database,
    brought: Any,
    taken_back: TakeBack,
) -> None:
    round_trip(database, tmp_path / name, write, brought, taken_back)


@pytest.mark.contract
@pytest.mark.parametrize(("write", "name"), [(chatgpt, "conversations.json"), (own_export, "exported.json")])
def test_both_engines_take_imports_back(
    write: Callable[[Path, int], None],
    name: str,
    tmp_path: Path,
    database: Database,
    brought: Any,
    taken_back: TakeBack,
) -> None:
    round_trip(database, tmp_path / name, write, brought, taken_back)


def test_texts_titles_and_choices_become_what_they_were(
    database: Database, imported: Callable[..., Import], taken_back: TakeBack
) -> None:
    begun = (message("q1", None, "How much?"), message("a1", "q1", "Two.", at=1))
    imported(conversation("c", *begun, workspace="Health"))
    before = told(database)
    asked_again = message("q1b", None, "How much water?", at=5)
    changed = (begun[0], message("a1", "q1", "Three.", at=1), message("a1b", "q1", "Four.", at=9))
    more = (asked_again, message("a2", "q1b", "Enough.", at=6))
    longer = conversation("c", *changed, *more, title="About water", workspace="Health", current_id="a2")
    second = imported(longer, conversation("d", workspace="Garden"))
    assert told(database)[-1] == ["Garden", "General", "Health"]
    assert taken_back(second).kept == []
    assert told(database) == before


def test_what_the_person_changed_since_stays_and_the_report_says_so(
    database: Database, imported: Callable[..., Import], taken_back: TakeBack
) -> None:
    begun = [message("q1", None, "How much?"), message("a1", "q1", "Two.", at=1)]
    imported(conversation("c", *begun))
    second = imported(conversation("c", begun[0], message("a1", "q1", "Three.", at=1)), conversation("d"))
    rows = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
    named = {row.title: row.conversation_id for row in rows}
    own: dict[str, Any] = {"database": database, "user_email": ADA}
    own["conversation_id"] = named["About c"]
    answer = list_messages(**own)[1].message_id
    edit_message(**own, message_id=answer, index=2, text="Three, I think.")
    changes = {"title": "Mine", "title_force_set": True}
    update_conversation(**{**own, "conversation_id": named["About d"]}, changes=changes)
    kept = taken_back(second).kept
    assert kept == [
        {"item": "Mine", "reason": say("import_went_on")},
        {"item": "About c", "reason": say("import_changed_since")},
    ]
    texts = [each.text for each in list_messages(**own)]
    assert texts == ["How much?", "Three, I think."]


@contextmanager
def copied(folder: Path, whole: dict[str, Any]) -> Iterator[Database]:
    """Another store that has an exported conversation."""
    elsewhere = open_store(str(folder))
    try:
        import_export(json.dumps(whole).encode(), database=elsewhere, user_email=ADA)
        yield elsewhere
    finally:
        close_store(str(folder))


@pytest.fixture
def own(database: Database) -> dict[str, Any]:
    """A conversation of one question and its answer."""
    row = create_conversation(database=database, user_email=ADA, domain="assistant")
    Conversation(ADA, database, row.conversation_id).persist_current_turn("Mine?", "Yours.", {"model": "m"}, title="M")
    return {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}


def test_what_a_longer_export_brought_to_a_conversation_of_here_goes_and_the_conversation_stays(
    database: Database, tmp_path: Path, own: dict[str, Any], brought: Any, taken_back: TakeBack
) -> None:
    before = told(database)
    with copied(tmp_path / "elsewhere", before[0]) as elsewhere:
        Conversation(ADA, elsewhere, own["conversation_id"]).persist_current_turn("And then?", "More.", {"model": "m"})
        (longer, _) = told(elsewhere)
    path = tmp_path / "longer.json"
    path.write_text(json.dumps(longer))
    which = brought(path)
    assert (which.updated, len(told(database)[0]["activities"])) == (1, 4)
    assert taken_back(which).kept == []
    assert told(database) == before


def test_edits_and_versions_that_a_newer_export_brought_are_taken_back(
    database: Database, tmp_path: Path, own: dict[str, Any], brought: Any, taken_back: TakeBack
) -> None:
    before = told(database)
    with copied(tmp_path / "elsewhere", before[0]) as elsewhere:
        there = {**own, "database": elsewhere}
        question, answer = list_messages(**there)
        again = accept_again(**there, message_id=answer.message_id, model_name="another")
        ended = {"response_message_id": again.response_message_id, "status": "complete", "config": {"model": "another"}}
        finish_turn(**there, **ended, text="Theirs.")
        edit_message(**there, message_id=question.message_id, text="Whose?", index=1)
        (newer, _) = told(elsewhere)
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(newer))
    which = brought(path)
    assert (which.updated, [each.text for each in list_messages(**own)]) == (1, ["Whose?", "Theirs."])
    assert taken_back(which).kept == []
    assert told(database) == before


def test_an_archive_with_a_part_that_failed_is_taken_back(
    database: Database, tmp_path: Path, brought: Any, taken_back: TakeBack
) -> None:
    path = tmp_path / "everything.zip"
    account(path, 2)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("conversations/broken.json", "{}")
    which = brought(path)
    assert (which.imported, len(which.failures)) == (1, 1)
    assert taken_back(which).kept == []
    assert told(database)[:-1] == []
