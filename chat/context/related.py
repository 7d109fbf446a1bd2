"""Earlier messages that have to do with what is asked, found without being named.

They come from any of the person's conversations, but never from what the model sees of this one anyway.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from chat.turns.turn import Turn
from conversation_reference_utils import canonical_reference, parse_references
from database.engine.clock import now
from database.errors import StoreError
from search.messages import Asking, FoundMessage, related_messages

from .items import PkbItem, shorten
from .memories import Found, wants_found
from .report import ReportEntry, preview

log = logging.getLogger(__name__)
SMALLEST_WINDOW = 16_000
"""Tokens. A smaller model needs its room for what was named."""

_CAP = 2_000
_LONGEST_QUERY = 2_000
_NOTE = "Found by what it says: the message did not name it."


def related(turn: Turn, *, user_email: str, shown: Collection[str]) -> Found:
    """The messages that go with the question of `turn`, and a report entry for each.

    shown: ids of the messages that the model sees anyway. A failure of the search leaves the turn without them.
    """
    services = turn.services
    if services.vectors is None or not wants_messages(turn):
        return Found()
    own = {turn.accepted.user_message_id, turn.accepted.response_message_id}
    try:
        hits = related_messages(
            database=services.vectors.database,
            user_email=user_email,
            asking=Asking(text=searched_for(turn), today=now().date(), vectors=services.vectors),
            most=services.messages_found,
            without={*shown, *own},
        )
    except StoreError as error:
        log.warning("a turn goes on without related messages: %s", error.message)
        return Found()
    return _found([hit for hit in hits if hit.conversation_friendly_id])


def wants_messages(turn: Turn) -> bool:
    """Whether earlier messages are searched for `turn`."""
    services = turn.services
    if services.vectors is None or services.vectors.model() is None or services.messages_found < 1:
        return False
    return wants_found(turn) and turn.model.context_window >= SMALLEST_WINDOW


def searched_for(turn: Turn) -> str:
    """The text that earlier messages are searched for: the beginning of the question, without its references."""
    return parse_references(turn.text).clean_text[:_LONGEST_QUERY]


def _found(hits: Sequence[FoundMessage]) -> Found:
    return Found(items=[_item(hit) for hit in hits], entries=[_entry(hit) for hit in hits])


def _item(hit: FoundMessage) -> PkbItem:
    message = hit.message
    sender = "You" if message.sender == "user" else "Assistant"
    item = PkbItem(
        source="auto",
        type="conversation_message",
        key=f"message:{message.message_id}",
        label=f"from {hit.conversation_friendly_id} #{message.index} ({sender}), {message.created_at[:10]}:",
        body=message.text,
    )
    return shorten(item, _CAP)


def _entry(hit: FoundMessage) -> ReportEntry:
    """What was given is told, under its name without "@": nobody referred to it."""
    message = hit.message
    name = canonical_reference(hit.conversation_friendly_id or "", message.message_short_hash or message.index)
    return ReportEntry(
        ref=name.removeprefix("@"),
        kind="message",
        status="resolved",
        notes=(_NOTE,),
        title=hit.conversation_title,
        preview=preview(message.text),
        count=1,
        chars=len(message.text),
        target={
            "conversation_id": message.conversation_id,
            "message_id": message.message_id,
            "message_index": message.index,
            "message_short_hash": message.message_short_hash,
            "sender": message.sender,
            "created_at": message.created_at,
        },
    )
