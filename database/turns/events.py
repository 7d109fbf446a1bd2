"""The events of answers, stored before anybody sees them, so that watching can go on where it stopped."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    Row,
    Text,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from database.conversations.conversation import access_head
from database.engine.clock import iso_in
from database.engine.database import Database, Job, Urgency
from database.engine.errors import MessageNotFoundError, StreamExpiredError
from database.engine.statements import Prepared
from database.messages.parts import parts_of, told_parts
from database.messages.unkept import is_unkept
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


def _own_answer(answer: ColumnElement[str]) -> ColumnElement[str]:
    """`answer` where the process writes it; without a message id the row is refused."""
    own = select(messages.c.message_id).where(messages.c.message_id == answer, messages.c.owner == bindparam("process"))
    return own.scalar_subquery()


_APPEND_OWN = Prepared(
    insert(stream_events).inline().values(message_id=_own_answer(bindparam("answer"))), columns=("seq", "event")
)
# To a database server many events are one statement: each statement costs it and its driver as much as five rows.
_given = (
    func.unnest(
        *(
            cast(bindparam(name, type_=Text), ARRAY(kind))
            for name, kind in (("answers", Text), ("seqs", Integer), ("contents", LargeBinary))
        )
    )
    .table_valued("answer", "seq", "event", name="given")
    .render_derived()
)
_APPEND_OWN_TOGETHER = Prepared(
    insert(stream_events)
    .inline()
    .from_select(
        ["message_id", "seq", "event"],
        select(_own_answer(_given.c.answer), _given.c.seq, _given.c.event).select_from(_given),
    )
)
_HAS_EVENTS = exists().where(_e.message_id == messages.c.message_id)
_EVENTS = (
    select(_e.seq, _e.event).where(_e.message_id == bindparam("answer"), _e.seq > bindparam("after")).order_by(_e.seq)
)
_NEWEST = select(func.coalesce(func.max(_e.seq), 0)).where(_e.message_id == bindparam("answer"))


_ANSWERS = (
    select(
        messages.c.message_id,
        messages.c.user_email,
        messages.c.conversation_id,
        messages.c.status,
        messages.c.text,
        messages.c.config,
        messages.c.created_at,
        messages.c.edited_at,
        messages.c.chosen_variant,
        messages.c.has_parts,
        messages.c.in_answer_to,
        _asked.c.report,
        _HAS_EVENTS.label("has_events"),
    )
    .join(conversations, conversations.c.conversation_id == messages.c.conversation_id)
    .outerjoin(_asked, _asked.c.message_id == messages.c.in_answer_to)
    .where(messages.c.sender != "user", messages.c.deleted_at.is_(None), conversations.c.deleted_at.is_(None))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRead:
    """What was stored of an answer after a given point.

    stream: the message id under which they are stored. status: the answer's. events: (seq, one JSON object without
    line break), in order. complete: nothing will come after them. kept: False for a turn whose events are in no store.
    """

    stream: str
    conversation_id: str
    status: str
    events: list[tuple[int, bytes]]
    complete: bool
    kept: bool = True


def append_events(
    connection: Connection,
    rows: Sequence[tuple[str, int, bytes]],
    writes: Sequence[Job[object]] = (),
    *,
    owner: str | None = None,
) -> None:
    """Store events (message_id, seq, event) of any number of answers, after `writes`: a job of the writer.

    owner: the process that writes the answers (`database.turns.leases`); None: one that has closed them. Raises
    IntegrityError where one of them has another owner, or has events of these numbers.
    """
    for write in writes:
        write(connection)
    if not rows:
        return
    if owner is None:
        _APPEND.run_each(
            connection, [{"message_id": answer, "seq": seq, "event": event} for answer, seq, event in rows]
        )
    elif connection.dialect.name == "sqlite":
        own = {"process": owner}
        _APPEND_OWN.run_each(connection, [own | {"answer": a, "seq": seq, "event": event} for a, seq, event in rows])
    else:
        # Arrays as PostgreSQL reads them; ids are UUIDs.
        answers, seqs = ",".join([answer for answer, _, _ in rows]), ",".join([str(seq) for _, seq, _ in rows])
        contents = ",".join([rf'"\\x{event.hex()}"' for _, _, event in rows])
        _APPEND_OWN_TOGETHER.run(
            connection, process=owner, answers=f"{{{answers}}}", seqs=f"{{{seqs}}}", contents=f"{{{contents}}}"
        )


def read_events(*, database: Database, user_email: str, message_id: str, after: int) -> StreamRead:
    """The events of the turn that wrote an answer, whose seq is greater than `after`.

    A turn with several answers has one stream, which any of its answers names.

    A finished answer always ends with its closing events: if a crash took them, they are made again from what is
    stored, the same each time. If none of its events are there any more, an `after` of 0 gives the report and the
    whole text, one event each.
    Raises MessageNotFoundError (also for a message that is no answer), StreamExpiredError.
    """
    with database.reading() as connection:
        answer = _access_answer(connection, user_email=user_email, message_id=message_id)
        stream = message_id if answer.has_events else stream_of(connection, message_id)
        events = stored_events(connection, stream, after=after)
        where = {"stream": stream, "conversation_id": answer.conversation_id}
        if answer.status == "streaming":
            kept = not is_unkept(answer.config)
            if kept and after and not events:  # whatever a watcher has seen was stored before
                refuse_beyond(after, newest=_newest(connection, stream))
            return StreamRead(**where, status=answer.status, events=events, complete=False, kept=kept)
        if not events or not _is_done(events[-1][1]):
            told = _Told(stream, stored_events(connection, stream))
            answers = _answers_of(connection, told, answer)
            if answers[-1].status == "streaming":
                return StreamRead(**where, status="streaming", events=events, complete=False)
            lost = _lost_events(connection, answers, told, after=after)
            refuse_beyond(after, newest=[*told.events, *lost][-1][0])
            events += [event for event in lost if event[0] > after]
        return StreamRead(**where, status=answer.status, events=events, complete=True)


def refuse_beyond(after: int, *, newest: int) -> None:
    """Raise StreamExpiredError for events after one that there never was: they belong to an earlier attempt."""
    if after > newest:
        raise StreamExpiredError(
            "The answer has no event of this number: it was made again since, or never had as many. "
            "Load the message instead."
        )


def _newest(connection: Connection, message_id: str) -> int:
    """The number of the newest stored event of an answer; 0 before the first."""
    return int(connection.execute(_NEWEST, {"answer": message_id}).scalar_one())


def stored_events(connection: Connection, message_id: str, *, after: int = 0) -> list[tuple[int, bytes]]:
    """What is stored of an answer's events beyond `after`, in order."""
    rows = connection.execute(_EVENTS, {"answer": message_id, "after": after})
    return [(seq, bytes(event)) for seq, event in rows]


