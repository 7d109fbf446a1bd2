"""Pictures, whichever model answers in the end: those that see get them, and the report tells the truth of all."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from PIL import Image

from chat.runtime.startup import bring_in_order
from database.turns.turns import accept_turn
from endpoints.http.scope import EXTENSION
from language_models.errors import ModelUnknownError
from language_models.testing import Reply, ScriptedChatModel
from tests.attachments.made_files import picture_of
from tests.endpoints.conftest import Person

pytestmark = pytest.mark.contract
DOOR, OWN = (40, 20), (8, 8)
Models = Callable[..., None]


@pytest.fixture
def main_model() -> ScriptedChatModel:
    return ScriptedChatModel(replies=lambda _prompt: Reply("Noted."), context_window=64_000, name="main")


@pytest.fixture
def models(app: Flask) -> Models:
    """Further models, by setting."""
    overrides = app.extensions[EXTENSION].models._overrides
    return lambda **named: overrides.update({f"openai:{name}": model for name, model in named.items()})


def attached(person: Person, size: tuple[int, int], name: str) -> str:
    answer = person.post(f"/attachments?name={name}", data=picture_of(*size), content_type="application/octet-stream")
    return answer.json["attachment_id"]


@pytest.fixture
def door(ada: Person) -> str:
    """A reference to a message with a picture."""
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "", files=[attached(ada, DOOR, "door.png")])
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    return f"@conversation_{friendly_id}_message_1"


def gone(*, sees: bool) -> ScriptedChatModel:
    """A model that its provider has no more."""
    replies = [Reply(error=ModelUnknownError("no such model"))]
    return ScriptedChatModel(replies=replies, name="gone", sees_pictures=sees, context_window=64_000)


def seeing(name: str) -> ScriptedChatModel:
    return ScriptedChatModel(
        replies=lambda _prompt: Reply("Seen."), name=name, sees_pictures=True, context_window=64_000
    )


def with_model(person: Person, name: str) -> str:
    """A conversation that has chosen a model."""
    conversation_id = person.new_conversation()
    settings = {"model_overrides": {"main": f"openai:{name}"}}
    assert person.request("PATCH", f"/conversations/{conversation_id}/settings", json=settings).status_code == 200
    return conversation_id


def agent(person: Person, title: str, **fields: Any) -> str:
    made = person.post("/api/agents", json={"title": title, **fields})
    assert made.status_code == 201, made.get_data(as_text=True)
    return made.json["agent_id"]


def sizes_given(model: ScriptedChatModel) -> list[tuple[int, int]]:
    """The sizes of the pictures that came with the last question, in order."""
    sizes = []
    for url in model.prompts[-1][-1].get("pictures", ()):
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
            sizes.append(picture.size)
    return sizes


def told(report: list[dict[str, Any]]) -> dict[str, tuple[str, list[str]]]:
    """Status and notes of each entry of a report, by the title of a file or the kind of thing."""
    return {
        entry["title"] if entry["kind"] == "file" else entry["kind"]: (entry["status"], entry["notes"])
        for entry in report
    }


def reports(events: list[dict[str, Any]]) -> list[dict[str, tuple[str, list[str]]]]:
    return [told(event["references"]) for event in events if "references" in event]


def stored(person: Person, conversation_id: str) -> dict[str, tuple[str, list[str]]]:
    return told(person.get(f"/list_messages_by_conversation/{conversation_id}").json[0]["references"])


HOLDS = "Files of the message: door.png."


def blind(name: str) -> str:
    return f"{name} does not see pictures."


def test_where_a_model_that_sees_none_answers_instead_the_report_says_so(
    ada: Person, main_model: ScriptedChatModel, models: Models, door: str
) -> None:
    models(gone=gone(sees=True))
    conversation_id = with_model(ada, "gone")
    events = ada.say(conversation_id, f"{door} {door}_file_1", files=[attached(ada, OWN, "own.png")])
    first, last = reports(events)
    assert first == {"message": ("resolved", [HOLDS]), "door.png": ("resolved", []), "own.png": ("resolved", [])}
    assert (last["door.png"], last["own.png"]) == (("unavailable", [blind("main")]),) * 2
    assert last["message"] == ("empty", [HOLDS, f"door.png: {blind('main')}"])
    assert sizes_given(main_model) == []
    assert stored(ada, conversation_id) == last


def test_where_a_model_that_sees_answers_instead_it_gets_the_pictures(
    ada: Person, main_model: ScriptedChatModel, models: Models, door: str
) -> None:
    models(gone=gone(sees=False))
    main_model._sees_pictures = True
    conversation_id = with_model(ada, "gone")
    events = ada.say(conversation_id, f"{door}_file_1", files=[attached(ada, OWN, "own.png")])
    first, last = reports(events)
    assert first == {"door.png": ("unavailable", [blind("gone")]), "own.png": ("unavailable", [blind("gone")])}
    assert last == {"door.png": ("resolved", []), "own.png": ("resolved", [])} == stored(ada, conversation_id)
    assert sizes_given(main_model) == [DOOR, OWN]


def test_of_several_agents_the_report_names_those_that_see_none_also_where_one_is_answered_for(
    ada: Person, main_model: ScriptedChatModel, models: Models, door: str
) -> None:
    eye = seeing("eye")
    models(gone=gone(sees=True), eye=eye)
    agent(ada, "Eye", model="openai:eye")
    agent(ada, "Gone", model="openai:gone")
    conversation_id = ada.new_conversation()
    own = attached(ada, OWN, "own.png")
    events = ada.say(conversation_id, f"@agent_eye @agent_gone {door}_file_1", files=[own])
    first, last = reports(events)
    assert (first["door.png"], first["own.png"]) == (("resolved", []),) * 2
    assert (last["door.png"], last["own.png"]) == (("resolved", [blind("main")]),) * 2
    assert (sizes_given(eye), sizes_given(main_model)) == ([DOOR, OWN], [])
    # The report is the question's: it names no answer.
    assert all("message_id" not in event for event in events if "references" in event)


def test_who_answers_after_the_main_model_in_the_place_of_another_is_given_what_fits_its_own_window(
    ada: Person, main_model: ScriptedChatModel, models: Models
) -> None:
    eye = seeing("eye")
    models(gone=gone(sees=True), eye=eye)
    main_model._context_window = 3_000
    agent(ada, "Gone", model="openai:gone")
    agent(ada, "Eye", model="openai:eye")
    conversation_id, asking = ada.new_conversation(), ada.new_conversation()
    lengthy = [f"{word} " * 900 for word in ("basil", "thyme", "cress")]
    for text in lengthy:
        ada.say(conversation_id, text)
    name = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    refs = " ".join(f"@conversation_{name}_message_{n}" for n in (1, 3, 5))
    ada.say(asking, f"@agent_gone @agent_eye what fits? {refs}")
    given_to_main, given_to_eye = (model.prompts[-1][-1]["content"] for model in (main_model, eye))
    assert [text.strip() in given_to_main for text in lengthy] != [True] * 3
    assert [text.strip() in given_to_eye for text in lengthy] == [True] * 3


@pytest.mark.parametrize("sees", [True, False])
@pytest.mark.parametrize("answered_by", ["conversation", "agent"])
def test_a_turn_killed_before_it_told_anything_tells_of_its_pictures_afterwards(
    ada: Person, app: Flask, models: Models, door: str, sees: bool, answered_by: str
) -> None:
    state = app.extensions[EXTENSION]
    models(other=ScriptedChatModel(replies=[Reply("Seen.")], name="other", sees_pictures=sees, context_window=64_000))
    conversation_id = with_model(ada, "other") if answered_by == "conversation" else ada.new_conversation()
    who = agent(ada, "Other", model="openai:other") if answered_by == "agent" else None
    accept_turn(
        database=state.database,
        user_email=ada.email,
        conversation_id=conversation_id,
        text=f"See {door}_file_1",
        config={},
        agent=who and {"id": who, "title": "Other"},
        files=[attached(ada, OWN, "own.png")],
    )
    bring_in_order(database=state.database, report_of=state.turns.report_of)
    fate = ("resolved", []) if sees else ("unavailable", [blind("other")])
    assert stored(ada, conversation_id) == {"door.png": fate, "own.png": fate}


def test_an_agent_that_answers_later_gets_the_files_and_pictures_of_the_message(
    ada: Person, models: Models, door: str
) -> None:
    eye = seeing("eye")
    models(eye=eye)
    later = agent(ada, "Eye", model="openai:eye", service="later")
    conversation_id = ada.new_conversation()
    notes = ada.post("/attachments?name=n.txt", data=b"The code is 4711.", content_type="application/octet-stream")
    files = [attached(ada, OWN, "own.png"), notes.json["attachment_id"]]
    events = ada.say(conversation_id, f"@agent_eye, what is in {door} and {door}_file_1?", files=files)
    assert reports(events)[-1]["door.png"] == ("resolved", [])
    assert eye.prompts == []
    assert ada.post(f"/api/inbox/{later}/service").json["answer"] is not None
    assert sizes_given(eye) == [DOOR, OWN]
    asked = eye.prompts[-1][-1]["content"]
    assert "The code is 4711." in asked
    assert "file_1: door.png, a picture of 40 × 20 pixels" in asked
    assert events_behind(ada, conversation_id) == []
    # Of what went before, the text stays.
    ada.say(conversation_id, "@agent_eye, and now?")
    ada.post(f"/api/inbox/{later}/service")
    assert "The code is 4711." in "".join(message["content"] for message in eye.prompts[-1])
    assert sizes_given(eye) == []


def test_what_an_agent_that_answers_later_is_not_given_is_told_once(
    ada: Person, main_model: ScriptedChatModel, door: str
) -> None:
    later = agent(ada, "Later", service="later")
    conversation_id = ada.new_conversation()
    # The report of the question has told of it.
    ada.say(conversation_id, f"@agent_later, see {door}_file_1", files=[attached(ada, OWN, "own.png")])
    ada.post(f"/api/inbox/{later}/service")
    assert events_behind(ada, conversation_id) == []
    # What a program posts has no report.
    text = f"@agent_later, see {door}_file_1 and @conversation_no_such_a1b2_message_1"
    posted = ada.post(f"/api/conversations/{conversation_id}/activities", json=posted_message(text))
    assert posted.status_code == 201, posted.get_data(as_text=True)
    assert ada.post(f"/api/inbox/{later}/service").json["answer"] is not None
    (event,) = events_behind(ada, conversation_id)
    short_id = posted.json["short_id"]
    missing = "@conversation_no_such_a1b2_message_1: No such conversation."
    assert event == f"Later was not given all of what #{short_id} names: door.png: {blind('main')} {missing}"
    assert "pictures" not in main_model.prompts[-1][-1]


def posted_message(text: str) -> dict[str, Any]:
    return {"recipe": "general-discussion", "type": "chat_message", "payload": {"text": text}}


def events_behind(person: Person, conversation_id: str) -> list[str]:
    """What people were told of inboxes in this conversation."""
    listed = person.get(f"/api/conversations/{conversation_id}/activities").json
    return [each["payload"]["description"] for each in listed if each["type"] == "system_event"]
