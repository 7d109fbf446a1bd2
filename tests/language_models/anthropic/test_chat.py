"""Anthropic's own API over real HTTP on loopback: what is sent, understood, tried again, and freed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from language_models.anthropic.chat import AnthropicChatModel
from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
    ModelUnavailableError,
    ModelUnknownError,
)
from language_models.openai.client import Timeouts
from language_models.openai.model_list import offered_models
from language_models.ports import ChatMessage, Delta, Usage, json_format
from tests.language_models.openai import loopback
from tests.language_models.openai.loopback import (
    QUESTION,
    Handler,
    answering,
    hang,
    hang_up,
    refusing,
    streaming,
    text_of,
)

MODEL = "claude-test-1"
YES, NO = {"supported": True}, {"supported": False}


def described(*, thinking: dict[str, Any] | None = None, structured: Any = YES, **more: Any) -> dict[str, Any]:
    """A model list that holds the model."""
    able = {"structured_outputs": structured, "image_input": YES, "thinking": {"supported": True, "types": thinking}}
    entry = {"id": MODEL, "type": "model", "display_name": "Test", "capabilities": able}
    return {"data": [{**entry, "max_input_tokens": 1_000_000, "max_tokens": 48_000, **more}], "has_more": False}


THINKS = described(thinking={"adaptive": YES, "disabled": YES, "enabled": NO})
ALWAYS_THINKS = described(thinking={"adaptive": YES, "disabled": NO, "enabled": NO})
SILENT = described(thinking={"adaptive": NO, "disabled": YES, "enabled": YES})

asking = partial(loopback.asking, client=AnthropicChatModel, model=MODEL, context_window=None)
talk = partial(loopback.talk, client=AnthropicChatModel, model=MODEL, context_window=None)
refusal_of = partial(loopback.refusal_of, client=AnthropicChatModel, model=MODEL, context_window=None)


def event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def begun(**usage: Any) -> bytes:
    message = {
        "id": "msg_1",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 7, "output_tokens": 1, **usage},
    }
    return event("message_start", message=message)


def block(index: int, given: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    grown = b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return (
        event("content_block_start", index=index, content_block=given)
        + grown
        + event("content_block_stop", index=index)
    )


def text(index: int, *pieces: str) -> bytes:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def thoughts(index: int, *pieces: str, signature: str = "c2ln") -> bytes:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    given = {"type": "thinking", "thinking": "", "signature": ""}
    return block(index, given, *deltas, {"type": "signature_delta", "signature": signature})


def call(index: int, name: str, *pieces: str, call_id: str = "toolu_1") -> bytes:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, *deltas)


def ended(reason: str = "end_turn", **usage: Any) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return event("message_delta", delta=delta, usage={"output_tokens": 5, **usage}) + event("message_stop")


def complaint(kind: str, message: str = "not now") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


PING = event("ping")
ANSWER = streaming(begun(), PING, text(0, "Hello ", "world"), ended())

# What is asked.


def test_the_request_is_one_of_the_messages_api() -> None:
    _, server = talk(ANSWER, model_list=SILENT)
    assert server.bodies == [
        {
            "model": MODEL,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Which colour is the sky?"}]}],
            "max_tokens": 48_000,
            "stream": True,
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert server.headers[0]["User-Agent"] == "Anaphora"
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_a_key_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    _, server = talk(ANSWER)
    assert "somebody" not in str(server.headers)


TOOLS = [
    {"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": {"type": "object"}}}
]


def sent(messages: list[ChatMessage], *, model_list: Any = SILENT, **wishes: Any) -> dict[str, Any]:
    """The body of a request."""

    async def question() -> dict[str, Any]:
        async with answering(ANSWER, model_list=model_list) as server, asking(server) as model:
            _ = [step async for step in model.stream(messages, **wishes)]
            return server.bodies[-1]

    return asyncio.run(question())


def test_wishes_are_passed_on_and_a_temperature_is_not_as_the_api_refuses_it() -> None:
    body = sent(QUESTION, tools=TOOLS, tool_choice="none", max_tokens=50, temperature=0.5, stop=["END", "\n"])
    assert body["tools"] == [{"name": "search", "description": "Finds.", "input_schema": {"type": "object"}}]
    assert (body["tool_choice"], body["max_tokens"], body["stop_sequences"]) == ({"type": "none"}, 50, ["END"])
    assert "temperature" not in body


def test_system_pictures_calls_and_results_have_their_own_shapes_and_what_stays_is_cached() -> None:
    made = [
        {"id": "a_0", "type": "function", "function": {"name": "search", "arguments": '{"q": "sky"}'}},
        {"id": "b_0", "type": "function", "function": {"name": "search", "arguments": "broken"}},
    ]
    body = sent(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "Welcome."},
            {"role": "user", "content": "Hm"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "What is this?", "pictures": ["data:image/png;base64,iVBO"]},
            {"role": "assistant", "content": "I look.", "tool_calls": made},
            {"role": "tool", "tool_call_id": "a_0", "content": "blue"},
            {"role": "tool", "tool_call_id": "b_0", "content": "grey"},
        ]
    )
    cached = {"cache_control": {"type": "ephemeral"}}
    assert body["system"] == [{"type": "text", "text": "Be brief.", **cached}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "…"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Welcome.", **cached}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hm"},
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a_0", "name": "search", "input": {"q": "sky"}},
                {"type": "tool_use", "id": "b_0", "name": "search", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a_0", "content": "blue"},
                {"type": "tool_result", "tool_use_id": "b_0", "content": "grey", **cached},
            ],
        },
    ]
    # Earlier calls without tools are refused.
    assert body["tools"] == [{"name": "search", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


def test_a_json_schema_is_the_output_format_without_what_the_api_can_not_express() -> None:
    asked = sent(QUESTION, response_format=json_format("count", SCHEMA))["output_config"]["format"]
    assert (asked["type"], asked["schema"]["additionalProperties"]) == ("json_schema", False)
    assert "minimum" not in asked["schema"]["properties"]["n"]
    assert "output_config" not in sent(QUESTION, response_format={"type": "regex", "pattern": "a+"})


OPEN = {"type": "object", "properties": {"notes": {"type": "object", "additionalProperties": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("schema", "structured"),
    [
        (SCHEMA, NO),
        (OPEN, YES),
        ({"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}, YES),
        ({"type": "object", "properties": {"n": {}}}, YES),
    ],
)
def test_the_model_is_told_a_schema_that_its_api_can_not_hold_it_to(schema: dict[str, Any], structured: Any) -> None:
    body = sent(QUESTION, model_list=described(structured=structured), response_format=json_format("count", schema))
    assert "output_config" not in body
    assert body["messages"][0]["content"][0]["text"].endswith(json.dumps(schema, separators=(",", ":")))


@pytest.mark.parametrize(
    "message", ["output_config.format: not supported by this model", "The compiled grammar is large"]
)
def test_a_refused_output_format_is_told_the_model_instead(message: str) -> None:
    refused = refusing(400, complaint("invalid_request_error", message))
    steps, server = talk(refused, ANSWER, wishes={"response_format": json_format("count", SCHEMA)})
    assert text_of(steps) == "Hello world"
    assert "output_config" not in server.bodies[1]


# How long an answer may be.


def test_limits_come_from_the_provider_and_the_operator() -> None:
    async def question(model_list: Any, **options: Any) -> tuple[int, int, int | None]:
        async with answering(ANSWER, model_list=model_list) as server, asking(server, **options) as model:
            await model.complete(QUESTION)
            return server.bodies[0]["max_tokens"], model.context_window, model.answer_limit

    assert asyncio.run(question(SILENT)) == (48_000, 1_000_000, 48_000)
    assert asyncio.run(question(None)) == (64_000, 200_000, 64_000)
    assert asyncio.run(question(SILENT, answer_tokens=900, context_window=32_000)) == (900, 32_000, 900)
    assert asyncio.run(question(SILENT, answer_tokens=90_000))[0] == 48_000


def test_a_limit_that_is_too_large_is_learned_from_the_refusal() -> None:
    message = f"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for {MODEL}"
    steps, server = talk(refusing(400, complaint("invalid_request_error", message)), ANSWER)
    assert (text_of(steps), server.bodies[1]["max_tokens"]) == ("Hello world", 8_192)


# What is understood.


def test_an_answer_arrives_step_by_step_and_ends_with_its_cost() -> None:
    usage = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    last = ended(output_tokens_details={"thinking_tokens": 3}, input_tokens=9, cache_read_input_tokens=None)
    steps, _ = talk(streaming(begun(**usage), text(0, "Hello ", "world"), last))
    assert [step.text for step in steps] == ["Hello ", "world", ""]
    assert steps[-1].usage == Usage(prompt_tokens=129, completion_tokens=5, cached_tokens=100, reasoning_tokens=3)
    assert steps[-1].finish_reason == "stop"


def test_text_arrives_byte_for_byte() -> None:
    said = '<think> Grüße, 世界 👩‍👩‍👧 \u202eabc \\n "quoted" \r\n\x00 end'
    steps, _ = talk(streaming(begun(), text(0, *said), ended()))
    assert text_of(steps) == said


def test_thoughts_come_apart_from_the_words_and_are_announced_once() -> None:
    steps, server = talk(streaming(begun(), thoughts(0, "Sky? ", "Sky."), text(1, "Blue"), ended()), model_list=THINKS)
    assert ("".join(step.thinking for step in steps), text_of(steps)) == ("Sky? Sky.", "Blue")
    assert [step.status for step in steps if step.status] == ["The model is thinking"]
    assert server.bodies[0]["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_tool_calls_come_with_the_last_step_and_thoughts_go_back_as_they_came() -> None:
    hidden = {"type": "redacted_thinking", "data": "eHl6"}
    first = streaming(
        *(begun(), thoughts(0, "I ", "search."), block(1, hidden), text(2, "Let me ", "see.")),
        *(call(3, "search", "", '{"q":', '"x"}'), call(4, "now", call_id="toolu_2"), ended("tool_use")),
    )

    async def question(*, changed: str | None) -> tuple[list[Delta], list[Any]]:
        async with answering(first, ANSWER, model_list=THINKS) as server, asking(server) as model:
            steps = [step async for step in model.stream(QUESTION, tools=TOOLS)]
            made = steps[-1].tool_calls
            results: list[ChatMessage] = [{"role": "tool", "tool_call_id": each["id"], "content": "-"} for each in made]
            said: ChatMessage = {"role": "assistant", "content": changed or text_of(steps), "tool_calls": made}
            _ = [step async for step in model.stream([*QUESTION, said, *results], tools=TOOLS)]
            return steps, server.bodies[1]["messages"][1]["content"]

    steps, went_back = asyncio.run(question(changed=None))
    functions = [each["function"] for each in steps[-1].tool_calls]
    assert functions == [{"name": "search", "arguments": '{"q":"x"}'}, {"name": "now", "arguments": "{}"}]
    assert steps[-1].finish_reason == "tool_calls"
    thought = {"type": "thinking", "thinking": "I search.", "signature": "c2ln"}
    uses = [
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}},
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
    ]
    assert went_back == [thought, hidden, {"type": "text", "text": "Let me see."}, *uses]
    _, went_back = asyncio.run(question(changed="Cut."))
    assert went_back == [thought, hidden, {"type": "text", "text": "Cut."}, *uses]


@pytest.mark.parametrize(
    ("reason", "understood", "status"),
    [
        ("stop_sequence", "stop", None),
        ("refusal", "content_filter", None),
        ("pause_turn", "length", f"The provider of {MODEL} cut the answer at a limit of its own."),
        (
            "model_context_window_exceeded",
            "length",
            f"The answer was cut: with it, {MODEL}'s window of 12 tokens is full.",
        ),
        ("something_new", "stop", None),
    ],
)
def test_why_an_answer_ended_is_told(reason: str, understood: str, status: str | None) -> None:
    steps, _ = talk(streaming(begun(), text(0, "Blue"), ended(reason)))
    assert (steps[-1].finish_reason, steps[-1].status) == (understood, status)


def test_an_answer_that_is_cut_at_its_limit_says_so() -> None:
    steps, _ = talk(streaming(begun(), text(0, "Blue"), ended("max_tokens")), wishes={"max_tokens": 5})
    assert (steps[-1].finish_reason, steps[-1].status) == ("length", "The answer was cut at its limit of 5 tokens.")


# Small jobs.


def test_small_jobs_do_not_think_where_the_model_can_answer_without() -> None:
    async def question(model_list: Any, **wishes: Any) -> dict[str, Any]:
        async with answering(ANSWER, model_list=model_list) as server, asking(server) as model:
            assert (await model.complete(QUESTION, max_tokens=24, **wishes)).text == "Hello world"
            return server.bodies[0]

    body = asyncio.run(question(THINKS))
    assert (body["thinking"], body["max_tokens"]) == ({"type": "disabled"}, 24)
    assert "thinking" not in asyncio.run(question(SILENT))
    assert asyncio.run(question(ALWAYS_THINKS))["thinking"]["type"] == "adaptive"


def test_thoughts_do_not_use_up_the_limit_of_a_small_job() -> None:
    cut = streaming(begun(), thoughts(0, "Hm"), ended("max_tokens"))

    async def question() -> tuple[str, list[int]]:
        async with answering(cut, ANSWER, model_list=ALWAYS_THINKS) as server, asking(server) as model:
            completion = await model.complete(QUESTION, max_tokens=24)
            return completion.text, [body["max_tokens"] for body in server.bodies]

    assert asyncio.run(question()) == ("Hello world", [24, 48_000])


# What fails.


@pytest.mark.parametrize(
    ("status", "kind", "message", "error"),
    [
        (401, "authentication_error", "invalid x-api-key", BadCredentialsError),
        (403, "permission_error", "no", BadCredentialsError),
        (404, "not_found_error", "model: claude-test-1", ModelUnknownError),
        (413, "request_too_large", "too large", ContextTooLongError),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLongError),
        (400, "invalid_request_error", "Your credit balance is too low", ModelUnavailableError),
        (400, "invalid_request_error", "messages: odd", ModelFailedError),
        (529, "overloaded_error", "Overloaded", ModelUnavailableError),
        (500, "api_error", "Internal server error", ModelUnavailableError),
    ],
)
def test_refusals_are_typed_and_quoted(status: int, kind: str, message: str, error: type[ModelError]) -> None:
    failure, steps = refusal_of(refusing(status, complaint(kind, message)))
    assert type(failure) is error
    assert message in failure.message
    assert len(steps) == (2 if status >= 500 else 0)  # one for each further attempt
    assert not any(step.text for step in steps)


def test_a_rate_limit_says_how_long_to_wait() -> None:
    failure, _ = refusal_of(refusing(429, complaint("rate_limit_error"), Retry_After="3600"))
    assert isinstance(failure, ModelRateLimitedError)
    assert failure.retry_after == 3600
    steps, server = talk(refusing(429, complaint("rate_limit_error"), Retry_After="0"), ANSWER)
    assert (text_of(steps), len(server.bodies)) == ("Hello world", 2)


@pytest.mark.parametrize(
    "failing",
    [
        refusing(529, complaint("overloaded_error")),
        streaming(begun(), event("error", error={"type": "overloaded_error", "message": "Overloaded"})),
        streaming(begun(), then=hang_up),
        streaming(begun(), thoughts(0)),
        hang_up,
    ],
)
def test_before_the_first_word_a_failure_is_tried_again(failing: Handler) -> None:
    steps, server = talk(failing, ANSWER)
    assert (text_of(steps), len(server.bodies)) == ("Hello world", 2)


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (streaming(begun(), text(0, "Hel"), then=hang_up), ModelFailedError),
        (streaming(begun(), text(0, "Hel")), ModelFailedError),
        (streaming(begun(), text(0, "Hel"), event("error", **complaint("overloaded_error"))), ModelUnavailableError),
        (streaming(begun(), text(0, "Hel"), b"event: message_delta\ndata: {\n\n"), ModelFailedError),
        (streaming(begun(), text(0, "Hel"), event("content_block_delta", index=9, delta={})), ModelFailedError),
    ],
)
def test_after_the_first_word_nothing_is_tried_again(failing: Handler, error: type[ModelError]) -> None:
    failure, steps = refusal_of(failing, ANSWER)
    assert (type(failure), text_of(steps)) == (error, "Hel")


def test_silence_ends_an_answer_and_pings_do_not() -> None:
    impatient = Timeouts(connect=5.0, first_token=0.3, idle=0.3, answer=5.0)
    failure, _ = refusal_of(hang, timeouts=impatient)
    assert (type(failure), "did not begin to answer in time" in failure.message) == (ModelUnavailableError, True)
    falls_silent = Timeouts(connect=5.0, first_token=60.0, idle=0.3, answer=60.0)
    failure, steps = refusal_of(streaming(begun(), text(0, "Hel"), then=hang), timeouts=falls_silent)
    assert (failure.message, text_of(steps)) == (f"{MODEL} fell silent in the middle of its answer", "Hel")

    patient = Timeouts(connect=60.0, first_token=60.0, idle=60.0, answer=600.0)

    async def pinging(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(PING + begun() + text(0, "Hel"))
        loop, ahead = asyncio.get_running_loop(), 0.0
        clock = loop.time
        loop.time = lambda: clock() + ahead  # type: ignore[method-assign]
        for _ in range(5):
            await response.write(PING)
            await asyncio.sleep(0.05)
            ahead += 25.0
        await response.write(text(1, "lo") + ended())
        return response

    steps, _ = talk(pinging, timeouts=patient)
    assert text_of(steps) == "Hello"


def test_a_server_that_is_not_there_and_a_refused_key_show_in_the_state() -> None:
    async def question() -> tuple[str, str]:
        refused = refusing(401, complaint("authentication_error", "bad key"))
        async with answering(refused, ANSWER) as server, asking(server) as model:
            with pytest.raises(BadCredentialsError):
                await model.complete(QUESTION)
            phase = model.state().phase
            await model.complete(QUESTION)
            assert model.state().phase == "ready"
        async with asking(server) as model:
            with pytest.raises(ModelUnavailableError, match=r"127\.0\.0\.1"):
                await model.complete(QUESTION)
            return phase, model.state().phase

    assert asyncio.run(question()) == ("failed", "failed")


def test_closing_an_answer_frees_the_model() -> None:
    async def question() -> bool:
        async with answering(streaming(begun(), text(0, "Hel"), then=hang)) as server, asking(server) as model:
            async with aclosing(model.stream(QUESTION)) as steps:
                async for step in steps:
                    if step.text:
                        break
            async with asyncio.timeout(60):
                return await server.hung_up.wait()

    assert asyncio.run(question())


def test_connections_are_used_again_and_belong_to_their_loop() -> None:
    async def question(model: AnthropicChatModel) -> None:
        assert (await model.complete(QUESTION)).text == "Hello world"

    async def questions() -> int:
        async with answering(ANSWER) as server, asking(server) as model:
            await question(model)
            await question(model)
            sockets = len(server.sockets)
            await asyncio.to_thread(asyncio.run, question(model))
            return sockets

    assert asyncio.run(questions()) == 1


# The model list, and what is imported.


def test_the_models_are_listed() -> None:
    async def listed(model_list: Any) -> tuple[str, ...]:
        async with answering(ANSWER, model_list=model_list) as server:
            return await offered_models(base_url=server.url, api_key="k", kind=AnthropicChatModel)

    assert asyncio.run(listed(SILENT)) == (MODEL,)
    with pytest.raises(ModelUnavailableError, match="no list"):
        asyncio.run(listed(None))


def test_the_package_is_imported_by_the_first_request_alone() -> None:
    script = (
        "import sys; from pathlib import Path; from language_models.roles import ModelRoles\n"
        "keys = {'openai_base_url': None, 'openai_api_key': None, 'anthropic_api_key': 'k'}\n"
        "roles = ModelRoles(main='anthropic:claude-x', cheap=None, embedding='none', model_dir=Path('m'), **keys)\n"
        "print(type(roles.main()).__name__, 'anthropic' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert answer.stdout.split() == ["AnthropicChatModel", "False"], answer.stderr
