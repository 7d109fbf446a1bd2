"""What a server does first: close the turns that a crash interrupted, with all that was stored of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, select, update

from database.changes import TURN, record
from database.conversations.conversation import head_even_in_bin, touch_quietly
from database.conversations.titles import heuristic_title
from database.engine.database import Database, Urgency
from database.errors import DatabaseDamagedError, StorageBusyError, StorageFailedError
from database.maintenance.invariants import NO_RUNNING_ANSWER
from database.messages.documents import told_documents
from database.messages.parts import told_parts
from database.references import store_report_in
from database.schema import conversations, message_variants, messages, stream_events

from .events import INTERRUPTED, answer_events, append_events, joined_text, numbered, stored_events, stream_of
from .identity import EndedAnswer, FinishedTurn
from .leases import abandoned
from .tool_calls import ended_calls
from .turns import finish_in

log = logging.getLogger(__name__)
ReportMaker = Callable[[str, str], Sequence[Mapping[str, Any]]]
"""Email of a person and text of their question → what became of its references, as `store_report` keeps it."""


def close_interrupted_turns(
    *,
    database: Database,
    only: str | None = None,
    asking: str | None = None,
    report_of: ReportMaker | None = None,
) -> int:
    """Finish every turn that is still streaming as "interrupted"; how many there were.

    For a server that is just starting and knows that no other process works on the store, or for one answer (`only`,
    its message id) that nobody writes any more. asking: the owner of running turns that asks while other processes
    may run turns too; only turns of others whose lease has ended are closed.

    Each turn is closed in its own transaction: text as far as it was stored, hashes, on the first turn title and
    friendly id, and the closing events. One that had told nothing yet tells of its references first: as they are
    stored, or else as `report_of` finds them now, with the backlinks. A turn that is not kept is erased. A second run
    finds nothing to do.

    A turn whose rows are damaged is logged and only marked as interrupted, so that it stops neither the others nor its
    conversation. Raises StorageFailedError, StorageBusyError where the store itself can't be written.
    """
    store = database
    with store.reading() as connection:
        running = connection.execute(_streaming(only, asking)).all()
    for answer in running:
        _close_or_mark(store, answer, report_of, unless_renewed=asking is not None)
    if only is None and asking is None:
        store.write(_release_waiting_conversations, urgency=Urgency.ACCEPT)
    return len(running)


def _close_or_mark(
    store: Database, answer: Row[*tuple[Any, ...]], report_of: ReportMaker | None, *, unless_renewed: bool
) -> None:
    """Close a turn. unless_renewed: leave it alone where its own process has renewed the lease meanwhile."""
    try:
        lost = _lost_report(answer, report_of)
        closing = partial(_close, answer=answer, lost_report=lost, unless_renewed=unless_renewed)
        store.write(closing, urgency=Urgency.ACCEPT)
    except (StorageBusyError, StorageFailedError) as error:
        if not isinstance(error, DatabaseDamagedError):
            raise
        _mark(store, answer)
    except Exception:  # whatever is wrong with one turn is not to keep a server from starting
        log.exception("the turn %s is damaged", answer.message_id)
        _mark(store, answer)


def _mark(store: Database, answer: Row[*tuple[Any, ...]]) -> None:
    """Mark a damaged turn as interrupted, and nothing else; where not even that can be written, log it."""
    log.error("the turn %s can't be closed as it should be; it is marked as interrupted", answer.message_id)
    try:
        store.write(partial(_mark_interrupted, answer=answer), urgency=Urgency.ACCEPT)
    except DatabaseDamagedError:
        log.exception("the turn %s stays as it is: the database is damaged", answer.message_id)


def _mark_interrupted(connection: Connection, *, answer: Row[*tuple[Any, ...]]) -> None:
    for table in (messages, message_variants):
        this_one = (table.c.message_id == answer.message_id) & (table.c.status == "streaming")
        connection.execute(update(table).where(this_one).values(status="interrupted"))
    who = {"user_email": answer.user_email, "conversation_id": answer.conversation_id}
    record(connection, TURN, "changed", ids=[answer.message_id], fields={"status": "interrupted"}, **who)
    waiting = conversations.c.running_message_id == answer.message_id
    connection.execute(
        update(conversations).where(waiting).values(running_message_id=None, version=conversations.c.version + 1)
    )


def _release_waiting_conversations(connection: Connection) -> None:
    """Let conversations go on that wait for an answer that nobody writes, because its row is gone or finished."""
    for (conversation_id,) in connection.exec_driver_sql(NO_RUNNING_ANSWER).all():
        log.error("the conversation %s waited for an answer that is not there", conversation_id)
        touch_quietly(connection, conversation_id, running_message_id=None)


def _lost_report(answer: Row[*tuple[Any, ...]], report_of: ReportMaker | None) -> Sequence[Mapping[str, Any]]:
    """The report that a turn should have begun with; empty where it has, or where there is nothing to tell."""
    if report_of is None or answer.question is None or answer.begun or answer.report:
        return []
    return report_of(answer.user_email, answer.question)


def _streaming(only: str | None, asking: str | None) -> Select[Any]:
    questions = messages.alias("questions")
    query = (
        select(
            messages.c.message_id,
            messages.c.conversation_id,
            messages.c.user_email,
            messages.c.in_answer_to,
            messages.c.lease_until,
            questions.c.text.label("question"),
            questions.c.report.label("report"),
            exists().where(stream_events.c.message_id == messages.c.message_id).label("begun"),
        )
        .outerjoin(questions, questions.c.message_id == messages.c.in_answer_to)
        .where(messages.c.status == "streaming")
    )
    if asking is not None:
        query = query.where(abandoned(asking=asking))
    return query if only is None else query.where(messages.c.message_id == only)


def _close(
    connection: Connection,
    *,
    answer: Row[*tuple[Any, ...]],
    lost_report: Sequence[Mapping[str, Any]],
    unless_renewed: bool,
) -> None:
    query = select(messages.c.status, messages.c.lease_until).where(messages.c.message_id == answer.message_id)
    now = connection.execute(query).one_or_none()
    if now is None or now.status != "streaming":
        return  # another process was first
    # A process that closes a turn of its own renews the leases of all its turns, this one's too.
    if unless_renewed and now.lease_until != answer.lease_until:
        return
    head = head_even_in_bin(connection, user_email=answer.user_email, conversation_id=answer.conversation_id)
    stream = stream_of(connection, answer.message_id)
    events = stored_events(connection, stream)
    own = answer_events(connection, answer.message_id)
    ended = EndedAnswer(
        text=joined_text(own),
        parts=ended_calls(told_parts(own), status="interrupted"),
        documents=told_documents(own),
        status="interrupted",
        config=None,
    )
    title = head.title or heuristic_title(answer.question or "")
    turn = finish_in(connection, head, answer.message_id, ended, title=title)
    if not turn.kept:
        return
    if lost_report:
        store_report_in(connection, lost_report, message_id=answer.in_answer_to, user_email=answer.user_email)
    last = events[-1][0] if events else 0
    contents = [] if events else [{"references": [*(answer.report or lost_report)]}]
    contents += _closing_events(turn, answer.message_id, stream=stream, was_named=head.friendly_id is not None)
    append_events(connection, [(stream, seq, event) for seq, event in numbered(contents, after=last)])


def _closing_events(turn: FinishedTurn, message_id: str, *, stream: str, was_named: bool) -> list[dict[str, Any]]:
    """The events with which the stream of an interrupted turn ends."""
    whose = {} if stream == message_id else {"message_id": message_id}
    names = {"title": turn.title, "conversation_friendly_id": turn.conversation_friendly_id}
    return [
        {"error": INTERRUPTED, **whose},
        *([] if was_named else [{"conversation": names}]),
        {"message_ids": turn.message_ids()},
        {"done": True, "answer_status": "interrupted"},
    ]
