"""Reading the messages of a conversation: whole, in windows, in pages, one by one."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Table, select

from database.conversations.conversation import ConversationHead, access_head
from database.conversations.friendly_ids import ensure_friendly_id
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError
from database.messages.documents import documents_of
from database.messages.hashes import give_hashes
from database.messages.message import (
    MessageRow,
    MessageText,
    all_rows,
    asked_for_newest,
    live_in_any_branch,
    newest_first,
    row_with_hash,
    row_with_id,
    rows_from,
    rows_of_all_branches,
    rows_where,
)
from database.messages.parts import parts_of
from database.schema import conversations, message_edits, message_variants, messages
from sentences import say


def access_message(connection: Connection, *, user_email: str, message_id: str) -> MessageRow:
    """A live message of this user, wherever it is. Raises MessageNotFoundError."""
    condition = (
        (messages.c.message_id == message_id) & (messages.c.user_email == user_email) & messages.c.deleted_at.is_(None)
    )
    found = rows_where(connection, condition)
    if not found:
        raise MessageNotFoundError
    try:
        access_head(connection, user_email=user_email, conversation_id=found[0].conversation_id)
    except ConversationNotFoundError as error:
        raise MessageNotFoundError from error
    return found[0]


def access_settled(
    connection: Connection, *, user_email: str, conversation_id: str, message_id: str, index: int | None
) -> MessageRow:
    """A live message of this conversation that is not being written.

    index: where the caller saw it, 1-based; None: don't check.
    Raises ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError.
    """
    access_head(connection, user_email=user_email, conversation_id=conversation_id)
    found = rows_where(
        connection,
        (messages.c.message_id == message_id)
        & (messages.c.conversation_id == conversation_id)
        & messages.c.deleted_at.is_(None),
    )
    if not found:
        raise MessageNotFoundError
    if index is not None and found[0].index != index:
        raise StaleIndexError(say("message_moved", index=index))
    if found[0].status == "streaming":
        raise TurnInProgressError
    return found[0]


_WINDOW = 50
# As many as keep the writer for less than about 20 ms.
_HASHED_AT_ONCE = 400
_NEWEST = 1_000
ASKED_WITH_OTHERS = 100
"""Of a conversation of so many messages the newest are asked for together with other things, within a transaction."""
_BYTES_WITH_OTHERS = 65_536
"""So many at most: nobody else can write until they have come."""
_LONGEST_LIST = 10_000
_PLACES = select(messages.c.message_id, messages.c.conversation_id).join(
    conversations, conversations.c.conversation_id == messages.c.conversation_id
)


def list_messages(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    before: int | None = None,
    after: int | None = None,
    around: int | str | None = None,
    limit: int | None = None,
) -> list[MessageRow]:
    """Live messages in order: all of them, or a window of at most `limit` (50 unless told).

    before: the last ones whose 1-based index is smaller. after: the first ones whose index is greater; with both,
    those between, from the first on. around: a window about this index, message id or short hash. limit alone: the
    newest ones.
    Finished messages of old that have no hash yet get theirs now.
    Raises ConversationNotFoundError, MessageNotFoundError (an `around` that names no live message).
    """
    with database.reading() as connection:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        if before is None and after is None and around is None and limit is None:
            rows = all_rows(connection, conversation_id)
        else:
            if around is not None:
                middle = _index_of(connection, conversation_id, around, count=head.message_count)
                start, stop = _window_around(middle, limit=limit or _WINDOW, count=head.message_count)
            else:
                start, stop = _window(before=before, after=after, limit=limit or _WINDOW, count=head.message_count)
            rows = _rows_between(connection, head, start, stop)
    return _hashed(rows, head, database=database)


def list_messages_of_all_branches(*, database: Database, user_email: str, conversation_id: str) -> list[MessageRow]:
    """All live messages in order, on the active path or beside it, and deleted questions where branches begin.

    Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        rows = rows_of_all_branches(connection, conversation_id)
    return _hashed(rows, head, database=database)


def message_at(*, database: Database, user_email: str, conversation_id: str, index: int) -> MessageRow | None:
    """The live message with this 1-based index, or None. Raises ConversationNotFoundError."""
    found = messages_between(
        database=database, user_email=user_email, conversation_id=conversation_id, start=index, end=index
    )
    return found[0] if found else None


def messages_between(
    *, database: Database, user_email: str, conversation_id: str, start: int, end: int
) -> list[MessageRow]:
    """Live messages `start` to `end`, 1-based and inclusive, as far as they exist. Raises ConversationNotFoundError."""
    with database.reading() as connection:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        rows = _rows_between(connection, head, max(start, 1) - 1, min(end, head.message_count))
    return _hashed(rows, head, database=database)


def _rows_between(connection: Connection, head: ConversationHead, start: int, stop: int) -> list[MessageRow]:
    """The live messages whose 1-based index is greater than `start`, up to that of index `stop`.

    All of them, as most windows are, by a statement without a window, which is cheaper.
    """
    if start >= stop:
        return []
    if stop - start == head.message_count:
        return all_rows(connection, head.conversation_id)
    return rows_from(connection, head.conversation_id, start=start, limit=stop - start)


