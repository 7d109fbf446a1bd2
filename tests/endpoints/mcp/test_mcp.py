"""Other programs call tools and read resources, each for the owner of its token alone."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from flask import Flask
from mcp import Client, MCPError

from chat.tools.registry import Tool, ToolContext
from database.accounts.users import set_disabled
from endpoints.http.scope import EXTENSION
from endpoints.mcp.models import JsonRpcAnswer
from endpoints.serving.asgi_server import Bridge
from endpoints.serving.work_queues import Work
from language_models.testing import ScriptedChatModel
from tests.endpoints.conftest import Person, refused, told

from .programs import MODES, token_of, with_client

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def friendly_id_of(person: Person, conversation_id: str) -> str:
    return str(person.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"])


def conversation_of(person: Person, text: str) -> str:
    """The friendly id of a new conversation that begins with `text`."""
    conversation_id = person.new_conversation()
    person.say(conversation_id, text)
    return friendly_id_of(person, conversation_id)


def put_document(app: Flask, person: Person, path: str, text: str) -> None:
    """Write a document into a person's vault, as another program would."""
    vault = app.extensions[EXTENSION].vaults.of(person.email)
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    list(vault.refresh())


async def everything(client: Client) -> list[Any]:
    """All resources, page by page."""
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if cursor is None:
            return found


async def refusal(uri: str, client: Client) -> MCPError:
    """The error of a resource that can't be read."""
    with pytest.raises(MCPError) as error:
        await client.read_resource(uri)
    return error.value


@pytest.mark.parametrize(
    ("body", "code", "answered_id", "says"),
    [
        (b"{", -32700, None, "not valid JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "p\xff"}', -32700, None, "not valid JSON"),
        (b"[]", -32600, None, "JSON object"),
        (b"1", -32600, None, "JSON object"),
        (b"{}", -32600, None, "jsonrpc"),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', -32600, 7, "jsonrpc"),
        (b'{"jsonrpc": "2.0", "id": 7}', -32600, 7, "method"),
        (b'{"jsonrpc": "2.0", "id": 7, "result": 5}', -32600, 7, "method"),
        (b'{"jsonrpc": "2.0", "id": "a", "method": 5}', -32600, "a", "method"),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', -32600, None, "id"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None, "id"),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None, "id"),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": [1]}', -32602, 7, "params"),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": []}', -32602, 7, "params"),
    ],
)
def test_a_malformed_message_is_refused_by_one_sentence_with_the_code_of_the_protocol(
    body: bytes, code: int, answered_id: object, says: str, app: Flask, ada: Person
) -> None:
    headers = {"Authorization": f"Bearer {token_of(app, ada.email)}", "Content-Type": "application/json"}
    answer = app.test_client().post("/mcp", data=body, headers=headers)
    refusal = told(answer, JsonRpcAnswer, status=400)
    assert refusal.error is not None
    assert (refusal.id, refusal.error["code"]) == (answered_id, code)
    message = refusal.error["message"]
    assert says in message
    assert len(message) < 80
    assert message.count(".") - message.count("2.0") == 1


def test_an_answer_to_what_was_never_asked_is_taken_and_means_nothing(app: Flask, ada: Person) -> None:
    headers = {"Authorization": f"Bearer {token_of(app, ada.email)}"}
    for outcome in ({"result": {}}, {"error": {"code": -1, "message": "No."}}):
        answer = app.test_client().post("/mcp", json={"jsonrpc": "2.0", "id": 1, **outcome}, headers=headers)
        assert (answer.status_code, answer.data) == (202, b"")


@pytest.mark.parametrize("mode", MODES)
def test_a_program_lists_and_calls_tools(mode: str, app: Flask, ada: Person) -> None:
    friendly_id = conversation_of(ada, "What did I decide about tomatoes?")

    async def use(client: Client) -> tuple[Any, ...]:
        tools = (await client.list_tools()).tools
        listed = await client.call_tool("list_conversations", {"limit": 1})
        read = await client.call_tool("read_conversation", {"conversationId": friendly_id, "lineEnd": 1})
        return tools, listed, read

    tools, listed, read = with_client(app, token_of(app, ada.email), use, mode=mode)
    described = {tool.name: tool for tool in tools}
    assert {"list_conversations", "read_conversation"} <= set(described)
    assert described["read_conversation"].input_schema["required"] == ["conversationId"]
    assert described["read_conversation"].annotations.read_only_hint is True
    assert listed.structured_content["conversations"][0]["friendlyId"] == friendly_id
    assert (read.is_error, read.structured_content["content"]) == (
        False,
        "1→[user] What did I decide about tomatoes?",
    )
    assert '"success":true' in read.content[0].text


