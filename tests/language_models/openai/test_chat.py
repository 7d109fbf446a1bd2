"""A provider's model over real HTTP on loopback: what is sent, understood, tried again, and freed."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web

from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
    ModelUnavailableError,
    ModelUnknownError,
)
from language_models.openai import client, sessions
from language_models.openai.chat import ProviderChatModel
from language_models.openai.client import Timeouts, is_loopback
from language_models.openai.failures import RetryPolicy
from language_models.ports import ChatMessage, Delta, Usage, json_format
from tests.language_models.openai.loopback import (
    ANSWER,
    DONE,
    QUESTION,
    USAGE,
    Handler,
    Loopback,
    answering,
    asking,
    ending,
    event,
    hang,
    hang_up,
    in_one_piece,
    piece,
    refusal_of,
    refusing,
    streaming,
    talk,
    text_of,
)
from tests.live_server import free_port

# What is asked, and what is understood.


def test_an_answer_arrives_step_by_step_and_ends_with_its_cost() -> None:
    steps, _ = talk(ANSWER)
    assert [step.text for step in steps] == ["Hello ", "world", ""]
    assert steps[-1].usage == Usage(prompt_tokens=7, completion_tokens=2)
    assert steps[-1].finish_reason == "stop"


def test_the_request_holds_the_messages_and_only_the_wishes_that_were_uttered() -> None:
    _, server = talk(ANSWER)
    assert server.bodies == [
        {
            "model": "test-model",
            "messages": QUESTION,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_every_wish_is_passed_on() -> None:
    tools = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
    schema = {"type": "json_schema", "json_schema": {"name": "title", "schema": {"type": "object"}}}
    wishes = {"tools": tools, "response_format": schema, "max_tokens": 5, "temperature": 0.0, "stop": ("\n",)}
    _, server = talk(ANSWER, wishes=wishes)
    assert {name: server.bodies[0][name] for name in wishes} == wishes | {"stop": ["\n"]}


def test_a_regex_is_left_out_as_providers_know_none() -> None:
    _, server = talk(ANSWER, wishes={"response_format": {"type": "regex", "pattern": "a+"}})
    assert "response_format" not in server.bodies[0]


def test_without_a_key_none_is_sent() -> None:
    _, server = talk(ANSWER, api_key=None)
    assert "Authorization" not in server.headers[0]


def test_text_arrives_byte_for_byte() -> None:
    said = 'Grüße, 世界 👩‍👩‍👧 \u202eabc </pkb_item> \\n "quoted" \r\n\x00 end'
    steps, _ = talk(streaming(*(piece(letter) for letter in said), ending(), DONE))
    assert text_of(steps) == said


def test_tool_calls_are_collected_and_come_with_the_last_step() -> None:
    def fragment(**call: Any) -> bytes:
        return event({"choices": [{"delta": {"tool_calls": [call]}}]})

    steps, _ = talk(
        streaming(
            fragment(index=0, id="a", function={"name": "search", "arguments": ""}),
            fragment(index=0, function={"arguments": '{"q":'}),
            fragment(index=1, id="b", function={"name": "read", "arguments": "{}"}),
            fragment(index=0, function={"arguments": '"x"}'}),
            ending("tool_calls"),
            DONE,
        )
    )
    assert steps == [
        Delta(
            tool_calls=(
                {"id": "a", "type": "function", "function": {"name": "search", "arguments": '{"q":"x"}'}},
                {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ),
            finish_reason="tool_calls",
        )
    ]


def test_a_model_that_thinks_first_says_so_once() -> None:
    thought = event({"choices": [{"delta": {"reasoning_content": "hm"}}]})
    steps, _ = talk(streaming(thought, thought, piece("Blue"), ending(), DONE))
    assert [step.status for step in steps if step.status] == ["The model is thinking"]
    assert text_of(steps) == "Blue"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_what_a_model_thinks_comes_apart_from_its_words(field: str) -> None:
    def thought(text: object, **more: str) -> bytes:
        return event({"choices": [{"delta": {field: text, **more}}]})

    steps, _ = talk(
        streaming(thought("Sky? "), thought("Sky."), thought(" So", content="Bl"), thought({}), piece("ue"), DONE)
    )
    assert ("".join(step.thinking for step in steps), text_of(steps)) == ("Sky? Sky. So", "Blue")


def test_a_cut_off_answer_says_that_it_was_cut() -> None:
    steps, _ = talk(streaming(piece("Blu"), ending("length"), DONE))
    assert steps[-1].finish_reason == "length"


def test_an_answer_in_one_piece_is_understood() -> None:
    whole = {
        "choices": [{"message": {"role": "assistant", "content": "Blue"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    steps, _ = talk(in_one_piece(whole))
    assert [step.text for step in steps] == ["Blue", ""]
    assert steps[-1].usage == Usage(prompt_tokens=3, completion_tokens=1)


def test_complete_gives_the_whole_answer() -> None:
    async def ask() -> Any:
        async with answering(ANSWER) as server, asking(server) as model:
            return await model.complete(QUESTION, max_tokens=9)

    answer = asyncio.run(ask())
    assert (answer.text, answer.finish_reason, answer.usage.completion_tokens) == ("Hello world", "stop", 2)


@pytest.mark.parametrize("last", [ending(), piece("") + DONE, ending() + USAGE])
def test_an_answer_is_whole_when_it_says_so_in_either_way(last: bytes) -> None:
    steps, _ = talk(streaming(piece("Blue"), last))
    assert text_of(steps) == "Blue"
    assert steps[-1].finish_reason == "stop"


@pytest.mark.parametrize("last", [ending(), ending() + DONE])
def test_a_connection_lost_after_the_last_word_harms_nobody(last: bytes) -> None:
    steps, _ = talk(streaming(piece("Blue"), last, then=hang_up))
    assert text_of(steps) == "Blue"
    assert steps[-1].finish_reason == "stop"


def test_a_connection_that_stays_open_after_the_last_word_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "END_SECONDS", 1.0)
    steps, _ = talk(streaming(piece("Blue"), ending(), USAGE, then=hang), timeouts=Timeouts(idle=600.0))
    assert text_of(steps) == "Blue"
    assert steps[-1].usage == Usage(prompt_tokens=7, completion_tokens=2)


# What goes wrong in the middle.


@pytest.mark.parametrize("chunks", [(piece("Blu"),), (piece("Blu"), b'data: {"choi')])
def test_an_answer_that_breaks_off_raises_where_it_breaks(chunks: tuple[bytes, ...]) -> None:
    error, steps = refusal_of(streaming(*chunks, then=hang_up), kind=ModelFailedError)
    assert text_of(steps) == "Blu"
    assert "broke off" in error.message


def test_an_answer_that_ends_without_an_end_counts_as_broken_off() -> None:
    error, steps = refusal_of(streaming(piece("Blu")), kind=ModelFailedError)
    assert text_of(steps) == "Blu"
    assert "broke off" in error.message


def test_a_model_that_falls_silent_is_given_up() -> None:
    error, steps = refusal_of(
        streaming(piece("Blu"), then=hang), kind=ModelFailedError, timeouts=Timeouts(first_token=20.0, idle=0.05)
    )
    assert text_of(steps) == "Blu"
    assert "fell silent" in error.message


def test_a_listener_who_takes_his_time_is_not_taken_for_a_silent_model() -> None:
    listened = asyncio.Event

    async def question() -> str:
        read = listened()

        async def wait_for_the_listener(request: web.Request) -> web.StreamResponse:
            await read.wait()
            return web.Response()

        paused = streaming(piece("Hello "), piece("world"), then=wait_for_the_listener)

        async def handler(request: web.Request) -> web.StreamResponse:
            response = await paused(request)
            await response.write(ending() + DONE)
            return response

        said = ""
        async with answering(handler) as server, asking(server, timeouts=Timeouts(idle=2.0)) as model:
            async for step in model.stream(QUESTION):
                said += step.text
                if step.text == "world":
                    # longer than the silence that is allowed, with nobody listening
                    await asyncio.sleep(2.3)
                    read.set()
        return said

    assert asyncio.run(question()) == "Hello world"


@pytest.mark.parametrize(
    "nonsense",
    [
        b"data: <html>\n\n",
        b"data: 42\n\n",
        b"data: []\n\n",
        event({"choices": [7]}),
        event({"choices": {"a": 1}}),
        event({"choices": [{"delta": {"content": ["Blue"]}}]}),
        event({"choices": [{"delta": {"tool_calls": 3}}]}),
        event({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": {}, "name": 1}}]}}]}),
        event({"usage": {"prompt_tokens": "many"}}),
        event({"usage": 3}),
    ],
)
def test_nonsense_raises_a_typed_error(nonsense: bytes) -> None:
    error, steps = refusal_of(streaming(piece("Blu"), nonsense, ending(), DONE), kind=ModelFailedError)
    assert text_of(steps) == "Blu"
    assert "no completion" in error.message


def test_an_event_without_end_is_cut_off() -> None:
    endless = [b"data: " + b"x" * 1024**2] + [b"x" * 1024**2] * 17
    error, _ = refusal_of(streaming(*endless), kind=ModelFailedError)
    assert "no completion" in error.message


@pytest.mark.parametrize(
    ("complaint", "kind"),
    [
        ({"message": "overloaded"}, ModelFailedError),
        ("a plain sentence", ModelFailedError),
        ({"message": "bad gateway", "code": 502}, ModelUnavailableError),
        ({"message": "slow down", "type": "rate_limit_error"}, ModelRateLimitedError),
        ({"message": "maximum context length is 8192 tokens"}, ContextTooLongError),
        ({"message": "odd", "code": "²"}, ModelFailedError),
    ],
)
def test_an_error_within_a_stream_has_its_type(complaint: Any, kind: type[ModelError]) -> None:
    error, steps = refusal_of(streaming(piece("Blu"), event({"error": complaint})))
    assert type(error) is kind
    assert text_of(steps) == "Blu"


def test_a_refusal_in_one_piece_with_status_200_is_a_refusal() -> None:
    error, _ = refusal_of(in_one_piece({"error": {"message": "slow down", "code": 429}}))
    assert type(error) is ModelRateLimitedError


@pytest.mark.parametrize("then", [hang_up, hang])
def test_an_answer_in_one_piece_that_never_ends_is_given_up(then: Handler) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"choices"')
        return await then(request)

    error, _ = refusal_of(handler, kind=ModelFailedError, timeouts=Timeouts(idle=0.05))
    assert "in the middle" in error.message


# Refusals before the first token, and trying again.


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "no such role"}}, ModelFailedError),
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}, ContextTooLongError),
        (413, "Payload too large", ContextTooLongError),
        (
            400,
            {"error": "This model's maximum prompt length is 131072 but the request contains 200000"},
            ContextTooLongError,
        ),
        (400, {"message": "Input is too long for requested model."}, ContextTooLongError),
        (400, {"error": {"message": "Invalid request: exceeded model token limit: 8192"}}, ContextTooLongError),
        (500, {"error": {"message": "the input length exceeds the context length"}}, ContextTooLongError),
        (401, {"error": {"message": "wrong key"}}, BadCredentialsError),
        (403, [{"error": {"message": "no access"}}], BadCredentialsError),
        (402, {"detail": "pay first"}, ModelUnavailableError),
        (404, "", ModelUnknownError),
        (404, {"error": {"message": "No endpoints found that support tool use"}}, ModelFailedError),
        (307, "", ModelUnavailableError),
        (429, {"error": {"message": "all spent", "code": "insufficient_quota"}}, ModelUnavailableError),
    ],
)
def test_a_final_refusal_is_told_at_once_and_not_tried_again(status: int, body: Any, kind: type[ModelError]) -> None:
    async def ask() -> tuple[ModelError, int]:
        async with answering(refusing(status, body)) as server, asking(server) as model:
            with pytest.raises(ModelError) as refused:
                await model.complete(QUESTION)
            return refused.value, len(server.bodies)

    error, requests = asyncio.run(ask())
    assert type(error) is kind
    assert error.model == "test-model"
    assert requests == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_passing_refusal_is_tried_again_and_the_person_is_told(status: int) -> None:
    steps, server = talk(refusing(status), ANSWER)
    assert len(server.bodies) == 2
    assert server.bodies[0] == server.bodies[1]
    why = "The provider limits requests" if status == 429 else "The model does not answer"
    assert steps[0].status == f"{why}; trying again in 1 s"
    assert text_of(steps) == "Hello world"


def test_how_long_a_server_that_is_out_of_order_wants_to_be_left_alone_is_heeded() -> None:
    soon = refusing(503, Retry_After="0.01")
    steps, server = talk(soon, ANSWER, retries=RetryPolicy(first_pause=1_000.0))
    assert len(server.bodies) == 2
    assert text_of(steps) == "Hello world"


def test_too_many_tokens_for_a_rate_limit_are_not_too_many_for_the_window() -> None:
    error, _ = refusal_of(refusing(429, {"message": "Too many tokens, please wait before trying again."}))
    assert type(error) is ModelRateLimitedError


def test_attempts_come_to_an_end() -> None:
    error, steps = refusal_of(refusing(503, "Down for maintenance"), kind=ModelUnavailableError)
    assert len(steps) == 2
    assert "Down for maintenance" in error.message


def test_a_long_refusal_is_read_to_its_end_and_quoted_in_short() -> None:
    body = {"error": {"message": "no " * 10_000, "code": "context_length_exceeded"}}
    error, _ = refusal_of(refusing(400, body), kind=ContextTooLongError)
    assert len(error.message) < 400


def test_retry_after_is_waited_for() -> None:
    steps, server = talk(refusing(429, Retry_After="0.01"), ANSWER, retries=RetryPolicy(first_pause=1_000.0))
    assert len(server.bodies) == 2
    assert text_of(steps) == "Hello world"


@pytest.mark.parametrize("asked", ["3600", formatdate(4_000_000_000, usegmt=True)])
def test_who_asks_for_more_patience_than_we_have_is_reported_with_the_time(asked: str) -> None:
    error, steps = refusal_of(refusing(429, Retry_After=asked), kind=ModelRateLimitedError)
    assert steps == []
    assert isinstance(error, ModelRateLimitedError)
    assert (error.retry_after or 0) >= 3600
    assert f"asks us to wait {math.ceil(error.retry_after or 0):,} s" in error.message


@pytest.mark.parametrize("asked", ["soon", "nan", "inf", ""])
def test_a_retry_after_that_says_nothing_counts_as_none(asked: str) -> None:
    error, steps = refusal_of(refusing(429, Retry_After=asked), kind=ModelRateLimitedError)
    assert len(steps) == 2
    assert isinstance(error, ModelRateLimitedError)
    assert error.retry_after is None


def test_nothing_is_tried_again_once_a_token_was_said() -> None:
    async def ask() -> int:
        async with answering(streaming(piece("Blu"), then=hang_up), ANSWER) as server, asking(server) as model:
            with pytest.raises(ModelFailedError):
                await model.complete(QUESTION)
            return len(server.bodies)

    assert asyncio.run(ask()) == 1


def test_a_connection_dropped_before_the_first_token_is_tried_again() -> None:
    steps, server = talk(hang_up, streaming(then=hang_up), ANSWER)
    assert len(server.bodies) == 3
    assert text_of(steps) == "Hello world"


def test_nobody_there_is_said_with_the_address_and_remembered_until_somebody_answers() -> None:
    port = free_port()

    async def ask() -> tuple[str, ProviderChatModel]:
        model = ProviderChatModel(
            base_url=f"http://127.0.0.1:{port}/v1",
            api_key=None,
            model="test-model",
            retries=RetryPolicy(first_pause=0.001),
        )
        before = model.state().phase
        with pytest.raises(ModelUnavailableError) as refused:
            await model.complete(QUESTION)
        await model.aclose()
        assert before == "ready"
        return refused.value.message, model

    message, model = asyncio.run(ask())
    assert f"127.0.0.1:{port}" in message
    assert model.state().phase == "failed"
    assert model.state().detail == message


def test_a_model_that_answers_again_is_ready_again() -> None:
    async def ask() -> tuple[str, str]:
        async with answering(refusing(401), ANSWER) as server, asking(server) as model:
            with pytest.raises(BadCredentialsError):
                await model.complete(QUESTION)
            refused = model.state().phase
            await model.complete(QUESTION)
            return refused, model.state().phase

    assert asyncio.run(ask()) == ("failed", "ready")


PATIENT = Timeouts(connect=60.0, first_token=60.0)


async def after_its_patience(answer: Coroutine[Any, Any, Any], server: Loopback) -> Any:
    """What becomes of an answer where nothing comes for minutes, by the loop's clock, once the server was asked."""
    asked, loop, ahead = asyncio.create_task(answer), asyncio.get_running_loop(), 0.0
    clock = loop.time
    loop.time = lambda: clock() + ahead  # type: ignore[method-assign]
    while not (server.bodies or asked.done()):
        await asyncio.sleep(0.01)
    while not asked.done():  # what comes before the answer begins is waited for by itself
        await asyncio.sleep(0.05)
        ahead += 61.0
    return await asked


