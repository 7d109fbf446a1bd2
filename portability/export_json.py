"""A conversation as JSON, with everything that an import needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from database.conversations.conversation import ConversationRow
from database.engine.clock import now_iso
from database.messages.message import MessageRow, message_shape
from database.messages.reading import MessagePage

FORMAT = "anaphora-export"
VERSION = 1
_ELSEWHERE = {"user_id", "conversation_id", "backlink_count"}
"""Fields of listed messages that the head has, or that other messages determine."""

_HEAD = (
    "conversation_id",
    "conversation_friendly_id",
    "title",
    "title_force_set",
    "domain",
    "flag",
    "tags",
    "created_at",
    "updated_at",
    "settings",
    "running_summary",
    "summarised_ordinal",
    "archived",
    "stateless",
)


def render(conversation: ConversationRow, pages: Iterator[MessagePage]) -> Iterator[str]:
    """The file, piece by piece: one object, each message on a line of its own."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": now_iso(),
        "conversation": {name: getattr(conversation, name) for name in _HEAD},
    }
    yield f'{orjson.dumps(head).decode()[:-1]},"messages":['
    before = "\n"
    for page in pages:
        yield before + ",\n".join(orjson.dumps(_item(message, page)).decode() for message in page.messages)
        before = ",\n"
    yield "\n]}\n"


def _item(message: MessageRow, page: MessagePage) -> dict[str, Any]:
    shown = {name: value for name, value in message_shape(message).items() if name not in _ELSEWHERE}
    own = {
        "ordinal": message.ordinal,
        "in_answer_to": message.in_answer_to,
        "chosen_variant": message.chosen_variant,
        "branch_id": message.branch_id,
        "branch_of": message.branch_of,
        "chosen_branch": message.chosen_branch,
        "variants": page.variants.get(message.message_id, []),
        "edits": page.edits.get(message.message_id, []),
    }
    return shown | own