def _hashed(rows: list[MessageRow], head: ConversationHead, *, database: Database) -> list[MessageRow]:
    """`rows` with a hash for each finished one; what an older version stored without is given one and stored.

    While a first turn runs, its conversation has no friendly id yet, and its question no hash.
    """
    unhashed = [row for row in rows if row.message_short_hash is None and row.status != "streaming"]
    if not unhashed or head.running_message_id is not None:
        return rows
    who = {"user_email": head.user_email, "conversation_id": head.conversation_id}
    friendly_id = head.friendly_id or ensure_friendly_id(database=database, **who)
    given: dict[str, str] = {}
    for start in range(0, len(unhashed), _HASHED_AT_ONCE):
        some = [(row.message_id, row.text) for row in unhashed[start : start + _HASHED_AT_ONCE]]
        hashing = partial(give_hashes, unhashed=some, conversation_id=head.conversation_id, friendly_id=friendly_id)
        given |= database.write(hashing)
    return [row._replace(message_short_hash=given.get(row.message_id, row.message_short_hash)) for row in rows]


def message_by_hash(*, database: Database, user_email: str, conversation_id: str, short_hash: str) -> MessageRow | None:
    """The message born with this short hash, also a deleted one (`deleted_at` is set then), or None.

    Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        return row_with_hash(connection, conversation_id, short_hash.lower())


def message_by_id(*, database: Database, user_email: str, conversation_id: str, message_id: str) -> MessageRow | None:
    """The message with this id, also a deleted one (`deleted_at` is set then), or None.

    Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        return row_with_id(connection, conversation_id, message_id)


def configs_of_answers(
    *, database: Database, user_email: str, conversation_id: str, question: MessageRow
) -> list[dict[str, Any]]:
    """What the answers to a question were made with, in order; of each the version that is shown."""
    m = messages.c
    answers = (m.ordinal > question.ordinal, m.in_answer_to == question.message_id)
    query = select(m.config).where(live_in_any_branch(conversation_id), m.user_email == user_email, *answers)
    with database.reading() as connection:
        return list(connection.execute(query.order_by(m.ordinal)).scalars())


def last_messages(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    before: int | None = None,
    count: int | None = None,
    max_chars: int | None = None,
    hidden: bool = True,
) -> list[MessageText]:
    """The newest live messages, whole, in order: at most `count` (1,000 unless told), together of at most `max_chars`.

    At least one, if there is one. before: only messages with a smaller 1-based index. hidden: also those that are
    hidden from models. Raises ConversationNotFoundError.
    """
    who = {"user_email": user_email, "conversation_id": conversation_id}
    limit = _NEWEST if count is None else count
    with database.reading() as connection:
        with closing(newest_first(connection, **who, before=before, limit=limit)) as newest:
            rows = newest if hidden else (row for row in newest if row.show_hide != "hide")
            found = list(rows) if max_chars is None else _fitting(rows, max_chars)
        if not found:
            access_head(connection, **who)
        return found[::-1]


def asked_for_last_messages(
    connection: Connection, *, user_email: str, conversation_id: str, max_chars: int
) -> Callable[[], list[MessageText] | None]:
    """Asks for what `last_messages` reads of those that are not hidden; what is returned reads the answer.

    For a transaction that asks a database server for other things at the same time, of a conversation of at most
    ASKED_WITH_OTHERS messages; None where there may be more, and where they are long.
    """
    limit = ASKED_WITH_OTHERS + 1
    who = {"user_email": user_email, "conversation_id": conversation_id}
    rows = asked_for_newest(connection, **who, limit=limit, most_bytes=_BYTES_WITH_OTHERS)

    def read() -> list[MessageText] | None:
        newest = rows()
        if not newest or len(newest) == limit:
            return None
        return _fitting((row for row in newest if row.show_hide != "hide"), max_chars)[::-1]

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessages:
    """Where a text stands in a conversation. places: message ids with their 1-based indexes, in order.

    total: of all messages that hold the text; `places` are the newest of them where there are too many.
    """

    places: Sequence[tuple[str, int]]
    total: int


def find_text(*, database: Database, user_email: str, conversation_id: str, text: str, most: int) -> FoundMessages:
    """The live messages that hold `text`, upper and lower case alike. Raises ConversationNotFoundError."""
    wanted, places, total = text.lower(), list[tuple[str, int]](), 0
    who = {"user_email": user_email, "conversation_id": conversation_id}
    with database.reading() as connection:
        access_head(connection, **who)
        with closing(newest_first(connection, **who, before=None, limit=None)) as newest:
            for row in newest:
                if wanted and wanted in row.text.lower():
                    total += 1
                    if total <= most:
                        places.append((row.message_id, row.index))
    return FoundMessages(places=places[::-1], total=total)


