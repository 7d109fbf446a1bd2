"""A server that dies while agents answer keeps what each has said, marks what it cut off, and says nothing twice."""

from __future__ import annotations

from typing import Any

from tests.fakes import Answer, RecordingModel, calling, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants


def messages_of(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    """The messages of a conversation, the text, status and agent of each answer among them."""
    return list(client.get(f"/list_messages_by_conversation/{conversation_id}").json())


def shown(messages: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Agent, text and status of each answer."""
    return [
        ((each.get("agent") or {}).get("title", ""), each["text"], each["status"])
        for each in messages
        if each["sender"] == "model"
    ]


def make_agents(client: Client) -> None:
    for title in ("Cook", "Botanist"):
        assert client.post("/api/agents", {"title": title, "system_prompt": "You know."}).status == 201


def is_told(request: dict[str, Any], title: str) -> bool:
    """Whether the agent of this title is asked."""
    return str(request["messages"][0]["content"]).startswith(f"You are {title}")


def asked_conversation(client: Client, model: RecordingModel, *, asking: str) -> str:
    """The conversation of the agent that was asked, once its first words are shown."""
    model.wait_until(lambda model: any(is_told(request, "Botanist") for request in model.requests_to("main")))
    listed = client.get("/list_conversation_by_user/assistant").json()
    (theirs,) = [str(each["conversation_id"]) for each in listed if each["conversation_id"] != asking]
    answer = messages_of(client, theirs)[-1]["message_id"]
    assert next(event for event in client.stream(f"/stream/{answer}") if event["text"] == "Half of ")
    return theirs


def test_a_kill_between_two_agents_keeps_the_first_answer_and_marks_the_second(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    halfway = saying("Half of ", "it.", pause_after=1)
    recording_model.scripts["main"] = lambda request: saying("Sorrel.") if is_told(request, "Cook") else halfway
    client = live_server.sign_up()
    make_agents(client)
    conversation_id = client.create_conversation()
    events = client.send(conversation_id, "Soup, @agent_cook and @agent_botanist?")
    assert next(event for event in events if event["text"] == "Half of ")
    live_server.kill()
    live_server.start()
    assert broken_invariants(live_server.users_dir) == {}
    before = messages_of(client, conversation_id)
    assert shown(before) == [("Cook", "Sorrel.", "complete"), ("Botanist", "Half of ", "interrupted")]
    recording_model.scripts["main"] = saying("Mint.")
    again = client.stream(f"/regenerate/{conversation_id}/{before[-1]['message_id']}", {})
    assert list(again)[-1]["done"]
    assert shown(messages_of(client, conversation_id)) == [
        ("Cook", "Sorrel.", "complete"),
        ("Botanist", "Mint.", "complete"),
    ]
    assert broken_invariants(live_server.users_dir) == {}


def test_a_kill_while_an_asked_agent_answers_marks_both_answers_and_asks_nothing_twice(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    halfway = saying("Half of ", "it.", pause_after=1)

    def answer(request: dict[str, Any]) -> Answer:
        if is_told(request, "Botanist"):
            return halfway
        return calling(("ask_agent", '{"agentId":"botanist","question":"What grows?"}'), saying=["Wait."])

    recording_model.scripts["main"] = answer
    client = live_server.sign_up()
    make_agents(client)
    conversation_id = client.create_conversation()
    events = client.send(conversation_id, "Soup?", options={"use_tools": True})
    assert next(event for event in events if event.get("part", {}).get("kind") == "tool_call")
    theirs = asked_conversation(client, recording_model, asking=conversation_id)
    live_server.kill()
    live_server.start()
    assert broken_invariants(live_server.users_dir) == {}
    (own,) = [each for each in messages_of(client, conversation_id) if each["sender"] == "model"]
    assert (own["text"], own["status"]) == ("Wait.", "interrupted")
    assert [(part["name"], part["status"]) for part in own["parts"]] == [("ask_agent", "interrupted")]
    asked, answered = messages_of(client, theirs)
    assert (asked["text"], asked["source_agent_title"]) == ("What grows?", "Global Assistant")
    assert shown([answered]) == [("Botanist", "Half of ", "interrupted")]
    requests = len(recording_model.requests_to("main"))
    recording_model.scripts["main"] = saying("Fine.")
    for each in (conversation_id, theirs):
        assert list(client.send(each, "Go on"))[-1]["done"]
    assert len(recording_model.requests_to("main")) == requests + 2
    assert broken_invariants(live_server.users_dir) == {}
