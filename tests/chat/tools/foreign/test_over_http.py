"""Foreign MCP servers that answer over HTTP: whatever such a server does hurts nobody, and its secrets stay hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from chat.tools.foreign.calls import register_foreign_tools
from chat.tools.foreign.configuration import ForeignServer, keep_servers, servers_in
from chat.tools.registry import ToolContext, ToolRegistry
from database.accounts.api_tokens import create_token
from database.connection import open_store
from endpoints.http.errors import code_of
from tests.chat.tools.foreign.rude_http import RudeServer, serving
from tests.chat.tools.foreign.test_foreign import registry_with
from tests.live_server import LiveServer, new_account

SECRET = "swordfish-4711"
Context = Callable[..., ToolContext]


@pytest.fixture(scope="module")
def rude() -> Iterator[RudeServer]:
    """A server that misbehaves."""
    with serving() as server:
        yield server


def server_at(rude: RudeServer, **more: Any) -> ForeignServer:
    headers = {"Authorization": f"Bearer {SECRET}", "X-Key": "another secret"}
    return ForeignServer(name="rude", url=rude.url, headers=headers, **{"seconds": 300, **more})


@pytest.fixture
def tools(rude: RudeServer, tmp_path: Path) -> ToolRegistry:
    """The tools of that server."""
    return registry_with(server_at(rude), tmp_path)


def test_a_real_server_answers_over_the_network(
    shared_server: LiveServer, shared_model: Any, context: Context, tmp_path: Path
) -> None:
    email = "foreign-http@example.org"
    account = new_account(shared_server, email)
    account.create_conversation()
    database = open_store(shared_server.users_dir)
    token = create_token(database=database, user_email=email, name="program", read_only=True)[1]
    headers = {"Authorization": f"Bearer {token}"}
    server = ForeignServer(name="own", url=f"{shared_server.url}/mcp", headers=headers, seconds=300)
    registry = registry_with(server, tmp_path)
    tool = registry.get("own__list_conversations")
    assert tool.needs_consent
    assert "limit" in tool.parameters["properties"]
    answer = registry.call(tool.name, {"limit": 5}, context(has_consent=True))
    assert (answer["success"], answer["structured"]["count"]) == (True, 1)
    assert registry.call(tool.name, {"limit": "5"}, context(has_consent=True))["error"]["code"] == "foreign_tool_failed"
    assert shared_model.requests == []


@pytest.mark.parametrize("tool", ["die", "huge", "bomb", "nonsense", "wrong", "away", "status"])
def test_what_a_server_does_wrong_is_an_error_of_the_call_and_the_next_one_is_answered(
    tool: str, rude: RudeServer, tools: ToolRegistry, context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    failed = tools.call(f"rude__{tool}", {}, context(has_consent=True))
    assert failed["error"] == {"code": "foreign_server_failed", "message": "The server rude has failed."}
    assert tools.call("rude__headers", {}, context(has_consent=True))["success"] is True
    assert rude.visitors == []
    assert SECRET not in caplog.text


@pytest.mark.parametrize("tool", ["hang", "drip"])
def test_a_server_that_hangs_is_given_up(tool: str, tools: ToolRegistry, context: Context, tmp_path: Path) -> None:
    (listed,) = servers_in(tmp_path)
    keep_servers(tmp_path, (listed.model_copy(update={"seconds": 0.5}),))
    impatient = ToolRegistry(code_of=code_of)
    register_foreign_tools(impatient, tmp_path)
    assert impatient.names() == tools.names()
    assert impatient.call(f"rude__{tool}", {}, context(has_consent=True))["error"] == {
        "code": "foreign_server_failed",
        "message": "The server rude did not answer within 0.5 s.",
    }


def test_a_server_that_is_not_there_is_an_error(context: Context, tmp_path: Path) -> None:
    with serving() as gone:
        registry = registry_with(server_at(gone), tmp_path)
    answer = registry.call("rude__headers", {}, context(has_consent=True))
    assert answer["error"]["code"] == "foreign_server_failed"


def test_its_secrets_stay_hidden_in_results_errors_and_logs(
    rude: RudeServer, tools: ToolRegistry, context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    seen = tools.call("rude__headers", {}, context(has_consent=True))["content"]
    assert '"X-Key": "•••"' in seen
    assert "/mcp?key=•••" in seen
    failed = tools.call("rude__fail", {}, context(has_consent=True))["error"]
    assert failed["code"] == "foreign_tool_failed"
    server = server_at(rude)
    for secret in (SECRET, "another secret", "query-4711"):
        assert secret not in seen + failed["message"] + caplog.text + repr(server) + server.address


@pytest.mark.parametrize(
    "url",
    ["ftp://example.org/mcp", "https://", "https://me:secret@example.org/mcp", "https://example.org:x/", "/mcp", ""],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        ForeignServer(name="rude", url=url)


def test_a_server_has_a_command_or_an_address() -> None:
    with pytest.raises(ValidationError):
        ForeignServer(name="rude", url="https://example.org/mcp", command=("true",))
