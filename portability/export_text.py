"""Texts that the readable exports share: author, time, and facts about the conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.turns.parts import ExportedPart, in_reading_order
from database.conversations.conversation import ConversationRow
from database.messages.message import MessageRow
from database.messages.reading import MessagePage

UNTITLED = "(untitled)"
_SPECIAL = re.compile(r"([\\`*_\[\]<>#&|~!])")


def literal(text: str) -> str:
    """`text` as Markdown that says just that."""
    return _SPECIAL.sub(r"\\\1", text)


def pieces_of(message: MessageRow) -> Iterator[str | ExportedPart]:
    """The text of a message, none of it empty, with its parts between, and the documents that it refers to."""
    yield from in_reading_order(message.text, message.parts)
    if message.documents:
        yield ExportedPart(title="Referenced documents", body="\n".join(map(_document_line, message.documents)))


def _document_line(document: Mapping[str, Any]) -> str:
    path, summary = document["relative_path"], " ".join((document["summary"] or "").split())
    line = f"- {literal(document['wikilink'])} ({literal(path) if path else 'not found'})"
    if path and not document["used"]:
        line += ", found but not used"
    return f"{line}: {literal(summary)}" if summary else line


def title_of(conversation: ConversationRow) -> str:
    """The title on one line."""
    return " ".join(conversation.title.split()) or UNTITLED


def facts_of(conversation: ConversationRow) -> list[tuple[str, str]]:
    """(name, value) of each fact about the conversation."""
    facts = [("Created", moment(conversation.created_at)), ("Last updated", moment(conversation.updated_at))]
    if conversation.conversation_friendly_id:
        facts.append(("Reference", f"@conversation_{conversation.conversation_friendly_id}"))
    return facts


def moment(time: str) -> str:
    """An ISO time as "YYYY-MM-DD HH:MM:SS" (UTC)."""
    return f"{time[:10]} {time[11:19]}"


def speaker_of(message: MessageRow) -> str:
    """`You`, the agent's title or the model's name, on one line."""
    if message.sender == "user":
        return message.source_agent_title or "You"
    if isinstance(agent := message.config.get("agent"), dict):
        return " ".join(str(agent.get("title") or "Agent").split())
    return " ".join(str(message.config.get("model") or "Assistant").split())


def reply_of(message: MessageRow, page: MessagePage) -> str | None:
    """`#short_id` of the message that this one replies to, "(deleted)" where that is deleted; None for no reply."""
    if message.reply_to_id is None:
        return None
    short_id = page.short_ids.get(message.reply_to_id)
    return f"#{short_id}" if short_id else "(deleted)"


def notes_of(message: MessageRow) -> list[str]:
    """Notes on a message: beside the active path, hidden from models, edited, not completed."""
    notes = ["other branch"] if message.other_branch is not None else []
    notes += ["hidden"] if message.show_hide == "hide" else []
    if message.edited_at is not None:
        notes.append("edited")
    if message.status not in {"complete", "streaming"}:
        notes.append(message.status)
    return notes + (["still being written"] if message.status == "streaming" else [])
