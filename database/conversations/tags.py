"""Tags of conversations: words that a person puts on conversations, to list those that have one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, func, select, update
from typing_extensions import TypedDict

from database.changes import CONVERSATION, record, record_each
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.engine.statements import insert_rows
from database.engine.text import storable
from database.schema import conversation_tags, conversations
from sentences import say

from .conversation import access_head, update_keeping_time

MOST_TAGS = 20
LONGEST_TAG = 50
_t, _c = conversation_tags.c, conversations.c


class TagCount(TypedDict):
    """A tag, and how many live conversations have it."""

    tag: str
    conversation_count: int


def tag_key(tag: str) -> str:
    """What two spellings of one tag have in common: whatever the case, spaces and composed or decomposed characters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", " ".join(tag.split())).casefold())


def tidy_tags(tags: Iterable[str]) -> list[str]:
    """`tags` in NFC with single spaces, each once whatever its case.

    Raises InvalidChangeError for what can be no tag.
    """
    tidied: dict[str, str] = {}
    for tag in tags:
        tidy = unicodedata.normalize("NFC", storable(" ".join(tag.split())))
        if not 0 < len(tidy) <= LONGEST_TAG or not tidy.isprintable():
            raise InvalidChangeError(say("tag_malformed", most=LONGEST_TAG))
        tidied.setdefault(tag_key(tidy), tidy)
    if len(tidied) > MOST_TAGS:
        raise InvalidChangeError(say("most_tags", most=MOST_TAGS))
    return sorted(tidied.values(), key=str.casefold)


def set_tags(*, database: Database, user_email: str, conversation_id: str, tags: Sequence[str]) -> list[str]:
    """Let these be the tags of a conversation; returns them as they are stored.

    Raises ConversationNotFoundError, and InvalidChangeError as `tidy_tags` does.
    """
    tidied = tidy_tags(tags)

    def job(connection: Connection) -> None:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        here = _t.conversation_id == conversation_id
        if set(connection.execute(select(_t.tag).where(here)).scalars()) == set(tidied):
            return
        connection.execute(delete(conversation_tags).where(here))
        insert_tags(connection, tidied, user_email=user_email, conversation_id=conversation_id)
        update_keeping_time(connection, conversation_id)
        record(
            connection, CONVERSATION, "changed", user_email=user_email, ids=[conversation_id], fields={"tags": tidied}
        )

    database.write(job)
    return tidied


def change_tag(
    connection: Connection, conversation_ids: Sequence[str], tag: str, *, user_email: str, is_added: bool
) -> list[str]:
    """Put one tag on the user's conversations, or take it from them, within the caller's transaction.

    tag: as `tidy_tags` gives it; another spelling that a conversation has counts as the same. Returns the
    conversations that have as many tags as they may have, which stay as they are. Five queries at most.
    """
    known: dict[str, list[str]] = {each: [] for each in conversation_ids}
    these = _t.conversation_id.in_(conversation_ids)
    for row in connection.execute(select(_t.conversation_id, _t.tag).where(these)):
        known[row.conversation_id].append(row.tag)
    key = tag_key(tag)
    changing = [each for each, stored in known.items() if (key not in map(tag_key, stored)) == is_added]
    full = [each for each in changing if is_added and len(known[each]) >= MOST_TAGS]
    after = {each: _with_or_without(known[each], tag, is_added=is_added) for each in changing if each not in full}
    if after:
        spellings = {tag, *(each for stored in known.values() for each in stored if tag_key(each) == key)}
        if is_added:
            rows = [{"conversation_id": each, "tag": tag, "user_email": user_email} for each in after]
            insert_rows(connection, conversation_tags, rows)
        else:
            connection.execute(delete(conversation_tags).where(these, _t.tag.in_(spellings)))
        connection.execute(update(conversations).where(_c.conversation_id.in_(after)).values(version=_c.version + 1))
        fields = {each: {"tags": tags} for each, tags in after.items()}
        record_each(connection, CONVERSATION, "changed", user_email=user_email, fields=fields)
    return full


def _with_or_without(tags: Sequence[str], tag: str, *, is_added: bool) -> list[str]:
    kept = [each for each in tags if tag_key(each) != tag_key(tag)]
    return sorted([*kept, tag] if is_added else kept, key=str.casefold)


def insert_tags(connection: Connection, tags: Sequence[str], *, user_email: str, conversation_id: str) -> None:
    """Store tags of a conversation that has none, within the caller's transaction."""
    rows = [{"conversation_id": conversation_id, "tag": tag, "user_email": user_email} for tag in tags]
    insert_rows(connection, conversation_tags, rows)


def count_tags(*, database: Database, user_email: str, domain: str) -> list[TagCount]:
    """The tags of the person's live conversations of a domain, in order, with the number of each.

    Spellings of one tag are counted together, as the one that most conversations have.
    """
    query = (
        select(_t.tag, func.count())
        .join(conversations, _c.conversation_id == _t.conversation_id)
        .where(_t.user_email == user_email, _c.domain == domain, _c.deleted_at.is_(None), _c.expires_at.is_(None))
        .group_by(_t.tag)
    )
    with database.reading() as connection:
        found = connection.execute(query).all()
    counts: dict[str, TagCount] = {}
    for tag, count in sorted(found, key=lambda row: (-row[1], row[0])):
        shown = counts.setdefault(tag_key(tag), TagCount(tag=unicodedata.normalize("NFC", tag), conversation_count=0))
        shown["conversation_count"] += count
    return [counts[key] for key in sorted(counts)]