@pytest.mark.parametrize("handler", [hang, streaming(then=hang), streaming(b": still here\n\n", then=hang)])
def test_a_model_that_never_begins_is_given_up_without_another_try(handler: Handler) -> None:
    async def ask() -> tuple[str, int]:
        async with answering(handler) as server, asking(server, timeouts=PATIENT) as model:
            with pytest.raises(ModelUnavailableError) as refused:
                await after_its_patience(model.complete(QUESTION), server)
            await asyncio.wait_for(server.hung_up.wait(), 60)
            return refused.value.message, len(server.bodies)

    message, requests = asyncio.run(ask())
    assert "did not begin to answer in time" in message
    assert requests == 1


# What an endpoint does not know.


def unknown(field: str, message: str = "Unsupported parameter") -> Handler:
    return refusing(400, {"error": {"message": message, "param": field}})


def test_a_field_that_the_endpoint_does_not_know_is_left_out_from_then_on() -> None:
    async def ask() -> Loopback:
        async with answering(unknown("temperature"), ANSWER) as server, asking(server) as model:
            for _ in range(2):
                await model.complete(QUESTION, temperature=0.5)
            return server

    bodies = asyncio.run(ask()).bodies
    assert ["temperature" in body for body in bodies] == [True, False, False]


def test_the_newer_name_of_a_limit_is_learned_by_requests_that_run_side_by_side() -> None:
    async def either(request: web.Request) -> web.StreamResponse:
        if "max_tokens" in await request.json():
            return await unknown("max_tokens", "Use 'max_completion_tokens' instead")(request)
        return await ANSWER(request)

    async def ask() -> tuple[list[str], Loopback]:
        async with answering(either) as server, asking(server) as model:
            answers = await asyncio.gather(*(model.complete(QUESTION, max_tokens=5) for _ in range(3)))
            return [answer.text for answer in answers], server

    said, server = asyncio.run(ask())
    assert said == ["Hello world"] * 3
    assert server.bodies[-1]["max_completion_tokens"] == 5
    assert "max_tokens" not in server.bodies[-1]