def test_a_failure_is_a_result_with_the_code_of_the_api(app: Flask, ada: Person) -> None:
    async def use(client: Client) -> list[Any]:
        return [
            await client.call_tool("nothing", {}),
            await client.call_tool("read_conversation", {"conversationId": "x", "lineStart": 0}),
            await client.call_tool("read_conversation", {"conversationId": "x"}),
        ]

    results = with_client(app, token_of(app, ada.email), use)
    codes = [result.structured_content["error"]["code"] for result in results]
    assert codes == ["tool_not_found", "bad_request", "conversation_not_found"]
    assert all(result.is_error for result in results)


@pytest.mark.parametrize("mode", MODES)
def test_conversations_and_memories_are_resources(mode: str, app: Flask, ada: Person) -> None:
    friendly_id = conversation_of(ada, "Tomatoes, please.")
    ada.new_conversation()
    memory = ada.remember("Tomatoes need sun.", claim_type="fact", tags=["garden"])
    put_document(app, ada, "plants/Big tomatoes.md", "# Big tomatoes\nSown in March.\n")

    async def use(client: Client) -> tuple[Any, ...]:
        templates = (await client.list_resource_templates()).resource_templates
        resources = await everything(client)
        texts = [(await client.read_resource(each.uri)).contents[0].text for each in resources]
        return templates, resources, texts

    templates, resources, texts = with_client(app, token_of(app, ada.email), use, mode=mode)
    assert {each.uri_template.partition("{")[0] for each in templates} >= {
        "anaphora://conversation/",
        "anaphora://memory/",
        "anaphora://document/",
    }
    assert [each.uri for each in resources] == [
        f"anaphora://conversation/{friendly_id}",
        f"anaphora://memory/{memory.friendly_id}",
        "anaphora://document/plants/Big%20tomatoes.md",
    ]
    assert (resources[2].title, texts[2]) == ("Big tomatoes", "# Big tomatoes\nSown in March.\n")
    assert texts[0] == "1→[user] Tomatoes, please.\n2→[assistant] It is forty-two."
    assert texts[1].splitlines()[0] == "Tomatoes need sun."
    assert "Tags: garden" in texts[1].splitlines()


