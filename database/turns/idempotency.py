"""Messages sent again: a client that lost the response repeats its request under the same `client_message_id`."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from database.engine.database import Database
from database.engine.errors import AlreadySentError, ConflictError, StreamExpiredError
from database.engine.statements import Prepared
from database.engine.text import storable
from database.schema import message_edits, message_variants, messages

_m = messages.c
_SENT = Prepared(
    select(_m.seq, _m.message_id, _m.conversation_id, _m.text).where(
        _m.user_email == bindparam("owner"), _m.client_message_id == bindparam("client")
    )
)


def another_message() -> ConflictError:
    """What refuses another message under an id that is taken."""
    return ConflictError("This client_message_id belongs to another message. Send this one under an id of its own.")


def refuse_sent_before(
    *, database: Database, user_email: str, conversation_id: str, client_message_id: str, text: str, again: str | None
) -> None:
    """Does nothing for a request that is not stored yet. It changes nothing in the store.

    again: the answer (message_id) that the request wants made again; None: it sends `text`.
    Raises AlreadySentError, ConflictError, StreamExpiredError: see below.
    """
    with database.reading() as connection:
        if again is not None:
            refuse_attempt_sent_before(connection, message_id=again, client_message_id=client_message_id)
            return
        refuse_message_sent_before(
            connection,
            user_email=user_email,
            conversation_id=conversation_id,
            client_message_id=client_message_id,
            text=storable(text),
        )


def refuse_message_sent_before(
    connection: Connection, *, user_email: str, conversation_id: str, client_message_id: str, text: str
) -> None:
    """Does nothing when no message of the user has this id.

    Raises AlreadySentError (the same text was sent to this conversation under this id; it names the answer),
    ConflictError (the id belongs to a message of another text or another conversation).
    """
    sent = _SENT.row(connection, owner=user_email, client=client_message_id)
    if sent is None:
        return
    seq, message_id, known_conversation, known_text = sent
    if known_conversation != conversation_id or not (known_text == text or _said_once(connection, message_id, text)):
        raise another_message()
    # The answer is stored with its question, right behind it.
    query = select(_m.message_id).where(_m.seq > seq, _m.seq <= seq + 1, _m.in_answer_to == message_id)
    raise AlreadySentError(message_id=connection.execute(query).scalar() or message_id)


def refuse_attempt_sent_before(connection: Connection, *, message_id: str, client_message_id: str) -> None:
    """The same for an answer that is made again: the id is looked for among the attempts at this answer.

    Raises AlreadySentError (the latest attempt has this id), StreamExpiredError (an earlier attempt has it; its events
    are gone, its text is a variant).
    """
    query = (
        select(message_variants.c.client_message_id)
        .where(message_variants.c.message_id == message_id)
        .order_by(message_variants.c.number.desc())
    )
    attempts = connection.execute(query).scalars().all()
    if client_message_id not in attempts:
        return
    if attempts[0] == client_message_id:
        raise AlreadySentError(message_id=message_id)
    raise StreamExpiredError("The answer was made again since. What this attempt said is a variant of the message.")


def _said_once(connection: Connection, message_id: str, text: str) -> bool:
    """Whether the message said `text` before it was edited."""
    query = select(message_edits.c.edit_id).where(
        message_edits.c.message_id == message_id, message_edits.c.text == text
    )
    return connection.execute(query.limit(1)).first() is not None
