"""Titles of conversations: made without a model, and conversations found by what they are called."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from conversation_reference_utils import _extract_meaningful_words
from database.schema import conversations
from database.search.index import folded_name

UNTITLED = "New conversation"
_MAX_WORDS = 6
_MAX_LENGTH = 60
_ENOUGH_TEXT = 4_000
# As many characters as a person may give a title.
_LONGEST_OF_COPY = 500

# Code, links and references say little about the subject; Markdown syntax says nothing.
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_LINK_OR_REFERENCE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+|(?<!\S)[@#]\S+")
# A link to a document reads as its alias, or as the name in it.
_WIKILINK = re.compile(r"!?\[\[([^\[\]|\n\\]+)(?:\\?\|([^\[\]\n]+))?\]\]")
_WORD_MARKUP = re.compile(r"^\W+|[*`~]+$")
_LAST_SIGNS = re.compile(r"[^\w%+#)]+$")
_c = conversations.c
_NEWEST = 2_000


def heuristic_title(text: str) -> str:
    """The first words of `text` that mean something, as typed: at most 6 words and 60 characters; or `UNTITLED`."""
    words = _words(text)
    start = next((place for place, word in enumerate(words) if _extract_meaningful_words(word)), 0)
    return _title(words[start:]) or UNTITLED


def words_for_title(text: str, files: Iterable[Mapping[str, Any]]) -> str:
    """What a title is made of: the text of a question, or the names of its files (message parts) where it has none."""
    return text if text.strip() else ", ".join(str(file.get("name", "")) for file in files)


def first_words(text: str) -> str:
    """The first words of `text`, as typed: at most 6 words and 60 characters; or `UNTITLED`."""
    return _title(_words(text)) or UNTITLED


def _words(text: str) -> list[str]:
    plain = _LINK_OR_REFERENCE.sub(" ", _FENCE.sub(" ", text[:_ENOUGH_TEXT]))
    plain = _WIKILINK.sub(lambda link: link[2] or link[1], plain)
    return [word for word in (_WORD_MARKUP.sub("", raw) for raw in plain.split()) if word]


def _title(words: Sequence[str]) -> str:
    title = " ".join(words[:_MAX_WORDS])
    return _LAST_SIGNS.sub("", _cut(title) if len(title) > _MAX_LENGTH else title)


def _cut(title: str) -> str:
    head = title[:_MAX_LENGTH]
    at_word_end = head.rpartition(" ")[0]
    return at_word_end or head


def copy_title(title: str, *, kind: str) -> str:
    """The title of a copy: "… (fork)", and of a fork of that "… (fork 2)".

    Args:
        title: of the original.
        kind: the word in brackets, such as "copy" or "fork".
    """
    made = re.search(rf" \({re.escape(kind)}(?: ([1-9]\d{{0,5}}))?\)$", title)
    mark = f" ({kind} {int(made[1] or 1) + 1})" if made else f" ({kind})"
    base = title[: made.start()] if made else title
    return base[: _LONGEST_OF_COPY - len(mark)].rstrip() + mark


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
