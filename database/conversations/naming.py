"""Conversations by their names: ids, friendly ids, titles."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from database.schema import conversations
from database.search.index import folded_name

_c = conversations.c
_NEWEST = 2_000


def has_words(title: str, words: Sequence[str]) -> bool:
    """Whether all of these words, see `folded_name`, are in a title, whatever its case and its diacritics."""
    plain = folded_name(title)
    return all(word in plain for word in words)


class NamedRoom(NamedTuple):
    """A conversation and what it is called. friendly_id: None until its first turn."""

    conversation_id: str
    friendly_id: str | None
    title: str


def conversations_called(connection: Connection, name: str, *, user_email: str) -> list[NamedRoom]:
    """The person's live conversations of this id, else of this friendly id, else of exactly this title.

    A letter with an accent may be one character or two, in the title as in the name.
    """
    spellings = {name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))}
    for column in (_c.conversation_id, _c.conversation_friendly_id, _c.title):
        if found := _named(connection, user_email, column.in_(spellings), limit=_NEWEST):
            return found
    return []


def newest_names(connection: Connection, *, user_email: str) -> list[NamedRoom]:
    """What the person's newest conversations are called."""
    return _named(connection, user_email, _c.title != "", limit=_NEWEST)


def _named(connection: Connection, user_email: str, condition: ColumnElement[bool], *, limit: int) -> list[NamedRoom]:
    own = (_c.user_email == user_email, _c.deleted_at.is_(None))
    columns = (_c.conversation_id, _c.conversation_friendly_id, _c.title)
    query = select(*columns).where(*own, condition).order_by(_c.updated_at.desc()).limit(limit)
    return [NamedRoom(*row) for row in connection.execute(query)]
