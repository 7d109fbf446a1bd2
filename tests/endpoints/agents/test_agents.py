"""Agents over HTTP, and the changes that other tabs are told."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from flask import Flask
from sqlalchemy import select, update

from database.agents import repository
from database.connection import open_store
from database.engine.database import Database
from database.schema import messages
from database.search.indexing import index_pending
from endpoints.agents.models import AgentItem
from endpoints.http.scope import EXTENSION
from settings import Settings
from tests.endpoints.conftest import Person, events_of, refused, told

pytestmark = pytest.mark.contract

FORMATS = ("markdown", "html", "json")
BOTANIST = {
    "title": "The Botanist",
    "system_prompt": "You know plants.",
    "model": "cheap",
    "enabled_tools": ["read_document"],
    "service": "later",
    "rules": [{"conversation_id": None, "recipe": "system-monitoring", "type": "system_event", "from_agents": False}],
    "hourly_limit": 5,
}


def make(person: Person, **fields: Any) -> AgentItem:
    return told(person.post("/api/agents", json=fields), AgentItem, status=201)


def test_everybody_has_a_global_assistant_that_stays(ada: Person, eve: Person) -> None:
    (own,) = ada.get("/api/agents").json
    assert (own["title"], own["reference"], own["is_global"]) == (
        "Global Assistant",
        "@agent_global_assistant",
        True,
    )
    assert ada.get("/api/agents").json == [own]
    assert eve.get("/api/agents/global_assistant").json["agent_id"] != own["agent_id"]
    path = f"/api/agents/{own['agent_id']}"
    assert refused(ada.delete(path)) == (400, "bad_request")
    assert refused(ada.put(path, json={"title": "Me", "slug": "me"})) == (400, "bad_request")
    assert told(ada.put(path, json={"title": "Jarvis"}), AgentItem).slug == "global_assistant"


def test_tools_of_an_agent_are_named_as_they_are_called(ada: Person, settings: Settings) -> None:
    made = make(ada, title="Flora", enabled_tools=["read_page", "read_document", "find_excerpts"])
    assert made.enabled_tools == ["read_document", "find_excerpts"]
    mistyped = {"title": "Flora", "enabled_tools": ["fly"]}
    path = f"/api/agents/{made.agent_id}"
    assert refused(ada.post("/api/agents", json=mistyped)) == (404, "tool_not_found")
    assert refused(ada.put(path, json=mistyped)) == (404, "tool_not_found")
    own = {"database": open_store(settings.users_dir), "user_email": ada.email}
    of_a_gone_package = repository.AgentRules(title="Flora", enabled_tools=["fly"])
    repository.replace_agent(**own, agent=made.agent_id, rules=of_a_gone_package)
    assert told(ada.put(path, json=mistyped | {"title": "F"}), AgentItem).enabled_tools == ["fly"]


def test_an_agent_is_made_changed_and_deleted(ada: Person) -> None:
    made = make(ada, **BOTANIST)
    assert made.model_dump(include=set(BOTANIST)) == BOTANIST
    assert (made.hourly_limit, [rule.from_agents for rule in made.rules]) == (5, [False])
    assert (made.slug, made.reference, made.is_global) == ("the_botanist", "@agent_the_botanist", False)
    assert told(ada.get("/api/agents/the_botanist"), AgentItem) == made
    path = f"/api/agents/{made.agent_id}"
    replaced = told(ada.put(path, json={"title": "Flora"}), AgentItem)
    assert (replaced.title, replaced.slug, replaced.system_prompt, replaced.model) == (
        "Flora",
        "the_botanist",
        "",
        None,
    )
    assert [each["title"] for each in ada.get("/api/agents").json] == ["Global Assistant", "Flora"]
    assert ada.delete(path).json == {"status": "ok"}
    assert refused(ada.get(path)) == (404, "agent_not_found")
    lines = next(ada.get("/events?after=0").iter_encoded()).splitlines()
    changes = [orjson.loads(line) for line in lines]
    assert [(each["change"], each["fields"].get("title")) for each in changes if each["id"] == made.agent_id] == [
        ("created", "The Botanist"),
        ("changed", "Flora"),
        ("gone", None),
    ]


def test_a_title_has_no_bracket_and_no_line_break_and_gives_the_name_behind_the_at(ada: Person) -> None:
    made = make(ada, title="Dr. [Who]\nelse")
    assert (made.title, made.slug) == ("Dr. [Who else", "dr_who_else")
    assert make(ada, title="Dr. who — else!").slug == "dr_who_else_2"
    assert make(ada, title="植物学家").slug.isascii()
    assert make(ada, title="Global Assistant").slug == "global_assistant_2"


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": " "},
        {"title": "]"},
        {"title": "a", "slug": "two words"},
        {"title": "a", "slug": "_a"},
        {"title": "a", "model": "no such"},
        {"title": "a", "service": "sometimes"},
        {"title": "a", "rules": [{"recipe": "x"}]},
        {"title": "a", "hourly_limit": -1},
        {"title": "a", "colour": "red"},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], ada: Person) -> None:
    assert refused(ada.post("/api/agents", json=wrong)) == (400, "bad_request")
    assert len(ada.get("/api/agents").json) == 1


def test_a_rule_names_a_recipe_and_a_type_that_are_there(ada: Person, app: Flask) -> None:
    def rule(recipe: str, type_: str) -> dict[str, Any]:
        return {"title": "Watcher", "rules": [{"recipe": recipe, "type": type_}]}

    answer = ada.post("/api/agents", json=rule("system-monitorin", "system_event"))
    assert refused(answer) == (404, "recipe_not_found")
    assert answer.json["details"] == {"candidates": ["system-monitoring"]}
    answer = ada.post("/api/agents", json=rule("system-monitoring", "system_evnt"))
    assert refused(answer) == (422, "unknown_type")
    assert "Did you mean “system_event”?" in answer.json["message"]
    assert len(ada.get("/api/agents").json) == 1
    made = make(ada, **rule("system-monitoring", "system_event"))
    assert refused(ada.put(f"/api/agents/{made.agent_id}", json=rule("chess", "move"))) == (404, "recipe_not_found")
    # What an agent has already may stay, also where its recipe is not installed any more.
    state = app.extensions[EXTENSION]
    rules = repository.AgentRules(**rule("chess", "move"))
    repository.replace_agent(database=state.database, user_email=ada.email, agent=made.agent_id, rules=rules)
    assert ada.put(f"/api/agents/{made.agent_id}", json=rule("chess", "move")).status_code == 200


def test_agents_of_one_long_title_have_names_that_may_be_sent_back(ada: Person) -> None:
    title = "The one who reads all the letters of the garden and answers them"
    made = [ada.post("/api/agents", json={"title": title, "system_prompt": "Read."}).json for _ in range(3)]
    assert len({agent["slug"] for agent in made}) == 3
    for agent in made:
        again = {"title": title, "system_prompt": "Read on.", "slug": agent["slug"]}
        answer = ada.put(f"/api/agents/{agent['agent_id']}", json=again)
        assert answer.status_code == 200, answer.text
        assert answer.json["slug"] == agent["slug"]


def test_a_name_is_there_once_for_each_person_until_its_agent_is_deleted(ada: Person, eve: Person) -> None:
    first = make(ada, title="One", slug="same")
    other = make(ada, title="Other")
    assert refused(ada.post("/api/agents", json={"title": "Two", "slug": "Same"})) == (409, "conflict")
    assert refused(ada.put(f"/api/agents/{other.agent_id}", json={"title": "Two", "slug": "same"})) == (409, "conflict")
    assert make(eve, title="Hers", slug="same").slug == "same"
    ada.delete(f"/api/agents/{first.agent_id}")
    assert make(ada, title="Next", slug="same").slug == "same"


def test_nobody_fills_the_store_with_agents(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MOST_AGENTS", 3)
    ada.get("/api/agents")
    assert [ada.post("/api/agents", json={"title": str(number)}).status_code for number in range(3)] == [201, 201, 400]


def test_a_model_that_the_operator_does_not_allow_is_refused(ada: Person) -> None:
    assert refused(ada.post("/api/agents", json={"title": "a", "model": "openai:o1-pro"})) == (403, "model_not_allowed")


def source_of(database: Database, message_id: str) -> tuple[Any, ...]:
    query = select(messages.c.source_agent_id, messages.c.source_agent_title)
    with database.reading() as connection:
        return tuple(connection.execute(query.where(messages.c.message_id == message_id)).one())


def test_a_source_is_forgotten_when_its_agent_is_deleted_for_good_but_not_its_title(
    ada: Person, settings: Settings
) -> None:
    database = open_store(settings.users_dir)
    ids = [make(ada, title=title).agent_id for title in ("Now", "Later")]
    said = []
    for agent_id in ids:
        events = ada.say(ada.new_conversation(), "hello")
        message_id = next(event["message_ids"] for event in events if "message_ids" in event)["user_message_id"]
        values = {"source_agent_id": agent_id, "source_agent_title": "Then"}
        this_one = update(messages).where(messages.c.message_id == message_id).values(values)
        database.write(lambda connection, this_one=this_one: connection.execute(this_one).close())
        said.append(message_id)
    for agent_id in ids:
        assert ada.delete(f"/api/agents/{agent_id}").status_code == 200
    assert [source_of(database, each) for each in said] == [(ids[0], "Then"), (ids[1], "Then")]
    assert ada.delete(f"/api/agents/{ids[0]}?for_good=true").status_code == 200
    assert [source_of(database, each) for each in said] == [(None, "Then"), (ids[1], "Then")]
    assert repository.purge_agents(database=database) == 0
    assert repository.purge_agents(database=database, older_than_days=0) == 1
    assert source_of(database, said[1]) == (None, "Then")


def test_a_conversation_can_belong_to_an_agent_until_that_is_deleted_for_good(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    path = f"/conversations/{conversation_id}/agent"
    made = make(ada, title="Botanist")
    assert ada.put(path, json={"agent": "botanist"}).json == {"status": "ok", "agent_id": made.agent_id}
    assert refused(ada.put(path, json={"agent": "nobody"})) == (404, "agent_not_found")
    assert ada.put(path, json={"agent": None}).json == {"status": "ok", "agent_id": None}


def test_an_agent_is_found_by_its_owner_alone(ada: Person, eve: Person) -> None:
    made = make(ada, title="Secret")
    assert refused(eve.get(f"/api/agents/{made.slug}")) == (404, "agent_not_found")
    assert all(each["title"] != "Secret" for each in eve.get("/api/agents").json)


def test_agents_answer_over_http_and_are_found_exported_and_cloned_under_their_titles(
    ada: Person, settings: Settings
) -> None:
    cook, critic = make(ada, title="Cook"), make(ada, title="Critic")
    talk = ada.new_conversation()
    events = ada.say(talk, "@agent_critic: soup?", agents=[cook.agent_id])
    assert [event["answer"]["agent"]["title"] for event in events if "answer" in event] == ["Cook", "Critic"]
    listed = ada.get(f"/list_messages_by_conversation/{talk}").json
    assert [each["agent"] for each in listed] == [
        None,
        {"id": cook.agent_id, "title": "Cook"},
        {"id": critic.agent_id, "title": "Critic"},
    ]
    again = events_of(ada.post(f"/regenerate/{talk}/{listed[2]['message_id']}"))
    assert [event["answer"]["agent"]["title"] for event in again if "answer" in event] == ["Critic"]
    while index_pending(database=open_store(settings.users_dir)):
        pass
    found = ada.get("/search?q=soup").json["results"]
    assert any(hit.get("message_id") == listed[0]["message_id"] for hit in found)
    exported = {form: ada.get(f"/export_conversation/{talk}?format={form}").get_data(True) for form in FORMATS}
    assert all("Cook" in text and "Critic" in text for text in exported.values())
    clone = ada.post(f"/clone_conversation/{talk}").json["conversation_id"]
    copied = ada.get(f"/list_messages_by_conversation/{clone}").json
    assert [each["agent"] and each["agent"]["title"] for each in copied] == [None, "Cook", "Critic"]
    assert len({each["thread_id"] for each in copied}) == 1


def test_the_details_of_a_conversation_name_its_agent(ada: Person) -> None:
    talk, cook = ada.new_conversation(), make(ada, title="Cook")
    ada.put(f"/conversations/{talk}/agent", json={"agent": "cook"})
    assert ada.get(f"/get_conversation_details/{talk}").json["agent_id"] == cook.agent_id
    (answer,) = [event["answer"] for event in ada.say(talk, "Soup?") if "answer" in event]
    assert answer["agent"]["title"] == "Cook"


def test_a_program_asks_an_agent_and_nobody_elses(ada: Person, eve: Person) -> None:
    cook = make(ada, title="Cook")
    asked = {"agentId": cook.agent_id, "question": "Soup?"}
    answer = ada.post("/api/tools/ask_agent", json=asked).json
    assert (answer["success"], answer["metadata"]["agentId"]) == (True, cook.agent_id)
    messages_there = ada.get(f"/list_messages_by_conversation/{answer['conversationId']}").json
    assert [each["source_agent_id"] for each in messages_there] == [None, None]
    assert refused(eve.post("/api/tools/ask_agent", json=asked)) == (404, "agent_not_found")
    again = {**asked, "agentId": "global_assistant", "conversationId": answer["conversationId"]}
    assert refused(eve.post("/api/tools/ask_agent", json=again)) == (404, "conversation_not_found")
    assert refused(ada.post("/api/tools/ask_agent", json=again)) == (400, "bad_request")