def formed(*handlers: Handler, **options: Any) -> list[dict[str, Any]]:
    """The bodies of two requests, one after the other, whose answer is to have a form."""

    async def ask() -> list[dict[str, Any]]:
        async with answering(*handlers) as server, asking(server, **options) as model:
            for _ in range(2):
                await model.complete(QUESTION, response_format=json_format("colour", {"type": "object"}))
            return server.bodies

    return asyncio.run(ask())


TOLD = f"{QUESTION[0]['content']}\n\nAnswer with a JSON object alone, by this JSON Schema:\n" + '{"type":"object"}'


def test_a_form_that_the_endpoint_refuses_is_told_to_the_model_from_then_on() -> None:
    refused = refusing(400, {"error": {"message": "This response_format type is unavailable now"}})
    bodies = formed(refused, ANSWER)
    assert ["response_format" in body for body in bodies] == [True, False, False]
    assert [body["messages"][-1]["content"] for body in bodies[1:]] == [TOLD, TOLD]


def test_a_form_that_the_endpoint_ignores_is_told_to_the_model() -> None:
    bodies = formed(ANSWER, ignores_format=True)
    assert [(body["messages"][-1]["content"], "response_format" in body) for body in bodies] == [(TOLD, False)] * 2


def test_what_cannot_be_done_without_is_not_left_out() -> None:
    error, _ = refusal_of(unknown("messages"), kind=ModelFailedError)
    assert "Unsupported parameter" in error.message


