"""The queue of messages that need vectors, which `search.meaning` makes asynchronously, and by which model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, insert, select

from database.engine.database import Database
from database.engine.statements import insert_rows
from database.messages.message import MessageRow
from database.messages.neighbours import behind_on_branch
from database.schema import message_vectors, messages, search_state, unembedded_messages


@dataclass(frozen=True, slots=True)
class VectorModel:
    """The model of the vectors of messages, of files or of documents.

    prefix: of the row of `search_state` that names the model.
    """

    prefix: str

    def is_current(self, connection: Connection, model: str) -> bool:
        """Whether the stored vectors come from `model`."""
        named = select(search_state.c.name).where(search_state.c.name == self.prefix + model)
        return connection.execute(named).first() is not None

    def set(self, connection: Connection, model: str) -> None:
        """Store that the vectors come from `model`; the caller deletes those of the former one."""
        former = search_state.c.name.startswith(self.prefix, autoescape=True)
        connection.execute(delete(search_state).where(former))
        connection.execute(insert(search_state).values(name=self.prefix + model, indexed_seq=0))


MESSAGES = VectorModel("vectors:")
FILES = VectorModel("passage_vectors:")
DOCUMENTS = VectorModel("document_vectors:")


def queue_vectors(connection: Connection, seqs: Sequence[int]) -> None:
    """Queue those of these messages, new in the full-text index, that have no vectors."""
    if seqs:
        has_vectors = exists().where(message_vectors.c.seq == messages.c.seq)
        _queue(connection, and_(messages.c.seq.in_(seqs), ~has_vectors))


def queue_new(connection: Connection, seqs: Sequence[int]) -> None:
    """Queue messages that this transaction has stored."""
    insert_rows(connection, unembedded_messages, [{"seq": seq} for seq in seqs])


def renew_vectors(connection: Connection, message: MessageRow, *, keep: bool) -> None:
    """Delete the vectors of a changed or deleted message, and of the next one, which was embedded with it.

    Both are queued again; the message itself only if it is kept.
    """
    seqs = {message.seq, *_behind(connection, [message.seq])}
    connection.execute(delete(message_vectors).where(message_vectors.c.seq.in_(seqs)))
    connection.execute(delete(unembedded_messages).where(unembedded_messages.c.seq.in_(seqs)))
    if queued := [{"seq": seq} for seq in sorted(seqs) if keep or seq != message.seq]:
        connection.execute(insert(unembedded_messages), queued)


def renew_vectors_of_moved(connection: Connection, message_ids: Sequence[str]) -> None:
    """Queue messages whose place has changed, and the messages after them."""
    moved = connection.execute(select(messages.c.seq).where(messages.c.message_id.in_(message_ids))).scalars().all()
    _queue(connection, messages.c.seq.in_({*moved, *_behind(connection, moved)}))


def renew_vectors_of_title(connection: Connection, *conversation_ids: str) -> None:
    """Queue the first messages of conversations, which are embedded together with the title."""
    _queue(connection, messages.c.conversation_id.in_(conversation_ids) & (messages.c.ordinal == 1))


def _behind(connection: Connection, seqs: Sequence[int]) -> set[int]:
    """The messages that are embedded with one of these: the next ones, also the first ones of branches."""
    m = messages.c
    next_ones = select(behind_on_branch()).where(m.seq.in_(seqs))
    behind = set(connection.execute(next_ones).scalars()) - {None}
    question = messages.alias("question")
    alternatives = select(m.seq).join(
        question, (m.conversation_id == question.c.conversation_id) & (m.branch_of == question.c.message_id)
    )
    return behind | set(connection.execute(alternatives.where(question.c.seq.in_(behind))).scalars())


def queue_all_vectors(connection: Connection) -> None:
    """Queue all messages, for another model."""
    connection.execute(delete(message_vectors))
    connection.execute(delete(unembedded_messages))
    _queue(connection, messages.c.deleted_at.is_(None))


def _queue(connection: Connection, which: ColumnElement[bool]) -> None:
    is_queued = exists().where(unembedded_messages.c.seq == messages.c.seq)
    wanted = select(messages.c.seq).where(which, ~is_queued)
    connection.execute(insert(unembedded_messages).from_select(["seq"], wanted))


def count_unembedded(*, database: Database, user_email: str) -> int:
    """How many messages of a person are queued."""
    waiting = select(func.count()).select_from(unembedded_messages).join(messages)
    with database.reading() as connection:
        return int(connection.execute(waiting.where(messages.c.user_email == user_email)).scalar_one())
