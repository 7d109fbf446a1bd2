"""Files of the shape that other programs export, made of a few lines each."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

NO_PARENT_OF_CLAUDE = "00000000-0000-4000-8000-000000000000"
NO_PARENT_OF_LIBRECHAT = "00000000-0000-0000-0000-000000000000"
NOON = 1_700_000_000.5
"""2023-11-14T22:13:20.500Z in seconds, as ChatGPT writes times."""


def at(seconds):
    """`NOON` and some seconds, as a time."""
    return datetime.fromtimestamp(NOON + seconds, tz=UTC)


def iso(seconds):
    return at(seconds).isoformat().replace("+00:00", "Z")


def write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_zip(path, members):
    """A ZIP; values other than bytes are written as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path


def chatgpt_node(node_id, parent, role=None, *parts, seconds=0, **message):
    """A node of ChatGPT's mapping; without a role, the root, which has no message."""
    node = {"id": node_id, "parent": parent, "children": [], "message": None}
    if role is not None:
        content = {"content_type": "text", "parts": list(parts)}
        node["message"] = {
            "id": node_id,
            "author": {"role": role, "name": message.pop("name", None), "metadata": {}},
            "create_time": NOON + seconds,
            "update_time": None,
            "content": message.pop("content", content),
            "status": "finished_successfully",
            "end_turn": True,
            "weight": message.pop("weight", 1.0),
            "metadata": message.pop("metadata", {}),
            "recipient": message.pop("recipient", "all"),
            "channel": message.pop("channel", None),
        }
    return node


def chatgpt_conversation(*nodes, conversation_id="c-1", title="Sailing", current=None, **fields):
    mapping = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    return {
        "title": title,
        "create_time": NOON,
        "update_time": NOON + 60,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current or nodes[-1]["id"],
        "conversation_id": conversation_id,
        "id": conversation_id,
        "default_model_slug": "gpt-4o",
        "gizmo_id": None,
        "is_archived": False,
        **fields,
    }


def chatgpt_talk(number=1, *, turns=1):
    """A plain conversation of so many questions and answers."""
    nodes = [chatgpt_node("root", None)]
    for turn in range(1, turns + 1):
        nodes.append(
            chatgpt_node(f"q{turn}", nodes[-1]["id"], "user", f"Question {turn} of {number}", seconds=2 * turn)
        )
        nodes.append(
            chatgpt_node(f"a{turn}", f"q{turn}", "assistant", f"Answer {turn} of {number}", seconds=2 * turn + 1)
        )
    return chatgpt_conversation(*nodes, conversation_id=f"talk-{number}", title=f"Talk {number}")


def claude_message(message_id, sender, text="", *, parent=None, seconds=0, **fields):
    message = {
        "uuid": message_id,
        "text": text,
        "content": [{"type": "text", "text": text}] if text else [],
        "sender": sender,
        "created_at": iso(seconds),
        "updated_at": iso(seconds),
        "attachments": [],
        "files": [],
    }
    return message | ({} if parent is None else {"parent_message_uuid": parent}) | fields


def claude_conversation(*messages, conversation_id="k-1", name="Harbours", **fields):
    return {
        "uuid": conversation_id,
        "name": name,
        "created_at": iso(0),
        "updated_at": iso(60),
        "account": {"uuid": "account-1"},
        "chat_messages": list(messages),
        **fields,
    }


def open_webui_message(message_id, parent, role, content="", *, seconds=0, **fields):
    return {
        "id": message_id,
        "parentId": parent,
        "childrenIds": [],
        "role": role,
        "content": content,
        "timestamp": int(NOON) + seconds,
        **fields,
    }


def open_webui_chat(*messages, chat_id="w-1", title="Knots", current=None, **fields):
    by_id = {message["id"]: message for message in messages}
    history = {"messages": by_id, "currentId": current or messages[-1]["id"]}
    return {
        "id": chat_id,
        "user_id": "someone",
        "title": title,
        "chat": {"title": title, "models": ["llama3"], "history": history, "messages": []},
        "created_at": int(NOON),
        "updated_at": int(NOON) + 60,
        "archived": False,
        "pinned": None,
        "folder_id": None,
        **fields,
    }


def librechat_message(message_id, parent, text, *, is_user, seconds=0, **fields):
    return {
        "messageId": message_id,
        "parentMessageId": parent,
        "conversationId": "l-1",
        "sender": "User" if is_user else "GPT",
        "isCreatedByUser": is_user,
        "text": text,
        "error": False,
        "unfinished": False,
        "createdAt": iso(seconds),
        "model": "gpt-4o",
        **fields,
    }


def librechat_conversation(**fields):
    head = {"conversationId": "l-1", "endpoint": "openAI", "title": "Tides", "exportAt": "10:00:00 GMT+0100"}
    return head | {"branches": True, "recursive": "messagesTree" in fields} | fields