def test_an_answer_is_limited_only_where_somebody_wants_that() -> None:
    _, unlimited = talk(ANSWER, model="gpt-4.1")
    _, allowed = talk(ANSWER, model="gpt-4.1", answer_tokens=9_000)
    _, asked = talk(ANSWER, model="gpt-4.1", answer_tokens=9_000, wishes={"max_tokens": 50})
    _, wanted = talk(ANSWER, model="claude-sonnet-4-5", needs_limit=True)
    bodies = [server.bodies[0].get("max_tokens") for server in (unlimited, allowed, asked, wanted)]
    assert bodies == [None, 9_000, 50, 64_000]


def test_a_provider_that_wants_a_limit_is_told_the_model_s_own() -> None:
    steps, server = talk(unknown("max_tokens", "max_tokens: field required"), ANSWER, model="gpt-4o")
    assert text_of(steps) == "Hello world"
    assert [body.get("max_tokens") for body in server.bodies] == [None, 16_384]


def test_a_limit_that_is_larger_than_the_model_can_write_is_learned() -> None:
    refused = unknown("max_tokens", "max_tokens: 50000 > 4,096, which is the maximum number of output tokens")
    steps, server = talk(refused, ANSWER, answer_tokens=50_000)
    assert text_of(steps) == "Hello world"
    assert [body["max_tokens"] for body in server.bodies] == [50_000, 4_096]


