"""The same conversation as each source exports it, first with one turn, later with more."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from activity.export import INCLUDED, export
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, get_conversations_for_user
from portability.account_archive import FORMAT, MANIFEST, SCHEMA
from tests.portability.importers.exports import (
    NO_PARENT_OF_CLAUDE,
    NO_PARENT_OF_LIBRECHAT,
    chatgpt_talk,
    claude_conversation,
    claude_message,
    iso,
    librechat_conversation,
    librechat_message,
    open_webui_chat,
    open_webui_message,
    write_json,
    write_zip,
)

from .conftest import ADA


def chatgpt(path: Path, turns: int) -> None:
    write_json(path, [chatgpt_talk(turns=turns)])


def said(turns: int) -> list[tuple[str, str | None, str, int]]:
    """Id, parent, text and place of each message."""
    ids = [f"{kind}{turn}" for turn in range(1, turns + 1) for kind in ("q", "a")]
    parents = [None, *ids]
    return [
        (name, parent, f"Text {name}", place) for place, (name, parent) in enumerate(zip(ids, parents, strict=False))
    ]


def claude(path: Path, turns: int) -> None:
    messages = [
        claude_message(
            name, "human" if name[0] == "q" else "assistant", text, parent=parent or NO_PARENT_OF_CLAUDE, seconds=place
        )
        for name, parent, text, place in said(turns)
    ]
    write_json(path, [claude_conversation(*messages)])


def open_webui(path: Path, turns: int) -> None:
    messages = [
        open_webui_message(name, parent, "user" if name[0] == "q" else "assistant", text, seconds=place)
        for name, parent, text, place in said(turns)
    ]
    write_json(path, [open_webui_chat(*messages)])


def librechat(path: Path, turns: int) -> None:
    messages = [
        librechat_message(name, parent or NO_PARENT_OF_LIBRECHAT, text, is_user=name[0] == "q", seconds=place)
        for name, parent, text, place in said(turns)
    ]
    write_json(path, librechat_conversation(messages=messages))


def first_implementation(path: Path, turns: int) -> None:
    name = "ada@example.com_a8f3"
    messages = [
        {"message_id": each, "text": text, "sender": "user" if each[0] == "q" else "model"}
        for each, _, text, _ in said(turns)
    ]
    members = {f"{name}/{name}-messages.json": messages, f"{name}/{name}-memory.json": {"title": "Renders"}}
    write_zip(path, members)


def zk_chat(path: Path, turns: int) -> None:
    messages = [
        {"role": "user" if name[0] == "q" else "assistant", "content": text, "timestamp": iso(place)}
        for name, _, text, place in said(turns)
    ]
    write_json(path, {"s1": {"messages": messages, "created_at": iso(0), "last_updated": iso(2 * turns)}})


def json_lines(path: Path, turns: int) -> None:
    lines = [
        {"conversation": "c", "title": "Lines", "role": "user" if name[0] == "q" else "assistant", "text": text}
        for name, _, text, _ in said(turns)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def exported_here(path: Path, turns: int) -> bytes:
    """What a store of its own exports of a conversation that had one turn at first, and now has so many."""
    folder = str(path.parent / "elsewhere")
    database = open_store(folder)
    try:
        found = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
        row = found[0] if found else create_conversation(database=database, user_email=ADA, domain="assistant")
        conversation = Conversation(ADA, database, row.conversation_id)
        for turn in range(1 if not found else 2, turns + 1):
            conversation.persist_current_turn(f"Question {turn}", f"Answer {turn}", {"model": "m"}, title="Exported")
        own: dict[str, Any] = {"database": database, "recipes": RecipeRegistry(BUILT_IN), "room": row.conversation_id}
        return b"".join(export(ADA, **own, fmt="json", include=INCLUDED).chunks)
    finally:
        close_store(folder)


def own_export(path: Path, turns: int) -> None:
    path.write_bytes(exported_here(path, turns))


def account(path: Path, turns: int) -> None:
    content = exported_here(path, turns)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, json.dumps({"format": FORMAT, "schema": SCHEMA}))
        archive.writestr("conversations/exported/conversation.json", content)


SOURCES = [
    (chatgpt, "conversations.json"),
    (claude, "conversations.json"),
    (open_webui, "chats.json"),
    (librechat, "librechat.json"),
    (first_implementation, "users.zip"),
    (zk_chat, "chat_sessions.json"),
    (json_lines, "lines.jsonl"),
    (own_export, "exported.json"),
    (account, "everything.zip"),
]
"""What writes the file of each source, and its name."""
