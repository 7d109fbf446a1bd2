"""Messages with the names that callers of the product know."""

from __future__ import annotations

from typing import Any

from .message_rows import MessageRow, MessageText


def text_shape(row: MessageText) -> dict[str, Any]:
    """`row` with the names that `message_shape` gives."""
    shape = row._asdict()
    shape["message_index"] = shape.pop("index")
    return shape


def message_shape(row: MessageRow) -> dict[str, Any]:
    """`row` as an item of the message list; a deleted one also says since when (`deleted_at`)."""
    shape: dict[str, Any] = {
        "message_id": row.message_id,
        "text": row.text,
        "sender": row.sender,
        "user_id": row.user_email,
        "conversation_id": row.conversation_id,
        "message_short_hash": row.message_short_hash,
        "message_index": row.index,
        "short_id": row.short_id,
        "reply_to_id": row.reply_to_id,
        "thread_id": row.thread_id,
        "created_at": row.created_at,
        "status": row.status,
        "show_hide": row.show_hide,
        "config": row.config,
        "references": row.report,
        "document_references": [],
        "backlink_count": row.backlink_count,
        "variants": list(row.variants),
        "pinned_at": row.pinned_at,
        "edited_at": row.edited_at,
    }
    if row.deleted_at is not None:
        shape["deleted_at"] = row.deleted_at
    return shape
