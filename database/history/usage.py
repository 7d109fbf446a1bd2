"""What the answers of a conversation took: tokens, and what providers asked for them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import exists, select, union_all

from database.conversations.conversation import access_head
from database.engine.database import Database
from database.schema import message_variants, messages

_m = messages.c
_LIVE = (_m.deleted_at.is_(None), _m.sender != "user")
_HAS_VARIANTS = exists().where(message_variants.c.message_id == messages.c.message_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationUsage:
    """answers: those whose tokens were counted. cost: the amount in each currency, of those that have a price."""

    answers: int
    prompt_tokens: int
    completion_tokens: int
    cost: dict[str, float]


def usage_of_conversation(*, database: Database, user_email: str, conversation_id: str) -> ConversationUsage:
    """The sum of all live answers, of all branches and with all variants. Raises ConversationNotFoundError."""
    # The chosen variant stands in the message too.
    single = select(messages.c.config).where(_m.conversation_id == conversation_id, *_LIVE, ~_HAS_VARIANTS)
    again = (
        select(message_variants.c.config)
        .join(messages, messages.c.message_id == message_variants.c.message_id)
        .where(_m.conversation_id == conversation_id, *_LIVE)
    )
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        used = [usage for (config,) in connection.execute(union_all(single, again)) if (usage := config.get("usage"))]
    cost: defaultdict[str, float] = defaultdict(float)
    for usage in used:
        if "cost" in usage:
            cost[usage["currency"]] += usage["cost"]
    return ConversationUsage(
        answers=len(used),
        prompt_tokens=sum(usage["prompt_tokens"] for usage in used),
        completion_tokens=sum(usage["completion_tokens"] for usage in used),
        cost={currency: round(amount, 8) for currency, amount in sorted(cost.items())},
    )
