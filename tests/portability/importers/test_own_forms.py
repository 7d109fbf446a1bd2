"""Folders of the first implementation, sessions of zk-chat, and JSON Lines of anybody."""

from __future__ import annotations

import json
import pickle

import pytest

from portability.bundles import FORMAT
from portability.errors import BrokenImportError
from portability.importers import json_lines
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import FailedItem, ImportedConversation, ImportedToolCall
from sentences import say
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


def test_a_broken_bundle_is_reported_and_those_behind_it_come_in(tmp_path, read):
    index = pickle.dumps({"format": FORMAT, "domain": "assistant"})
    said = {"message_id": "m", "sender": "user", "text": "How?", "short_id": "abcdef", "created_at": iso(0)}
    deep = {}
    for _ in range(260):
        deep = {"in": deep}
    bundles = {"a": [1], "b": [said, None], "c": [{**said, "config": deep}], "d": [said], "e": []}
    members = {f"{name}/{name}.index": index for name in bundles}
    members |= {f"{name}/{name}-messages.json": messages for name, messages in bundles.items()}
    source, items = read(write_zip(tmp_path / "users.zip", members))

    assert source == "first_implementation"
    assert [each.reason for each in items[:3]] == [
        say("import_damaged"),
        say("import_damaged"),
        say("import_item_too_deep", most=20),
    ]
    assert [(each.item, each.messages) for each in items[3:]] == [("d/d", 1), ("e/e", 0)]


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


def test_other_roles_of_zk_chat_are_folded_into_the_answer_before_and_empty_ones_are_reported(tmp_path, read_one):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What?"},
        {"role": "assistant", "content": "Much."},
        {"role": "tool", "content": "Notes found.", "references": ["Notes/Boat.md"]},
        {"role": "system", "content": ""},
    ]
    sessions = {"s1": {"messages": messages, "created_at": iso(0)}}
    found = read_one(write_json(tmp_path / "chat_sessions.json", sessions))

    assert [(each.sender, each.text, each.tool_calls) for each in found.messages] == [
        ("model", "", (ImportedToolCall("system", None, "Be brief."),)),
        ("user", "What?", ()),
        (
            "model",
            "Much.",
            (ImportedToolCall("tool", None, "Notes found."), ImportedToolCall("references", None, "Notes/Boat.md")),
        ),
    ]
    assert found.problems == (say("import_kinds_unknown", count=1),)


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


@pytest.mark.parametrize("first", ["", json.dumps({"conversation": "a", "role": "system", "text": "Be brief."})])
def test_json_lines_may_begin_with_a_line_that_is_no_message(tmp_path, read, first):
    good = {"conversation": "a", "role": "user", "text": "Fine"}
    source, [*failed, found] = read(lines(tmp_path / "talks.jsonl", first, good))

    assert source == "json_lines"
    assert [each.item for each in failed] == (["line 1"] if first else [])
    assert [each.text for each in found.messages] == ["Fine"]


