"""Presets and prompts over HTTP, and the changes that other tabs are told."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from database import library
from endpoints.library.models import Preset, Prompt
from tests.endpoints.conftest import Person, refused, told

pytestmark = pytest.mark.contract

STRICT = {"system_prompt": "Answer in one word.", "temperature": 0.0, "answer_tokens": 50, "model": "cheap"}


def changes(person: Person) -> list[dict[str, Any]]:
    lines = next(person.get("/events?after=0").iter_encoded()).splitlines()
    return [orjson.loads(line) for line in lines]


def test_a_preset_is_kept_renamed_replaced_and_deleted(ada: Person) -> None:
    made = told(ada.post("/presets", json={"name": "  Strict ", **STRICT}), Preset, status=201)
    assert made.model_dump(include=set(STRICT)) == STRICT
    told(ada.post("/presets", json={"name": "easy"}), Preset, status=201)
    assert [each["name"] for each in ada.get("/presets").json] == ["easy", "Strict"]
    path = f"/presets/{made.preset_id}"
    replaced = told(ada.put(path, json={"name": "Strict", "temperature": 1}), Preset)
    assert (replaced.temperature, replaced.model, replaced.created_at) == (1.0, None, made.created_at)
    assert told(ada.get(path), Preset) == replaced
    assert ada.delete(path).json == {"status": "ok"}
    assert refused(ada.get(path)) == (404, "preset_not_found")
    assert [(each["kind"], each["change"], each["fields"]) for each in changes(ada)] == [
        ("preset", "created", {"name": "Strict"}),
        ("preset", "created", {"name": "easy"}),
        ("preset", "changed", {"name": "Strict"}),
        ("preset", "gone", {}),
    ]


def test_a_prompt_has_one_word_for_a_name_and_its_text_as_it_was_typed(ada: Person) -> None:
    text = "Translate into {{language}}:\n\n{{text}}\n"
    made = told(ada.post("/prompts", json={"name": "Übersetze", "text": text}), Prompt, status=201)
    assert (made.name, made.text) == ("übersetze", text)
    replaced = told(ada.put(f"/prompts/{made.prompt_id}", json={"name": "translate", "text": "{{text}}"}), Prompt)
    assert [each["name"] for each in ada.get("/prompts").json] == ["translate"]
    assert told(ada.get(f"/prompts/{made.prompt_id}"), Prompt) == replaced
    assert ada.delete(f"/prompts/{made.prompt_id}").json == {"status": "ok"}
    assert ada.get("/prompts").json == []


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/presets", {"name": " "}),
        ("/presets", {"name": "a", "temperature": 3}),
        ("/presets", {"name": "a", "model": "no such"}),
        ("/presets", {"name": "a", "tone": "dry"}),
        ("/prompts", {"name": "two words", "text": "a"}),
        ("/prompts", {"name": "a/b", "text": "a"}),
        ("/prompts", {"name": "2", "text": "a"}),
        ("/prompts", {"name": "a", "text": ""}),
    ],
)
def test_what_makes_no_sense_is_refused(path: str, wrong: dict[str, Any], ada: Person) -> None:
    assert refused(ada.post(path, json=wrong)) == (400, "bad_request")
    assert ada.get(path).json == []


@pytest.mark.parametrize(("kind", "content"), [("preset", {}), ("prompt", {"text": "a"})])
def test_a_refusal_says_its_code_for_other_languages(
    kind: str, content: dict[str, Any], ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said() -> object:
        return ada.post(f"/{kind}s", json={"name": "same", **content}).json["said"]

    ada.post(f"/{kind}s", json={"name": "same", **content})
    assert said() == [{"code": f"{kind}_name_taken", "values": {}}]
    monkeypatch.setattr(library, "MOST_ITEMS", 1)
    assert said() == [{"code": f"most_{kind}s", "values": {"most": 1}}]


def test_a_name_is_there_once_for_each_person_and_kind(ada: Person, eve: Person) -> None:
    ada.post("/prompts", json={"name": "same", "text": "a"})
    other = ada.post("/prompts", json={"name": "other", "text": "a"}).json["prompt_id"]
    assert refused(ada.post("/prompts", json={"name": "Same", "text": "b"})) == (409, "conflict")
    assert refused(ada.put(f"/prompts/{other}", json={"name": "same", "text": "b"})) == (409, "conflict")
    assert ada.post("/presets", json={"name": "same"}).status_code == 201
    assert eve.post("/prompts", json={"name": "same", "text": "a"}).status_code == 201
    assert [each["text"] for each in ada.get("/prompts").json] == ["a", "a"]


def test_nobody_fills_the_store_with_presets(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MOST_ITEMS", 2)
    statuses = [ada.post("/presets", json={"name": str(number)}).status_code for number in range(3)]
    assert statuses == [201, 201, 400]


def test_a_preset_with_a_model_that_the_operator_does_not_allow_is_refused(ada: Person) -> None:
    answer = ada.post("/presets", json={"name": "a", "model": "openai:o1-pro"})
    assert refused(answer) == (403, "model_not_allowed")
