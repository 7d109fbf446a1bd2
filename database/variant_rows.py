"""Reading what the variants of answers are; `variants` makes and changes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from .schema import message_variants, messages

# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000


def variants_of(connection: Connection, message_ids: Sequence[str]) -> dict[str, tuple[dict[str, Any], ...]]:
    """The variants of these messages by message id, in order: `{number, status, created_at, model, chosen}` each."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for start in range(0, len(message_ids), _AT_ONCE):
        for row in connection.execute(_query(message_ids[start : start + _AT_ONCE])):
            found[row.message_id].append(
                {
                    "number": row.number,
                    "status": row.status,
                    "created_at": row.created_at,
                    "model": row.config.get("model"),
                    "chosen": row.number == row.chosen_variant,
                }
            )
    return {message_id: tuple(variants) for message_id, variants in found.items()}


def _query(message_ids: Sequence[str]) -> Any:
    columns = message_variants.c
    return (
        select(
            columns.message_id,
            columns.number,
            columns.status,
            columns.created_at,
            columns.config,
            messages.c.chosen_variant,
        )
        .join(messages, messages.c.message_id == columns.message_id)
        .where(columns.message_id.in_(message_ids))
        .order_by(columns.message_id, columns.number)
    )
