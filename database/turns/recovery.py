"""Recovery at start: closes the turns that a crash interrupted, with all text that was stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, select, update

from database.changes import TURN, record
from database.conversations.conversation import update_keeping_time
from database.engine.database import Database, Urgency
from database.engine.errors import DatabaseDamagedError, StorageBusyError, StorageFailedError
from database.maintenance.invariants import NO_RUNNING_ANSWER
from database.schema import conversations, message_variants, messages, stream_events

from .closing import ABANDONED_STATUS, AbandonedTurn, Report, close_alone, close_together
from .leases import abandoned

log = logging.getLogger(__name__)
ReportMaker = Callable[[AbandonedTurn], Report]
"""A turn → what became of the references and files of its question, as `store_report` keeps it."""
TOGETHER = 50
"""So many turns share a transaction."""


def close_interrupted_turns(
    *,
    database: Database,
    only: str | None = None,
    owner: str | None = None,
    asking: str | None = None,
    report_of: ReportMaker | None = None,
    may_take_over: Callable[[], bool] = lambda: True,
) -> int:
    """Finish every turn that is still streaming as "interrupted"; returns how many.

    For a server that starts and knows that no other process uses the store, or for one abandoned answer (`only`, its
    message id) that this `owner` still has. asking: the owner name of the calling process while other processes may run
    turns; then only turns of others whose lease has expired are closed. may_take_over: asked after the look at the
    leases; False leaves all as they are: the store may have taken no writes, so that nobody could renew a lease.

    Fifty turns share a transaction, and each is closed once even if several processes try: text as stored, hashes,
    title and friendly id on a first turn, and the closing events. A turn that has sent no event gets its report first:
    the stored one, or the one that `report_of` makes now, with backlinks. An ephemeral turn is erased. A second run
    finds nothing to do.

    A turn with damaged rows is logged and only marked as interrupted, so that it blocks neither the others nor its
    conversation. Raises StorageFailedError, StorageBusyError if the store can't be written.
    """
    if_still = messages.c.status == "streaming" if asking is None else abandoned(asking=asking)
    if owner is not None:
        if_still &= messages.c.owner == owner
    with database.reading() as connection:
        running = connection.execute(_streaming(if_still, only)).all()
    if not may_take_over():
        return 0
    turns = [(AbandonedTurn(*row[:-1]), bool(row.begun)) for row in running]
    batches = (turns[start : start + TOGETHER] for start in range(0, len(turns), TOGETHER))
    closed = sum(_close_batch(database, batch, report_of, if_still) for batch in batches)
    if only is None and asking is None:
        database.write(_release_waiting_conversations, urgency=Urgency.ACCEPT)
    return closed


def _close_batch(
    store: Database,
    batch: Sequence[tuple[AbandonedTurn, bool]],
    report_of: ReportMaker | None,
    if_still: ColumnElement[bool],
) -> int:
    """Close ordinary turns together and the rest one by one; if rows are damaged, all one by one."""
    closed, alone = 0, [turn for turn, _ in batch]
    reports = {turn.message_id: partial(_with_lost_report, turn, begun, report_of) for turn, begun in batch}
    try:
        whole = [reports[turn.message_id]() for turn in alone]
        closed, alone = store.write(partial(close_together, turns=whole, if_still=if_still), urgency=Urgency.ACCEPT)
    except (StorageBusyError, StorageFailedError) as error:
        if not isinstance(error, DatabaseDamagedError):
            raise
    except Exception as error:  # noqa: BLE001 - it is raised again, and logged, where the turn is closed by itself
        log.warning("one of %d turns can't be closed as the others: %s", len(batch), type(error).__name__)
    return closed + sum(_close_or_mark(store, turn, reports[turn.message_id], if_still) for turn in alone)


def _close_or_mark(
    store: Database, turn: AbandonedTurn, with_report: Callable[[], AbandonedTurn], if_still: ColumnElement[bool]
) -> int:
    """Close one turn; returns 1, or 0 if `if_still` does not hold any more."""
    try:
        return store.write(partial(close_alone, turn=with_report(), if_still=if_still), urgency=Urgency.ACCEPT)
    except (StorageBusyError, StorageFailedError) as error:
        if not isinstance(error, DatabaseDamagedError):
            raise
        _mark(store, turn)
    except Exception:  # whatever is wrong with one turn is not to keep a server from starting
        log.exception("the turn %s is damaged", turn.message_id)
        _mark(store, turn)
    return 1


def _mark(store: Database, turn: AbandonedTurn) -> None:
    """Only mark a damaged turn as interrupted; if even that fails, log it."""
    log.error("the turn %s can't be closed as it should be; it is marked as interrupted", turn.message_id)
    try:
        store.write(partial(_mark_interrupted, turn=turn), urgency=Urgency.ACCEPT)
    except DatabaseDamagedError:
        log.exception("the turn %s stays as it is: the database is damaged", turn.message_id)


def _mark_interrupted(connection: Connection, *, turn: AbandonedTurn) -> None:
    for table in (messages, message_variants):
        this_one = (table.c.message_id == turn.message_id) & (table.c.status == "streaming")
        connection.execute(update(table).where(this_one).values(status=ABANDONED_STATUS))
    who = {"user_email": turn.user_email, "conversation_id": turn.conversation_id}
    record(connection, TURN, "changed", ids=[turn.message_id], fields={"status": ABANDONED_STATUS}, **who)
    waiting = conversations.c.running_message_id == turn.message_id
    connection.execute(
        update(conversations).where(waiting).values(running_message_id=None, version=conversations.c.version + 1)
    )


def _release_waiting_conversations(connection: Connection) -> None:
    """Unblock conversations whose running answer is missing or finished."""
    for (conversation_id,) in connection.exec_driver_sql(NO_RUNNING_ANSWER).all():
        log.error("the conversation %s waited for an answer that is not there", conversation_id)
        update_keeping_time(connection, conversation_id, running_message_id=None)


def _with_lost_report(turn: AbandonedTurn, begun: bool, report_of: ReportMaker | None) -> AbandonedTurn:
    """The turn with the report that it should have sent; unchanged if it was sent or there is nothing to report."""
    if report_of is None or turn.question is None or begun or turn.report:
        return turn
    return turn._replace(lost_report=report_of(turn))


def _streaming(if_still: ColumnElement[bool], only: str | None) -> Select[Any]:
    """The fields of `AbandonedTurn`, and whether the turn has told anything."""
    questions = messages.alias("questions")
    query = (
        select(
            messages.c.message_id,
            messages.c.conversation_id,
            messages.c.user_email,
            messages.c.in_answer_to,
            questions.c.text.label("question"),
            questions.c.report.label("report"),
            exists().where(stream_events.c.message_id == messages.c.message_id).label("begun"),
        )
        .outerjoin(questions, questions.c.message_id == messages.c.in_answer_to)
        .where(if_still)
    )
    return query if only is None else query.where(messages.c.message_id == only)
