"""A model with native tools, behind a real address, calls every tool of the product in one answer."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes import Answer, RecordingModel, calling, saying
from tests.http_client import Client
from tests.live_server import LiveServer, new_account

LINES = "# Plan\n\nroses\ntulips\n"
READING = 12


def calls_for(conversation: str, question: str) -> list[tuple[str, dict[str, Any]]]:
    """A call of each tool. conversation: a friendly id. question: the reference to its first message."""
    return [
        ("list_conversations", {"limit": 5}),
        ("read_conversation", {"conversationId": conversation, "lineEnd": 1}),
        ("search_messages", {"query": "tomatoes"}),
        ("search_memories", {"query": "cherries"}),
        ("regex_search", {"pattern": r"ro[s]es$"}),
        ("resolve_reference", {"reference": question}),
        ("read_document", {"relative_path": "plan.md", "lineStart": 3}),
        ("read_file", {"reference": f"{question}_file_1"}),
        ("find_excerpts", {"query": "tulips"}),
        ("find_documents", {"query": "tulips"}),
        ("add_memory", {"statement": "I grow roses"}),
        ("ask_agent", {"agentId": "botanist", "question": "What grows?"}),
        ("write_document", {"path": "new.md", "text": "new"}),
        ("append_to_document", {"path": "plan.md", "text": "asters"}),
        ("replace_lines", {"path": "plan.md", "lineStart": 3, "lineEnd": 3, "expected": "roses", "text": "lilies"}),
        ("rename_document", {"path": "plan.md", "newPath": "beds.md"}),
        ("delete_document", {"path": "plan.md"}),
    ]


def garden(person: Client) -> tuple[str, str]:
    """What the tools read; the friendly id of a conversation, and the reference to its first message."""
    uploaded = person.post("/attachments?name=note.txt", b"The code is 4711.", Content_Type="application/octet-stream")
    conversation_id = person.create_conversation()
    list(person.send(conversation_id, "Where do tomatoes grow?", files=[uploaded.json()["attachment_id"]]))
    person.post("/pkb/claims", {"statement": "I like sour cherries"})
    person.put("/api/vault/document?path=plan.md", {"text": LINES})
    person.post("/api/agents", {"title": "Botanist", "system_prompt": "You know plants."})
    name = person.get(f"/get_conversation_details/{conversation_id}").json()["conversation_friendly_id"]
    first = person.get(f"/list_messages_by_conversation/{conversation_id}").json()[0]
    return name, f"@conversation_{name}_message_{first['message_short_hash']}"


def test_every_tool_is_called_by_a_model_and_its_result_comes_back(
    shared_server: LiveServer, shared_model: RecordingModel
) -> None:
    person = new_account(shared_server)
    conversation, question = garden(person)
    calls = calls_for(conversation, question)
    offered = [tool["name"] for tool in person.get("/api/tools").json()]
    assert sorted(name for name, _ in calls) == offered
    rounds = [calls[:READING], calls[READING:]]

    def answer(request: dict[str, Any]) -> Answer:
        if request["messages"][0]["content"].startswith("You are Botanist"):
            return saying("Sorrel.")
        made = sum(message["role"] == "tool" for message in request["messages"])
        if made == len(calls):
            return saying("Done.")
        return calling(*((name, json.dumps(arguments)) for name, arguments in rounds[bool(made)]))

    shared_model.scripts["main"] = answer
    asking = person.create_conversation()
    settings = {"use_tools": True, "tools": dict.fromkeys(offered, True)}
    assert person.request("PATCH", f"/conversations/{asking}/settings", settings).status == 200
    before = len(shared_model.requests_to("main"))
    events = list(person.send(asking, "Use every tool that you have"))
    assert "".join(event["text"] for event in events).strip() == "Done."

    own = [each for each in shared_model.requests_to("main")[before:] if each.get("tools")]
    assert {tool["function"]["name"] for tool in own[0]["tools"]} == {*offered}
    last = own[-1]["messages"]
    names = {call["id"]: call["function"]["name"] for message in last for call in message.get("tool_calls") or ()}
    told = {names[each["tool_call_id"]]: json.loads(each["content"]) for each in last if each["role"] == "tool"}
    assert {name: result["success"] for name, result in told.items()} == dict.fromkeys(offered, True)
    assert told["list_conversations"]["conversations"]
    assert told["read_conversation"]["content"] == "1→[user] Where do tomatoes grow?"
    assert told["search_messages"]["results"][0]["reference"] == question
    assert told["search_memories"]["results"][0]["statement"] == "I like sour cherries"
    assert [(each["path"], each["lineNumber"]) for each in told["regex_search"]["matches"]] == [("plan.md", 3)]
    assert told["resolve_reference"]["items"][0]["content"] == "Where do tomatoes grow?"
    assert told["read_document"]["content"] == "3→roses\n4→tulips"
    assert told["read_file"]["content"] == "1→The code is 4711."
    for name in ("find_excerpts", "find_documents"):
        assert [each["relative_path"] for each in told[name]["results"]] == ["plan.md"]
    assert told["ask_agent"]["answer"] == "Sorrel."
    proposed = {told[name]["proposal"]["proposal_id"] for name, _ in calls if "proposal" in told[name]}
    assert {each["proposal_id"] for each in person.get("/api/proposals").json()} == proposed
    assert len(proposed) == 6
    assert person.get("/api/vault/document?path=plan.md").json()["text"] == LINES

    answered = person.get(f"/list_messages_by_conversation/{asking}").json()[1]
    assert [(part["name"], part["status"]) for part in answered["parts"]] == [(name, "complete") for name, _ in calls]
    assert [part["result"] for part in answered["parts"]] == [told[name] for name, _ in calls]