def test_room_for_the_answer_gives_way_to_a_prompt_that_fits_only_without_it() -> None:
    too_long = refusing(400, {"error": {"message": "exceeds the maximum context length of 40000 tokens"}})
    steps, server = talk(too_long, ANSWER, answer_tokens=50_000)
    assert text_of(steps) == "Hello world"
    assert ["max_tokens" in body for body in server.bodies] == [True, False]


def test_a_limit_that_is_needed_is_halved_until_prompt_and_answer_fit() -> None:
    message = "input length and `max_tokens` exceed context limit: 150000 + {} > 200000, decrease `max_tokens`"
    too_long = [refusing(400, {"error": {"message": message.format(limit)}}) for limit in (64_000, 32_000)]

    async def ask() -> list[int]:
        async with (
            answering(*too_long, ANSWER) as server,
            asking(server, model="claude-sonnet-4-5", needs_limit=True) as model,
        ):
            for _ in range(2):
                await model.complete(QUESTION)
            return [body["max_tokens"] for body in server.bodies]

    assert asyncio.run(ask()) == [64_000, 32_000, 16_000, 64_000]


def test_a_prompt_that_is_too_long_by_itself_is_not_sent_again_with_a_shorter_answer() -> None:
    too_long = refusing(400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})

    async def ask() -> int:
        async with answering(too_long) as server, asking(server, needs_limit=True) as model:
            with pytest.raises(ContextTooLongError):
                await model.complete(QUESTION)
            return len(server.bodies)

    assert asyncio.run(ask()) == 1