def message_count(*, database: Database, user_email: str, conversation_id: str) -> int:
    """How many live messages there are. Raises ConversationNotFoundError."""
    with database.reading() as connection:
        return access_head(connection, user_email=user_email, conversation_id=conversation_id).message_count


def message_location(*, database: Database, user_email: str, message_id: str) -> tuple[str, MessageRow]:
    """The conversation_id and the row of a live message of this user, wherever it is. Raises MessageNotFoundError."""
    with database.reading() as connection:
        found = access_message(connection, user_email=user_email, message_id=message_id)
        return found.conversation_id, found


def conversations_of_messages(*, database: Database, user_email: str, message_ids: Collection[str]) -> dict[str, str]:
    """The conversation_id of each of these messages that is this user's and live, wherever it is; others are left out.

    One statement, or one for every 10,000 of them.
    """
    found: dict[str, str] = {}
    wanted = sorted(message_ids)
    for start in range(0, len(wanted), _LONGEST_LIST):
        condition = (
            messages.c.message_id.in_(wanted[start : start + _LONGEST_LIST])
            & (messages.c.user_email == user_email)
            & messages.c.deleted_at.is_(None)
            & conversations.c.deleted_at.is_(None)
        )
        with database.reading() as connection:
            found |= dict(map(tuple, connection.execute(_PLACES.where(condition))))
    return found


def _fitting(newest: Iterator[MessageText], max_chars: int) -> list[MessageText]:
    fitting = list(itertools.islice(newest, 1))
    left = max_chars - sum(len(row.text) for row in fitting)
    for row in newest:
        left -= len(row.text)
        if left < 0:
            break
        fitting.append(row)
    return fitting


def _index_of(connection: Connection, conversation_id: str, named: int | str, *, count: int) -> int:
    if isinstance(named, int):
        index = named if 1 <= named <= count else 0
    else:
        row = row_with_id(connection, conversation_id, named)
        row = row or row_with_hash(connection, conversation_id, named.lower())
        index = row.index if row else 0
    if index == 0:
        raise MessageNotFoundError
    return index


def _window_around(middle: int, *, limit: int, count: int) -> tuple[int, int]:
    start = max(0, min(middle - 1 - limit // 2, count - limit))
    return start, min(count, start + limit)


def _window(*, before: int | None, after: int | None, limit: int, count: int) -> tuple[int, int]:
    stop = count if before is None else max(0, min(before - 1, count))
    if after is None:
        return max(0, stop - limit), stop
    start = max(0, after)
    return start, min(stop, start + limit)


def variants_of_answer(*, database: Database, user_email: str, message_id: str) -> list[dict[str, Any]]:
    """All that a model answered to the same question, in order, as `MessageRow.variants` with `text` and `parts` each.

    Empty for what was never made again. Raises MessageNotFoundError.
    """
    with database.reading() as connection:
        message = access_message(connection, user_email=user_email, message_id=message_id)
        whole = {each["number"]: each for each in _variants(connection, [message]).get(message_id, [])}
    said = ("text", "parts")
    return [known | {name: whole[known["number"]][name] for name in said} for known in message.variants]


_OF_AN_EDIT = ("text", "replaced_at")
_OF_A_VARIANT = ("number", "text", "status", "config", "created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """Messages in order.

    edits: earlier texts, oldest first, `{text, replaced_at}` each, and variants: all there are of an answer, `{number,
    text, status, config, created_at, parts, document_references}` each, by message id, where there are any.
    """

    messages: Sequence[MessageRow]
    edits: dict[str, list[dict[str, Any]]]
    variants: dict[str, list[dict[str, Any]]]


def page_of(connection: Connection, rows: Sequence[MessageRow]) -> MessagePage:
    """`rows` with what belongs to them."""
    return MessagePage(
        messages=rows,
        edits=_belonging(
            connection, message_edits, [row.message_id for row in rows if row.edited_at is not None], _OF_AN_EDIT
        ),
        variants=_variants(connection, [row for row in rows if row.variants]),
    )


def _variants(connection: Connection, rows: Sequence[MessageRow]) -> dict[str, list[dict[str, Any]]]:
    variants = _belonging(connection, message_variants, [row.message_id for row in rows], _OF_A_VARIANT)
    having_parts = [row.message_id for row in rows if row.has_parts]
    parts = parts_of(connection, having_parts) if having_parts else {}
    having_documents = [row.message_id for row in rows if row.has_documents]
    documents = documents_of(connection, having_documents) if having_documents else {}
    for message_id, versions in variants.items():
        for version in versions:
            version["parts"] = list(parts.get((message_id, version["number"]), ()))
            version["document_references"] = list(documents.get((message_id, version["number"]), ()))
    return variants


def _belonging(
    connection: Connection, table: Table, message_ids: Sequence[str], columns: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    if message_ids:
        query = select(table.c.message_id, *(table.c[name] for name in columns))
        ordered = query.where(table.c.message_id.in_(message_ids)).order_by(*table.primary_key.columns)
        for message_id, *values in connection.execute(ordered):
            found[message_id].append(dict(zip(columns, values, strict=True)))
    return dict(found)
