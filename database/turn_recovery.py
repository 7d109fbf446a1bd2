"""What a server does first: close the turns that a crash interrupted, with all that was stored of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, select

from .connection import open_store
from .conversation_head import head_even_in_bin
from .schema import messages
from .store import Urgency
from .stream_events import INTERRUPTED, append_events, joined_text, numbered, stored_events
from .titles import heuristic_title
from .turns import finish_in


def close_interrupted_turns(*, users_dir: str, only: str | None = None) -> int:
    """Finish every turn that is still streaming as "interrupted"; how many there were.

    For a server that is just starting, or for one answer (`only`, its message id) that nobody writes any more.

    Each turn is closed in its own transaction: text as far as it was stored, hashes, on the first turn title and
    friendly id, and the closing events. A turn that is not kept is erased. A second run finds nothing to do.
    """
    store = open_store(users_dir)
    questions = messages.alias("questions")
    query = (
        select(
            messages.c.message_id,
            messages.c.conversation_id,
            messages.c.user_email,
            questions.c.text.label("question"),
        )
        .outerjoin(questions, questions.c.message_id == messages.c.in_answer_to)
        .where(messages.c.status == "streaming")
    )
    if only is not None:
        query = query.where(messages.c.message_id == only)
    with store.reading() as connection:
        running = connection.execute(query).all()
    for answer in running:
        store.write(partial(_close, answer=answer), urgency=Urgency.ACCEPT)
    return len(running)


def _close(connection: Connection, *, answer: Row[*tuple[Any, ...]]) -> None:
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
    contents: list[dict[str, Any]] = [{"error": INTERRUPTED}]
    if head.friendly_id is None:
        contents.append(
            {"conversation": {"title": turn.title, "conversation_friendly_id": turn.conversation_friendly_id}}
        )
    contents += [{"message_ids": turn.message_ids()}, {"done": True, "answer_status": "interrupted"}]
    last = events[-1][0] if events else 0
    append_events(connection, [(answer.message_id, seq, event) for seq, event in numbered(contents, after=last)])
