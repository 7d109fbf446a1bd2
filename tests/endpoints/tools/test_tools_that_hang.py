"""Tools that hang keep no thread from other requests."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from chat.tools.registry import Tool, ToolContext
from endpoints.http.scope import EXTENSION
from endpoints.mcp.views import tool_of_message
from endpoints.serving.asgi_server import Bridge
from endpoints.serving.work_queues import Work
from settings import Settings
from tests.endpoints.conftest import Person
from tests.endpoints.mcp.programs import token_of
from tests.endpoints.serving.test_bridge import JSON, Connection

CALLS = 6


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"mcp_threads": 1, "search_threads": 1, "threads": 2})


@pytest.fixture
def began() -> threading.Semaphore:
    """Released by each call of the tool that begins."""
    return threading.Semaphore(0)


@pytest.fixture
def let_go(app: Flask, began: threading.Semaphore, request: pytest.FixtureRequest) -> Iterator[threading.Event]:
    """What the tool `hang` of an installed package, and `far` of another server, wait for."""
    event = threading.Event()

    def hang(_context: ToolContext, **_arguments: Any) -> dict[str, Any]:
        began.release()
        assert event.wait(120)
        return {"success": True}

    own: dict[str, Any] = {"description": "Hangs.", "parameters": {"type": "object"}, "run": hang, "seconds": 120}
    tools = app.extensions[EXTENSION].tools
    tools.register(Tool(name="hang", aliases=("stall",), is_installed=True, **own))
    tools.register(Tool(name="far", is_remote=True, **own))
    assert request
    yield event
    event.set()


def message(name: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}


def calling(name: str, token: str, *, by: str) -> Connection:
    """A call of a tool over HTTP, by the API or by the protocol of programs, also with a long body."""
    path, said = (f"/api/tools/{name}", dict[str, Any]()) if by == "api" else ("/mcp", message(name))
    if by == "long mcp":
        said["params"]["arguments"] = {"text": "x" * 70_000}
    body = json.dumps(said).encode()
    accepts = (b"accept", b"application/json, text/event-stream")
    size = (b"content-length", str(len(body)).encode())
    return Connection(
        "POST", path, body=[body], headers=[JSON, accepts, size, (b"authorization", f"Bearer {token}".encode())]
    )


@pytest.mark.parametrize("by", ["api", "mcp", "long mcp"])
@pytest.mark.parametrize("name", ["hang", "stall", "far"])
def test_calls_that_hang_leave_the_threads_of_other_requests(
    app: Flask, ada: Person, eve: Person, began: threading.Semaphore, let_go: threading.Event, by: str, name: str
) -> None:
    tokens = [token_of(app, person.email) for person in (ada, eve)]

    async def scene() -> None:
        bridge = Bridge(app)

        async def answered(connection: Connection) -> Connection:
            await bridge(connection.scope, connection.receive, connection.send)
            return connection

        calls = [calling(name, tokens[number % 2], by=by) for number in range(CALLS)]
        hanging = [asyncio.create_task(answered(call)) for call in calls]
        for _ in hanging:
            assert await asyncio.to_thread(began.acquire, timeout=60)
        running = {kind: pool.running for kind, pool in bridge._pools.items() if pool.running}
        assert running == {Work.TOOLS: CALLS}
        for kind in ("api", "mcp"):  # the only thread of searches, and of programs, is free
            other = await answered(calling("list_conversations", tokens[0], by=kind))
            assert other.status == 200
        assert not any(task.done() for task in hanging)
        let_go.set()
        assert {(await task).status for task in hanging} == {200}

    asyncio.run(asyncio.wait_for(scene(), 240))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (message("hang"), "hang"),
        ({**message("hang"), "method": "tools/list"}, None),
        ({**message("hang"), "params": {"name": ["hang"]}}, None),
        ({**message("hang"), "params": ["hang"]}, None),
        ([message("hang")], None),
    ],
)
def test_the_message_says_which_tool_is_called(body: Any, name: str | None) -> None:
    assert tool_of_message({}, json.dumps(body).encode()) == name


def test_a_tool_that_is_nobodys_waits_among_those_that_may_hang(app: Flask, ada: Person) -> None:
    token = token_of(app, ada.email)
    bridge = Bridge(app)
    bridge._pools[Work.TOOLS].places = 0
    told = []
    for name in ("notes__add", "list_conversations"):
        connection = calling(name, token, by="api")
        asyncio.run(bridge(connection.scope, connection.receive, connection.send))
        told.append(connection.status)
    assert told == [503, 200]
