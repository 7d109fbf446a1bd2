"""What a server does first: close the turns that a crash interrupted, with all that was stored of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, select

from .connection import open_store
from .conversation_head import head_even_in_bin
from .message_references import store_report_in
from .schema import messages, stream_events
from .store import Urgency
from .stream_events import INTERRUPTED, append_events, joined_text, numbered, stored_events
from .titles import heuristic_title
from .turns import finish_in

ReportMaker = Callable[[str, str], Sequence[Mapping[str, Any]]]
"""Email of a person and text of their question → what became of its references, as `store_report` keeps it."""


def close_interrupted_turns(*, users_dir: str, only: str | None = None, report_of: ReportMaker | None = None) -> int:
    """Finish every turn that is still streaming as "interrupted"; how many there were.

    For a server that is just starting, or for one answer (`only`, its message id) that nobody writes any more.

    Each turn is closed in its own transaction: text as far as it was stored, hashes, on the first turn title and
    friendly id, and the closing events. One that had told nothing yet tells of its references first: as they are
    stored, or else as `report_of` finds them now, with the backlinks. A turn that is not kept is erased. A second run
    finds nothing to do.
    """
    store = open_store(users_dir)
    with store.reading() as connection:
        running = connection.execute(_streaming(only)).all()
    for answer in running:
        lost = _lost_report(answer, report_of)
        store.write(partial(_close, answer=answer, lost_report=lost), urgency=Urgency.ACCEPT)
    return len(running)


def _lost_report(answer: Row[*tuple[Any, ...]], report_of: ReportMaker | None) -> Sequence[Mapping[str, Any]]:
    """The report that a turn should have begun with; empty where it has, or where there is nothing to tell."""
    if report_of is None or answer.question is None or answer.begun or answer.report:
        return []
    return report_of(answer.user_email, answer.question)


def _streaming(only: str | None) -> Select[Any]:
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
        .where(messages.c.status == "streaming")
    )
    return query if only is None else query.where(messages.c.message_id == only)


def _close(connection: Connection, *, answer: Row[*tuple[Any, ...]], lost_report: Sequence[Mapping[str, Any]]) -> None:
    status = select(messages.c.status).where(messages.c.message_id == answer.message_id)
    if connection.execute(status).scalar_one_or_none() != "streaming":
        return  # another process was first
    head = head_even_in_bin(connection, user_email=answer.user_email, conversation_id=answer.conversation_id)
    events = stored_events(connection, answer.message_id)
    turn = finish_in(
        connection,
        head,
        answer.message_id,
        text=joined_text(events),
        status="interrupted",
        config=None,
        title=head.title or heuristic_title(answer.question or ""),
    )
    if not turn.kept:
        return
    if lost_report:
        store_report_in(connection, lost_report, message_id=answer.in_answer_to, user_email=answer.user_email)
    contents: list[dict[str, Any]] = [] if events else [{"references": [*(answer.report or lost_report)]}]
    contents.append({"error": INTERRUPTED})
    if head.friendly_id is None:
        contents.append(
            {"conversation": {"title": turn.title, "conversation_friendly_id": turn.conversation_friendly_id}}
        )
    contents += [{"message_ids": turn.message_ids()}, {"done": True, "answer_status": "interrupted"}]
    last = events[-1][0] if events else 0
    append_events(connection, [(answer.message_id, seq, event) for seq, event in numbered(contents, after=last)])
