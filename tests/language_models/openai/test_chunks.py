"""The shapes in which providers stream an answer, and the errors that they put into a stream."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from language_models.errors import ContextTooLongError, ModelError, ModelFailedError, ModelUnavailableError
from language_models.ports import Delta
from tests.language_models.openai.loopback import (
    ANSWER,
    DONE,
    Handler,
    ending,
    event,
    hang_up,
    piece,
    refusal_of,
    streaming,
    talk,
    text_of,
)


def delta(**fields: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields}]})


def calls_of(*fragments: dict[str, Any]) -> list[tuple[str, str]]:
    """The calls that these fragments, one in each chunk, come to: the name and the arguments of each."""
    chunks = [delta(tool_calls=[fragment]) for fragment in fragments]
    steps, _ = talk(streaming(*chunks, ending("tool_calls"), DONE))
    return [(call["function"]["name"], call["function"]["arguments"]) for call in steps[-1].tool_calls]


def thoughts_of(steps: list[Delta]) -> str:
    return "".join(step.thinking for step in steps)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    ("said", "thoughts", "words"),
    [
        ("<think>Sky? Sky.</think>\n\nBlue", "Sky? Sky.", "Blue"),
        ("\n<think>\nSo </thin </think>Blue", "\nSo </thin ", "Blue"),
        ("<think></think>\n\n Blue", "", "Blue"),
        ("  <thinly> Blue", "", "  <thinly> Blue"),
        ("Use <think>x</think>", "", "Use <think>x</think>"),
        ("<", "", "<"),
    ],
)
def test_thoughts_between_tags_at_the_beginning_come_apart_from_the_words(
    said: str, thoughts: str, words: str, chunk_size: int
) -> None:
    pieces = [piece(said[start : start + chunk_size]) for start in range(0, len(said), chunk_size)]
    steps, _ = talk(streaming(*pieces, ending(), DONE))
    assert (thoughts_of(steps), text_of(steps)) == (thoughts, words)
    assert steps[-1].finish_reason == "stop"


def test_thoughts_that_the_end_of_the_answer_cuts_are_kept() -> None:
    steps, _ = talk(streaming(piece("<think>Sky? </"), ending("length"), DONE))
    assert (thoughts_of(steps), text_of(steps)) == ("Sky? </", "")


def test_words_and_thoughts_in_a_list_of_parts_are_understood() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Sky?"}]}
    steps, _ = talk(
        streaming(delta(content=[thought]), delta(content=[{"type": "text", "text": "Blue"}]), ending(), DONE)
    )
    assert (thoughts_of(steps), text_of(steps)) == ("Sky?", "Blue")


def test_thoughts_of_an_unknown_shape_are_told_of() -> None:
    steps, _ = talk(streaming(delta(reasoning_details=[{"type": "reasoning.encrypted"}]), piece("Blue"), DONE))
    assert steps[0].status == "The model is thinking"
    assert text_of(steps) == "Blue"


def test_a_refusal_to_answer_is_shown_as_the_answer() -> None:
    steps, _ = talk(streaming(delta(content=None, refusal="I can't "), delta(refusal="say."), ending(), DONE))
    assert text_of(steps) == "I can't say."


@pytest.mark.parametrize(
    ("halves", "said"),
    [
        (("A\ud83d", "\ude00B"), "A😀B"),
        (("\ud83d", "", "\ude00"), "😀"),
        (("A\ud83d",), "A\ufffd"),
        (("\ude00",), "\ufffd"),
    ],
)
def test_a_character_that_is_cut_between_two_pieces_is_whole_again(halves: tuple[str, ...], said: str) -> None:
    steps, _ = talk(streaming(*map(piece, halves), ending(), DONE))
    assert text_of(steps) == said


def test_two_calls_with_one_index_stay_two() -> None:
    found = calls_of(
        {"index": 0, "id": "a", "function": {"name": "search", "arguments": '{"q":1}'}},
        {"index": 0, "id": "b", "function": {"name": "read", "arguments": '{"n"'}},
        {"index": 0, "function": {"arguments": ":2}"}},
    )
    assert found == [("search", '{"q":1}'), ("read", '{"n":2}')]


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    found = calls_of(
        {"id": "a", "function": {"name": "search", "arguments": "{}"}},
        {"id": "b", "function": {"name": "search", "arguments": "{}"}},
    )
    assert found == [("search", "{}"), ("search", "{}")]


def test_a_name_that_is_repeated_with_each_fragment_counts_once() -> None:
    fragment = {"index": 0, "id": "a", "function": {"name": "search", "arguments": '{"q"'}}
    assert calls_of(fragment, fragment | {"function": {"name": "search", "arguments": ":1}"}}) == [
        ("search", '{"q":1}')
    ]


def test_arguments_may_come_as_an_object() -> None:
    assert calls_of({"index": 0, "function": {"name": "search", "arguments": {"q": 1}}}) == [("search", '{"q":1}')]


@pytest.mark.parametrize("reason", ["content_filter", "content_filter: RECITATION"])
def test_an_answer_that_a_content_filter_cut_says_so(reason: str) -> None:
    steps, _ = talk(streaming(piece("Blu"), ending(reason), DONE))
    assert steps[-1].finish_reason == "content_filter"


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_an_answer_that_ends_for_a_fault_counts_as_broken_off(reason: str) -> None:
    error, steps = refusal_of(streaming(piece("Blu"), ending(reason), DONE), kind=ModelFailedError)
    assert text_of(steps) == "Blu"
    assert "broke off" in error.message


def test_white_space_around_the_last_event_means_nothing() -> None:
    steps, _ = talk(streaming(piece("Blue"), b"data: [DONE] \n\n"))
    assert text_of(steps) == "Blue"


@pytest.mark.parametrize(
    ("complaint", "kind"),
    [
        ({"object": "error", "message": "no such role", "code": 400}, ModelFailedError),
        ({"object": "error", "message": "too long: maximum context length", "code": 400}, ContextTooLongError),
        ({"choices": [{"delta": {}, "error": {"code": 502, "message": "bad gateway"}}]}, ModelUnavailableError),
    ],
)
def test_errors_of_other_shapes_are_errors(complaint: dict[str, Any], kind: type[ModelError]) -> None:
    error, _ = refusal_of(streaming(event(complaint), DONE))
    assert type(error) is kind


_SILENT, _LIMITED = "The model does not answer", "The provider limits requests"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (streaming(event({"error": {"message": "busy", "code": 503}})), _SILENT),
        (streaming(event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})), _SILENT),
        (streaming(event({"error": {"message": "slow down", "type": "rate_limit_error"}})), _LIMITED),
        (streaming(), _SILENT),
        (streaming(delta(role="assistant", content=""), then=hang_up), _SILENT),
    ],
)
def test_what_fails_within_a_stream_before_the_first_token_is_tried_again(first: Handler, said: str) -> None:
    steps, server = talk(first, ANSWER)
    assert len(server.bodies) == 2
    assert steps[0].status == f"{said}; trying again in 1 s"
    assert text_of(steps) == "Hello world"


def test_a_page_of_a_web_site_is_no_answer_and_not_asked_for_again() -> None:
    async def page(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Log in</html>", content_type="text/html")

    error, steps = refusal_of(page, ANSWER, kind=ModelFailedError)
    assert "no completion" in error.message
    assert steps == []


@pytest.mark.parametrize("begun", [piece("Blu"), delta(reasoning="Sky?")])
def test_what_fails_after_the_first_token_is_not_tried_again(begun: bytes) -> None:
    busy = event({"error": {"message": "busy", "code": 503}})
    error, steps = refusal_of(streaming(begun, busy), ANSWER, kind=ModelUnavailableError)
    assert "busy" in error.message
    assert len(steps) == 1