def stream_of(connection: Connection, message_id: str) -> str:
    """The message id under which the events of an answer are stored: that of the first answer of its turn.

    The events of a turn with several answers are one stream. An answer that was made again, or that was added to a
    turn that had ended, has a stream of its own.
    """
    answer = messages.alias("answer")
    others = (
        select(messages.c.message_id, answer.c.status)
        .join(answer, (answer.c.conversation_id == messages.c.conversation_id) & (answer.c.message_id == message_id))
        .where(messages.c.in_answer_to == answer.c.in_answer_to, messages.c.ordinal <= answer.c.ordinal, _HAS_EVENTS)
        .order_by(messages.c.ordinal.desc())
    )
    for stream, status in connection.execute(others).all():
        told = _Told(stream, stored_events(connection, stream))
        # A crash may have come before the event that tells of a further answer.
        if message_id in told.answers or (status == "streaming" and not told.is_done):
            return str(stream)
    return message_id


def answer_events(connection: Connection, message_id: str) -> list[tuple[int, bytes]]:
    """What is stored of one answer's events, without those of the other answers of its turn."""
    stream = stream_of(connection, message_id)
    return _Told(stream, stored_events(connection, stream)).of(message_id)


@dataclass(frozen=True, slots=True)
class _Told:
    """The events of a turn that are stored. stream: the message id of the turn's first answer."""

    stream: str
    events: Sequence[tuple[int, bytes]]

    @property
    def answers(self) -> list[str]:
        """The message ids of the answers that the events tell of, in order."""
        named = (_answer_named(event) for _, event in self.events)
        return list(dict.fromkeys([self.stream, *(message_id for message_id in named if message_id is not None)]))

    @property
    def is_done(self) -> bool:
        return bool(self.events) and _is_done(self.events[-1][1])

    def of(self, message_id: str) -> list[tuple[int, bytes]]:
        """The events of one answer. Those that name no answer belong to the first one."""
        return [event for event in self.events if (_answer_named(event[1]) or self.stream) == message_id]


