"""Asking a question again over HTTP: the branch, what the model is given of it, and what follows the active path."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from endpoints.messages.models import MessageItem
from endpoints.turns.models import BranchingItem
from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person, events_of


@pytest.fixture
def model(app: Flask) -> ScriptedChatModel:
    """Answers by repeating the first line of what it is asked."""
    scripted = ScriptedChatModel(replies=lambda prompt: Reply(f"So: {prompt[-1]['content'].splitlines()[0]}"))
    app.extensions["anaphora"].services.models.main = lambda: scripted  # type: ignore[method-assign]
    return scripted


class Talk:
    """One conversation of one person."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.conversation_id = person.new_conversation()

    def say(self, text: str, **more: Any) -> dict[str, Any]:
        return _ids(self.person.say(self.conversation_id, text, **more))

    def again(self, message_id: str, text: str, **more: Any) -> dict[str, Any]:
        body = {"text": text, **more}
        answer = self.person.post(f"/branch/{self.conversation_id}/{message_id}", json=body)
        assert answer.status_code == 200, answer.get_data(as_text=True)
        return _ids(events_of(answer))

    def messages(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.person.get(f"/list_messages_by_conversation/{self.conversation_id}").json
        return listed

    def texts(self) -> list[str]:
        return [message["text"] for message in self.messages()]


def _ids(events: list[dict[str, Any]]) -> dict[str, Any]:
    ids: dict[str, Any] = [event["message_ids"] for event in events if "message_ids" in event][-1]
    return ids


@pytest.fixture
def talk(ada: Person) -> Talk:
    return Talk(ada)


def test_a_branch_streams_is_listed_and_chosen(talk: Talk, ada: Person) -> None:
    talk.say("one")
    former = talk.say("two")
    talk.say("three")
    ids = talk.again(former["user_message_id"], "deux")
    assert (ids["user_message_index"], ids["response_message_index"]) == (3, 4)
    assert talk.texts()[::2] == ["one", "deux"]
    assert [MessageItem(**message).branch for message in talk.messages()][2] is not None
    (place,) = [BranchingItem(**each) for each in ada.get(f"/branches/{talk.conversation_id}").json]
    assert (place.message_id, place.chosen, place.branch_id) == (former["user_message_id"], 2, None)
    assert [(each.number, each.preview) for each in place.branches] == [(1, "two"), (2, "deux")]
    assert place.branches[1].message_short_hash == ids["user_message_short_hash"]
    assert ada.put(f"/branch/{former['user_message_id']}/1").status_code == 200
    assert talk.texts()[::2] == ["one", "two", "three"]
    assert ada.put(f"/branch/{ids['response_message_id']}").status_code == 200
    assert talk.texts()[::2] == ["one", "deux"]
    listed = ada.get("/list_conversation_by_user/assistant").json
    assert [row["message_count"] for row in listed if row["conversation_id"] == talk.conversation_id] == [4]
    refused = ada.put(f"/branch/{former['user_message_id']}/9")
    assert (refused.status_code, refused.json["code"]) == (404, "branch_not_found")
    on_answer = ada.post(f"/branch/{talk.conversation_id}/{former['response_message_id']}", json={"text": "x"})
    assert on_answer.status_code == 400


def test_the_same_request_sent_again_is_the_same_branch(talk: Talk, ada: Person) -> None:
    former = talk.say("one")
    sent = [talk.again(former["user_message_id"], "uno", client_message_id="a-1") for _ in range(2)]
    assert sent[0]["response_message_id"] == sent[1]["response_message_id"]
    (place,) = ada.get(f"/branches/{talk.conversation_id}").json
    assert len(place["branches"]) == 2


def test_the_model_is_given_the_active_path_alone(talk: Talk, model: ScriptedChatModel) -> None:
    talk.say("one")
    former = talk.say("two", checkboxes={"use_pkb": False})
    talk.say("three")
    talk.again(former["user_message_id"], "deux")
    given = [message["content"] for message in model.prompts[-1][1:]]
    assert given == ["one", "So: one", "deux"]
    assert talk.messages()[2]["config"]["checkboxes"] == {"use_pkb": False}


def test_other_branches_are_found_referred_to_and_exported_but_not_shared(talk: Talk, ada: Person) -> None:
    former = talk.say("The turnip is yellow.")
    talk.again(former["user_message_id"], "The carrot is purple.")
    hits = ada.get("/search?q=turnip").json["results"]
    assert {hit["message_index"] for hit in hits} == {0}
    reference = hits[0]["reference"]
    assert former["user_message_short_hash"] in reference or former["response_message_short_hash"] in reference
    entry = ada.get("/references/resolve", query_string={"ref": reference}).json
    assert (entry["status"], entry["notes"]) == ("resolved", ["other branch"])
    by_index = ada.get("/references/resolve", query_string={"ref": reference.rsplit("_", 1)[0] + "_1"}).json
    assert (by_index["preview"], by_index["notes"]) == ("The carrot is purple.", [])

    exported = {fmt: _export(talk, fmt) for fmt in ("json", "markdown", "html")}
    assert all("turnip" in text and "carrot" in text for text in exported.values())
    assert "*other branch*" in exported["markdown"]
    token = ada.post(f"/share/{talk.conversation_id}").json["token"]
    shown = ada.get(f"/shared_chat/{token}").json["messages"]
    assert ["turnip" in message["text"] for message in shown] == [False, False]


def _export(talk: Talk, fmt: str) -> str:
    return talk.person.get(f"/export_conversation/{talk.conversation_id}?format={fmt}").get_data(as_text=True)