def test_a_line_without_end_is_passed_over(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._LONGEST_LINE", 200)
    long = {"conversation": "a", "role": "user", "text": "x" * 1_000}
    good = {"conversation": "a", "role": "user", "text": "Fine"}
    _, [failed, found] = read(lines(tmp_path / "talks.jsonl", good, long, {**good, "text": "After"}))

    assert failed == FailedItem("line 2", "The line is longer than 200 bytes.")
    assert [each.text for each in found.messages] == ["Fine", "After"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_json_lines_may_be_in_utf_16(tmp_path, read, encoding):
    rows = [said("a", "Où ?"), "{", said("b", "Hi"), said("a", "漢字 \N{GRINNING FACE}")]
    path = tmp_path / "talks.jsonl"
    path.write_bytes(
        "\r\n".join(row if row == "{" else json.dumps(row, ensure_ascii=False) for row in rows).encode(encoding)
    )
    source, [failed, first, second] = read(path)

    assert (source, failed) == ("json_lines", FailedItem("line 2", "The line is no JSON."))
    assert [each.text for each in first.messages] == ["Où ?", "漢字 \N{GRINNING FACE}"]
    assert (second.source_id, second.messages[0].text) == ("b", "Hi")


def test_json_lines_in_a_zip_are_read_as_one_file(tmp_path, read):
    members = {
        "readme.txt": b"mine",
        "2023/talks.jsonl": b"\xef\xbb\xbf" + json.dumps(said("a", "One")).encode(),
        "2024/talks.NDJSON": ("{\n" + json.dumps(said("a", "Two")) + "\n" + json.dumps(said("b", "Hi"))).encode(
            "utf-16"
        ),
    }
    path = write_zip(tmp_path / "talks.zip", members)
    source, [failed, first, second] = read(path)

    assert (source, failed) == ("json_lines", FailedItem("2024/talks.NDJSON, line 1", "The line is no JSON."))
    assert [each.text for each in first.messages] == ["One", "Two"]
    assert second.source_id == "b"


def test_json_lines_that_unpack_to_too_much_are_refused(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._LARGEST", 1_000)
    monkeypatch.setattr("portability.importers.json_lines._CHUNK", 100)
    path = write_zip(tmp_path / "talks.zip", {"a.jsonl": (json.dumps(said("a", "x")) + "\n").encode() * 100})
    with pytest.raises(BrokenImportError, match="1,000 bytes"):
        read(path)


def test_json_lines_of_a_zip_are_unpacked_into_the_given_folder_and_as_far_as_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._PART", 1_000)
    monkeypatch.setattr("portability.importers.json_lines._LONGEST_LINE", 200)
    monkeypatch.setattr("portability.importers.json_lines._CHUNK", 100)
    rows = [said("a" if number < 10 else f"c{number}", "x") for number in range(1_000)]
    members = {"a.jsonl": "".join(json.dumps(each) + "\n" for each in [*rows, "y" * 1_000]).encode()}
    members["b.jsonl"] = json.dumps(said("a", "z")).encode("utf-16")
    scratch = tmp_path / "imports"
    with ImportFile(write_zip(tmp_path / "talks.zip", members), scratch=scratch) as file:
        items = json_lines.JsonLinesImporter().conversations(file)
        first = next(items)
        [unpacked] = scratch.iterdir()
        assert (first.source_id, unpacked.stat().st_size < 3_000) == ("a", True)
        unpacked.unlink()  # as the sweep of stray uploads does after an hour
        *rest, whole = items
    failed = [each for each in rest if isinstance(each, FailedItem)]
    assert failed == [FailedItem("a.jsonl, line 1,001", say("import_line_too_long", most=200))]
    assert ([each.text for each in whole.messages], whole.continues) == (["x"] * 10 + ["z"], 10)
    assert list(scratch.iterdir()) == []


def test_long_stretches_of_empty_lines_can_be_interrupted(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._LINES_OF_A_PART", 10)
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps(said("a", "x")) + "\n" * 45 + json.dumps(said("b", "x")) + "\n" * 30)
    items = read(path)[1]
    assert [getattr(each, "source_id", None) for each in items] == ["a", None, None, None, "b", None, None]


def test_lines_in_order_of_time_can_be_interrupted_where_no_conversation_begins(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._LINES_OF_A_PART", 10)
    rows = [said(name, str(number)) for number in range(25) for name in ("a", "b")]
    items = read(lines(tmp_path / "talks.jsonl", *rows))[1]
    assert [getattr(each, "source_id", None) for each in items] == ["a", "b", None, None, None, None, "a", "b"]


def said(conversation, text, **more):
    return {"conversation": conversation, "role": "user", "text": text, **more}


def test_json_lines_are_given_out_part_by_part_and_once_more_whole_where_a_conversation_goes_on(
    tmp_path, read, monkeypatch
):
    monkeypatch.setattr("portability.importers.json_lines._PART", 100)
    rows = [said("a", "1"), said("b", "1"), said("a", "2"), "{", *(said("c", str(number)) for number in range(4))]
    path = lines(tmp_path / "talks.jsonl", *rows, said("b", "2"), said("d", "1"))
    items = read(path)[1]

    failed = [each for each in items if isinstance(each, FailedItem)]
    talks = [each for each in items if isinstance(each, ImportedConversation)]
    assert failed == [FailedItem("line 4", "The line is no JSON.")]
    assert [(each.source_id, len(each.messages), each.may_continue, each.continues) for each in talks] == [
        ("a", 1, True, 0),
        ("b", 1, True, 0),
        ("c", 1, True, 0),
        ("d", 1, False, 0),
        ("a", 2, False, 1),
        ("b", 2, False, 1),
        ("c", 4, False, 1),
    ]
    assert [message.text for message in talks[-1].messages] == ["0", "1", "2", "3"]


def test_the_first_conversation_of_json_lines_comes_before_the_file_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._PART", 1_000)
    path = lines(tmp_path / "talks.jsonl", *(said(str(number), "x" * 500) for number in range(100)))
    parsed = []

    def noted(line):
        parsed.append(line)
        return message_of(line)

    message_of = json_lines._message
    monkeypatch.setattr(json_lines, "_message", noted)
    with ImportFile(path) as file:
        items = json_lines.JsonLinesImporter().conversations(file)
        assert next(items).source_id == "0"
        assert len(parsed) == 2
        assert len(list(items)) == 99
    assert len(parsed) == 100


def test_a_message_whose_parent_stands_in_a_later_part_waits_for_it(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._PART", 50)
    rows = [said("a", "second", id="2", parent="1"), said("b", "x"), said("a", "first", id="1", parent=None)]
    items = read(lines(tmp_path / "talks.jsonl", *rows))[1]
    other, found = (each for each in items if isinstance(each, ImportedConversation))

    assert (other.source_id, found.continues, found.problems) == ("b", 0, ())
    assert [(each.source_id, each.parent_id) for each in found.messages] == [("1", None), ("2", "1")]


def test_a_conversation_of_json_lines_that_is_too_large_is_reported_once(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._PART", 200)
    monkeypatch.setattr("portability.importers.json_lines._MOST_MESSAGES", 3)
    rows = [*(said("a", str(number)) for number in range(5)), said("b", "x"), said("a", "more")]
    _, [failed, found] = read(lines(tmp_path / "talks.jsonl", *rows))

    assert failed == FailedItem("a", "It has more than 3 messages.")
    assert found.source_id == "b"


def test_lines_that_are_no_messages_are_counted_where_they_are_too_many_to_be_named(tmp_path, read, monkeypatch):
    monkeypatch.setattr("portability.importers.json_lines._MOST_FAILED", 2)
    _, items = read(lines(tmp_path / "talks.jsonl", said("a", "x"), *["{"] * 5))
    assert [each.reason for each in items if isinstance(each, FailedItem)] == [
        "The line is no JSON.",
        "The line is no JSON.",
        "3 more lines are no messages.",
    ]