def test_a_list_of_resources_has_pages(app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoints.mcp.resources._PAGE", 2)
    for name in ("a.md", "b.md", "c.md"):
        put_document(app, ada, name, name)
    conversations = [conversation_of(ada, f"Question {number}") for number in range(3)]
    memories = [ada.remember(f"Fact number {number}.").friendly_id for number in range(3)]
    resources = with_client(app, token_of(app, ada.email), everything)
    assert [each.uri for each in resources] == [
        *(f"anaphora://conversation/{name}" for name in reversed(conversations)),
        *(f"anaphora://memory/{name}" for name in reversed(memories)),
        *(f"anaphora://document/{name}" for name in ("a.md", "b.md", "c.md")),
    ]


def test_another_persons_things_are_like_missing_ones(app: Flask, ada: Person, eve: Person) -> None:
    friendly_id = conversation_of(ada, "A secret.")
    memory = ada.remember("Ada has a secret.").friendly_id
    put_document(app, ada, "secret.md", "Ada's secret.")
    addresses = {
        f"anaphora://conversation/{friendly_id}": "anaphora://conversation/nothing_here_0000",
        f"anaphora://memory/{memory}": "anaphora://memory/nothing_here",
        "anaphora://document/secret.md": "anaphora://document/nothing.md",
    }

    async def use(client: Client) -> list[tuple[str, str]]:
        assert await everything(client) == []
        errors = []
        for uris in addresses.items():
            told = []
            for uri in uris:
                error = await refusal(uri, client)
                told.append(f"{error.code} {error} {error.data}")
            errors.append((told[0], told[1]))
        foreign = await client.call_tool("read_conversation", {"conversationId": friendly_id})
        assert foreign.structured_content["error"]["code"] == "conversation_not_found"
        return errors

    assert all(foreign == missing for foreign, missing in with_client(app, token_of(app, eve.email), use))


@pytest.mark.parametrize(
    "uri",
    ["anaphora://", "anaphora://conversation/", "anaphora://thing/x", "file:///etc/passwd", "anaphora:conversation/x"],
)
def test_an_address_of_another_shape_names_nothing(uri: str, app: Flask, ada: Person) -> None:
    assert with_client(app, token_of(app, ada.email), partial(refusal, uri)).data == {"code": "resource_not_found"}


@pytest.mark.parametrize("path", ["../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"])
def test_a_path_out_of_the_vault_is_refused(path: str, app: Flask, ada: Person) -> None:
    error = with_client(app, token_of(app, ada.email), partial(refusal, f"anaphora://document/{path}"))
    assert error.data["code"] in ("bad_request", "document_not_found", "path_refused")


def test_what_fails_inside_is_logged_and_not_told(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("endpoints.mcp.resources.read", fail)
    error = with_client(app, token_of(app, ada.email), partial(refusal, "anaphora://memory/1"))
    assert "swordfish" not in f"{error} {error.data}"
    assert "swordfish" in caplog.text


def test_a_read_only_token_is_offered_what_only_reads(app: Flask, ada: Person) -> None:
    called = []

    def change(context: ToolContext) -> dict[str, Any]:
        called.append(context.user_email)
        return {"success": True}

    tools = app.extensions[EXTENSION].tools
    new = Tool(name="change", aliases=("old",), description="Change.", parameters={}, run=change, reads_only=False)
    tools.register(new)

    async def use(client: Client) -> tuple[bool, list[Any]]:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        assert "list_conversations" in offered
        return "change" in offered, [
            (await client.call_tool(name, {})).structured_content for name in ("change", "old")
        ]

    offered, results = with_client(app, token_of(app, ada.email, read_only=True), use)
    assert (offered, called) == (False, [])
    assert [result["error"]["code"] for result in results] == ["forbidden", "forbidden"]
    offered, results = with_client(app, token_of(app, ada.email), use)
    assert (offered, called) == (True, [ada.email] * 2)
    assert [result["success"] for result in results] == [True, True]


def test_a_program_searches_resolves_and_proposes_a_memory_that_the_person_accepts(app: Flask, ada: Person) -> None:
    memory = ada.remember("Tomatoes need sun.").friendly_id

    async def use(client: Client) -> list[Any]:
        calls = [
            ("search_memories", {"query": "tomatoes"}),
            ("resolve_reference", {"reference": f"@{memory}"}),
            ("add_memory", {"statement": "Basil likes tomatoes.", "type": "fact", "domain": "personal"}),
        ]
        return [(await client.call_tool(name, arguments)).structured_content for name, arguments in calls]

    found, resolved, proposed = with_client(app, token_of(app, ada.email), use)
    assert "Tomatoes need sun." in str(found["results"])
    assert "Tomatoes need sun." in str(resolved)
    assert proposed["success"] is True
    assert ada.get("/pkb/claims").json["total_count"] == 1
    (proposal,) = ada.get("/api/proposals").json
    assert proposal["source"] == {"token": "program"}
    assert ada.post(f"/api/proposals/{proposal['proposal_id']}/accept").status_code == 200
    assert ada.get("/pkb/claims").json["total_count"] == 2


def test_an_agent_that_a_program_asks_gets_nothing_that_is_hidden_from_models(
    app: Flask, ada: Person, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "The code is swordfish.")
    (question, _) = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    here = f"{conversation_id}/{question['message_id']}"
    ada.post(f"/show_hide_message_from_conversation/{here}/1", json={"show_hide": "hide"})
    hidden = f"@conversation_{friendly_id_of(ada, conversation_id)}_message_1"
    ada.post("/api/agents", json={"title": "Helper"})

    def prompted(begun: int) -> str:
        return str(main_model.prompts[begun:])

    async def use(client: Client) -> Any:
        asked = f"What says {hidden}, or #{question['short_id']}?"
        return await client.call_tool("ask_agent", {"agentId": "helper", "question": asked})

    begun = len(main_model.prompts)
    result = with_client(app, token_of(app, ada.email), use).structured_content
    assert "hidden this message from models" in prompted(begun)
    assert "swordfish" not in prompted(begun) + str(result)
    assert hidden in result["notices"][0]

    # Nor when that answer is made again; what the person writes there refers to it as ever.
    begun, its = len(main_model.prompts), result["conversationId"]
    asked, answered = ada.get(f"/list_messages_by_conversation/{its}").json
    assert ada.post(f"/regenerate/{its}/{answered['message_id']}").data
    assert len(main_model.prompts) > begun
    assert "swordfish" not in prompted(begun)
    begun = len(main_model.prompts)
    assert ada.post(f"/branch/{its}/{asked['message_id']}", json={"text": f"So what says {hidden}?"}).data
    assert "swordfish" in prompted(begun)


def test_a_long_result_is_cut(app: Flask, ada: Person) -> None:
    friendly_id = conversation_of(ada, "tomato " * 9_000)

    async def use(client: Client) -> Any:
        uri = f"anaphora://conversation/{friendly_id}"
        whole = (await client.read_resource(uri)).contents[0].text
        return whole, (await client.call_tool("read_conversation", {"conversationId": friendly_id})).structured_content

    whole, result = with_client(app, token_of(app, ada.email), use)
    assert len(result["content"]) <= 40_000
    assert len(whole) > 60_000


def test_only_an_api_token_opens_the_door(app: Flask, ada: Person) -> None:
    token = token_of(app, ada.email)

    def status(headers: dict[str, str]) -> int:
        return app.test_client().post("/mcp", json=PING, headers=headers).status_code

    assert status({}) == 401
    assert status({"Authorization": "Bearer anaphora_wrong"}) == 401
    assert refused(ada.post("/mcp", json=PING)) == (401, "unauthorized")
    answer = app.test_client().post("/mcp", json=PING, headers={"Authorization": f"Bearer {token}"})
    assert told(answer, JsonRpcAnswer).jsonrpc == "2.0"
    assert app.test_client().get("/mcp", headers={"Authorization": f"Bearer {token}"}).status_code == 405
    set_disabled(database=app.extensions[EXTENSION].database, user_email=ada.email, disabled=True)
    assert status({"Authorization": f"Bearer {token}"}) == 401


def test_messages_that_are_none_are_refused(app: Flask, ada: Person) -> None:
    headers = {"Authorization": f"Bearer {token_of(app, ada.email)}"}
    client = app.test_client()

    def status(**body: Any) -> int:
        return client.post("/mcp", headers=headers, **body).status_code

    assert status(json=[PING, PING]) == 400
    assert status(json={"what": "is this"}) == 400
    assert status(data="{", content_type="application/json") == 400
    assert status(data="{}", content_type="text/plain") == 415
    assert status(json={"jsonrpc": "2.0", "method": "notifications/initialized"}) == 202
    modern = {**headers, "MCP-Protocol-Version": "2026-07-28", "MCP-Method": "nothing/here"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    unknown = {"jsonrpc": "2.0", "id": 1, "method": "nothing/here", "params": {"_meta": meta}}
    assert client.post("/mcp", headers=modern, json=unknown).status_code == 404


def test_no_stream_is_held_open(app: Flask, ada: Person) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": meta}}
    headers = {
        "Authorization": f"Bearer {token_of(app, ada.email)}",
        "MCP-Protocol-Version": "2026-07-28",
        "MCP-Method": "subscriptions/listen",
    }
    assert app.test_client().post("/mcp", json=listen, headers=headers).status_code in (400, 404)


def test_programs_have_a_queue_of_their_own(app: Flask, ada: Person) -> None:
    bridge = Bridge(app)
    bridge._pools[Work.MCP].places = 0
    headers = {"Authorization": f"Bearer {token_of(app, ada.email)}"}

    async def statuses() -> list[int]:
        transport = httpx2.ASGITransport(app=bridge)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            return [(await client.post("/mcp", json=PING)).status_code, (await client.get("/limits")).status_code]

    assert asyncio.run(statuses()) == [503, 200]
