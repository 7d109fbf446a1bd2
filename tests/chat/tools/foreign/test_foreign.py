"""Tools of foreign MCP servers: called with consent, and whatever such a server does hurts nobody."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat.tools.calling.loop import ToolLoop
from chat.tools.foreign.calls import register_foreign_tools, tools_of
from chat.tools.foreign.configuration import FILE, ForeignServer, keep_servers, servers_in
from chat.tools.registry import ToolContext, ToolRegistry
from database.conversations.repository import change_settings
from endpoints.http.errors import code_of
from language_models.testing import Reply, ScriptedChatModel, calling
from tests.chat.conftest import Talk, joined

SECRET = "swordfish-4711"
RUDE = (sys.executable, str(Path(__file__).with_name("rude_server.py")))
Context = Callable[..., ToolContext]


def registry_with(server: ForeignServer, data_dir: Path) -> ToolRegistry:
    """A registry with the tools of `server`, which is added as the command line does it."""
    keep_servers(data_dir, (server.model_copy(update={"tools": tuple(tools_of(server, data_dir))}),))
    registry = ToolRegistry(code_of=code_of)
    register_foreign_tools(registry, data_dir)
    return registry


def rude(**more: Any) -> ForeignServer:
    return ForeignServer(name="rude", command=RUDE, environ={"RUDE_KEY": SECRET}, **more)


@pytest.fixture
def tools(tmp_path: Path) -> ToolRegistry:
    """The tools of the rude server."""
    return registry_with(rude(seconds=300, megabytes=256), tmp_path)


def test_a_real_server_answers_where_the_person_has_agreed(context: Context, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC")
    registry = registry_with(ForeignServer(name="time", command=command, seconds=300), tmp_path)
    assert registry.names() == ["time__convert_time", "time__get_current_time"]
    tool = registry.get("time__convert_time")
    assert set(tool.parameters["required"]) == {"source_timezone", "time", "target_timezone"}
    assert (tool.reads_only, tool.on_by_default, tool.needs_consent) == (False, True, True)
    asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    answer = registry.call(tool.name, asked, context(has_consent=True))
    assert answer["success"] is True
    assert "21:00:00+09:00" in answer["content"]


def test_without_consent_nothing_is_called(tools: ToolRegistry, context: Context) -> None:
    assert tools.call("rude__environment", {}, context())["error"]["code"] == "consent_needed"


def test_a_server_that_dies_is_an_error_of_the_call_and_the_next_one_is_answered(
    tools: ToolRegistry, context: Context
) -> None:
    assert tools.call("rude__die", {}, context(has_consent=True))["error"] == {
        "code": "foreign_server_failed",
        "message": "The server rude has failed.",
    }
    assert tools.call("rude__environment", {}, context(has_consent=True))["success"] is True


def test_a_server_that_hangs_is_ended(context: Context, tmp_path: Path) -> None:
    registry_with(rude(seconds=300), tmp_path)
    (listed,) = servers_in(tmp_path)
    keep_servers(tmp_path, (listed.model_copy(update={"seconds": 1.0}),))
    registry = ToolRegistry(code_of=code_of)
    register_foreign_tools(registry, tmp_path)
    answer = registry.call("rude__hang", {}, context(has_consent=True))
    assert answer["error"] == {
        "code": "foreign_server_failed",
        "message": "The server rude did not answer within 1 s.",
    }


def test_a_server_that_eats_memory_hits_its_limit(tools: ToolRegistry, context: Context) -> None:
    assert tools.call("rude__eat", {}, context(has_consent=True))["error"]["code"] == "foreign_server_failed"


def test_a_server_that_never_ends_its_answer_is_ended_before_it_fills_our_memory(
    tools: ToolRegistry, context: Context
) -> None:
    assert tools.call("rude__flood", {}, context(has_consent=True))["error"] == {
        "code": "foreign_server_failed",
        "message": "The server rude has failed.",
    }


def test_a_huge_structured_result_reaches_the_model_cut(talk: Talk, tools: ToolRegistry) -> None:
    model = ScriptedChatModel(
        replies=[Reply(calling(("rude__huge", "{}")), finish_reason="tool_calls"), Reply("A lot.")],
        calls_tools=True,
        context_window=200_000,
    )
    talk.models.main_model = model
    talk.configure(tools=ToolLoop(tools, seconds=300))
    conversation = talk.new()
    change_settings(
        database=talk.database,
        user_email=conversation.user_id,
        conversation_id=conversation.conversation_id,
        changes={"allowed_tools": ["rude__huge"]},
    )
    assert joined(talk.say(talk.again(conversation), "What does it say?")) == "A lot."
    told = orjson.loads(model.prompts[-1][-1]["content"])
    assert (told["success"], told["truncated"]) == (True, True)
    assert '"word","word"' in told["content"]
    assert len(orjson.dumps(told)) <= 40_000


def test_a_server_sees_nothing_of_our_environment_and_its_secrets_stay_hidden(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "our own key")
    registry = registry_with(rude(seconds=300), tmp_path)
    seen = registry.call("rude__environment", {}, context(has_consent=True))["content"]
    assert "our own key" not in seen
    assert '"RUDE_KEY": "•••"' in seen
    failed = registry.call("rude__fail", {}, context(has_consent=True))["error"]
    assert failed == {"code": "foreign_tool_failed", "message": "wrong key •••"}
    assert SECRET not in caplog.text + "".join(capfd.readouterr())
    assert SECRET not in repr(rude())


def test_the_file_is_for_its_owner_alone_and_a_malformed_one_is_no_end_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep_servers(tmp_path, (rude(),))
    file = tmp_path / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(file.read_text().replace('"name": "rude"', f'"name": "{SECRET}!"'))
    assert servers_in(tmp_path) == ()
    assert "mcp_servers.json is malformed" in caplog.text
    assert SECRET not in caplog.text


def test_a_tool_whose_name_is_taken_is_left_out(tmp_path: Path, tools: ToolRegistry) -> None:
    register_foreign_tools(tools, tmp_path)
    assert len(tools.names()) == 7
