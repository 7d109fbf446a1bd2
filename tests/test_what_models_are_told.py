"""What people write of themselves in the settings, and what of it models receive, over HTTP.

A real server, a real store, and a real OpenAI-compatible service that keeps what it is sent.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes import RecordingModel, saying
from tests.live_server import LiveServer
from tests.test_word_for_word import conversation_with

ABOUT, MANNER = "I bake bread in Uppsala.", "Answer in two sentences."


def test_what_people_write_of_themselves_goes_with_each_of_their_messages_and_nobody_elses(
    start_server: Callable[..., LiveServer], recording_model: RecordingModel
) -> None:
    server = start_server(**recording_model.environ, ANAPHORA_DISTILL_BUDGET="20", ANAPHORA_TITLE_TIMEOUT="1")
    ada, eve = server.sign_up(), server.sign_up("eve@example.org")
    friendly_id, short_hash = conversation_with(ada, recording_model, "The dough rests. " * 40)
    assert "How the user wants to be answered" not in recording_model.prompt()
    assert "The user, about themselves" not in recording_model.prompt()

    assert ada.post("/modify_user_detail", {"text": ABOUT}).status == 200
    assert ada.post("/modify_user_preference", {"text": MANNER}).status == 200
    recording_model.scripts = {"main": saying("Thanks."), "cheap": saying("It rests.")}
    conversation_id = ada.create_conversation()
    events = list(ada.send(conversation_id, f"@conversation_{friendly_id}_message_{short_hash} how long?"))
    told = [recording_model.requests_to("main")[-1]["messages"][0]["content"]]
    distilling = next(text for text in map(str, recording_model.requests_to("cheap")) if "The dough rests." in text)
    answer_id = next(event["message_ids"] for event in events if "message_ids" in event)["response_message_id"]
    list(ada.stream(f"/regenerate/{conversation_id}/{answer_id}", {}))
    told.append(recording_model.requests_to("main")[-1]["messages"][0]["content"])
    for text in [*told, distilling]:
        assert text.index(ABOUT) < text.index(MANNER)

    list(eve.send(eve.create_conversation(), "hello"))
    assert not {text for text in (ABOUT, MANNER) if text in recording_model.prompt()}
