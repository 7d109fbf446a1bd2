"""Answers that are made again, over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from language_models.errors import ModelFailedError
from language_models.testing import Hold, Reply, ScriptedChatModel
from tests.endpoints.conftest import Person, events_of, refused

pytestmark = pytest.mark.contract


class Moods:
    """What the model says next."""

    def __init__(self) -> None:
        self.replies = [Reply("First answer.")]

    def __call__(self, _prompt: Any) -> Reply:
        return self.replies.pop(0)


@pytest.fixture
def moods() -> Moods:
    """What the model says, one after the other."""
    return Moods()


@pytest.fixture
def main_model(moods: Moods) -> ScriptedChatModel:
    """Says what it is told to."""
    return ScriptedChatModel(replies=moods, name="main")


@pytest.fixture
def talk(ada: Person) -> str:
    """A conversation with one answer."""
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "What is it?")
    return conversation_id


@pytest.fixture
def again(ada: Person, talk: str, moods: Moods) -> Callable[..., list[dict[str, Any]]]:
    """Has the first answer made again."""

    def make(*steps: Any, **how: Any) -> list[dict[str, Any]]:
        moods.replies.append(Reply(*steps, **how))
        message_id = answer(ada, talk)["message_id"]
        return events_of(ada.post(f"/regenerate/{talk}/{message_id}"))

    return make


def answer(person: Person, conversation_id: str) -> dict[str, Any]:
    return person.get(f"/list_messages_by_conversation/{conversation_id}").json[1]


def variants(message: dict[str, Any]) -> list[tuple[int, str, bool]]:
    return [(each["number"], each["status"], each["chosen"]) for each in message["variants"]]


def test_an_answer_made_again_is_a_further_variant_of_the_same_message(
    ada: Person, talk: str, again: Callable[..., list[dict[str, Any]]], main_model: ScriptedChatModel
) -> None:
    before = answer(ada, talk)
    assert before["variants"] == []
    events = again("Second ", "answer.")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "".join(event["text"] for event in events) == "Second answer."
    assert events[-1]["done"] is True
    after = answer(ada, talk)
    assert (after["text"], variants(after)) == ("Second answer.", [(1, "complete", False), (2, "complete", True)])
    for name in ("message_id", "message_short_hash", "message_index", "short_id", "created_at"):
        assert after[name] == before[name]
    assert [each["model"] for each in after["variants"]] == ["main", "main"]
    first, second = main_model.prompts
    assert first[-1]["content"] == second[-1]["content"]
    assert not any("First answer." in str(message["content"]) for message in second)
    assert len(ada.get(f"/list_messages_by_conversation/{talk}").json) == 2


def test_any_variant_can_be_chosen_and_is_what_references_give(
    ada: Person, talk: str, again: Callable[..., list[dict[str, Any]]]
) -> None:
    again("Second answer.")
    again("Third answer.")
    message = answer(ada, talk)
    assert ada.put(f"/variant/{message['message_id']}/1").json == {"status": "ok"}
    chosen = answer(ada, talk)
    assert (chosen["text"], [each["chosen"] for each in chosen["variants"]]) == ("First answer.", [True, False, False])
    friendly_id = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    reference = f"@conversation_{friendly_id}_message_{message['message_short_hash']}"
    resolved = ada.get("/references/resolve", query_string={"ref": reference}).json
    assert (resolved["preview"], resolved["notes"]) == ("First answer.", ["edited"])
    assert refused(ada.put(f"/variant/{message['message_id']}/4")) == (404, "variant_not_found")


def test_an_answer_in_the_middle_is_made_from_what_was_said_before_it(
    ada: Person, talk: str, moods: Moods, again: Callable[..., list[dict[str, Any]]], main_model: ScriptedChatModel
) -> None:
    moods.replies.append(Reply("Later answer."))
    ada.say(talk, "A later question")
    again("Second answer.")
    said = str(main_model.prompts[-1])
    assert "What is it?" in said
    assert "A later question" not in said
    assert "Later answer." not in said
    texts = [message["text"] for message in ada.get(f"/list_messages_by_conversation/{talk}").json]
    assert texts == ["What is it?", "Second answer.", "A later question", "Later answer."]


def test_an_attempt_that_fails_leaves_the_answer_as_it_was(
    ada: Person, talk: str, again: Callable[..., list[dict[str, Any]]]
) -> None:
    events = again("Half ", error=ModelFailedError("The model broke."))
    assert [event["error"]["message"] for event in events if "error" in event] == ["The model broke."]
    after = answer(ada, talk)
    assert (after["text"], after["status"]) == ("First answer.", "complete")
    assert variants(after) == [(1, "complete", True), (2, "failed", False)]
    ada.put(f"/variant/{after['message_id']}/2")
    assert answer(ada, talk)["text"] == "Half "


def test_one_turn_at_a_time_and_what_is_stopped_is_kept(ada: Person, talk: str, moods: Moods) -> None:
    moods.replies.append(Reply("Second ", Hold(), "never"))
    message_id = answer(ada, talk)["message_id"]
    address = f"/regenerate/{talk}/{message_id}"
    lines = iter(ada.post(address, buffered=False).response)
    said = ""
    while said != "Second ":
        said += "".join(event["text"] for event in map(orjson.loads, next(lines).splitlines()))
    running = answer(ada, talk)
    assert (running["status"], variants(running)) == ("streaming", [(1, "complete", True), (2, "streaming", False)])
    assert refused(ada.post(address)) == (409, "turn_in_progress")
    assert refused(ada.post(f"/send_message/{talk}", json={"messageText": "and?"})) == (409, "turn_in_progress")
    assert refused(ada.put(f"/variant/{message_id}/1")) == (409, "turn_in_progress")
    assert ada.post(f"/cancel_response/{talk}").json["cancelled"] is True
    rest = [orjson.loads(line) for chunk in lines for line in chunk.splitlines()]
    assert rest[-1]["done"] is True
    stopped = answer(ada, talk)
    assert (stopped["text"], stopped["status"]) == ("Second ", "cancelled")
    assert variants(stopped) == [(1, "complete", False), (2, "cancelled", True)]


def test_only_an_answer_whose_question_is_there_is_made_again(ada: Person, talk: str) -> None:
    question, said = ada.get(f"/list_messages_by_conversation/{talk}").json
    assert refused(ada.post(f"/regenerate/{talk}/{question['message_id']}")) == (400, "bad_request")
    ada.delete(f"/delete_message_from_conversation/{talk}/{question['message_id']}/1")
    assert refused(ada.post(f"/regenerate/{talk}/{said['message_id']}")) == (400, "bad_request")
    assert refused(ada.post(f"/regenerate/{talk}/{said['message_id']}", json={"model": "no such"})) == (
        400,
        "bad_request",
    )


def test_the_question_is_asked_with_its_references_again(
    ada: Person, talk: str, moods: Moods, main_model: ScriptedChatModel
) -> None:
    friendly_id = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    other = ada.new_conversation()
    moods.replies += [Reply("One."), Reply("Two.")]
    # Named beside the text, as programs do.
    ada.say(other, "Compare.", referenced_friendly_ids=[f"conversation_{friendly_id}_message_2"])
    events = events_of(ada.post(f"/regenerate/{other}/{answer(ada, other)['message_id']}"))
    assert [entry["status"] for entry in events[0]["references"]] == ["resolved"]
    assert "First answer." in str(main_model.prompts[-1][-1]["content"])


def test_all_answers_to_a_question_are_told_with_what_they_say(
    ada: Person, eve: Person, talk: str, again: Callable[..., list[dict[str, Any]]]
) -> None:
    message_id = answer(ada, talk)["message_id"]
    assert ada.get(f"/messages/{message_id}/variants").json == []
    again("Second answer.")
    told = ada.get(f"/messages/{message_id}/variants").json
    assert [(each["number"], each["text"], each["chosen"], each["parts"]) for each in told] == [
        (1, "First answer.", False, []),
        (2, "Second answer.", True, []),
    ]
    listed = [
        {name: each[name] for name in variant}
        for each, variant in zip(told, answer(ada, talk)["variants"], strict=True)
    ]
    assert listed == answer(ada, talk)["variants"]
    assert refused(eve.get(f"/messages/{message_id}/variants")) == (404, "message_not_found")
