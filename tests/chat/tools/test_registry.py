"""A tool is a typed function: its schema comes from its hints, and a call by name never raises."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import pytest
from pydantic import Field

from chat.tools import registry as registry_module
from chat.tools.registry import Tool, ToolContext, ToolNotFoundError, ToolRegistry, tool
from endpoints.http.errors import code_of


@tool(aliases=("plus",), ignores=("pageId",))
def add(
    context: ToolContext, *, first: int, second: Annotated[int, Field(alias="secondNumber", le=100)] = 1
) -> dict[str, Any]:
    """Add two numbers,
    small ones.

    Nobody but the reader of this file sees this.
    """
    del context
    return {"success": True, "sum": first + second}


@tool(reads_only=False)
def fail(context: ToolContext) -> dict[str, Any]:
    """Fail."""
    raise RuntimeError(f"a secret of {context.user_email}")


@pytest.fixture
def few() -> ToolRegistry:
    """Two tools."""
    return ToolRegistry([add, fail], code_of=code_of)


def test_hints_and_docstring_describe_a_tool() -> None:
    assert (add.name, add.description) == ("add", "Add two numbers, small ones.")
    assert add.parameters["properties"] == {
        "first": {"type": "integer"},
        "secondNumber": {"type": "integer", "default": 1, "maximum": 100},
    }
    assert add.parameters["required"] == ["first"]
    assert (add.reads_only, add.on_by_default, fail.reads_only, fail.on_by_default) == (True, True, False, False)


def test_a_tool_is_called_by_name_or_alias(few: ToolRegistry, context: Callable[..., ToolContext]) -> None:
    assert few.names() == ["add", "fail"]
    assert few.call("add", {"first": 1}, context()) == {"success": True, "sum": 2}
    assert few.call("plus", {"first": 1, "secondNumber": 5, "pageId": "p"}, context())["sum"] == 6


@pytest.mark.parametrize("arguments", [{}, {"first": "1"}, {"first": 1, "secondNumber": 101}, {"first": 1, "x": 2}])
def test_arguments_that_do_not_fit_are_an_error_that_names_them(
    few: ToolRegistry, context: Callable[..., ToolContext], arguments: dict[str, Any]
) -> None:
    told = few.call("add", arguments, context())
    assert (told["success"], told["error"]["code"]) == (False, "bad_request")
    assert told["error"]["message"].partition(":")[0] in {"first", "secondNumber", "x"}


def test_an_unknown_tool_is_an_error(few: ToolRegistry, context: Callable[..., ToolContext]) -> None:
    assert few.call("divide", {}, context())["error"]["code"] == "tool_not_found"
    with pytest.raises(ToolNotFoundError):
        few.run("divide", {}, context())


def test_a_defect_of_a_tool_is_a_result_without_its_secrets(
    few: ToolRegistry, context: Callable[..., ToolContext]
) -> None:
    told = few.call("fail", {}, context())
    assert told["error"]["code"] == "internal_error"
    assert "secret" not in str(told)


def test_a_tool_that_ends_the_program_ends_its_call_alone(context: Callable[..., ToolContext]) -> None:
    found = ToolRegistry(code_of=code_of)
    found.register(Tool(name="leave", description="", parameters={}, run=lambda _: sys.exit(3)))
    told = found.call("leave", {}, context())
    assert told["error"]["code"] == "tool_failed"
    assert "code 3" in told["error"]["message"]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, asyncio.CancelledError])
def test_a_tool_that_raises_what_ends_a_loop_ends_its_call_alone(
    context: Callable[..., ToolContext], ending: type[BaseException]
) -> None:
    def leave(_context: ToolContext) -> dict[str, Any]:
        raise ending

    found = ToolRegistry([Tool(name="leave", description="", parameters={}, run=leave)], code_of=code_of)
    told = found.call("leave", {}, context())
    assert told["error"]["code"] == "tool_failed"
    assert ending.__name__ in told["error"]["message"]


def test_an_async_function_is_no_tool() -> None:
    async def later(context: ToolContext) -> dict[str, Any]:
        """Answer later."""
        return {"success": context is not None}

    with pytest.raises(TypeError, match="later is an async function"):
        ToolRegistry(code_of=code_of).register(tool()(later))  # type: ignore[arg-type]


def test_a_name_is_taken_once(few: ToolRegistry) -> None:
    with pytest.raises(ValueError, match="plus"):
        few.register(Tool(name="plus", description="", parameters={}, run=lambda _: {}))


def test_packages_add_tools_and_a_broken_one_is_left_out(
    monkeypatch: pytest.MonkeyPatch, context: Callable[..., ToolContext]
) -> None:
    offered = [
        EntryPoint(name="add", value=f"{__name__}:add", group=registry_module.ENTRY_POINTS),
        EntryPoint(name="broken", value="no_such_package:tool", group=registry_module.ENTRY_POINTS),
    ]
    monkeypatch.setattr(registry_module, "entry_points", lambda group: offered if group == "anaphora.tools" else [])
    found = ToolRegistry(code_of=code_of)
    found.register_installed()
    assert found.names() == ["add"]
    assert found.call("add", {"first": 2}, context())["sum"] == 3
    assert found.get("add").is_installed


def test_a_call_of_a_person_comes_through_no_agent(context: Callable[..., ToolContext]) -> None:
    made = context()
    assert (made.agent_id, made.agent_chain, made.call_depth) == (None, (), 0)


def nested(levels: int) -> Any:
    """A list with `levels` lists in it, one in the other."""
    return [] if levels == 0 else [nested(levels - 1)]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"number": 10**30}, {"number": str(10**30)}),
        ({1: "one"}, {"1": "one"}),
        ({"words": {"one"}}, {"words": ["one"]}),
        ({"half": "a\ud800b", "nul": "a\0b"}, {"half": "a\ufffdb", "nul": "a\ufffdb"}),
        ({"list": nested(19)}, {"list": nested(19)}),
        (
            {"success": False, "error": "It is closed."},
            {"success": False, "error": {"code": "tool_failed", "message": "It is closed."}},
        ),
        (
            {"success": False, "error": {"code": 7}},
            {"success": False, "error": {"code": "7", "message": "The tool says that it has failed."}},
        ),
    ],
)
def test_results_are_plain_json(
    context: Callable[..., ToolContext], result: dict[Any, Any], told: dict[str, Any]
) -> None:
    only = Tool(name="give", description="", parameters={}, run=lambda _: result)
    assert ToolRegistry([only], code_of=code_of).call("give", {}, context()) == told


@pytest.mark.parametrize("result", [[1], "text", None, {"list": nested(20)}, {"list": nested(300)}])
def test_a_result_that_is_no_object_or_nested_too_deep_is_an_error(
    context: Callable[..., ToolContext], result: Any
) -> None:
    only = Tool(name="give", description="", parameters={}, run=lambda _: result)
    told = ToolRegistry([only], code_of=code_of).call("give", {}, context())
    assert (told["success"], told["error"]["code"]) == (False, "tool_failed")


@pytest.mark.parametrize("arguments", [{"a": "x\0"}, {"a": [{"b\0": 1}]}, {"a\0": 1}, {"a": nested(20)}])
def test_arguments_with_nul_or_nested_too_deep_are_refused(
    context: Callable[..., ToolContext], arguments: dict[str, Any]
) -> None:
    only = Tool(name="take", description="", parameters={}, run=lambda _context, **given: {"given": len(given)})
    registry = ToolRegistry([only], code_of=code_of)
    told = registry.call("take", arguments, context())
    assert (told["success"], told["error"]["code"]) == (False, "bad_request")
    assert registry.call("take", {"a": nested(19)}, context()) == {"given": 1}
