"""The models that come with the product, for real: a whole turn over HTTP, and memories found by meaning."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from settings import load_settings
from tests.http_client import Client
from tests.live_server import LiveServer

pytestmark = pytest.mark.embedded


def found_by_meaning(client: Client, question: str) -> list[dict[str, Any]]:
    """What the vectors find, as soon as the embedding model has loaded and made them."""
    until = time.monotonic() + 120
    while not (results := client.get(f"/pkb/search?q={quote(question)}&strategy=embedding").json()["results"]):
        assert time.monotonic() < until, "no memory was ever found by its meaning"
        time.sleep(0.1)
    found: list[dict[str, Any]] = results
    return found


def test_a_message_is_answered_and_titled_and_a_memory_is_found_by_its_meaning(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(
        ANAPHORA_MAIN_MODEL="embedded:small",
        ANAPHORA_CHEAP_MODEL="embedded:small",
        ANAPHORA_EMBEDDING_MODEL="embedded",
        ANAPHORA_TITLE_TIMEOUT="300",
        ANAPHORA_MODEL_DIR=str(load_settings().model_dir),
    )
    client = server.sign_up()
    for statement in ("I never drink coffee", "My bicycle is green"):
        assert client.post("/pkb/claims", {"statement": statement}).status == 201
    found = found_by_meaning(client, "Do I like a cup of coffee?")
    assert found[0]["claim"]["statement"] == "I never drink coffee"

    conversation_id = client.create_conversation()
    events = list(client.send(conversation_id, "Answer with one short sentence: which colour has the sky?"))
    assert [event["error"] for event in events if "error" in event] == []
    question, answer = client.get(f"/list_messages_by_conversation/{conversation_id}").json()
    assert answer["text"] == "".join(event["text"] for event in events)
    assert (question["status"], answer["status"]) == ("complete", "complete")
    assert re.search(r"\w{2,}", answer["text"])
    title = client.get(f"/get_conversation_details/{conversation_id}").json()["title"]
    assert re.search(r"\w+( \w+){2,5}", title)
    assert "Answer with one" not in title  # the first words of the message, which stand in where no model can be asked


def test_what_somebody_states_is_responded_to_and_not_made_into_a_block_of_context(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(ANAPHORA_MAIN_MODEL="embedded:small", ANAPHORA_MODEL_DIR=str(load_settings().model_dir))
    client = server.sign_up()
    for statement in ("Please note: my sailing boat lies at berth 47 in Laboe.", "My landlord is Mr Olsen."):
        options = {"answer_tokens": 24, "temperature": 0.0}
        events = list(client.send(client.create_conversation(), statement, options=options))
        answer = "".join(event.get("text") or "" for event in events)
        assert re.search(r"\w{2,}", answer)
        assert not re.search(r"[{}<>]|pkb_item|context|material", answer), answer
