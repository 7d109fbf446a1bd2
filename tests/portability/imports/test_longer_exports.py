"""A longer second export of each source brings what is new, and nothing twice; a title that was changed here stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from database.conversations.repository import get_conversations_for_user, update_conversation
from database.engine.database import Database
from database.imports.repository import Import
from database.messages.reading import list_messages

from .conftest import ADA
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
