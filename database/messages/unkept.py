"""Messages of ephemeral turns, which are erased when their turn ends: what marks them until then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, select, union_all

from database.schema import messages

MARK = {"kept": False}
"""What the configuration of both messages of such a turn holds beside the rest."""

_m = messages.c


def is_unkept(config: Mapping[str, Any]) -> bool:
    """Whether a message with this configuration belongs to an ephemeral turn."""
    return config.get("kept") is False


def unkept_in(conversation_id: str) -> Select[Any]:
    """The ids of a conversation's messages that will be erased when their turn ends."""
    running = (
        select(_m.message_id, _m.in_answer_to)
        .where(
            _m.status == "streaming", _m.conversation_id == conversation_id, _m.config["kept"].as_boolean().is_(False)
        )
        .subquery()
    )
    both = union_all(select(running.c.message_id), select(running.c.in_answer_to))
    return select(both.subquery().c.message_id)
