"""A whole conversation in a few thousand characters: what it is, its summary, and the newest that was said in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .pkb_items import cut
from .ports import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A conversation as a model is given it.

    shown: how many messages are in it. chars: its length before anything was cut. notes: what is not in it, a sentence
    each.
    """

    body: str
    shown: int
    chars: int
    notes: tuple[str, ...] = ()


def digested(metadata: Mapping[str, Any], summary: str, messages: Sequence[Message], *, cap: int) -> Digest:
    """As many of the newest `messages` as fit into `cap` characters, in order; a single one that doesn't fit is cut.

    metadata: the conversation's, with the `message_count` of those that could be shown.
    """
    header = (
        f"{metadata['title']} ({metadata['conversation_friendly_id']}), {metadata['message_count']} messages, "
        f"{metadata['created_at'][:10]} to {metadata['updated_at'][:10]}"
    )
    head = f"{header}\n\nSummary: {summary}" if summary else header
    left, parts, lost, notes = cap, list[str](), 0, list[str]()
    for message in reversed(messages):
        heading, text = _heading(message), message["text"]
        if len(heading) + len(text) > left:
            if parts:
                break
            text, _ = cut(text, max(0, left - len(heading)))
            lost = len(message["text"]) - len(text)
            notes.append(f"Message {message['message_index']} is cut to {cap:,} characters.")
        parts.append(heading + text)
        left -= len(parts[-1])
    if len(parts) < int(metadata["message_count"]):
        notes.append(_part_of(messages, shown=len(parts), count=int(metadata["message_count"])))
    body = "\n\n".join([head, *reversed(parts)])
    return Digest(body=body, shown=len(parts), chars=len(body) + lost, notes=tuple(notes))


def _heading(message: Message) -> str:
    sender = "You" if message["sender"] == "user" else "Assistant"
    return f"#{message['message_index']} · {message['message_short_hash']} ({sender}):\n"


def _part_of(messages: Sequence[Message], *, shown: int, count: int) -> str:
    """Which part of a conversation's `count` messages `shown` of the newest are; those hidden from models are none."""
    hidden = count - messages[0]["message_index"] + 1 - len(messages) if messages else count
    if hidden:
        return f"The newest {shown} of {count} messages; {hidden} hidden from the model left out."
    return f"The newest {shown} of {count} messages."
