"""Conversations that only list their messages, made addressable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversation_reference_utils import unique_message_short_hash
from database.errors import ConversationNotFoundError

from .ports import AddressableConversation, Message


def addressable(conversation: Any) -> AddressableConversation:
    """`conversation`, with the lookups that references need; a loader of a script may give one that only lists.

    Raises ConversationNotFoundError for None.
    """
    if conversation is None:
        raise ConversationNotFoundError
    return conversation if hasattr(conversation, "message_at") else ListedConversation(conversation)


class ListedConversation:
    """Looks messages up in `get_message_list()`, read once."""

    def __init__(self, conversation: Any) -> None:
        self._metadata: dict[str, Any] = dict(conversation.get_metadata())
        self._messages: list[dict[str, Any]] = [
            {"message_short_hash": None, **message, "message_index": index}
            for index, message in enumerate(conversation.get_message_list(), 1)
        ]
        hash_unhashed(self._messages, friendly_id=str(self._metadata.get("conversation_friendly_id") or ""))
        self.conversation_id: str = str(self._metadata["conversation_id"])
        self.running_summary: str = str(getattr(conversation, "running_summary", "") or "")

    def get_metadata(self) -> dict[str, Any]:
        """Title, friendly id, dates, counts."""
        dates = {"created_at": "", "updated_at": "", "title": "", "conversation_friendly_id": ""}
        return {**dates, **self._metadata, "message_count": len(self._messages)}

    def message_at(self, index: int) -> Message | None:
        """The message with this 1-based index, or None."""
        return self._messages[index - 1] if 1 <= index <= len(self._messages) else None

    def message_by_hash(self, short_hash: str) -> Message | None:
        """The message with this short hash, or None."""
        return next((message for message in self._messages if message["message_short_hash"] == short_hash), None)

    def messages_between(self, start: int, end: int) -> Sequence[Message]:
        """Messages `start` to `end`, inclusive."""
        return self._messages[max(0, start - 1) : end]

    def last_messages(self, *, max_chars: int) -> Sequence[Message]:
        """The newest messages, together about `max_chars` long."""
        return newest_within(self._messages, max_chars=max_chars)


def hash_unhashed(messages: Sequence[dict[str, Any]], *, friendly_id: str) -> None:
    """Give each finished one of a conversation's `messages` that has no hash one; none without a `friendly_id`."""
    taken = {message["message_short_hash"] for message in messages if message.get("message_short_hash")}
    for message in messages if friendly_id else ():
        if not message.get("message_short_hash") and message.get("status") != "streaming":
            message["message_short_hash"] = unique_message_short_hash(friendly_id, message["text"], taken)
            taken.add(message["message_short_hash"])


def newest_within(messages: Sequence[Message], *, max_chars: int) -> list[Message]:
    """The newest of `messages`, in order, together about `max_chars` long; at least one if there is one."""
    kept: list[Message] = []
    for message in reversed(messages):
        max_chars -= len(message["text"])
        if kept and max_chars < 0:
            break
        kept.append(message)
    return kept[::-1]
