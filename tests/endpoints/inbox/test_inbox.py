"""Inboxes over HTTP: what waits, an answer on request, and what failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from database.changes import changes_after
from endpoints.agents.models import AgentItem
from endpoints.http.scope import EXTENSION
from endpoints.inbox.models import Inbox, InboxCounts, Retried, Serviced
from language_models.errors import ModelUnavailableError
from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person, refused, told

MESSAGE = {"recipe": "general-discussion", "type": "chat_message"}


def agent(person: Person, title: str, **fields: Any) -> AgentItem:
    """A new agent."""
    return told(person.post("/api/agents", json={"title": title, **fields}), AgentItem, status=201)


def post(person: Person, room: str, text: str, **fields: Any) -> dict[str, Any]:
    """A message that no model answers."""
    body = {**MESSAGE, "payload": {"text": text}, **fields}
    answer = person.post(f"/api/conversations/{room}/activities", json=body)
    assert answer.status_code == 201, answer.json
    return dict(answer.json)


@pytest.fixture
def main_model() -> Iterator[ScriptedChatModel]:
    """Answers, breaks off once, and answers again."""
    return ScriptedChatModel(replies=[Reply("First."), Reply(ModelUnavailableError("It sleeps.")), Reply("Third.")])


def test_an_inbox_is_looked_into_answered_and_what_failed_is_tried_again(ada: Person) -> None:
    room = ada.new_conversation()
    helper = agent(ada, "Helper", service="later", rules=[{**MESSAGE, "conversation_id": room}], hourly_limit=7)
    for text in ("One?", "Two?"):
        post(ada, room, text)
    found = told(ada.get("/api/inbox/helper"), Inbox)
    assert [item.activity.content for item in found.items] == ["One?", "Two?"]
    assert (found.agent_id, found.service, found.pending, found.hourly_limit) == (helper.agent_id, "later", 2, 7)
    (counts,) = told(ada.get("/api/inbox"), list[InboxCounts])
    assert (counts.agent_id, counts.pending, counts.failed) == (helper.agent_id, 2, 0)
    served = told(ada.post("/api/inbox/helper/service"), Serviced)
    assert served.activity is not None
    assert served.answer is not None
    assert (served.answer.content, served.answer.reply_to_id) == ("First.", served.activity.id)
    failed = told(ada.post("/api/inbox/helper/service"), Serviced)
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == ("model_unavailable", "It sleeps.")
    told_in_room = ada.get(f"/api/conversations/{room}/activities").json
    assert [each["payload"]["description"] for each in told_in_room] == [
        f"Helper could not answer #{found.items[1].activity.short_id}. It sleeps."
    ]
    empty = told(ada.post("/api/inbox/helper/service"), Serviced)
    assert (empty.activity, empty.answer, empty.error) == (None, None, None)
    activity_id = found.items[1].activity.id
    assert refused(ada.post("/api/inbox/helper/retry", json={"activity_id": found.items[0].activity.id})) == (
        404,
        "activity_not_found",
    )
    assert told(ada.post("/api/inbox/helper/retry", json={"activity_id": activity_id}), Retried).count == 1
    assert told(ada.post("/api/inbox/helper/retry"), Retried).count == 0
    again = told(ada.post("/api/inbox/helper/service"), Serviced)
    assert again.answer is not None
    assert again.answer.content == "Third."
    done = told(ada.get("/api/inbox/helper?state=done"), Inbox)
    assert [item.answer_id for item in done.items] == [served.answer.id, again.answer.id]


def test_an_activity_notifies_agents_and_nobody_elses(ada: Person, eve: Person) -> None:
    room = ada.new_conversation()
    agent(ada, "Mine", service="later")
    theirs = agent(eve, "Theirs", rules=[MESSAGE])
    post(ada, room, "Hello", notify=["mine"])
    for name in ("theirs", theirs.agent_id):
        body = {**MESSAGE, "payload": {"text": "Hi"}, "notify": [name]}
        answer = ada.post(f"/api/conversations/{room}/activities", json=body)
        assert refused(answer) == (404, "agent_not_found")
    assert told(ada.get("/api/inbox/mine"), Inbox).pending == 1
    assert told(eve.get("/api/inbox/theirs"), Inbox).items == []


def test_rules_name_their_conversation_by_id_friendly_id_or_title(ada: Person, eve: Person) -> None:
    room = ada.new_conversation()
    post(ada, room, "Deployments of the week")
    title = ada.get(f"/get_conversation_details/{room}").json["title"]
    rule = {"recipe": "system-monitoring", "type": "system_event", "conversation_id": title}
    made = agent(ada, "Watcher", rules=[rule])
    (stored,) = made.rules
    assert (stored.conversation_id, stored.from_agents, made.conversations) == (room, False, {room: title})
    rules = [{**rule, "conversation_id": "Nowhere"}]
    assert refused(ada.post("/api/agents", json={"title": "Lost", "rules": rules})) == (404, "conversation_not_found")
    rules = [{**rule, "conversation_id": room}]
    assert refused(eve.post("/api/agents", json={"title": "Spy", "rules": rules})) == (404, "conversation_not_found")
    ada.delete(f"/delete_conversation/{room}")
    kept = told(ada.put("/api/agents/watcher", json={"title": "Watcher", "rules": rules}), AgentItem)
    assert ([each.conversation_id for each in kept.rules], kept.conversations) == ([room], {})


def test_changes_tell_what_came_of_an_inbox(ada: Person, app: Flask) -> None:
    room = ada.new_conversation()
    agent(ada, "Helper", service="later")
    sent = post(ada, room, "One?", notify=["helper"])
    ada.post("/api/inbox/helper/service")
    database = app.extensions[EXTENSION].database
    seen = changes_after(database=database, user_email=ada.email, after=0, most=100)
    states = [(each.fields["activity_id"], each.fields["state"]) for each in seen if each.kind == "inbox"]
    assert states == [(sent["id"], "pending"), (sent["id"], "done")]
