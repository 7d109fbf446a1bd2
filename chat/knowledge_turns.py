"""Turns out of which something shall be remembered."""

from __future__ import annotations

from dataclasses import dataclass

from database import messages
from database.errors import MessageNotFoundError
from database.message_rows import MessageRow


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnToRemember:
    """A question and its answer, either of which may be ""."""

    question: str
    answer: str


def turn_to_remember(*, users_dir: str, user_email: str, conversation_id: str, message_id: str) -> TurnToRemember:
    """The turn that a message belongs to. Raises MessageNotFoundError."""
    where = {"users_dir": users_dir, "user_email": user_email, "conversation_id": conversation_id}
    message = messages.message_by_id(**where, message_id=message_id)
    if message is None or message.deleted_at is not None:
        raise MessageNotFoundError
    if message.sender == "user":
        after = messages.message_at(**where, index=message.index + 1)
        return TurnToRemember(question=message.text, answer=_said_by("model", after))
    before = messages.message_at(**where, index=message.index - 1)
    return TurnToRemember(question=_said_by("user", before), answer=message.text)


def _said_by(sender: str, message: MessageRow | None) -> str:
    return message.text if message is not None and message.sender == sender else ""
