"""Closing abandoned turns as interrupted, with all text that was stored.

Ordinary turns are closed together: the number of statements does not depend on the number of turns, so that many turns
of a killed process keep the writer busy only briefly. Unusual turns are closed one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, select

from database.changes import CONVERSATION, TURN, Told, record_all
from database.conversations.conversation import ConversationHead, head_even_in_bin, heads_even_in_bin, touch_each
from database.conversations.friendly_ids import Nameless, assign_friendly_ids
from database.conversations.titles import heuristic_title, words_for_title
from database.engine.statements import insert_rows
from database.engine.text import storable
from database.history.references import store_report_in
from database.messages.documents import store_documents, told_documents
from database.messages.hashes import hash_all_unhashed
from database.messages.parts import files_of, part_rows, told_parts
from database.messages.unkept import is_unkept
from database.schema import message_parts, messages, stream_events
from database.search.vectors import renew_vectors_of_title

from .events import INTERRUPTED, answer_events, append_events, joined_text, numbered, stored_events, stream_of
from .identity import EndedAnswer, FinishedTurn, finished_first_turns
from .tool_calls import ended_calls, record_tool_calls
from .turns import STORE_RESPONSE, finish_in

Report = Sequence[Mapping[str, Any]]
ABANDONED_STATUS = "interrupted"
"""Of an answer that nobody writes any more."""
_asked = messages.alias("asked")


class AbandonedTurn(NamedTuple):
    """A running answer that no process writes any more, and its question.

    question, report: None if the question is gone. lost_report: the report that the turn should have sent; empty if it
    was sent, or if there is nothing to report.
    """

    message_id: str
    conversation_id: str
    user_email: str
    in_answer_to: str | None
    question: str | None
    report: Report | None
    lost_report: Report = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closing:
    """A turn that is being closed: the head of its conversation, with the names that it will have."""

    turn: AbandonedTurn
    head: ConversationHead
    was_named: bool
    events: Sequence[tuple[int, bytes]]
    ended: EndedAnswer
    model_name: str


def close_together(
    connection: Connection, turns: Collection[AbandonedTurn], *, if_still: ColumnElement[bool]
) -> tuple[int, list[AbandonedTurn]]:
    """Close the ordinary ones among `turns`; returns how many, and the turns that must be closed one by one.

    Ordinary: the first answer to a question, not regenerated, in a turn that is not ephemeral. if_still: a condition on
    the answer's row, checked now, so that no answer is closed that another process has closed or continues.
    """
    plain, special = _sorted_out(connection, turns, if_still)
    closings = _named(connection, _begun(connection, plain))
    if closings:
        _store_answers(connection, closings)
        hash_all_unhashed(connection, {each.head.conversation_id: each.head.friendly_id or "" for each in closings})
        _let_go_on(connection, closings)
        _tell_ends(connection, closings)
    return len(closings), special


def close_alone(connection: Connection, turn: AbandonedTurn, *, if_still: ColumnElement[bool]) -> int:
    """Close one turn of any kind; an ephemeral one is erased. Returns 0 if `if_still` does not hold any more."""
    query = select(messages.c.seq).where(messages.c.message_id == turn.message_id, if_still)
    if connection.execute(query).first() is None:
        return 0
    head = head_even_in_bin(connection, user_email=turn.user_email, conversation_id=turn.conversation_id)
    stream = stream_of(connection, turn.message_id)
    events = stored_events(connection, stream)
    ended = _ended(answer_events(connection, turn.message_id))
    title = head.title or _title(connection, turn)
    finished = finish_in(connection, head, turn.message_id, ended, title=title)
    if finished.kept:
        _store_lost_report(connection, turn)
        last = _last_events(turn, finished, events, stream=stream, was_named=head.friendly_id is not None)
        append_events(connection, last)
    return 1


def _sorted_out(
    connection: Connection, turns: Collection[AbandonedTurn], if_still: ColumnElement[bool]
) -> tuple[list[tuple[AbandonedTurn, str]], list[AbandonedTurn]]:
    """The ordinary turns with their models' names, and the others; turns that are closed already are left out."""
    m = messages.c
    query = (
        select(m.message_id, m.config, m.chosen_variant, (m.ordinal - _asked.c.ordinal).label("behind"))
        .outerjoin(_asked, _asked.c.message_id == m.in_answer_to)
        .where(m.message_id.in_([turn.message_id for turn in turns]), if_still)
    )
    found = {row.message_id: row for row in connection.execute(query)}
    plain, special = list[tuple[AbandonedTurn, str]](), list[AbandonedTurn]()
    for turn in turns:
        row = found.get(turn.message_id)
        if row is not None and _is_plain(row):
            plain.append((turn, str(row.config.get("model") or "")))
        elif row is not None:
            special.append(turn)
    return plain, special


def _is_plain(row: Row[*tuple[Any, ...]]) -> bool:
    return row.chosen_variant is None and row.behind == 1 and not is_unkept(row.config)


def _begun(connection: Connection, turns: Sequence[tuple[AbandonedTurn, str]]) -> list[_Closing]:
    """The stored state of each turn."""
    if not turns:
        return []
    heads = heads_even_in_bin(connection, {turn.conversation_id: turn.user_email for turn, _ in turns})
    e = stream_events.c
    query = (
        select(e.message_id, e.seq, e.event)
        .where(e.message_id.in_([turn.message_id for turn, _ in turns]))
        .order_by(e.message_id, e.seq)
    )
    rows = groupby(connection.execute(query), key=itemgetter(0))
    events = {message_id: [(seq, bytes(event)) for _, seq, event in each] for message_id, each in rows}
    return [
        _Closing(
            turn=turn,
            head=heads[turn.conversation_id],
            was_named=heads[turn.conversation_id].friendly_id is not None,
            events=events.get(turn.message_id, ()),
            ended=_ended(events.get(turn.message_id, ())),
            model_name=model_name,
        )
        for turn, model_name in turns
    ]


