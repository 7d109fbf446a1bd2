"""Conversations as files over HTTP."""

from __future__ import annotations

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
