"""The tools of the tests themselves: the server, the model and the client are real and see each other."""

from __future__ import annotations

import signal

from tests.fakes import saying


def test_a_started_server_answers_and_stops_cleanly(live_server):
    assert live_server.client().get("/healthz").json() == {"status": "ok"}
    assert live_server.stop() in (0, -signal.SIGTERM)


def test_a_server_that_is_told_to_stop_logs_that_it_does_and_has(live_server):
    live_server.stop()
    told = [said for line in live_server.log().splitlines() if (said := line.partition("anaphora.server: ")[2])]
    assert told[-2:] == ["stopping; 0 answers are being written", "stopped"]


def test_a_server_that_is_told_to_reload_answers_what_it_has_and_stops(live_server, recording_model):
    recording_model.scripts["main"] = saying("Good ", "morning.", delay=0.2)
    client = live_server.sign_up()
    events = client.send(client.create_conversation(), "Bonjour")
    next(events)
    live_server.process.send_signal(signal.SIGHUP)
    assert list(events)[-1]["done"] is True
    assert live_server.process.wait(120) in (0, -signal.SIGTERM)
    assert "Traceback" not in live_server.log()


def test_what_is_said_to_the_server_reaches_the_recording_model_and_comes_back(live_server, recording_model):
    recording_model.scripts["main"] = saying("Good ", "morning.")
    client = live_server.sign_up()
    events = list(client.send(client.create_conversation(), "Bonjour, Anaphora"))
    assert "".join(event["text"] for event in events) == "Good morning."
    assert "Bonjour, Anaphora" in recording_model.prompt()
    assert recording_model.requests_to("main")[0]["stream"] is True
    recording_model.wait_until(lambda model: model.running == 0)


def test_further_accounts_are_made_by_the_first(live_server):
    first, second = live_server.sign_up(), live_server.sign_up("grace@example.org")
    assert first.get("/get_user_info").json()["user_email"] == "ada@example.org"
    assert second.get("/get_user_info").json()["user_email"] == "grace@example.org"


def test_a_server_that_was_killed_starts_again_on_the_same_port_with_the_same_data(live_server):
    client = live_server.sign_up()
    conversation_id = client.create_conversation()
    live_server.kill()
    live_server.start()
    listed = client.get("/list_conversation_by_user/assistant").json()
    assert [each["conversation_id"] for each in listed] == [conversation_id]
