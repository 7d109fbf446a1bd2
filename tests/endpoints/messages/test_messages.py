"""What can be done with the messages of a conversation, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from endpoints.conversations import models as conversation_models
from endpoints.messages import models as message_models
from language_models.testing import ScriptedChatModel
from tests.endpoints.conftest import Person, refused

pytestmark = pytest.mark.contract


@pytest.fixture
def talk(ada: Person) -> str:
    """A conversation in which two questions were answered."""
    conversation_id = ada.new_conversation()
    for text in ("What is it?", "Are you sure?"):
        ada.say(conversation_id, text)
    return conversation_id


def listed(person: Person, conversation_id: str) -> list[dict[str, Any]]:
    messages = person.get(f"/list_messages_by_conversation/{conversation_id}").json
    for message in messages:
        message_models.MessageItem.model_validate(message, strict=True)
    return messages


def hide(person: Person, message: dict[str, Any], how: str) -> Any:
    place = f"{message['conversation_id']}/{message['message_id']}/{message['message_index']}"
    return person.post(f"/show_hide_message_from_conversation/{place}", json={"show_hide": how})


def test_a_deleted_message_is_brought_back(ada: Person, talk: str) -> None:
    before = listed(ada, talk)
    message_id = before[1]["message_id"]
    ada.delete(f"/delete_message_from_conversation/{talk}/{message_id}/2")
    assert [message["message_index"] for message in listed(ada, talk)] == [1, 2, 3]
    assert ada.post(f"/restore_message/{talk}/{message_id}").json == {"status": "ok"}
    assert listed(ada, talk) == before
    assert refused(ada.post(f"/restore_message/{talk}/nothing")) == (404, "message_not_found")


def test_an_edit_may_be_as_long_as_a_message(ada: Person, talk: str) -> None:
    question = listed(ada, talk)[0]
    edit = f"/edit_message_from_conversation/{talk}/{question['message_id']}/1"
    assert refused(ada.post(edit, json={"text": "a" * 200_001})) == (413, "too_large")
    assert refused(ada.post(edit, json={"text": " "})) == (400, "bad_request")
    assert ada.post(edit, json={"text": "a" * 200_000}).status_code == 200


def test_a_hidden_message_stays_out_of_the_prompt_and_can_be_referred_to(
    ada: Person, talk: str, main_model: ScriptedChatModel
) -> None:
    question = listed(ada, talk)[0]
    assert hide(ada, question, "hide").status_code == 200
    assert listed(ada, talk)[0]["show_hide"] == "hide"
    ada.say(talk, "And now?")
    seen = "\n".join(str(message["content"]) for message in main_model.prompts[-1])
    assert "What is it?" not in seen
    assert "Are you sure?" in seen
    friendly_id = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    reference = f"@conversation_{friendly_id}_message_{question['message_short_hash']}"
    assert ada.say(talk, f"Look at {reference}")[0]["references"][0]["status"] == "resolved"
    assert "What is it?" in str(main_model.prompts[-1][-1]["content"])
    hide(ada, question, "show")
    ada.say(talk, "And now?")
    assert any(message["content"] == "What is it?" for message in main_model.prompts[-1])


def test_hiding_says_what_is_wrong(ada: Person, talk: str) -> None:
    question = listed(ada, talk)[0]
    assert refused(hide(ada, question, "blink")) == (400, "bad_request")
    assert refused(hide(ada, question | {"message_index": 2}, "hide")) == (409, "conflict")


def test_messages_are_pinned_to_the_top_of_their_conversation(ada: Person, talk: str) -> None:
    _, answer, question, _ = listed(ada, talk)
    for message in (question, answer):
        assert ada.put(f"/messages/{message['message_id']}/pin").json == {"status": "ok"}
    pinned = ada.get(f"/conversations/{talk}/pinned_messages").json
    assert [message_models.PinnedMessage(**item).preview for item in pinned] == ["It is forty-two.", "Are you sure?"]
    assert [bool(message["pinned_at"]) for message in listed(ada, talk)] == [False, True, True, False]
    ada.delete(f"/messages/{answer['message_id']}/pin")
    assert [item["message_index"] for item in ada.get(f"/conversations/{talk}/pinned_messages").json] == [3]


def test_an_answer_is_listed_with_what_it_took(ada: Person) -> None:
    talk = ada.new_conversation()
    (used,) = [event["usage"] for event in ada.say(talk, "What is it?") if "usage" in event]
    assert [message_models.MessageItem(**message).usage for message in listed(ada, talk)] == [None, used]


def test_earlier_texts_can_be_read(ada: Person, talk: str) -> None:
    message_id = listed(ada, talk)[0]["message_id"]
    for text in ("What was it?", "What will it be?"):
        ada.post(f"/edit_message_from_conversation/{talk}/{message_id}/1", json={"text": text})
    edits = ada.get(f"/messages/{message_id}/edits").json
    assert [message_models.EarlierText(**edit).text for edit in edits] == ["What is it?", "What was it?"]


def test_an_edit_of_what_was_changed_meanwhile_is_refused(ada: Person, talk: str) -> None:
    path = f"/edit_message_from_conversation/{talk}/{listed(ada, talk)[0]['message_id']}/1"
    first = {"text": "What was it?", "based_on": "What is it?"}
    assert ada.post(path, json=first).json == {"status": "ok"}
    assert ada.post(path, json=first).json == {"status": "ok"}  # the answer to the first time was lost
    late = ada.post(path, json={"text": "What will it be?", "based_on": "What is it?"})
    assert refused(late) == (409, "conflict")
    assert late.json["message"] == "The message was changed meanwhile. Look at what it says now, then save again."
    assert listed(ada, talk)[0]["text"] == "What was it?"
    for body in ({"text": "What will it be?", "based_on": "What was it?"}, {"text": "Who knows?"}):
        assert ada.post(path, json=body).json == {"status": "ok"}
    assert listed(ada, talk)[0]["text"] == "Who knows?"


def test_who_answered_has_the_same_name_wherever_an_answer_is_listed(ada: Person, talk: str) -> None:
    question, answer, _, _ = listed(ada, talk)
    name = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    for message in (question, answer):
        ada.put(f"/messages/{message['message_id']}/pin")
    ada.say(ada.new_conversation(), f"Of @conversation_{name}_message_2")
    lists = (
        ada.get(f"/conversations/{talk}/pinned_messages").json,
        ada.get(f"/conversations/{name}/messages").json,
        ada.get(f"/conversations/{name}/messages?q=it").json,
        ada.get(f"/messages/{answer['message_id']}/backlinks").json,
        ada.get("/search?q=it&kind=message").json["results"],
    )
    names = {"user": None, "model": answer["config"]["model"]}
    assert names["model"]
    for items in lists:
        assert items
        assert all(item["model"] == names[item["sender"]] for item in items)


def test_a_fork_goes_another_way(ada: Person, talk: str) -> None:
    _, answer, *_ = listed(ada, talk)
    reply = ada.post(f"/fork_conversation/{talk}/{answer['message_id']}")
    assert reply.status_code == 201
    fork = conversation_models.ConversationName(**reply.json)
    details = ada.get(f"/get_conversation_details/{fork.conversation_id}").json
    assert (details["message_count"], details["title"]) == (2, "Deep Thought Answers (fork)")
    assert details["conversation_friendly_id"] == fork.conversation_friendly_id
    ada.say(fork.conversation_id, "And otherwise?")
    assert [message["text"] for message in listed(ada, fork.conversation_id)][1:3] == [answer["text"], "And otherwise?"]
    assert len(listed(ada, talk)) == 4


def test_a_fork_is_made_once_under_its_client_id(ada: Person, talk: str) -> None:
    _, answer, _, later = listed(ada, talk)
    forks = [
        ada.post(f"/fork_conversation/{talk}/{message['message_id']}", json={"client_id": "fork"}).json
        for message in (answer, answer, later)
    ]
    assert forks[0] == forks[1] != forks[2]
    assert len(ada.get("/list_conversation_by_user/assistant").json) == 3


def test_a_reference_to_the_conversation_leaves_hidden_messages_out_and_says_so(
    ada: Person, talk: str, main_model: ScriptedChatModel
) -> None:
    hide(ada, listed(ada, talk)[2], "hide")
    friendly_id = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    (entry,) = ada.say(ada.new_conversation(), f"Sum up @conversation_{friendly_id}")[0]["references"]
    assert (entry["status"], entry["count"]) == ("truncated", 3)
    assert entry["notes"] == ["The newest 3 of 4 messages; 1 hidden from the model left out."]
    seen = str(main_model.prompts[-1][-1]["content"])
    assert "What is it?" in seen
    assert "Are you sure?" not in seen


def test_a_text_is_found_exactly_in_all_messages_of_one_conversation(ada: Person, talk: str, eve: Person) -> None:
    ada.say(ada.new_conversation(), "Are you sure? Elsewhere")
    ada.say(talk, "100% of *it_ isn't* there")

    def found(q: str) -> list[int]:
        reply = ada.get(f"/find_in_conversation/{talk}", query_string={"q": q}).json
        message_models.FoundMessages.model_validate(reply, strict=True)
        assert reply["total"] == len(reply["messages"])
        return [message["message_index"] for message in reply["messages"]]

    assert found("SURE?") == [3]
    assert found("is it") == [1]
    assert found("% of *it_") == [5]
    assert found("elsewhere") == []
    assert found("") == []
    [message] = ada.get(f"/find_in_conversation/{talk}", query_string={"q": "sure"}).json["messages"]
    assert message["message_id"] == listed(ada, talk)[2]["message_id"]
    assert refused(eve.get(f"/find_in_conversation/{talk}?q=sure"))[0] == 404