def test_the_status_of_a_refusal_is_not_taken_for_a_limit() -> None:
    error, _ = refusal_of(unknown("max_tokens", "max_tokens is too large"), answer_tokens=50_000)
    assert "max_tokens is too large" in error.message


def used(prompt: int, completion: int, **details: Any) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **details}})


@pytest.mark.parametrize(
    ("usage", "options", "told"),
    [
        (used(9, 500), {"answer_tokens": 500}, "500 tokens, which ANAPHORA_ANSWER_TOKENS allows"),
        (used(9, 50), {"answer_tokens": 500}, "at a limit of its own"),
        (used(9, 4_096), {}, "at a limit of its own"),
        (used(31_000, 1_000), {}, "window of 32,000 tokens is full"),
        (used(9, 64_000), {"model": "claude-x", "needs_limit": True}, "at its limit of 64,000 tokens"),
    ],
)
def test_an_answer_that_was_cut_says_whose_limit_cut_it(usage: bytes, options: dict[str, Any], told: str) -> None:
    steps, _ = talk(streaming(piece("Once"), ending("length"), usage, DONE), **options)
    assert told in str(steps[-1].status)


def test_a_prompt_whose_beginning_the_provider_dropped_is_told_of() -> None:
    async def ask(text: str) -> list[str]:
        long: list[ChatMessage] = [{"role": "user", "content": text}]
        answer = streaming(piece("Blue"), ending(), used(4_000, 3), DONE)
        async with answering(answer) as server, asking(server, model="qwen2.5:7b", context_window=None) as model:
            return [str(step.status) for step in [step async for step in model.stream(long)] if step.status]

    (told,) = asyncio.run(ask("word " * 8_000))
    assert told.startswith("qwen2.5:7b read only 4,000 tokens")
    assert asyncio.run(ask("word" + " " * 36_000)) == []


def test_a_job_is_not_limited_where_the_model_thinks_first() -> None:
    thought = used(9, 20, completion_tokens_details={"reasoning_tokens": 20})

    async def ask() -> tuple[list[str], Loopback]:
        async with answering(streaming(ending("length"), thought, DONE), ANSWER) as server, asking(server) as model:
            return [(await model.complete(QUESTION, max_tokens=20)).text for _ in range(2)], server

    said, server = asyncio.run(ask())
    assert said == ["Hello world"] * 2
    assert [body.get("max_tokens") for body in server.bodies] == [20, None, None]


def test_comments_before_the_answer_are_no_part_of_it() -> None:
    steps, _ = talk(streaming(b": PROCESSING\n\n", b": PROCESSING\n\n", piece("Blue"), ending(), DONE))
    assert text_of(steps) == "Blue"


def test_before_its_first_word_a_model_may_be_silent_for_longer_than_in_mid_answer() -> None:
    async def ask() -> str:
        thought = asyncio.Event()

        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(event({"choices": [{"delta": {"reasoning_content": "Hm."}}]}))
            await thought.wait()
            await response.write(piece("Blue") + ending() + DONE)
            return response

        timeouts = Timeouts(first_token=20.0, idle=0.05)
        async with answering(handler) as server, asking(server, timeouts=timeouts) as model:
            asyncio.get_running_loop().call_later(0.2, thought.set)
            return (await model.complete(QUESTION)).text

    assert asyncio.run(ask()) == "Blue"


