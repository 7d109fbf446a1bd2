"""An export as JSON, replies nested in what they reply to, with everything that an import needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from activity.recipes.formatting import words_in
from database.conversations.conversation import ConversationRow
from database.conversations.repository import FIELD as PINNED_CLAIMS
from database.engine.clock import now_iso
from database.imports.origins import origin_fields
from database.timeline.exporting import ExportedThread

from .export_document import Entry, ExportedMessage, Heading, name_of

SCHEMA = 1

_OF_A_CONVERSATION = (
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
    "archived",
    "stateless",
    "pinned_at",
    "workspace_id",
)
_OF_A_MESSAGE = (
    "sender",
    "message_short_hash",
    "status",
    "show_hide",
    "config",
    "pinned_at",
    "edited_at",
    "chosen_variant",
    "source_agent_title",
)
_OF_A_BRANCH = ("branch_id", "branch_of", "chosen_branch")


def render(heading: Heading, entries: Iterator[Entry]) -> Iterator[str]:
    """The file, piece by piece: one object; each activity begins on a line of its own."""
    yield f'{_json(_head(heading))[:-1]},"activities":['
    opened = count = 0
    for entry in entries:
        count += 1
        # What an entry was nested in may have been deleted since.
        depth = min(entry.depth, opened)
        closing = "]}" * (opened - depth)
        yield f'{closing}{"," if closing else ""}\n{_json(_item(entry, heading))[:-1]},"replies":['
        opened = depth + 1
    yield f'{"]}" * opened}\n],"count":{count}}}\n'


def _head(heading: Heading) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "exported_at": now_iso(),
        "conversation": None if heading.conversation is None else _conversation(heading.conversation, heading),
        "other_conversations": [_conversation(row, heading) for row in heading.other_conversations],
        "thread": None if heading.thread is None else _thread(heading.thread, heading),
        "threads": [_thread(each, heading) for each in heading.threads.values() if each != heading.thread],
    }


def _conversation(row: ConversationRow, heading: Heading) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in _OF_A_CONVERSATION}
    if heading.is_whole:
        # A summary of what is not in the file would say more than the file does.
        fields |= {"running_summary": row.running_summary, "summarised_messages": heading.summarised}
        fields |= {PINNED_CLAIMS: row.memory.get(PINNED_CLAIMS, []), "agent_slug": heading.agent}
        fields["aliases"] = list(heading.aliases)
        fields["origin"] = None if heading.origin is None else origin_fields(heading.origin)
    return fields


def _thread(thread: ExportedThread, heading: Heading) -> dict[str, Any]:
    return {
        "thread_id": thread.thread_id,
        "title": heading.thread_titles[thread.thread_id],
        "is_renamed": bool(thread.title),
        "is_made": bool(thread.made_title and not thread.title),
        "root_activity_id": thread.root_activity_id,
        "session_key": thread.session_key,
        "created_at": thread.created_at,
    }


def _item(entry: Entry, heading: Heading) -> dict[str, Any]:
    activity, message = entry.activity, entry.message
    item: dict[str, Any] = {
        "id": activity.activity_id,
        "short_id": activity.short_id,
        "type": activity.type,
        "recipe": activity.recipe,
        "actor": {"type": activity.actor_type, "id": activity.actor_id, "name": name_of(entry)},
        "created_at": activity.created_at,
        "position": entry.position,
        "conversation_id": activity.conversation_id,
        "session_id": activity.session_id,
        "reply_to_id": activity.reply_to_id,
        "thread_id": activity.thread_id,
        "content": words_in(activity),
        "payload": activity.payload,
        "references": message.row.report if message else [],
        "document_references": list(message.row.documents) if message else [],
    }
    if entry.totals is not None:
        item["thread_metadata"] = {
            "reply_count": entry.totals.reply_count,
            "last_reply_at": entry.totals.last_reply_at,
            "participant_ids": entry.totals.participant_ids,
        }
    if message is not None:
        item["message"] = _message(message, heading)
    return item


def _message(message: ExportedMessage, heading: Heading) -> dict[str, Any]:
    fields = {name: getattr(message.row, name) for name in _OF_A_MESSAGE}
    if heading.is_whole:
        # Only there all that they name is in the file.
        fields |= {name: getattr(message.row, name) for name in _OF_A_BRANCH} | {"in_answer_to": message.in_answer_to}
    if message.origins:
        fields["origins"] = list(message.origins)
    return fields | {
        "parts": _parts(message.row.parts, message.hashes),
        "variants": [{**each, "parts": _parts(each["parts"], message.hashes)} for each in message.variants],
        "edits": list(message.edits),
    }


def _parts(parts: Iterable[Mapping[str, Any]], hashes: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The parts; those that are files say the SHA-256 of their content, by which an import knows them."""
    return [
        {**part, "sha256": sha256} if (sha256 := hashes.get(str(part.get("attachment_id")))) else part for part in parts
    ]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