def _ended(events: Sequence[tuple[int, bytes]]) -> EndedAnswer:
    return EndedAnswer(
        text=joined_text(events),
        parts=ended_calls(told_parts(events), status=ABANDONED_STATUS),
        documents=told_documents(events),
        status=ABANDONED_STATUS,
        config=None,
    )


def _named(connection: Connection, closings: Sequence[_Closing]) -> list[_Closing]:
    """The turns, with a title and a friendly id for each conversation whose first turn this is."""
    titled = [each if each.was_named else _titled(connection, each) for each in closings]
    new = [each.head for each in titled if not each.was_named]
    if not new:
        return titled
    nameless = [Nameless(head.user_email, head.conversation_id, head.title, head.created_at) for head in new]
    ids = assign_friendly_ids(connection, nameless)
    renew_vectors_of_title(connection, *ids)
    return [
        each if each.was_named else replace(each, head=replace(each.head, friendly_id=ids[each.head.conversation_id]))
        for each in titled
    ]


def _titled(connection: Connection, closing: _Closing) -> _Closing:
    head = closing.head
    if head.title_force_set:
        return closing
    title = storable(head.title or _title(connection, closing.turn))
    return replace(closing, head=replace(head, title=title))


def _title(connection: Connection, turn: AbandonedTurn) -> str:
    has_words = turn.question is None or turn.question.strip() or turn.in_answer_to is None
    files = () if has_words else files_of(connection, turn.in_answer_to or "")
    return heuristic_title(words_for_title(turn.question or "", files))


def _store_answers(connection: Connection, closings: Sequence[_Closing]) -> None:
    """Text, status, parts, documents and calls of tools of each answer, and reports that were lost."""
    rows, parts = [], []
    for each in closings:
        turn, ended = each.turn, each.ended
        where = {"answer": turn.message_id, "conversation": turn.conversation_id}
        rows.append({**where, "text": ended.text, "status": ended.status, "has_parts": int(bool(ended.parts))})
        parts += part_rows(turn.message_id, ended.parts, version=1)
        record_tool_calls(connection, each.head, turn.message_id, model_name=each.model_name, parts=ended.parts)
        if ended.documents:
            store_documents(
                connection,
                turn.message_id,
                ended.documents,
                user_email=turn.user_email,
                conversation_id=turn.conversation_id,
            )
        _store_lost_report(connection, turn)
    STORE_RESPONSE.run_each(connection, rows)
    insert_rows(connection, message_parts, parts)


def _store_lost_report(connection: Connection, turn: AbandonedTurn) -> None:
    if turn.lost_report and turn.in_answer_to is not None:
        store_report_in(connection, turn.lost_report, message_id=turn.in_answer_to, user_email=turn.user_email)


def _let_go_on(connection: Connection, closings: Sequence[_Closing]) -> None:
    """Let the conversations accept new turns."""
    closed = {each.turn.message_id for each in closings}
    changes = {}
    for head in (each.head for each in closings):
        running = None if head.running_message_id in closed else head.running_message_id
        changes[head.conversation_id] = {"title": head.title, "running_message_id": running}
    touch_each(connection, changes)


def _tell_ends(connection: Connection, closings: Sequence[_Closing]) -> None:
    """Record the changes, and end the event streams."""
    ends, names, rows = [], [], list[tuple[str, int, bytes]]()
    finished = finished_first_turns(connection, {each.turn.message_id: each.head for each in closings})
    for each in closings:
        turn, head = each.turn, each.head
        ends.append(Told(turn.user_email, turn.conversation_id, turn.message_id, {"status": ABANDONED_STATUS}))
        named = {"title": head.title, "conversation_friendly_id": head.friendly_id}
        if not each.was_named:
            names.append(Told(turn.user_email, None, turn.conversation_id, named))
        turn_then = finished[turn.message_id]
        rows += _last_events(turn, turn_then, each.events, stream=turn.message_id, was_named=each.was_named)
    record_all(connection, TURN, "changed", ends)
    record_all(connection, CONVERSATION, "changed", names)
    append_events(connection, rows)


def _last_events(
    turn: AbandonedTurn,
    finished: FinishedTurn,
    events: Sequence[tuple[int, bytes]],
    *,
    stream: str,
    was_named: bool,
) -> list[tuple[str, int, bytes]]:
    """The closing events of an interrupted turn; a turn that has sent no event gets its first ones, too.

    events: the events stored so far.
    """
    whose = {} if stream == turn.message_id else {"message_id": turn.message_id}
    names = {"title": finished.title, "conversation_friendly_id": finished.conversation_friendly_id}
    contents: list[dict[str, Any]] = [
        *([] if events else [{"references": [*(turn.report or turn.lost_report)]}]),
        {"error": INTERRUPTED, **whose},
        *([] if was_named else [{"conversation": names}]),
        {"message_ids": finished.message_ids()},
        {"done": True, "answer_status": ABANDONED_STATUS},
    ]
    return [(stream, seq, event) for seq, event in numbered(contents, after=events[-1][0] if events else 0)]
