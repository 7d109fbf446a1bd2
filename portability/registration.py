"""Registering a bundle's conversation in a store, which gives its friendly id and gets a copy of its turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from database.conversations.friendly_ids import friendly_id_candidates
from database.conversations.repository import (
    add_conversation,
    get_conversation,
    set_friendly_id,
    update_conversation,
)
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, FriendlyIdTakenError
from database.turns.answers import add_answer
from database.turns.turns import accept_turn, finish_turn


def register(memory: dict[str, Any], *, database: Database, user_id: str, conversation_id: str, domain: str) -> None:
    """Give `memory` the friendly id of the conversation in `database`, assigned there if it has none yet.

    memory: title, and created_at or last_updated; without a title nothing happens. An id that exists never changes.
    """
    if memory.get("conversation_friendly_id") or not memory.get("title"):
        return
    who: dict[str, Any] = {"database": database, "user_email": user_id, "conversation_id": conversation_id}
    add_conversation(**who, domain=domain)
    row = get_conversation(**who)
    stored = row.conversation_friendly_id
    if not row.title:
        update_conversation(**who, changes={"title": memory["title"]})
    created_at = memory.setdefault("created_at", memory.get("last_updated", ""))
    candidates = [stored] if stored else friendly_id_candidates(memory["title"], created_at, conversation_id)
    for candidate in candidates:
        try:
            if candidate != stored:
                set_friendly_id(**who, conversation_friendly_id=candidate)
        except FriendlyIdTakenError:
            continue
        memory["conversation_friendly_id"] = candidate
        return


def store_turns(
    messages: Sequence[Mapping[str, Any]], *, database: Database, user_id: str, conversation_id: str, title: str
) -> None:
    """Append those turns of a bundle to its registered conversation that `database` doesn't have yet.

    messages: all of the bundle's active path, in order, each question followed by its finished answers. A conversation
    that isn't registered is left alone.
    """
    who: dict[str, Any] = {"database": database, "user_email": user_id, "conversation_id": conversation_id}
    try:
        stored = get_conversation(**who).message_count
    except ConversationNotFoundError:
        return
    question_id = ""
    for message, following in zip_longest(messages[stored:], messages[stored + 1 :]):
        if message["sender"] == "user":
            if following is None or following["sender"] == "user":
                continue  # nobody has answered it
            accepted = accept_turn(**who, text=message["text"], config=message["config"])
            question_id, answer_id = accepted.user_message_id, accepted.response_message_id
            continue
        if not question_id:
            continue
        finish_turn(
            **who,
            response_message_id=answer_id,
            text=message["text"],
            status=message["status"],
            config=message["config"],
            title=title,
            parts=message.get("parts") or (),
            documents=message.get("document_references") or (),
        )
        if following is not None and following["sender"] != "user":
            answer_id = add_answer(**who, question_id=question_id).response_message_id