def _answer_named(event: bytes) -> str | None:
    return orjson.loads(event).get("message_id") if b'"message_id"' in event else None


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
    answer = connection.execute(
        _ANSWERS.where(messages.c.message_id == message_id, messages.c.user_email == user_email)
    ).one_or_none()
    if answer is None:
        raise MessageNotFoundError("No answer has this id. A question has no events: name its answer.")
    return answer


def _answers_of(connection: Connection, told: _Told, answer: Row[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
    """The answers of the turn that wrote `answer`, in order: those that its events tell of.

    Where no events are stored any more, all answers to its question.
    """
    which = messages.c.message_id.in_(told.answers)
    if not told.events and answer.in_answer_to is not None:
        which = messages.c.in_answer_to == answer.in_answer_to
    elif told.answers == [answer.message_id]:
        return [answer]
    here = messages.c.conversation_id == answer.conversation_id
    return connection.execute(_ANSWERS.where(here, which).order_by(messages.c.ordinal)).all()


def _lost_events(
    connection: Connection, answers: Sequence[Row[*tuple[Any, ...]]], told: _Told, *, after: int
) -> list[tuple[int, bytes]]:
    """The events that a finished turn should have and the store has not, for a watcher who has those up to `after`."""
    if told.is_done:
        return []
    first, last = answers[0], answers[-1]
    if not told.events and after > 0 and first.created_at < iso_in(hours=-KEPT_HOURS):
        raise StreamExpiredError("The single events of this answer are no longer kept. Load the message instead.")
    head = access_head(connection, user_email=first.user_email, conversation_id=first.conversation_id)
    turn = finished_turn(connection, head, last.message_id)
    contents: list[dict[str, Any]] = [] if told.events else [{"references": first.report or []}]
    if len(answers) == 1:
        contents += _missing(connection, first, told.events)
    else:
        short_ids = {response["message_id"]: response["short_id"] for response in turn.responses}
        for answer in answers:
            own, whose = told.of(answer.message_id), {"message_id": answer.message_id}
            known = {**whose, "short_id": short_ids.get(answer.message_id, ""), "agent": answer.config.get("agent")}
            begun: list[dict[str, Any]] = [] if own else [{"answer": known}]
            contents += [content | whose for content in begun + _missing(connection, answer, own)]
    contents += [{"message_ids": turn.message_ids()}, {"done": True, "answer_status": last.status}]
    newest = told.events[-1][0] if told.events else 0
    return list(numbered(contents, after=newest))


def _missing(
    connection: Connection, answer: Row[*tuple[Any, ...]], stored: Sequence[tuple[int, bytes]]
) -> list[dict[str, Any]]:
    """What the events of one answer should tell beside those that are stored, but for its end."""
    contents = _missing_parts(connection, answer, stored)
    missing_text = _missing_text(answer, stored)
    if missing_text:
        contents.append({"text": missing_text})
    error = answer.config.get("error") or (INTERRUPTED if answer.status == "interrupted" else None)
    if error and not any(b'"error"' in event for _, event in stored[-3:]):
        contents.append({"error": error})
    return contents


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
