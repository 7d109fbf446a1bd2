"""The Messages API on the wire: a chat-completions request body as Anthropic's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import orjson

from language_models.openai.wire import with_format

SAID_BEFORE = "said_before"
"""The field of a tool call with the blocks of the answer before it, which the model gets back as they were."""
_CACHED = {"type": "ephemeral"}
_LEFT_OUT = {"type": "text", "text": "…"}
_Block = dict[str, Any]


def messages_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request that `body` stands for. Its temperature is left out: the API has none any more (2026-10-21)."""
    body = _with_schema(body)
    system = [block for each in body["messages"] if each["role"] == "system" for block in _blocks(each["content"])]
    turns = _turns(each for each in body["messages"] if each["role"] != "system")
    _mark_stable(system, turns)
    tools = [_tool(tool) for tool in body.get("tools") or ()] or _tools_called(turns)
    is_barred = bool(tools) and (not body.get("tools") or body.get("tool_choice") == "none")
    optional = {
        "system": system,
        "tools": tools,
        "tool_choice": {"type": "none"} if is_barred else None,
        "stop_sequences": [text for text in body.get("stop") or () if text.strip()],
        "thinking": body.get("thinking"),
        "output_config": body.get("output_config"),
    }
    request = {"model": body["model"], "messages": turns, "max_tokens": body["max_tokens"], "stream": True}
    return request | {name: value for name, value in optional.items() if value}


def _with_schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """`body` with the JSON Schema of its answer where the API has it; one that it can't express is told the model."""
    form = body.get("response_format")
    if not form or form.get("type") != "json_schema":
        return body
    from anthropic import transform_schema

    wanted = form["json_schema"]["schema"]
    with suppress(ValueError, TypeError, AttributeError, AssertionError):  # whatever the package makes of odd ones
        if not _has_open_object(wanted):
            return {**body, "output_config": {"format": {"type": "json_schema", "schema": transform_schema(wanted)}}}
    return {**body, "messages": with_format(body["messages"], form)}


def _has_open_object(schema: Any) -> bool:
    """Whether an object may have fields that the schema does not name, of which the API would allow none."""
    if isinstance(schema, list):
        return any(map(_has_open_object, schema))
    if not isinstance(schema, dict):
        return False
    is_open = schema.get("type") == "object" and not schema.get("properties")
    is_map = isinstance(schema.get("additionalProperties"), dict) or "patternProperties" in schema
    return is_open or is_map or any(map(_has_open_object, schema.values()))


def _turns(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Turns of alternating roles, the first of which is the user's. The API refuses empty ones."""
    said = [("assistant" if each["role"] == "assistant" else "user", _content(each)) for each in messages]
    groups = groupby((each for each in said if each[1]), key=lambda each: each[0])
    turns = [{"role": role, "content": [block for _, blocks in each for block in blocks]} for role, each in groups]
    if turns and turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": [dict(_LEFT_OUT)]})
    return turns


def _content(message: Mapping[str, Any]) -> list[_Block]:
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}]
    if not (calls := message.get("tool_calls")):
        return _blocks(message["content"])
    blocks = [block for call in calls for block in (*map(dict, call.get(SAID_BEFORE, ())), _call(call))]
    if "".join(block["text"] for block in blocks if block["type"] == "text").strip() == message["content"].strip():
        return blocks
    # The text was changed, or the blocks are not there: thoughts come first, then the text, then the calls.
    rank = {"thinking": 0, "redacted_thinking": 0, "tool_use": 2}
    others = [block for block in blocks if block["type"] in rank]
    return sorted([*others, *_blocks(message["content"])], key=lambda block: rank.get(block["type"], 1))


def _blocks(content: str | Sequence[Mapping[str, Any]]) -> list[_Block]:
    """The blocks of a text, or of a text with pictures."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [dict(part) if "text" in part else _picture(part) for part in parts if part.get("text", "…").strip()]


def _picture(part: Mapping[str, Any]) -> _Block:
    kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(",")
    return {"type": "image", "source": {"type": "base64", "media_type": kind.partition(";")[0], "data": data}}


def _call(call: Mapping[str, Any]) -> _Block:
    function = call["function"]
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": _arguments(function["arguments"])}


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return given if isinstance(given, dict) else {}


def _tool(tool: Mapping[str, Any]) -> _Block:
    function = {**tool["function"]}
    return {"input_schema": function.pop("parameters", None) or {"type": "object"}, **function}


def _tools_called(turns: Sequence[Mapping[str, Any]]) -> list[_Block]:
    """The tools that earlier answers called: a request with calls has to describe some."""
    called = {each["name"] for turn in turns for each in turn["content"] if each["type"] == "tool_use"}
    return [{"name": name, "input_schema": {"type": "object"}} for name in sorted(called)]


def _mark_stable(system: Sequence[_Block], turns: Sequence[Mapping[str, Any]]) -> None:
    """Mark the prefixes that later requests begin with, so that they are cached.

    Those end with the system prompt, with the history before the question, and with the results of tools.
    """
    for blocks in _stable(system, turns):
        if blocks and blocks[-1]["type"] not in ("thinking", "redacted_thinking"):
            blocks[-1]["cache_control"] = _CACHED


def _stable(system: Sequence[_Block], turns: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[_Block]]:
    yield system
    ends = [(turn["role"], turn["content"][-1]["type"]) for turn in turns]
    asked = max(
        (place for place, (role, kind) in enumerate(ends) if role == "user" and kind != "tool_result"), default=0
    )
    if asked:
        yield turns[asked - 1]["content"]
    if ends and ends[-1][1] == "tool_result":
        yield turns[-1]["content"]
