"""The reports of turns that ended before they told of their references: found out afterwards, from what was asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from conversation_reference_utils import parse_references

from .context import resolve_report, unresolved
from .ports import ConversationLoader, TurnServices

log = logging.getLogger(__name__)
_UNKNOWN = "It could not be looked up after the server had stopped. The server's log says why."


def lost_report(
    user_email: str,
    question: str,
    *,
    users_dir: str,
    loader_for: Callable[[str], ConversationLoader],
    services: TurnServices,
) -> list[dict[str, Any]]:
    """What the references in `question` mean now. Raises nothing: those that can't be looked up are unavailable."""
    named = parse_references(question)
    if not named.friendly_ids and not named.claim_ids:
        return []
    try:
        return resolve_report(
            named.friendly_ids,
            claim_ids=named.claim_ids,
            user_email=user_email,
            users_dir=users_dir,
            loader=loader_for(user_email),
            services=services,
        )
    except Exception:  # a server must start, and a turn end, whatever became of what it refers to
        log.exception("the references of an interrupted turn could not be looked up")
        return unresolved(named.friendly_ids, named.claim_ids, note=_UNKNOWN).report_dicts()
