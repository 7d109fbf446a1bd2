"""Programs list the tools and call them; errors are those of the API."""

from __future__ import annotations

import pytest
from flask import Flask

from database.search.indexing import index_pending
from endpoints.http.scope import EXTENSION
from endpoints.tools.models import ToolItem
from tests.endpoints.conftest import Person, refused, told


def test_the_tools_are_listed_with_their_schemas(ada: Person) -> None:
    tools = {each.name: each for each in told(ada.get("/api/tools"), list[ToolItem])}
    assert {"list_conversations", "read_conversation"} <= set(tools)
    assert tools["read_conversation"].parameters["required"] == ["conversationId"]
    assert all(tool.description and tool.parameters["type"] == "object" for tool in tools.values())


def test_agents_are_asked_by_default_once_the_person_has_made_one(ada: Person, eve: Person) -> None:
    def is_on(person: Person) -> bool:
        tools = {each.name: each for each in told(person.get("/api/tools"), list[ToolItem])}
        return tools["ask_agent"].on_by_default

    assert not is_on(ada)
    assert ada.post("/api/agents", json={"title": "Botanist"}).status_code == 201
    assert is_on(ada)
    assert not is_on(eve)


def test_a_call_is_answered_by_the_result_itself(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "What is it?")
    answer = ada.post("/api/tools/read_conversation", json={"conversationId": conversation_id, "lineEnd": 1})
    assert answer.status_code == 200
    assert (answer.json["success"], answer.json["content"]) == (True, "1→[user] What is it?")


def test_errors_have_the_status_of_their_code(ada: Person, eve: Person) -> None:
    conversation_id = ada.new_conversation()
    read = "/api/tools/read_conversation"
    assert refused(ada.post("/api/tools/nothing", json={})) == (404, "tool_not_found")
    assert refused(ada.post(read, json={"conversationId": 1})) == (400, "bad_request")
    assert refused(ada.post(read, json=[])) == (400, "bad_request")
    wrong = ada.post(read, json={"conversationId": conversation_id, "lineStart": 5, "lineEnd": 3})
    assert (wrong.status_code, wrong.json["message"]) == (400, "lineStart (5) is after lineEnd (3).")
    assert refused(eve.post(read, json={"conversationId": conversation_id})) == (404, "conversation_not_found")
    eve.client.delete_cookie("anaphora_session")
    assert refused(eve.post(read, json={"conversationId": conversation_id})) == (401, "unauthorized")


def test_a_read_only_token_calls_the_tools_that_only_read(app: Flask, ada: Person) -> None:
    token = ada.post("/api_tokens", json={"name": "reader", "read_only": True}).json["token"]
    reader, headers = Person(ada.email, app.test_client()), {"Authorization": f"Bearer {token}"}
    assert reader.post("/api/tools/list_conversations", json={}, headers=headers).json["success"] is True
    assert refused(reader.post("/api/tools/nothing", json={}, headers=headers)) == (404, "tool_not_found")
    for tool in told(ada.get("/api/tools"), list[ToolItem]):
        if not tool.reads_only:
            for name in (tool.name, *tool.aliases):
                answer = reader.post(f"/api/tools/{name}", json={"text": "Trust me."}, headers=headers)
                assert refused(answer) == (403, "forbidden"), name


@pytest.mark.contract
@pytest.mark.parametrize("is_indexed", [False, True])
def test_tools_that_search_work_on_both_engines(ada: Person, eve: Person, app: Flask, is_indexed: bool) -> None:
    for person in (ada, eve):
        person.say(person.new_conversation(), f"the sour dough of {person.email}")
    if is_indexed:
        index_pending(database=app.extensions[EXTENSION].database)
    for pattern in ("the sour dough", r"s[o]ur\s+dough of ada", "(?i)SOUR DOUGH"):
        (match,) = ada.post("/api/tools/regex_search", json={"pattern": pattern, "searchIn": "content"}).json["matches"]
        assert match["matchPreview"] == "the sour dough of ada@example.org"
    (hit,) = ada.post("/api/tools/search_messages", json={"query": "sour dough"}).json["results"]
    assert hit["lineNumber"] == 1
    (listed,) = ada.post("/api/tools/list_conversations", json={}).json["conversations"]
    assert listed["firstMessagePreview"] == "the sour dough of ada@example.org"
    assert ada.post("/api/tools/add_memory", json={"statement": "I bake"}).json["success"]
    assert len(ada.get("/api/proposals").json) == 1