def test_silence_before_the_first_event_fails_without_another_try() -> None:
    error, _ = refusal_of(streaming(b": hm\n\n", then=hang), timeouts=Timeouts(first_token=0.05))
    assert "did not begin to answer in time" in error.message


def test_leaving_while_the_model_thinks_hangs_up() -> None:
    async def leave() -> bool:
        async with answering(streaming(b": hm\n\n", then=hang)) as server, asking(server) as model:
            async with aclosing(model.stream(QUESTION)) as stream:
                assert (await anext(stream)).status == "The model is thinking"
            await asyncio.wait_for(server.hung_up.wait(), 60)
            return server.hung_up.is_set()

    assert asyncio.run(leave())


# What is freed.


def test_closing_the_stream_hangs_up_at_once() -> None:
    async def close() -> bool:
        async with answering(streaming(piece("Once "), then=hang)) as server, asking(server) as model:
            async with aclosing(model.stream(QUESTION)) as stream:
                await anext(stream)
            await asyncio.wait_for(server.hung_up.wait(), 60)
            return server.hung_up.is_set()

    assert asyncio.run(close())


@pytest.mark.parametrize("handler", [hang, streaming(then=hang), streaming(piece("Once "), then=hang)])
def test_cancelling_the_task_hangs_up_at_once(handler: Handler) -> None:
    async def cancel() -> bool:
        async with answering(handler) as server, asking(server) as model:
            asked = asyncio.create_task(model.complete(QUESTION))
            while not server.bodies:
                await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await asyncio.wait_for(server.hung_up.wait(), 60)
            return server.hung_up.is_set()

    assert asyncio.run(cancel())


def test_cancelling_while_a_refusal_is_read_leaves_nothing_open() -> None:
    async def refuse_slowly(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        await response.write(b"{")
        return await hang(request)

    async def cancel() -> bool:
        async with answering(refuse_slowly) as server, asking(server, timeouts=PATIENT) as model:
            with pytest.raises(ModelUnavailableError):
                await after_its_patience(model.complete(QUESTION), server)
            await asyncio.wait_for(server.hung_up.wait(), 60)
            gc.collect()  # an open answer would warn now, and warnings are errors
            return server.hung_up.is_set()

    assert asyncio.run(cancel())


@pytest.mark.parametrize(("host", "connections"), [("0.0.0.0", 1), ("127.0.0.1", 3)])
def test_a_connection_is_used_again_except_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, host: str, connections: int
) -> None:
    # This address leads here as well, but not by its name; so it stands for one elsewhere.
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)

    async def ask_thrice() -> int:
        async with answering(ANSWER) as server:
            server.url = server.url.replace("127.0.0.1", host)
            async with asking(server) as model:
                for _ in range(3):
                    await model.complete(QUESTION)
            return len(server.sockets)

    assert asyncio.run(ask_thrice()) == connections


def test_one_model_serves_several_loops_one_after_another() -> None:
    async def ask(model: ProviderChatModel | None) -> tuple[str, ProviderChatModel]:
        async with answering(ANSWER) as server:
            model = ProviderChatModel(base_url=server.url, api_key=None, model="test-model", context_window=1)
            return (await model.complete(QUESTION)).text, model

    said, model = asyncio.run(ask(None))
    assert said == "Hello world"
    # the first loop is gone, and its connections with it: nothing is left to close
    asyncio.run(model.aclose())


def test_closing_reaches_connections_of_other_loops() -> None:
    async def ask_here_and_close_elsewhere() -> str:
        async with answering(streaming(piece("Once "), then=hang)) as server:
            model = ProviderChatModel(base_url=server.url, api_key=None, model="test-model", context_window=1)
            stream = model.stream(QUESTION)
            await anext(stream)
            await asyncio.to_thread(lambda: asyncio.run(model.aclose()))
            with pytest.raises(ModelFailedError) as broken:
                await anext(stream)
            return broken.value.message

    assert "broke off" in asyncio.run(ask_here_and_close_elsewhere())


# What else a provider offers.


def test_a_refusal_teaches_the_window() -> None:
    async def ask() -> int:
        refused = refusing(400, {"error": {"message": "maximum context length is 4096 tokens"}})
        async with answering(refused) as server, asking(server, context_window=None) as model:
            with pytest.raises(ContextTooLongError):
                await model.complete(QUESTION)
            return model.context_window

    assert asyncio.run(ask()) == 4_096


