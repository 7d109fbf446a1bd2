"""Making a conversation known to a store, so that its friendly id is its own there."""

from __future__ import annotations

from typing import Any

from database.conversations import addConversation, get_conversation, setConversationFriendlyId
from database.errors import FriendlyIdTakenError
from database.friendly_ids import friendly_id_candidates


def register(memory: dict[str, Any], *, users_dir: str, user_id: str, conversation_id: str, domain: str) -> None:
    """Give `memory` the friendly id of the conversation in the store of `users_dir`, made there if it has none yet.

    memory: title, and created_at or last_updated; without a title nothing happens. An id that exists never changes.
    """
    if memory.get("conversation_friendly_id") or not memory.get("title"):
        return
    who = {"users_dir": users_dir, "user_email": user_id, "conversation_id": conversation_id}
    addConversation(**who, domain=domain)
    stored = get_conversation(**who).conversation_friendly_id
    created_at = memory.setdefault("created_at", memory.get("last_updated", ""))
    candidates = [stored] if stored else friendly_id_candidates(memory["title"], created_at, conversation_id)
    for candidate in candidates:
        try:
            if candidate != stored:
                setConversationFriendlyId(**who, conversation_friendly_id=candidate)
        except FriendlyIdTakenError:
            continue
        memory["conversation_friendly_id"] = candidate
        return
