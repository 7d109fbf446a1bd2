"""Programs list the tools and call them; errors are those of the API."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from mcp import Client

from chat.tools.registry import InvalidArgumentsError, Tool, ToolContext
from database.search.indexing import index_pending
from endpoints.http.scope import EXTENSION
from endpoints.tools.models import ToolItem
from language_models.testing import Reply, ScriptedChatModel, calling
from search.patterns import Deadline
from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.export.test_archive_imported import imported
from tests.endpoints.mcp.programs import token_of, with_client


@pytest.fixture
def hanging(app: Flask) -> Iterator[Tool]:
    """A tool of a package that does not answer before the test has ended."""
    ended = threading.Event()

    def hang(_context: ToolContext) -> dict[str, Any]:
        ended.wait(60)
        return {"success": True}

    tool = Tool(name="hang", description="Hang.", parameters={}, run=hang, is_installed=True, seconds=0.05)
    app.extensions[EXTENSION].tools.register(tool)
    yield tool
    ended.set()


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


def test_a_tool_of_a_package_that_hangs_holds_its_own_threads_alone_and_is_given_up(
    app: Flask, ada: Person, hanging: Tool
) -> None:
    answer = ada.post(f"/api/tools/{hanging.name}", json={})
    assert refused(answer) == (504, "tool_timeout")
    assert answer.json["message"].startswith(f"{hanging.name} ")

    async def use(client: Client) -> Any:
        return (await client.call_tool(hanging.name, {})).structured_content

    assert with_client(app, token_of(app, ada.email), use)["error"]["code"] == "tool_timeout"


def test_a_tool_of_a_package_answers_programs_as_any_other(app: Flask, ada: Person) -> None:
    def echo(context: ToolContext, **given: Any) -> dict[str, Any]:
        if "word" not in given:
            raise InvalidArgumentsError("Which word?")
        return {"success": True, "user": context.user_email, "in": threading.current_thread().name, **given}

    tool = Tool(name="echo_word", description="Echo.", parameters={}, run=echo, is_installed=True)
    app.extensions[EXTENSION].tools.register(tool)
    said = {"success": True, "user": ada.email, "in": "tool-call-of-echo_word_1", "word": "hello"}
    assert ada.post("/api/tools/echo_word", json={"word": "hello"}).json == said
    assert refused(ada.post("/api/tools/echo_word", json={})) == (400, "bad_request")

    async def use(client: Client) -> list[Any]:
        given = ({"word": "hello"}, {})
        return [(await client.call_tool("echo_word", each)).structured_content for each in given]

    answered, failed = with_client(app, token_of(app, ada.email), use)
    assert answered == said
    assert failed["error"] == {"code": "bad_request", "message": "Which word?"}


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
def test_tools_that_search_work_on_both_engines(
    ada: Person, eve: Person, app: Flask, is_indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.tools.search.Deadline", partial(Deadline, 300.0))
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


def hide_first(person: Person, conversation_id: str) -> str:
    """Hide the first message of a conversation from models; the reference to it."""
    message = person.get(f"/list_messages_by_conversation/{conversation_id}").json[0]
    place = f"{conversation_id}/{message['message_id']}/{message['message_index']}"
    person.post(f"/show_hide_message_from_conversation/{place}", json={"show_hide": "hide"})
    name = person.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    return f"@conversation_{name}_message_{message['message_short_hash']}"


@pytest.mark.contract
@pytest.mark.parametrize("is_indexed", [False, True])
def test_no_tool_finds_what_the_person_hid_from_models(app: Flask, ada: Person, is_indexed: bool) -> None:
    conversation_id = ada.new_conversation()
    uploaded = ada.post(
        "/attachments?name=code.txt", data=b"The okapi code is halibut.", content_type="application/octet-stream"
    )
    ada.say(conversation_id, "the zebra code is swordfish", files=[uploaded.json["attachment_id"]])
    if is_indexed:
        index_pending(database=app.extensions[EXTENSION].database)
    reference = f"{hide_first(ada, conversation_id)}_file_1"
    calls = [
        ("search_messages", {"query": query})
        for query in ("zebra", "what is the zebra code?", '"zebra code"', "okapi", "what is the okapi code?")
    ]
    calls += [("list_conversations", {}), ("read_file", {"reference": reference})]
    calls += [("resolve_reference", {"reference": name}) for name in (reference, f"{reference}_pages_1-1")]
    for name, arguments in calls:
        told = ada.post(f"/api/tools/{name}", json=arguments).text
        assert "swordfish" not in told, (name, arguments)
        assert "halibut" not in told, (name, arguments)
    # The person's own search finds it.
    assert "swordfish" in ada.get("/search?q=zebra").text


def test_a_reference_that_leads_nowhere_has_the_status_of_its_code(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "What is it?")
    name = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]

    def of(reference: str) -> tuple[int, str]:
        return refused(ada.post("/api/tools/resolve_reference", json={"reference": reference}))

    assert of("@nix") == (404, "not_found")
    assert of(f"@conversation_{name}_message_99") == (404, "out_of_range")
    assert of(f"@conversation_{name}_messages_3-2") == (400, "malformed")
    hide_first(ada, conversation_id)
    assert of(f"@conversation_{name}_message_1") == (404, "empty")


def test_a_hidden_file_that_the_persons_own_message_names_is_read(ada: Person, main_model: ScriptedChatModel) -> None:
    conversation_id = ada.new_conversation()
    uploaded = ada.post(
        "/attachments?name=code.txt", data=b"The okapi code is halibut.", content_type="application/octet-stream"
    )
    ada.say(conversation_id, "Keep it.", files=[uploaded.json["attachment_id"]])
    reference = f"{hide_first(ada, conversation_id)}_file_1"
    call = calling(("read_file", f'{{"reference":"{reference}"}}'))
    main_model._calls_tools = True
    for question, is_read in ((f"Read {reference}, please", True), ("Read what I hid", False)):
        replies = iter([Reply(call, finish_reason="tool_calls"), Reply("Well.")])
        main_model._replies = lambda _, replies=replies: next(replies)
        ada.say(conversation_id, question)
        (result,) = [each["content"] for each in main_model.prompts[-1] if each["role"] == "tool"]
        assert ("halibut" in result) == is_read


@pytest.mark.parametrize("needs_consent", [False, True])
def test_the_deepest_call_and_result_are_exported_and_imported_again(
    app: Flask, ada: Person, eve: Person, main_model: ScriptedChatModel, tmp_path: Path, needs_consent: bool
) -> None:
    deep = "[" * 19 + "1" + "]" * 19 if not needs_consent else "[" * 15 + "1" + "]" * 15

    def echo(_context: ToolContext, **given: Any) -> dict[str, Any]:
        return given

    own = {"name": "echo", "description": "Echo.", "parameters": {"type": "object"}, "run": echo}
    app.extensions[EXTENSION].tools.register(Tool(**own, needs_consent=needs_consent))
    calls = [("echo", f'{{"deep":{deep}}}'), ("echo", f'{{"deep":[{deep}]}}')]
    replies = iter([Reply(calling(*calls), finish_reason="tool_calls"), Reply("Well.")])
    main_model._calls_tools, main_model._replies = True, lambda _: next(replies)
    conversation_id = ada.new_conversation()
    ada.client.patch(f"/conversations/{conversation_id}/settings", json={"use_tools": True, "tools": {"echo": True}})
    ada.say(conversation_id, "Say it twice")
    parts = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[1]["parts"]
    assert [part["status"] for part in parts] == ["waiting" if needs_consent else "complete", "failed"]
    file = tmp_path / "export.json"
    file.write_bytes(ada.get(f"/api/export?room={conversation_id}&format=json").data)
    came = imported(app, eve, file)
    assert (came["state"], came["failures"]) == ("done", [])
    (listed,) = eve.get("/list_conversation_by_user/assistant").json
    assert len(eve.get(f"/list_messages_by_conversation/{listed['conversation_id']}").json[1]["parts"]) == 2
