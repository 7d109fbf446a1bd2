"""Exports of LibreChat: messages inside of each other, and messages in a row."""

from __future__ import annotations

import json

from portability.importers.reading.imported import ImportedAttachment, ImportedToolCall
from tests.portability.importers.exports import (
    NO_PARENT_OF_LIBRECHAT,
    at,
    librechat_conversation,
    librechat_message,
    write_json,
    write_zip,
)


def texts(conversation):
    return {each.source_id: (each.parent_id, each.sender, each.text) for each in conversation.messages}


EXPECTED = {
    "1": (None, "user", "When?"),
    "2": ("1", "model", "At six."),
    "3": ("1", "model", "At noon."),
}


def test_a_flat_export_names_parents(tmp_path, read):
    messages = [
        librechat_message("1", NO_PARENT_OF_LIBRECHAT, "When?", is_user=True),
        librechat_message("2", "1", "At six.", is_user=False, seconds=1),
        librechat_message("3", "1", "At noon.", is_user=False, seconds=2),
    ]
    source, [found] = read(write_json(tmp_path / "tides.json", librechat_conversation(messages=messages)))

    assert (source, found.source_id, found.title) == ("librechat", "l-1", "Tides")
    assert texts(found) == EXPECTED
    assert (found.created_at, found.updated_at, found.current_id) == (at(0), at(2), "3")
    assert [each.model for each in found.messages] == [None, "gpt-4o", "gpt-4o"]


def test_a_recursive_export_holds_answers_inside_of_questions(tmp_path, read_one):
    question = librechat_message("1", NO_PARENT_OF_LIBRECHAT, "When?", is_user=True)
    question["children"] = [
        librechat_message("2", "1", "At six.", is_user=False, children=[]),
        librechat_message("3", "1", "At noon.", is_user=False, children=[]),
    ]
    for name in ("messagesTree", "messages"):
        assert (
            texts(read_one(write_json(tmp_path / f"{name}.json", librechat_conversation(**{name: [question]}))))
            == EXPECTED
        )


def test_the_newest_message_of_a_recursive_export_ends_the_path_that_is_shown(tmp_path, read_one):
    question = librechat_message("1", NO_PARENT_OF_LIBRECHAT, "When?", is_user=True)
    more = librechat_message("4", "2", "Sure?", is_user=True, seconds=9, children=[])
    question["children"] = [
        librechat_message("2", "1", "At six.", is_user=False, seconds=1, children=[more]),
        librechat_message("3", "1", "At noon.", is_user=False, seconds=2, children=[]),
    ]
    found = read_one(write_json(tmp_path / "tides.json", librechat_conversation(messages=[question])))

    assert found.current_id == "4"


def test_a_path_without_ids_is_read_in_its_order(tmp_path, read_one):
    rows = [{"text": "When?", "isCreatedByUser": True}, {"text": "At six.", "isCreatedByUser": False}]
    found = read_one(write_json(tmp_path / "tides.json", librechat_conversation(messages=rows)))

    assert [each.text for each in found.messages] == ["When?", "At six."]
    assert found.messages[1].parent_id == found.messages[0].source_id


def test_a_long_recursive_export_is_deep(tmp_path, read_one):
    count = 5_000
    messages = [
        json.dumps(librechat_message(str(number), str(number - 1), f"Text {number}", is_user=number % 2 == 1))[:-1]
        for number in range(1, count + 1)
    ]
    path = tmp_path / "deep.json"
    head = json.dumps(librechat_conversation())[:-1]
    nested = ', "children": ['.join(messages) + ', "children": []}' + "]}" * (count - 1)
    path.write_text(f'{head}, "messagesTree": [{nested}]}}', encoding="utf-8")

    found = read_one(path)
    assert len(found.messages) == count
    assert (found.messages[-1].text, found.messages[-1].parent_id) == (f"Text {count}", str(count - 1))


def test_parts_become_text_thoughts_calls_and_files(tmp_path, read_one):
    content = [
        {"type": "think", "think": "Hm."},
        {
            "type": "tool_call",
            "tool_call": {"name": "tides", "args": '{"port": "Kiel"}', "output": "six", "type": "tool_call"},
        },
        {
            "type": "tool_call",
            "tool_call": {"type": "function", "function": {"name": "draw", "arguments": "{}", "output": None}},
        },
        {"type": "image_file", "image_file": {"filepath": "/images/1/boat.png", "type": "image/png"}},
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,Ym9hdA=="}},
        {"type": "text", "text": {"value": "At six."}},
        {"type": "text", "text": "Sharp."},
    ]
    message = librechat_message("1", NO_PARENT_OF_LIBRECHAT, "", is_user=False, content=content)
    message["files"] = [{"filename": "log.txt", "type": "text/plain", "text": "calm"}]
    found = read_one(write_json(tmp_path / "tides.json", librechat_conversation(messages=[message])))

    [answer] = found.messages
    assert (answer.text, answer.thoughts) == ("At six.\n\nSharp.", "Hm.")
    assert answer.tool_calls == (ImportedToolCall("tides", {"port": "Kiel"}, "six"), ImportedToolCall("draw", {}, None))
    assert answer.attachments == (
        ImportedAttachment("boat.png", "image/png"),
        ImportedAttachment("image.webp", "image/webp", content=b"boat"),
        ImportedAttachment("log.txt", "text/plain", text="calm"),
    )


def test_a_zip_holds_a_file_a_conversation(tmp_path, read):
    message = librechat_message("1", NO_PARENT_OF_LIBRECHAT, "When?", is_user=True)
    files = {f"{name}.json": librechat_conversation(messages=[message], conversationId=name) for name in ("a", "b")}
    _, items = read(write_zip(tmp_path / "all.zip", files))

    assert [item.source_id for item in items] == ["a", "b"]


def test_errors_are_text_and_marked_thoughts_are_thoughts(tmp_path, read_one):
    thinking = ":::thinking\nHm.\nYes.\n:::\n\nAt six."
    quoted = "So it is written:\n\n```\n:::thinking\nHm.\n:::\n```\n"
    failed = [{"type": "text", "text": "It is"}, {"type": "error", "error": "Too many requests"}]
    messages = [
        librechat_message("1", NO_PARENT_OF_LIBRECHAT, thinking, is_user=True),
        librechat_message("2", "1", thinking, is_user=False),
        librechat_message("3", "2", "", is_user=False, content=failed),
        librechat_message("4", "3", "", is_user=False, content=[{"type": "error", "error": {"code": 429}}]),
        librechat_message("5", "4", quoted, is_user=False),
        librechat_message("6", "5", "", is_user=False, content=[{"type": "text", "text": thinking}]),
    ]
    found = read_one(write_json(tmp_path / "tides.json", librechat_conversation(messages=messages)))

    assert [(each.text, each.thoughts) for each in found.messages] == [
        (thinking, ""),
        ("At six.", "Hm.\nYes."),
        ("It is\n\nToo many requests", ""),
        ('{\n  "code": 429\n}', ""),
        (quoted, ""),
        ("At six.", "Hm.\nYes."),
    ]