@pytest.mark.parametrize(
    ("model_list", "window"),
    [
        ({"data": [{"id": "other"}, {"id": "test-model", "context_length": 9_000}]}, 9_000),
        ({"data": [{"id": "test-model", "max_model_len": 7_000}]}, 7_000),
        ({"data": [{"id": "test-model", "meta": {"n_ctx": 5_000}}]}, 5_000),
        ({"data": [{"id": "test-model", "context_length": "large"}]}, 8_192),
        ({"data": "none"}, 8_192),
        (["nonsense"], 8_192),
        ([{"id": "test-model", "context_length": 6_000}], 6_000),
        ({"data": [{"id": "models/test-model", "context_length": 6_500}]}, 6_500),
        (None, 8_192),
    ],
)
def test_an_unknown_window_is_read_from_the_model_list_behind_the_first_answer(model_list: Any, window: int) -> None:
    async def ask() -> int:
        async with (
            answering(ANSWER, model_list=model_list) as server,
            asking(server, context_window=None) as model,
        ):
            assert model.context_window == 8_192
            await model.complete(QUESTION)
            await asyncio.gather(*(asyncio.all_tasks() & {model._finding_window}))
            return model.context_window

    assert asyncio.run(ask()) == window


def test_the_window_of_a_known_family_is_asked_for_once() -> None:
    async def ask(listed: dict[str, Any]) -> tuple[int, bool]:
        async with answering(ANSWER, model_list={"data": [{"id": "gpt-4o", **listed}]}) as server:
            model = ProviderChatModel(base_url=server.url, api_key=None, model="gpt-4o")
            async with aclosing(model):
                await model.find_context_window()
                await model.complete(QUESTION)
                return model.context_window, model._finding_window is None

    assert asyncio.run(ask({"context_length": 64_000})) == (64_000, True)
    assert asyncio.run(ask({})) == (128_000, True)


def test_closing_while_the_window_is_asked_for_leaves_no_task() -> None:
    async def ask() -> bool:
        async with answering(ANSWER, model_list={}) as server, asking(server, context_window=None) as model:
            await model.complete(QUESTION)
            asking_still = model._finding_window
            assert asking_still is not None
            await model.aclose()
            await asyncio.wait([asking_still])
            return asking_still.done()

    assert asyncio.run(ask())


def test_the_provider_s_models_are_listed_by_name() -> None:
    async def ask(model_list: Any) -> tuple[str, ...]:
        async with answering(ANSWER, model_list=model_list) as server, asking(server) as model:
            return await model.models()

    assert asyncio.run(ask({"data": [{"id": "a"}, {"id": "b"}, 3]})) == ("a", "b")
    assert asyncio.run(ask(["a"])) == ()
    assert asyncio.run(ask([{"id": "a"}])) == ("a",)
    with pytest.raises(ModelUnavailableError, match="has no list of its models"):
        asyncio.run(ask(None))


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]/v1", True),
        ("http://localhost/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("", False),
    ],
)
def test_no_proxy_stands_between_us_and_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_a_server_is_also_reached_by_name() -> None:
    async def ask() -> str:
        async with answering(ANSWER) as server:
            url = server.url.replace("127.0.0.1", "localhost")
            model = ProviderChatModel(base_url=url, api_key=None, model="loopback", context_window=8_192)
            try:
                return (await model.complete(QUESTION)).text
            finally:
                await model.aclose()

    assert asyncio.run(ask()) == "Hello world"


def test_nothing_is_opened_before_the_first_question() -> None:
    model = ProviderChatModel(base_url="http://127.0.0.1:9/v1", api_key=None, model="gpt-4o-mini")
    assert (model.name, model.context_window, model.count_tokens("four")) == ("gpt-4o-mini", 128_000, 2)
    assert model.state().phase == "ready"


def test_two_loops_that_ask_first_at_the_same_time_share_what_closes_their_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[sessions.LoopSessions] = []
    create = sessions.LoopSessions.__init__

    def create_slowly(self: sessions.LoopSessions, *args: Any, **options: Any) -> None:
        time.sleep(0.05)
        create(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(sessions.LoopSessions, "__init__", create_slowly)
    both = threading.Barrier(2)

    async def ask_nobody(model: ProviderChatModel) -> None:
        await model.find_context_window()

    def ask(model: ProviderChatModel) -> None:
        both.wait(60)
        asyncio.run(ask_nobody(model))

    model = ProviderChatModel(base_url="http://127.0.0.1:9/v1", api_key=None, model="a")
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(ask, [model] * 2))
    asyncio.run(model.aclose())
    assert len(made) == 1
