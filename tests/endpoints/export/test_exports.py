"""Conversations as files over HTTP."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.endpoints.conftest import Person

pytestmark = pytest.mark.contract

MEDIA = {
    "markdown": ("text/markdown", "md"),
    "html": ("text/html", "html"),
    "json": ("application/json", "json"),
    "bundle": ("application/zip", "zip"),
}


def named(person: Person, title: str) -> str:
    conversation_id = person.new_conversation()
    person.say(conversation_id, "How much water?")
    assert person.put(f"/conversations/{conversation_id}/title", json={"title": title}).status_code == 200
    return conversation_id


@pytest.mark.parametrize("fmt", MEDIA)
def test_a_conversation_comes_as_a_file_called_after_its_title(ada: Person, fmt: str) -> None:
    answer = ada.get(f"/export_conversation/{named(ada, 'Bröd & butter')}?format={fmt}")
    media, extension = MEDIA[fmt]
    assert (answer.status_code, answer.mimetype) == (200, media)
    disposition = answer.headers["Content-Disposition"]
    assert disposition.startswith(f'attachment; filename="Brod & butter.{extension}"; ')
    assert unquote(disposition.partition("filename*=UTF-8''")[2]) == f"Bröd & butter.{extension}"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert len(answer.data) > 100


def test_markdown_is_what_comes_unless_another_form_is_asked_for(ada: Person) -> None:
    conversation_id = named(ada, "Water")
    answer = ada.get(f"/export_conversation/{conversation_id}")
    assert answer.get_data(as_text=True).startswith("# Conversation: Water\n")
    assert "> How much water?" in answer.get_data(as_text=True)
    refused = ada.get(f"/export_conversation/{conversation_id}?format=docx")
    assert (refused.status_code, refused.json["code"]) == (400, "bad_request")


def test_what_else_happened_comes_along_where_it_is_included(ada: Person) -> None:
    conversation_id = named(ada, "Water")
    event = {"recipe": "system-monitoring", "type": "system_event", "payload": {"description": "A leak"}}
    assert ada.post(f"/api/conversations/{conversation_id}/activities", json=event).status_code == 201
    url = f"/export_conversation/{conversation_id}?format=json"
    kinds = [
        [each["type"] for each in ada.get(f"{url}{more}").json["activities"]] for more in ("", "&include=chat,events")
    ]
    assert kinds == [["chat_message"] * 2, ["chat_message", "chat_message", "system_event"]]
    refused = ada.get(f"{url}&include=nothing")
    assert (refused.status_code, refused.json["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "title", ['a"; filename="evil.exe', "a\r\nSet-Cookie: x=1", "..\\..\\evil", "\u202etxt.exe", "%0d%0a"]
)
def test_no_title_gets_out_of_the_name_of_its_file(ada: Person, title: str) -> None:
    answer = ada.get(f"/export_conversation/{named(ada, title)}")
    disposition = answer.headers["Content-Disposition"]
    assert answer.status_code == 200
    assert disposition.count('"') == 2
    assert disposition.count('filename="') == 1
    assert not set(disposition) & set("\r\n\\/\u202e")
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("fmt", MEDIA)
def test_a_foreign_conversation_is_a_missing_one(ada: Person, eve: Person, fmt: str) -> None:
    foreign = eve.get(f"/export_conversation/{named(ada, 'Water')}?format={fmt}")
    missing = eve.get(f"/export_conversation/eve@example.com_{'x' * 36}?format={fmt}")
    assert (foreign.status_code, foreign.json["code"]) == (404, "conversation_not_found")
    assert foreign.json["message"] == missing.json["message"]


def test_a_thread_a_room_and_what_followed_come_as_files_and_no_path_is_written(ada: Person, tmp_path: Path) -> None:
    conversation_id = named(ada, "Water")
    question, answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    ada.say(conversation_id, "And basil?", reply_to=question["short_id"])
    ada.say(conversation_id, "And now?")
    messages = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    written = tmp_path / "out.md"
    asked = {"room": "Water", "after": f"#{answer['short_id'].upper()}", "limit": 2}
    refused = ada.get("/api/export", query_string={**asked, "output": str(written)})
    assert (refused.status_code, "output" in refused.json["message"]) == (400, True)
    text = ada.get("/api/export", query_string=asked)
    assert (text.status_code, text.mimetype) == (200, "text/markdown")
    assert 'filename="Water.md"' in text.headers["Content-Disposition"]
    told = text.get_data(as_text=True)
    assert [f"[#{message['short_id']}]" in told for message in messages] == [False, True, True, True, False, False]
    assert not written.exists()
    thread = {"thread": messages[2]["thread_id"], "format": "json", "include": "chat,tools"}
    (root,) = ada.get("/api/export", query_string=thread).json["activities"]
    below = root["replies"][0]
    assert (root["id"], below["id"]) == (question["message_id"], messages[2]["message_id"])
    assert [reply["id"] for reply in below["replies"]] == [messages[3]["message_id"]]


def test_an_export_of_nothing_that_is_there_is_refused_and_another_persons_is_not_there(
    ada: Person, eve: Person
) -> None:
    conversation_id = named(ada, "Water")
    named(ada, "Water")
    (question, answer) = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    ada.say(conversation_id, "Really?", reply_to=answer["short_id"])
    thread_id = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[2]["thread_id"]
    for person, asked, expected in (
        (ada, {}, (400, "bad_request")),
        (ada, {"room": conversation_id, "limit": 0}, (400, "bad_request")),
        (ada, {"room": conversation_id, "include": "chat,nothing"}, (400, "bad_request")),
        (ada, {"room": conversation_id, "include": ""}, (400, "bad_request")),
        (ada, {"room": conversation_id, "after": "#ffffff"}, (404, "activity_not_found")),
        (ada, {"room": "Water"}, (409, "ambiguous")),
        (ada, {"recipe": "nowhere"}, (404, "recipe_not_found")),
        (eve, {"room": conversation_id}, (404, "conversation_not_found")),
        (eve, {"thread": thread_id}, (404, "thread_not_found")),
        (eve, {"recipe": "general-discussion", "after": question["message_id"]}, (404, "activity_not_found")),
    ):
        refused = person.get("/api/export", query_string=asked)
        assert (refused.status_code, refused.json["code"]) == expected, asked
    nothing = eve.get("/api/export?recipe=general-discussion").get_data(as_text=True)
    assert nothing == "# General Discussion Session\n\n---\n\nMessages: 0\n"
