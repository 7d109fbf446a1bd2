"""A program that waits for an agent's answer holds up no other program, and does not wait for ever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from mcp import Client

from chat.agents import asking
from chat.turns import streams
from endpoints.http.scope import EXTENSION
from endpoints.mcp.views import work_of_message
from endpoints.serving.asgi_server import Bridge
from endpoints.serving.work_queues import Work
from language_models.testing import Hold, Prompt, Reply, ScriptedChatModel
from settings import Settings
from tests.chat.conftest import wait_until
from tests.endpoints.conftest import Person
from tests.endpoints.serving.test_bridge import JSON, Connection

from .programs import at_bridge, token_of, with_client

QUESTION = {"agentId": "botanist", "question": "What grows?"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"mcp_threads": 1, "model_threads": 16, "threads": 2})


@pytest.fixture
def hold() -> Hold:
    """What the main model waits for."""
    return Hold()


@pytest.fixture
def main_model(hold: Hold) -> ScriptedChatModel:
    def reply(prompt: Prompt) -> Reply:
        return Reply(hold, "Sorrel.") if "What grows?" in str(prompt) else Reply("Noted.")

    return ScriptedChatModel(replies=reply)


def with_agent(app: Flask, person: Person) -> str:
    """A token of a person who has made an agent."""
    assert person.post("/api/agents", json={"title": "Botanist"}).status_code == 201
    return token_of(app, person.email)


async def asked(client: Client) -> Any:
    return await client.call_tool("ask_agent", QUESTION)


async def listed(client: Client) -> Any:
    return (await client.list_tools()).tools


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


def test_programs_that_wait_for_agents_hold_up_nobody_else(
    app: Flask, ada: Person, eve: Person, hold: Hold, main_model: ScriptedChatModel
) -> None:
    of_ada, of_eve = with_agent(app, ada), with_agent(app, eve)

    async def scene() -> None:
        bridge = Bridge(app)
        waiting = [asyncio.create_task(at_bridge(bridge, of_ada, asked)) for _ in range(asking._OF_PERSON)]
        await until(lambda: main_model.started_streams == len(waiting))
        one_more = (await at_bridge(bridge, of_ada, asked)).structured_content
        assert one_more["error"]["code"] == "too_many_turns"
        assert one_more["error"]["message"].startswith("4 questions of yours to agents wait for their answers")
        for token in (of_eve, of_ada):
            assert await at_bridge(bridge, token, listed)
        other = asyncio.create_task(at_bridge(bridge, of_eve, asked))
        await until(lambda: main_model.started_streams == len(waiting) + 1)
        assert not any(task.done() for task in (*waiting, other))
        hold.release()
        results = [result.structured_content for result in await asyncio.gather(*waiting, other)]
        assert {result["answer"] for result in results} == {"Sorrel."}
        assert (await at_bridge(bridge, of_ada, asked)).structured_content["answer"] == "Sorrel."

    asyncio.run(asyncio.wait_for(scene(), 120))


@pytest.mark.parametrize("query", [b"", b"x=1&x=2"])
def test_a_question_to_an_agent_waits_in_the_threads_for_models(query: bytes, app: Flask, ada: Person) -> None:
    token = with_agent(app, ada)

    async def scene() -> None:
        bridge = Bridge(app)
        bridge._pools[Work.MODEL].places = 0
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_agent"}}
        authorised = (b"authorization", f"Bearer {token}".encode())
        connection = Connection("POST", "/mcp", body=[json.dumps(message).encode()], headers=[JSON, authorised])
        connection.scope["query_string"] = query
        await bridge(connection.scope, connection.receive, connection.send)
        assert (connection.status, json.loads(connection.body)["code"]) == (503, "server_busy")

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"method": "tools/call", "params": {"name": "ask_agent", "arguments": {}}}, Work.MODEL),
        ({"method": "tools/call", "params": {"name": "read_message"}}, Work.MCP),
        ({"method": "tools/call", "params": {"name": ["ask_agent"]}}, Work.MCP),
        ({"method": "tools/call", "params": ["ask_agent"]}, Work.MCP),
        ({"method": "tools/list"}, Work.MCP),
        ({"method": "tools/list", "params": {"name": "ask_agent"}}, Work.MCP),
        ([{"method": "tools/call", "params": {"name": "ask_agent"}}], Work.TOOLS),
        ({"method": "tools/list", "params": {"more": "x" * 70_000}}, Work.TOOLS),
    ],
)
def test_the_message_says_whether_a_model_may_be_waited_for(body: Any, kind: Work) -> None:
    assert work_of_message({}, json.dumps(body).encode()) is kind


def test_of_two_parameters_of_the_same_name_the_one_that_is_called_counts() -> None:
    twice = b'{"method": "tools/call", "params": {"name": "read_message"}, "params": {"name": "ask_agent"}}'
    assert work_of_message({}, twice) is Work.MODEL
    assert work_of_message({}, b"{") is Work.TOOLS


def test_an_agent_that_takes_too_long_for_a_program_is_stopped(
    app: Flask, ada: Person, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hold
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr("chat.tools.agents._SECONDS", 0.0)
    result = with_client(app, with_agent(app, ada), asked).structured_content
    assert result["error"] == {
        "code": "model_unavailable",
        "message": "Botanist took longer than 0 s and was stopped.",
    }
    turns = app.extensions[EXTENSION].turns
    wait_until(lambda: turns.running() == 0)
    listing = ada.get("/list_conversation_by_user/assistant").json
    (question, answer) = ada.get(f"/list_messages_by_conversation/{listing[0]['conversation_id']}").json
    assert (question["text"], answer["status"]) == ("What grows?", "cancelled")


def test_all_people_together_have_a_bounded_number_of_questions_waiting(
    app: Flask, ada: Person, eve: Person, hold: Hold, main_model: ScriptedChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_AT_ONCE", 1)
    of_ada, of_eve = with_agent(app, ada), with_agent(app, eve)

    async def scene() -> None:
        bridge = Bridge(app)
        first = asyncio.create_task(at_bridge(bridge, of_ada, asked))
        await until(lambda: main_model.started_streams == 1)
        refused = (await at_bridge(bridge, of_eve, asked)).structured_content
        assert refused["error"]["code"] == "too_many_turns"
        assert refused["error"]["message"].startswith("Agents are answering as many questions as this server takes")
        hold.release()
        assert (await first).structured_content["answer"] == "Sorrel."
        assert (await at_bridge(bridge, of_eve, asked)).structured_content["answer"] == "Sorrel."

    asyncio.run(asyncio.wait_for(scene(), 120))
