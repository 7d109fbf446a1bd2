"""The events of answers, stored before anybody sees them, so that watching can go on where it stopped."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Connection, Row, bindparam, delete, exists, insert, select

from database.conversations.conversation import access_head
from database.engine.clock import iso_in
from database.engine.database import Database, Urgency
from database.engine.statements import Prepared
from database.errors import MessageNotFoundError, StreamExpiredError
from database.messages.parts import parts_of, told_parts
from database.schema import conversations, message_variants, messages, stream_events

from .identity import finished_turn

INTERRUPTED = {
    "code": "interrupted",
    "message": "The server stopped in the middle of this answer. What was said is kept.",
}
KEPT_HOURS = 24
"""So long single events are kept at least, counted from the beginning of the answer."""

_PURGED_AT_ONCE = 20

_e = stream_events.c
_asked = messages.alias("asked")
_APPEND = Prepared(insert(stream_events), columns=("message_id", "seq", "event"))
_EVENTS = (
    select(_e.seq, _e.event).where(_e.message_id == bindparam("answer"), _e.seq > bindparam("after")).order_by(_e.seq)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRead:
    """What was stored of an answer after a given point.

    status: the answer's. events: (seq, one JSON object without line break), in order. complete: nothing will come
    after them.
    """

    status: str
    events: list[tuple[int, bytes]]
    complete: bool


def append_events(connection: Connection, rows: Sequence[tuple[str, int, bytes]]) -> None:
    """Store events (message_id, seq, event) of any number of answers: the body of a job of the writer."""
    if rows:
        _APPEND.run_each(
            connection, [{"message_id": message_id, "seq": seq, "event": event} for message_id, seq, event in rows]
        )


def read_events(*, database: Database, user_email: str, message_id: str, after: int) -> StreamRead:
    """The events of an answer whose seq is greater than `after`.

    A finished answer always ends with its closing events: if a crash took them, they are made again from what is
    stored, the same each time. If none of its events are there any more, an `after` of 0 gives the report and the
    whole text, one event each.
    Raises MessageNotFoundError (also for a message that is no answer), StreamExpiredError.
    """
    with database.reading() as connection:
        answer = _access_answer(connection, user_email=user_email, message_id=message_id)
        events = stored_events(connection, message_id, after=after)
        if answer.status == "streaming":
            return StreamRead(status=answer.status, events=events, complete=False)
        if not events or not _is_done(events[-1][1]):
            events += _lost_events(connection, answer, after=after)
        return StreamRead(status=answer.status, events=events, complete=True)


def stored_events(connection: Connection, message_id: str, *, after: int = 0) -> list[tuple[int, bytes]]:
    """What is stored of an answer's events beyond `after`, in order."""
    rows = connection.execute(_EVENTS, {"answer": message_id, "after": after})
    return [(seq, bytes(event)) for seq, event in rows]


def joined_text(events: Sequence[tuple[int, bytes]]) -> str:
    """The answer so far: the texts of its events, joined."""
    return "".join(orjson.loads(event).get("text", "") for _, event in events)


def numbered(contents: Sequence[Mapping[str, Any]], *, after: int) -> Iterator[tuple[int, bytes]]:
    """Each content as a stored event, counted from `after + 1`."""
    for seq, content in zip(itertools.count(after + 1), contents):
        yield seq, orjson.dumps({"seq": seq, "text": "", "status": "", **content})


def purge_events(*, database: Database, older_than_hours: float = KEPT_HOURS) -> int:
    """Forget the events of answers begun (again) `older_than_hours` ago or earlier and finished; how many answers."""
    since = iso_in(hours=-older_than_hours)
    made_again = select(message_variants.c.message_id).where(message_variants.c.created_at >= since)
    kept = exists().where(
        messages.c.message_id == _e.message_id,
        (messages.c.status == "streaming") | (messages.c.created_at >= since) | messages.c.message_id.in_(made_again),
    )
    with database.reading() as connection:
        expired = connection.execute(select(_e.message_id).where(~kept).distinct()).scalars().all()
    for start in range(0, len(expired), _PURGED_AT_ONCE):
        database.write(partial(_forget, answers=expired[start : start + _PURGED_AT_ONCE]), urgency=Urgency.INDEX)
    return len(expired)


def _forget(connection: Connection, *, answers: Sequence[str]) -> None:
    connection.execute(delete(stream_events).where(_e.message_id.in_(answers)))


def _access_answer(connection: Connection, *, user_email: str, message_id: str) -> Row[*tuple[Any, ...]]:
    columns = messages.c
    answer = connection.execute(
        select(
            columns.message_id,
            columns.user_email,
            columns.conversation_id,
            columns.status,
            columns.text,
            columns.config,
            columns.created_at,
            columns.edited_at,
            columns.chosen_variant,
            columns.has_parts,
            _asked.c.report,
        )
        .join(conversations, conversations.c.conversation_id == columns.conversation_id)
        .outerjoin(_asked, _asked.c.message_id == columns.in_answer_to)
        .where(
            columns.message_id == message_id,
            columns.user_email == user_email,
            columns.sender != "user",
            columns.deleted_at.is_(None),
            conversations.c.deleted_at.is_(None),
        )
    ).one_or_none()
    if answer is None:
        raise MessageNotFoundError
    return answer


def _lost_events(connection: Connection, answer: Row[*tuple[Any, ...]], *, after: int) -> list[tuple[int, bytes]]:
    """The events beyond `after` that a finished answer should have and the store has not."""
    stored = stored_events(connection, answer.message_id)
    if stored and _is_done(stored[-1][1]):
        return []
    if not stored and after > 0 and answer.created_at < iso_in(hours=-KEPT_HOURS):
        raise StreamExpiredError("The single events of this answer are no longer kept. Load the message instead.")
    head = access_head(connection, user_email=answer.user_email, conversation_id=answer.conversation_id)
    contents: list[dict[str, Any]] = [] if stored else [{"references": answer.report or []}]
    contents += _missing_parts(connection, answer, stored)
    missing_text = _missing_text(answer, stored)
    if missing_text:
        contents.append({"text": missing_text})
    error = answer.config.get("error") or (INTERRUPTED if answer.status == "interrupted" else None)
    if error and not any(b'"error"' in event for _, event in stored[-3:]):
        contents.append({"error": error})
    contents.append({"message_ids": finished_turn(connection, head, answer.message_id).message_ids()})
    contents.append({"done": True, "answer_status": answer.status})
    last = stored[-1][0] if stored else 0
    return [event for event in numbered(contents, after=last) if event[0] > after]


def _missing_parts(
    connection: Connection, answer: Row[*tuple[Any, ...]], stored: Sequence[tuple[int, bytes]]
) -> list[dict[str, Any]]:
    if not answer.has_parts:
        return []
    parts = parts_of(connection, [answer.message_id]).get((answer.message_id, answer.chosen_variant or 1), ())
    told = told_parts(stored)
    return [{"part": part} for part in parts if part not in told]


def _missing_text(answer: Row[*tuple[Any, ...]], stored: Sequence[tuple[int, bytes]]) -> str:
    text: str = answer.text
    if answer.edited_at is not None and stored:
        return ""  # what was streamed was another text
    streamed = joined_text(stored)
    return text[len(streamed) :] if text.startswith(streamed) else ""


def _is_done(event: bytes) -> bool:
    return b'"done"' in event and orjson.loads(event).get("done") is True
