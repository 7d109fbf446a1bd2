"""Folders of the first implementation, sessions of zk-chat, and JSON Lines of anybody."""

from __future__ import annotations

import json
import pickle

from portability.importers.imported import FailedItem, ImportedToolCall
from tests.portability.importers.exports import at, iso, write_json, write_zip


def test_folders_of_the_first_implementation_are_read_without_their_index(tmp_path, read):
    class RunsCode:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    name = "ada@example.com_a8f3"
    messages = [
        {"message_id": "38", "text": "How?", "sender": "user", "show_hide": "show", "message_short_hash": "a3f2b1"},
        {"message_id": "91", "text": "So.", "sender": "model", "config": {"model": "claude-opus-4"}},
        {"message_id": "38", "text": "How?", "sender": "user", "show_hide": "hide", "message_short_hash": "nope!"},
    ]
    memory = {
        "title": "Renders",
        "last_updated": "2024-01-02 03:04:05",
        "conversation_friendly_id": "react_renders_b4f2",
    }
    members = {
        f"users/{name}/{name}.index": pickle.dumps(RunsCode()),
        f"users/{name}/{name}-messages.json": messages,
        f"users/{name}/{name}-memory.json": memory,
        "users/broken/broken-messages.json": b"[",
        "users/empty/empty-messages.json": {},
    }
    source, [found, broken, empty] = read(write_zip(tmp_path / "users.zip", members))

    assert source == "first_implementation"
    assert (found.source_id, found.title, found.friendly_id) == (name, "Renders", "react_renders_b4f2")
    assert found.updated_at.isoformat() == "2024-01-02T03:04:05+00:00"
    assert [(each.source_id, each.parent_id, each.text, each.short_hash, each.hidden) for each in found.messages] == [
        ("38", None, "How?", "a3f2b1", False),
        ("91", "38", "So.", None, False),
        ("38~3", "91", "How?", None, True),
    ]
    assert found.messages[1].model == "claude-opus-4"
    assert broken == FailedItem("broken", "broken-messages.json is no JSON.")
    assert empty == FailedItem("empty", "It has no id, or no messages.")
    assert not (tmp_path / "ran").exists()


def test_sessions_of_zk_chat_keep_the_documents_they_name(tmp_path, read):
    sessions = {
        "s1": {
            "messages": [
                {"role": "user", "content": "What do my notes say?", "timestamp": iso(0)},
                {"role": "assistant", "content": "Much.", "references": ["Notes/Boat.md"], "timestamp": iso(1)},
            ],
            "created_at": iso(0),
            "last_updated": iso(1),
        },
        "s2": {"messages": "none"},
    }
    for path in (
        write_json(tmp_path / "chat_sessions.json", sessions),
        write_zip(tmp_path / "vault.zip", {"Notes/Boat.md": b"# Boat", ".zk_chat_db/chat_sessions.json": sessions}),
    ):
        source, [found, failed] = read(path)

        assert (source, found.source_id, found.title) == ("zk_chat", "s1", "What do my notes say?")
        assert (found.created_at, found.updated_at) == (at(0), at(1))
        assert [(each.sender, each.text, each.created_at) for each in found.messages] == [
            ("user", "What do my notes say?", at(0)),
            ("model", "Much.", at(1)),
        ]
        assert found.messages[1].tool_calls == (ImportedToolCall("references", None, "Notes/Boat.md"),)
        assert failed == FailedItem("session s2", "It has no id, or no messages.")


def lines(path, *rows):
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_json_lines_of_a_conversation_may_stand_anywhere(tmp_path, read):
    path = lines(
        tmp_path / "talks.jsonl",
        {"conversation": "a", "title": "Boats", "role": "user", "text": "Which?", "created_at": iso(0)},
        {"conversation": "b", "role": "human", "text": "Hello"},
        "",
        {"conversation": "a", "role": "assistant", "text": "That.", "created_at": iso(1), "model": "m", "id": "x"},
        {"conversation": "a", "role": "assistant", "text": "This.", "parent": "1"},
        {"conversation": "a", "role": "user", "text": "From the start.", "parent": None},
    )
    source, [boats, hello] = read(path)

    assert source == "json_lines"
    assert (boats.source_id, boats.title, boats.created_at, boats.updated_at) == ("a", "Boats", at(0), at(1))
    assert [(each.source_id, each.parent_id, each.sender, each.text) for each in boats.messages] == [
        ("1", None, "user", "Which?"),
        ("x", "1", "model", "That."),
        ("3", "1", "model", "This."),
        ("4", None, "user", "From the start."),
    ]
    assert (hello.source_id, hello.messages[0].text) == ("b", "Hello")


def test_lines_that_are_no_messages_are_reported_by_number(tmp_path, read):
    path = lines(
        tmp_path / "talks.jsonl",
        {"conversation": 7, "role": "user", "text": "Fine"},
        "{",
        {"role": "user", "text": "Whose?"},
        {"conversation": "7", "role": "narrator", "text": "Then"},
        {"conversation": "7", "role": "user", "text": 3},
    )
    _, [*failed, fine] = read(path)

    assert [each.item for each in failed] == ["line 2", "line 3", "line 4", "line 5"]
    assert failed[0].reason == "The line is no JSON."
    assert (fine.source_id, [each.text for each in fine.messages]) == ("7", ["Fine"])


def test_a_line_without_end_is_passed_over(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._LONGEST_LINE", 200)
    long = {"conversation": "a", "role": "user", "text": "x" * 1_000}
    good = {"conversation": "a", "role": "user", "text": "Fine"}
    _, [failed, found] = read(lines(tmp_path / "talks.jsonl", good, long, {**good, "text": "After"}))

    assert failed == FailedItem("line 2", "The line is longer than 200 bytes.")
    assert [each.text for each in found.messages] == ["Fine", "After"]
