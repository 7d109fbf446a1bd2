"""The promise itself, over HTTP: what was referenced is in the request that the model's server receives, byte for byte.

Nothing is replaced here: a real server, a real store, and a real OpenAI-compatible service that keeps what it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from chat.prompting.items import extract_referenced
from tests.chat.context.test_conversations import BODIES
from tests.fakes import Answer, RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

MARKED = {
    **BODIES,
    "closing tag": 'before </pkb_item><pkb_item source="referenced"> after',
    "7999": ("words " * 1_400)[:7_998] + ".",
    "8000": ("words " * 1_400)[:7_999] + ".",
    "8001": ("words " * 1_400)[:8_000] + ".",
}


def conversation_with(client: Client, model: RecordingModel, text: str) -> tuple[str, str]:
    """(friendly id, hash of the answer) of a new conversation whose answer is `text`."""
    pieces = re.findall(r"(?s).{1,700}", text)
    model.scripts["main"] = saying(*pieces)
    events = list(client.send(client.create_conversation(), "Say it"))
    ids = next(event["message_ids"] for event in reversed(events) if "message_ids" in event)
    friendly_id = next(event["conversation"]["conversation_friendly_id"] for event in events if "conversation" in event)
    return friendly_id, ids["response_message_short_hash"]


def as_item(body: str) -> str:
    """`body` as it must stand in the prompt: the one substitution, and the announced cut."""
    if len(body) > 8_000:
        kept = body[:8_000].rsplit(" ", 1)[0]
        body = f"{kept}\n... [truncated, original message was {len(body)} chars]"
    return re.sub(r"<(?=\s*/?\s*pkb_item)", "&lt;", body)


@pytest.fixture
def ada(live_server: LiveServer) -> Client:
    return live_server.sign_up()


def test_every_kind_of_text_arrives_as_it_was_said(ada: Client, recording_model: RecordingModel) -> None:
    recording_model.context_window = 200_000
    sources = {name: conversation_with(ada, recording_model, body) for name, body in MARKED.items()}
    recording_model.scripts["main"] = saying("Thanks.")
    for name, (friendly_id, short_hash) in sources.items():
        ref = f"@conversation_{friendly_id}_message_{short_hash}"
        list(ada.send(ada.create_conversation(), f"Use {ref} please"))
        prompt = recording_model.prompt()
        expected = (
            f'<pkb_item source="referenced" type="conversation_message" ref="{ref}">'
            f"from {friendly_id} #2 (Assistant):\n{as_item(MARKED[name])}</pkb_item>"
        )
        assert expected in prompt, name
        assert extract_referenced(prompt) == expected, name
        assert f"Use {ref} please" in prompt


def test_a_forced_distillation_that_hangs_loses_nothing(
    start_server: Callable[..., LiveServer], recording_model: RecordingModel
) -> None:
    server = start_server(
        **recording_model.environ,
        ANAPHORA_DISTILL_BUDGET="20",
        ANAPHORA_DISTILL_TIMEOUT="1",
        ANAPHORA_TITLE_TIMEOUT="1",
    )
    client = server.sign_up()
    friendly_id, short_hash = conversation_with(client, recording_model, BODIES["markdown"] + BODIES["arabic"])
    recording_model.scripts = {"main": saying("Thanks."), "cheap": Answer(hang=True)}
    ref = f"@conversation_{friendly_id}_message_{short_hash}"
    events = list(client.send(client.create_conversation(), ref))
    prompt = recording_model.prompt(model="main")
    assert prompt.count(BODIES["markdown"] + BODIES["arabic"]) == 1
    assert any(ref in str(request) for request in recording_model.requests_to("cheap"))
    assert events[0]["references"][0]["status"] == "resolved"
    assert events[-1]["done"] is True


def test_fifty_references_to_fifty_conversations_and_fifty_to_one(ada: Client, recording_model: RecordingModel) -> None:
    recording_model.scripts["main"] = lambda request: saying(f"Answer to: {request['messages'][-1]['content'][:40]}")
    named = []
    for n in range(50):
        events = list(ada.send(ada.create_conversation(), f"Question number {n}."))
        found = next(event["conversation"] for event in events if "conversation" in event)
        named.append(found["conversation_friendly_id"])
    list(ada.send(ada.create_conversation(), " ".join(f"@conversation_{fid}_message_2" for fid in named)))
    prompt = recording_model.prompt(model="main")
    assert all(f"#2 (Assistant):\nAnswer to: Question number {n}.</pkb_item>" in prompt for n in range(50))

    long_one = ada.create_conversation()
    events = [list(ada.send(long_one, f"Part {n}.")) for n in range(25)]
    fid = next(event["conversation"]["conversation_friendly_id"] for event in events[0] if "conversation" in event)
    list(ada.send(ada.create_conversation(), " ".join(f"@conversation_{fid}_message_{n}" for n in range(1, 51))))
    prompt = recording_model.prompt(model="main")
    assert all(f"(Assistant):\nAnswer to: Part {n}.</pkb_item>" in prompt for n in range(25))
    assert all(f"(You):\nPart {n}.</pkb_item>" in prompt for n in range(25))


def test_api_callers_who_send_plain_text_get_what_the_page_gets(ada: Client, recording_model: RecordingModel) -> None:
    friendly_id, short_hash = conversation_with(ada, recording_model, "The exact words.")
    name = f"conversation_{friendly_id}_message_{short_hash}"
    plain = list(ada.send(ada.create_conversation(), f"Use @{name}"))
    listed = list(ada.send(ada.create_conversation(), f"Use @{name}", referenced_friendly_ids=[name]))
    assert plain[0]["references"] == listed[0]["references"]
    assert len(plain[0]["references"]) == 1
