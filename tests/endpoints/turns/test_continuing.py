"""Answers that were cut go on where they stopped, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from language_models.errors import ModelFailedError
from language_models.ports import Delta
from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person, events_of, refused

pytestmark = pytest.mark.contract
CUT = Reply(Delta(thinking="It is long."), "One, two, ", Delta(finish_reason="length"))


@pytest.fixture
def replies() -> list[Reply]:
    """What the model says, one after the other: first an answer that is cut."""
    return [CUT]


@pytest.fixture
def main_model(replies: list[Reply]) -> ScriptedChatModel:
    """Says what it is told to."""
    return ScriptedChatModel(replies=lambda _prompt: replies.pop(0), name="main")


@pytest.fixture
def talk(ada: Person) -> str:
    """A conversation whose answer was cut."""
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Count to four.")
    return conversation_id


def answer(person: Person, conversation_id: str) -> dict[str, Any]:
    return person.get(f"/list_messages_by_conversation/{conversation_id}").json[1]


def test_a_cut_answer_goes_on_in_the_same_message(
    ada: Person, talk: str, replies: list[Reply], main_model: ScriptedChatModel
) -> None:
    before = answer(ada, talk)
    assert [part["kind"] for part in before["parts"]] == ["thinking", "notice"]
    replies.append(Reply("three, ", "four."))
    events = events_of(ada.post(f"/continue/{talk}/{before['message_id']}"))
    assert "".join(event["text"] for event in events) == "One, two, three, four."
    after = answer(ada, talk)
    assert (after["text"], after["status"]) == ("One, two, three, four.", "complete")
    for name in ("message_id", "message_short_hash", "message_index", "short_id"):
        assert after[name] == before[name]
    assert [(part["kind"], part["text"]) for part in after["parts"]] == [("thinking", "It is long.")]
    question, said, goes_on = main_model.prompts[-1][-3:]
    assert (question["content"], said["content"]) == ("Count to four.", "One, two, ")
    assert goes_on["role"] == "user"
    assert "Go on exactly where it stopped" in str(goes_on["content"])
    # What it said before is the first variant.
    assert ada.put(f"/variant/{before['message_id']}/1").status_code == 200
    assert answer(ada, talk)["text"] == "One, two, "


def test_what_can_not_go_on_stays_as_it_was(ada: Person, talk: str, replies: list[Reply]) -> None:
    question, cut = ada.get(f"/list_messages_by_conversation/{talk}").json
    replies.append(Reply(error=ModelFailedError("The model broke.")))
    events = events_of(ada.post(f"/continue/{talk}/{cut['message_id']}"))
    assert [event["error"]["message"] for event in events if "error" in event] == ["The model broke."]
    after = answer(ada, talk)
    assert (after["text"], after["status"], after["parts"]) == (cut["text"], cut["status"], cut["parts"])
    assert refused(ada.post(f"/continue/{talk}/{question['message_id']}")) == (400, "bad_request")
    replies.append(Reply(error=ModelFailedError("The model broke.")))
    ada.say(talk, "And five?")
    empty = ada.get(f"/list_messages_by_conversation/{talk}").json[3]
    assert refused(ada.post(f"/continue/{talk}/{empty['message_id']}")) == (400, "bad_request")


def test_of_a_long_answer_the_model_gets_the_end(
    ada: Person, talk: str, replies: list[Reply], main_model: ScriptedChatModel
) -> None:
    message = answer(ada, talk)
    long = f"The beginning. {'word ' * 30_000}The end."
    edit = {"text": long, "based_on": message["text"]}
    address = f"/edit_message_from_conversation/{talk}/{message['message_id']}/2"
    assert ada.post(address, json=edit).status_code == 200
    replies.append(Reply(" And so on."))
    ada.post(f"/continue/{talk}/{message['message_id']}").get_data()
    assert answer(ada, talk)["text"] == f"{long} And so on."
    prompt = main_model.prompts[-1]
    assert str(prompt[-2]["content"]).endswith("The end.")
    assert "The beginning." not in str(prompt)
    assert sum(main_model.count_tokens(str(message["content"])) for message in prompt) < main_model.context_window
