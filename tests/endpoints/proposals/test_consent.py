"""A call that needs consent waits for the person, and the answer goes on with what they decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from flask import Flask
from sqlalchemy import update

from chat.tools import proposals as calls
from chat.tools.registry import ToolContext, tool
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import StorageFailedError
from database.proposals import OPEN_DAYS, expire_proposals, get_proposal
from database.schema import proposals
from endpoints.http.scope import EXTENSION
from language_models.errors import ModelFailedError
from language_models.testing import Reply, ScriptedChatModel, calling
from tests.endpoints.conftest import Person, events_of, refused

NOON, NIGHT = ("ring", '{"hour":12}'), ("ring", '{"hour":24}')


@pytest.fixture
def replies() -> list[Reply]:
    """What the model says, one after the other."""
    return []


@pytest.fixture
def main_model(request: pytest.FixtureRequest, replies: list[Reply]) -> ScriptedChatModel:
    """Calls tools, and says what it is told to. The parameter: whether it does so natively."""
    return ScriptedChatModel(replies=lambda _prompt: replies.pop(0), calls_tools=getattr(request, "param", True))


@pytest.fixture
def rung(app: Flask) -> list[int]:
    """The calls of a tool that needs consent."""
    made: list[int] = []

    @tool(reads_only=False, on_by_default=True, needs_consent=True)
    def ring(context: ToolContext, *, hour: int) -> dict[str, Any]:
        """Ring a bell."""
        made.append(hour)
        return {"success": True, "content": f"rung at {hour} for {context.user_email}"}

    app.extensions[EXTENSION].tools.register(ring)
    return made


def asks(*calls: tuple[str, str], saying: Sequence[str] = ()) -> Reply:
    """A reply that calls tools."""
    return Reply(*saying, calling(*calls), finish_reason="tool_calls")


def answer_in(person: Person, conversation_id: str, number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = person.get(f"/list_messages_by_conversation/{conversation_id}").json[number]
    return found


def decide(person: Person, how: str, **body: Any) -> dict[str, Any]:
    """Decide on the oldest open proposal; the answer once it has gone on."""
    proposal = person.get("/api/proposals").json[-1]
    decided = person.post(f"/api/proposals/{proposal['proposal_id']}/{how}", json=body)
    assert decided.status_code == 200, decided.get_data(as_text=True)
    events_of(person.get(f"/stream/{proposal['source']['message_id']}"))
    return proposal


def results_in(model: ScriptedChatModel) -> list[dict[str, Any]]:
    return [orjson.loads(each["content"]) for each in model.prompts[-1] if each["role"] == "tool"]


def test_the_answer_waits_and_goes_on_once_the_person_has_agreed(
    ada: Person, eve: Person, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel
) -> None:
    replies.append(asks(NOON, saying=["Let me ring. "]))
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring the bell at noon, please")
    before = answer_in(ada, conversation_id)
    (call,) = before["parts"]
    assert (before["status"], call["status"], rung) == ("complete", "waiting", [])
    assert call["result"]["error"]["code"] == "consent_needed"
    proposal = call["result"]["error"]["proposal"]
    assert (proposal["kind"], proposal["payload"]) == ("tool_call", {"tool": "ring", "arguments": {"hour": 12}})
    for how in ("accept", "decline"):
        assert refused(eve.post(f"/api/proposals/{proposal['proposal_id']}/{how}")) == (404, "proposal_not_found")
    replies.append(Reply("It rang."))
    decide(ada, "accept")
    after = answer_in(ada, conversation_id)
    assert (after["message_id"], after["text"]) == (before["message_id"], "Let me ring. \n\nIt rang.")
    assert [(part["status"], part["result"]["content"]) for part in after["parts"]] == [
        ("complete", "rung at 12 for ada@example.org")
    ]
    assert rung == [12]
    said, told = main_model.prompts[-1][-2:]
    assert (said["content"], said["tool_calls"][0]["id"]) == ("Let me ring. ", told["tool_call_id"])
    again = ada.post(f"/api/proposals/{proposal['proposal_id']}/accept")
    assert (refused(again), again.json["details"]) == ((409, "conflict"), {"state": "accepted"})


def test_allowed_once_asks_again_and_allowed_in_a_conversation_does_not(
    ada: Person, replies: list[Reply], rung: list[int]
) -> None:
    first, other = ada.new_conversation(), ada.new_conversation()
    replies += [asks(NOON), asks(NIGHT), Reply("Both rang."), asks(NOON), Reply("Again."), asks(NOON)]
    ada.say(first, "Ring at noon and at night")
    decide(ada, "accept")
    waiting = answer_in(ada, first)
    assert ([part["status"] for part in waiting["parts"]], rung) == (["complete", "waiting"], [12])
    decide(ada, "accept", scope="conversation")
    assert (answer_in(ada, first)["text"], rung) == ("Both rang.", [12, 24])
    ada.say(first, "Ring at noon again")
    assert (answer_in(ada, first, 3)["text"], rung) == ("Again.", [12, 24, 12])
    ada.say(other, "Ring here, too")
    assert [part["status"] for part in answer_in(ada, other)["parts"]] == ["waiting"]
    settings = ada.get(f"/get_conversation_settings/{first}").json
    assert settings["allowed_tools"] == ["ring"]
    assert ada.request("PATCH", f"/conversations/{first}/settings", json={"allowed_tools": None}).json == {}


def test_a_call_that_was_allowed_once_is_made_once_in_the_answer_that_waited(
    ada: Person, replies: list[Reply], rung: list[int]
) -> None:
    """Answered from the first, also after another change: the person is not asked again."""
    conversation_id = ada.new_conversation()
    remember = ("add_memory", '{"statement":"The bell rings at noon."}')
    replies += [asks(NOON), asks(NOON), asks(remember), asks(NOON), Reply("It rang.")]
    ada.say(conversation_id, "Ring at noon")
    decide(ada, "accept")
    parts = answer_in(ada, conversation_id)["parts"]
    assert [part["status"] for part in parts] == ["complete"] * 4
    assert ([("note" in part["result"]) for part in parts], rung) == ([False, True, False, True], [12])


def test_a_tool_allowed_in_a_conversation_is_not_asked_about_again_by_the_answer_that_waited(
    ada: Person, replies: list[Reply], rung: list[int]
) -> None:
    conversation_id = ada.new_conversation()
    replies += [asks(NOON), asks(NIGHT), Reply("Both rang.")]
    ada.say(conversation_id, "Ring at noon and at night")
    decide(ada, "accept", scope="conversation")
    assert (answer_in(ada, conversation_id)["text"], rung) == ("Both rang.", [12, 24])


def test_what_could_not_be_decided_allows_nothing(
    ada: Person, replies: list[Reply], rung: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_values: Any) -> None:
        raise StorageFailedError("The disk is full.")

    conversation_id = ada.new_conversation()
    replies.append(asks(NOON))
    ada.say(conversation_id, "Ring at noon")
    proposal = ada.get("/api/proposals").json[0]["proposal_id"]
    monkeypatch.setattr("chat.tools.proposals.decide_before", fails)
    assert ada.post(f"/api/proposals/{proposal}/accept", json={"scope": "conversation"}).status_code == 503
    assert ada.get(f"/get_conversation_settings/{conversation_id}").json == {}
    assert rung == []


def test_the_answer_waits_for_all_decisions_and_tells_the_model_of_refused_and_expired_ones(
    ada: Person, app: Flask, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel
) -> None:
    replies += [asks(NOON, NIGHT, ("ring", '{"hour":6}')), Reply("As you like.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring all day long")
    ids = [part["result"]["error"]["proposal"]["proposal_id"] for part in answer_in(ada, conversation_id)["parts"]]
    database = app.extensions[EXTENSION].database
    old = update(proposals).where(proposals.c.proposal_id == ids[0]).values(created_at=iso_in(days=-OPEN_DAYS - 1))
    database.write(lambda connection: connection.execute(old))
    assert expire_proposals(database=database) == 1
    declined = ada.post(f"/api/proposals/{ids[1]}/decline")
    assert (declined.json["state"], len(main_model.prompts)) == ("declined", 1)
    accepted = ada.post(f"/api/proposals/{ids[2]}/accept")
    assert accepted.json["outcome"]["goes_on"] is True
    events_of(ada.get(f"/stream/{accepted.json['outcome']['message_id']}"))
    codes = [each.get("error", {}).get("code") for each in results_in(main_model)]
    assert codes == ["consent_expired", "consent_refused", None]
    assert (rung, answer_in(ada, conversation_id)["text"]) == ([6], "As you like.")


def test_what_the_answer_does_not_wait_for_any_more_can_not_be_allowed(
    ada: Person, replies: list[Reply], rung: list[int]
) -> None:
    replies += [asks(NOON), Reply("Never mind.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring the bell at noon")
    message_id = answer_in(ada, conversation_id)["message_id"]
    events_of(ada.post(f"/regenerate/{conversation_id}/{message_id}"))
    (proposal,) = ada.get("/api/proposals").json
    late = ada.post(f"/api/proposals/{proposal['proposal_id']}/accept")
    assert (late.status_code, late.json["details"], rung) == (409, {"state": "expired"}, [])


@pytest.mark.contract
def test_the_same_decision_twice_at_once_lets_the_answer_go_on_once(
    ada: Person, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies += [asks(NOON), Reply("It rang."), Reply("It rang twice.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring the bell at noon")
    (proposal,) = ada.get("/api/proposals").json

    def waiting(*told: Any) -> Any:
        """The other window decides, and its answer ends, when this one has seen that the answer waits."""
        seen = real(*told)
        monkeypatch.undo()
        decide(ada, "accept")
        return seen

    real = calls._waiting
    monkeypatch.setattr(calls, "_waiting", waiting)
    late = ada.post(f"/api/proposals/{proposal['proposal_id']}/accept")
    assert (refused(late), late.json["details"]) == ((409, "conflict"), {"state": "accepted"})
    assert (rung, len(main_model.prompts)) == ([12], 2)
    assert answer_in(ada, conversation_id)["status"] == "complete"


@pytest.mark.contract
def test_of_two_last_decisions_at_once_one_lets_the_answer_go_on(
    ada: Person, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies += [asks(NOON, NIGHT), Reply("Both rang."), Reply("Both rang twice.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring at noon and at night")
    first, second = (each["proposal_id"] for each in ada.get("/api/proposals").json)

    def write(database: Database, job: Any, **how: Any) -> Any:
        """The other call is decided on, and the answer ends, when the decision on the first is stored."""
        result = real(database, job, **how)
        if get_proposal(database=database, user_email=ada.email, proposal_id=first).state != "open":
            monkeypatch.undo()
            decide(ada, "accept")
        return result

    real = Database.write
    monkeypatch.setattr(Database, "write", write)
    assert ada.post(f"/api/proposals/{first}/accept").json["outcome"]["goes_on"] is False
    assert (sorted(rung), len(main_model.prompts)) == ([12, 24], 2)
    assert answer_in(ada, conversation_id)["text"] == "Both rang."
    assert refused(ada.post(f"/api/proposals/{second}/accept")) == (409, "conflict")


def test_an_answer_that_can_not_go_on_leaves_its_last_call_open(
    ada: Person, app: Flask, replies: list[Reply], rung: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    replies += [asks(NOON, NIGHT), Reply("Both rang.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring at noon and at night")
    decline, accept = (each["proposal_id"] for each in ada.get("/api/proposals").json)
    assert ada.post(f"/api/proposals/{decline}/decline").status_code == 200
    monkeypatch.setattr(app.extensions[EXTENSION].turns, "_draining", True)
    assert refused(ada.post(f"/api/proposals/{accept}/accept")) == (503, "shutting_down")
    monkeypatch.undo()
    decide(ada, "accept")
    assert answer_in(ada, conversation_id)["text"] == "Both rang."


def test_a_model_that_fails_after_a_call_loses_nothing_of_it(
    ada: Person, replies: list[Reply], rung: list[int]
) -> None:
    replies += [asks(NOON), Reply(error=ModelFailedError("It broke."))]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring the bell at noon")
    decide(ada, "accept")
    after = answer_in(ada, conversation_id)
    assert (after["status"], [part["status"] for part in after["parts"]], rung) == ("failed", ["complete"], [12])


@pytest.mark.parametrize("main_model", [False], indirect=True)
def test_a_model_that_chooses_tools_by_constrained_requests_waits_likewise(
    ada: Person, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel
) -> None:
    ring, nothing = (Reply(orjson.dumps(each).decode()) for each in ({"tool": "ring", "arguments": {"hour": 3}}, {}))
    replies += [ring, nothing, Reply("It rang at three.")]
    conversation_id = ada.new_conversation()
    # The answer goes on with the options that the question was asked with.
    ada.say(conversation_id, "Ring the bell at three", options={"use_tools": True})
    assert (len(main_model.prompts), rung) == (1, [])
    decide(ada, "accept")
    assert (answer_in(ada, conversation_id)["text"], rung) == ("It rang at three.", [3])
    assert "rung at 3" in main_model.prompts[-1][-1]["content"]


def test_nobody_is_asked_where_nothing_is_kept_and_programs_call_no_such_tool(
    ada: Person, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel
) -> None:
    assert refused(ada.post("/api/tools/ring", json={"hour": 1})) == (400, "consent_needed")
    replies += [asks(NOON), Reply("I may not.")]
    conversation_id = ada.new_conversation()
    ada.put(f"/make_conversation_stateless/{conversation_id}")
    events = ada.say(conversation_id, "Ring the bell at noon")
    assert "I may not." in "".join(event["text"] for event in events)
    assert [each["error"]["code"] for each in results_in(main_model)] == ["consent_needed"]
    assert (ada.get("/api/proposals").json, rung) == ([], [])


def test_consent_holds_for_who_asked_the_model_of_the_conversation_or_one_agent(
    ada: Person, replies: list[Reply], rung: list[int]
) -> None:
    agents = [ada.post("/api/agents", json={"title": title}).json for title in ("Bell Ringer", "Botanist")]
    conversation_id = ada.new_conversation()

    def say(text: str) -> str:
        """Have a bell rung; whether that waits for the person."""
        replies.extend([asks(NOON), Reply("It rang.")])
        ada.say(conversation_id, text)
        waits: str = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[-1]["parts"][0]["status"]
        if waits == "waiting":
            decide(ada, "accept", scope="conversation")
        return waits

    assert [say("Ring!") for _ in range(2)] == ["waiting", "complete"]
    # What was allowed to the conversation's own model is not allowed to an agent, nor one agent's to another one.
    assert [say("Ring, @agent_bell_ringer!") for _ in range(2)] == ["waiting", "complete"]
    assert [say("Ring, @agent_botanist!") for _ in range(2)] == ["waiting", "complete"]
    settings = ada.get(f"/get_conversation_settings/{conversation_id}").json
    assert settings["allowed_tools"] == ["ring"]
    assert settings["agents_allowed_tools"] == {each["agent_id"]: ["ring"] for each in agents}

    kept = {agents[1]["agent_id"]: ["ring"]}
    change = {"allowed_tools": None, "agents_allowed_tools": kept}
    assert ada.request("PATCH", f"/conversations/{conversation_id}/settings", json=change).json == {
        "agents_allowed_tools": kept
    }
    assert say("Ring!") == "waiting"
    assert say("Ring, @agent_bell_ringer!") == "waiting"
    assert say("Ring, @agent_botanist!") == "complete"
    assert rung == [12] * 9


def test_an_answer_that_a_model_asks_an_agent_for_has_no_consent(
    ada: Person, replies: list[Reply], rung: list[int], main_model: ScriptedChatModel
) -> None:
    ada.post("/api/agents", json={"title": "Bell Ringer"})
    replies += [Reply("Hello.")]
    theirs = ada.post("/api/tools/ask_agent", json={"agentId": "bell_ringer", "question": "Hello"}).json[
        "conversationId"
    ]
    replies += [asks(NOON), Reply("It rang.")]
    ada.say(theirs, "Ring at noon")
    decide(ada, "accept", scope="conversation")
    assert rung == [12]
    # A text may have told the model of another conversation to ask.
    question = orjson.dumps({"agentId": "bell_ringer", "question": "Ring at noon", "conversationId": theirs}).decode()
    replies += [asks(("ask_agent", question)), asks(NOON), Reply("I may not."), Reply("It may not.")]
    ada.say(ada.new_conversation(), "Have it ring")
    assert main_model.prompts[-2][-1]["role"] == "tool"
    assert orjson.loads(main_model.prompts[-2][-1]["content"])["error"]["code"] == "consent_needed"
    assert rung == [12]


def test_consent_is_not_copied_with_a_conversation(ada: Person, replies: list[Reply], rung: list[int]) -> None:
    replies += [asks(NOON), Reply("It rang.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Ring at noon")
    decide(ada, "accept", scope="conversation")
    change = {"temperature": 1.0, "agents_allowed_tools": {"somebody": ["ring"]}}
    ada.request("PATCH", f"/conversations/{conversation_id}/settings", json=change)
    copy = ada.post(f"/clone_conversation/{conversation_id}").json["conversation_id"]
    assert ada.get(f"/get_conversation_settings/{copy}").json == {"temperature": 1.0}
