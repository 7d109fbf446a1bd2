"""A longer second export of each source brings what is new, and nothing twice; a title that was changed here stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from database.conversations.repository import get_conversations_for_user, update_conversation
from database.engine.database import Database
from database.history.editing import edit_message
from database.history.reading import list_messages
from database.imports.repository import Import
from tests.portability.importers.exports import (
    NO_PARENT_OF_LIBRECHAT,
    librechat_conversation,
    librechat_message,
    write_json,
)

from .conftest import ADA, conversation, message
from .longer_exports import SOURCES

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(("write", "name"), SOURCES)
def test_a_longer_second_export_adds_what_is_new_and_leaves_the_title_of_here(
    write: Callable[[Path, int], None],
    name: str,
    tmp_path: Path,
    database: Database,
    brought: Callable[[Path], Import],
) -> None:
    path = tmp_path / name
    write(path, 1)
    first = brought(path)
    assert (first.state, first.imported, first.updated, first.skipped) == ("done", 1, 0, 0)
    (row,) = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
    own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    before = list_messages(**own)
    assert len(before) == 2
    update_conversation(**own, changes={"title": "Called otherwise here", "title_force_set": True})

    write(path, 3)
    second = brought(path)
    assert (second.state, second.imported, second.updated, second.skipped) == ("done", 0, 1, 0)
    rows = list_messages(**own)
    assert len(rows) == 6
    assert [each.message_id for each in rows[:2]] == [each.message_id for each in before]
    assert [each.sender for each in rows] == ["user", "model"] * 3
    third = brought(path)
    assert (third.imported, third.updated, third.skipped) == (0, 0, 1)
    (listed,) = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
    assert (listed.title, listed.message_count) == ("Called otherwise here", 6)


def answer_of(database: Database) -> Any:
    (row,) = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
    return list_messages(database=database, user_email=ADA, conversation_id=row.conversation_id)[1]


def test_thoughts_that_stood_in_the_text_of_a_known_answer_become_its_part(
    tmp_path: Path, database: Database, brought: Callable[[Path], Import], taken_back: Callable[[Import], Import]
) -> None:
    def talk(text: str, **fields: Any) -> Path:
        question = librechat_message("q", NO_PARENT_OF_LIBRECHAT, "When?", is_user=True)
        answer = librechat_message("a", "q", text, is_user=False, seconds=1, **fields)
        return write_json(tmp_path / "chat.json", librechat_conversation(messages=[question, answer]))

    brought(talk("Hm… At six."))
    content = [{"type": "think", "think": "Hm…"}, {"type": "text", "text": "At six."}]
    longer = talk("", content=content)
    second = brought(longer)
    assert (second.updated, second.failures) == (1, [])
    answer = answer_of(database)
    assert (answer.text, [(part["kind"], part["text"]) for part in answer.parts]) == ("At six.", [("thinking", "Hm…")])
    assert brought(longer).skipped == 1
    assert taken_back(second).kept == []
    assert (answer_of(database).text, answer_of(database).parts) == ("Hm… At six.", ())
    assert brought(longer).updated == 1
    assert answer_of(database).parts == answer.parts


def test_parts_of_a_known_answer_are_renewed_none_is_lost_and_all_become_what_they_were(
    database: Database, imported: Callable[..., Import], taken_back: Callable[[Import], Import]
) -> None:
    def talk(**more: Any) -> Any:
        return conversation("c", message("q1", None), message("a1", "q1", "At six.", at=1, **more))

    imported(talk(thoughts="Hm."))
    before = answer_of(database)
    second = imported(talk(thoughts="Hm, the tide."))
    assert [part["text"] for part in answer_of(database).parts] == ["Hm, the tide."]
    third = imported(talk())
    assert [part["text"] for part in answer_of(database).parts] == ["Hm, the tide."]
    assert [taken_back(each).kept for each in (third, second)] == [[], []]
    assert answer_of(database) == before


def test_an_answer_that_the_person_edited_keeps_its_parts(database: Database, imported: Callable[..., Import]) -> None:
    begun = message("q1", None)
    imported(conversation("c", begun, message("a1", "q1", "At six.", at=1)))
    own: dict[str, Any] = {"database": database, "user_email": ADA}
    answer = answer_of(database)
    edit_message(**own, conversation_id=answer.conversation_id, message_id=answer.message_id, index=2, text="At seven.")
    imported(conversation("c", begun, message("a1", "q1", "At five.", at=1, thoughts="Hm.")))
    assert (answer_of(database).text, answer_of(database).parts) == ("At seven.", ())
