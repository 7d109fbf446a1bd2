"""Activities over HTTP: the chain of eight over two conversations, threads, references, and what is refused."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest
from flask import Flask

from activity.posting import post_activity
from activity.threads import thread_title
from database.timeline.posting import Actor
from endpoints.activities import models
from endpoints.http.scope import EXTENSION, AppState
from tests.activity.made import Game
from tests.endpoints.conftest import Person, refused, told

Item = models.ActivityItem
DESIGNER = {"type": "agent", "id": "designer", "name": "GameDesigner AI"}
EVENT = {"type": "system_event", "payload": {"type": "minigame_spawned", "description": "It runs"}}


@pytest.fixture
def state(app: Flask) -> AppState:
    """The parts of the server, with a recipe from outside."""
    parts: AppState = app.extensions[EXTENSION]
    parts.recipes.register(Game(), source="a-game")
    return parts


def post(person: Person, conversation_id: str, **body: Any) -> Item:
    """Post an activity; what the server says of it."""
    answer = person.post(f"/api/conversations/{conversation_id}/activities", json=body)
    return told(answer, Item, status=HTTPStatus.CREATED)


def say(person: Person, conversation_id: str, text: str, **more: Any) -> Item:
    """Post a message."""
    return post(person, conversation_id, type="chat_message", payload={"text": text}, **more)


def test_the_chain_of_eight_is_one_thread_over_two_conversations(ada: Person, state: AppState) -> None:
    here, there = ada.new_conversation(), ada.new_conversation()
    first = say(ada, here, "Should we add a castle defense minigame?")
    chain = [first, say(ada, here, "Great idea! Here's a prototype.", reply_to=f"#{first.short_id}", actor=DESIGNER)]
    action = {"recipe": "game", "type": "game_action", "payload": {"type": "spawn_minigame", "x": 1}}
    chain.append(post(ada, there, **action, reply_to=first.id, actor=DESIGNER))
    python = {"recipes": state.recipes, "database": state.database, "conversation_id": there}
    spawned = post_activity(ada.email, **EVENT, **python, reply_to=chain[-1].short_id, actor=None)
    chain.append(told(ada.get(f"/api/activities/{spawned.activity_id}"), Item))
    chain.append(say(ada, here, "Fun, but it needs balancing", reply_to=f"#{spawned.short_id.upper()}"))
    call = {"type": "tool_invocation", "payload": {"name": "analyze_game_balance", "description": "costs too high"}}
    chain.append(post(ada, there, **call, reply_to=chain[-1].id, actor=DESIGNER))
    change = {"field": "minigame_config.cost", "old": 100, "new": 50}
    changed = post_activity(
        ada.email,
        type="data_change",
        payload=change,
        **python,
        reply_to=chain[-1].id,
        actor=Actor(type="system", id="config", name="Config"),
    )
    chain.append(told(ada.get(f"/api/activities/%23{changed.short_id}?conversation_id={there}"), Item))
    chain.append(say(ada, here, "Rebalanced!", reply_to=chain[-1].id, actor=DESIGNER))

    thread_id = chain[-1].thread_id
    assert thread_id is not None
    thread = told(ada.get(f"/api/threads/{thread_id}"), models.ThreadDetails)
    assert [item.id for item in thread.activities] == [item.id for item in chain]
    assert {item.thread_id for item in thread.activities} == {thread_id}
    assert [item.is_message for item in thread.activities] == [True, True, False, False, True, False, False, True]
    assert {item.conversation_id for item in thread.activities} == {here, there}
    assert (thread.title, thread.root_activity_id, thread.is_renamed) == (
        "Should we add a castle defense",
        first.id,
        False,
    )
    assert thread.thread_metadata.reply_count == 7
    assert thread.thread_metadata.last_reply_at == chain[-1].created_at
    assert thread.thread_metadata.participant_ids == [ada.email, "designer", "config"]
    assert [item.thread_metadata is not None for item in thread.activities] == [True, *[False] * 7]

    ids = [item.short_id for item in chain]
    lines = [line.line for line in state.recipes.build_thread_context(ada.email, thread_id, database=state.database)]
    assert lines == [
        f"[#{ids[0]}] {ada.email}: Should we add a castle defense minigame?",
        f"[#{ids[1]}] GameDesigner AI: Great idea! Here's a prototype. (reply to #{ids[0]})",
        f"[#{ids[2]}] 🎮 spawn_minigame by GameDesigner AI (reply to #{ids[0]})",
        f"[#{ids[3]}] 🔔 minigame_spawned: It runs (reply to #{ids[2]})",
        f"[#{ids[4]}] {ada.email}: Fun, but it needs balancing (reply to #{ids[3]})",
        f"[#{ids[5]}] 🔧 tool_invocation: costs too high (reply to #{ids[4]})",
        f"[#{ids[6]}] 📊 minigame_config.cost: 100 → 50 (reply to #{ids[5]})",
        f"[#{ids[7]}] GameDesigner AI: Rebalanced! (reply to #{ids[6]})",
    ]
    for room in (here, there):
        (listed,) = told(ada.get(f"/api/conversations/{room}/threads"), list[models.ThreadItem])
        assert listed.thread_id == thread_id
    messages = ada.get(f"/list_messages_by_conversation/{here}").json
    assert [row["text"] for row in messages] == [item.content for item in chain if item.is_message]


def test_a_thread_is_read_in_windows_and_renamed(ada: Person, state: AppState) -> None:
    here = ada.new_conversation()
    root = post(ada, here, **EVENT)
    replies = [say(ada, here, f"Reply {n}", reply_to=root.id) for n in range(4)]
    address = f"/api/threads/{replies[0].thread_id}"

    def window(query: str) -> list[str | None]:
        return [item.content for item in told(ada.get(address + query), models.ThreadDetails).activities]

    assert window("?limit=2") == [None, "Reply 0"]
    assert window(f"?limit=2&after={replies[0].seq}") == ["Reply 1", "Reply 2"]
    assert window("?recipe=system-monitoring") == [None]
    assert window("?recipe=general-discussion&limit=2") == ["Reply 0", "Reply 1"]
    assert refused(ada.get(f"{address}?recipe=nope")) == (404, "recipe_not_found")
    assert window("?recipe=tools") == []
    recipes = told(ada.get(f"{address}?limit=1"), models.ThreadDetails).recipes
    assert [(each.domain, each.title) for each in recipes] == [
        ("system-monitoring", "System Monitoring"),
        ("general-discussion", "General Discussion"),
    ]
    assert window(f"?limit=2&before={replies[3].seq}") == ["Reply 1", "Reply 2"]
    whole = told(ada.get(address), models.ThreadDetails)
    assert whole.title == "🔔 minigame_spawned: It runs"
    assert ada.request("PATCH", address, json={"title": " Castle\n[#ffffff] "}).status_code == HTTPStatus.OK
    renamed = told(ada.get(address), models.ThreadDetails)
    assert (renamed.title, renamed.is_renamed) == ("Castle [#ffffff]", True)
    own = {"recipes": state.recipes, "database": state.database}
    assert thread_title(ada.email, whole.thread_id, **own) == "Castle [#ffffff]"
    assert ada.request("PATCH", address, json={"title": ""}).status_code == HTTPStatus.OK
    assert thread_title(ada.email, whole.thread_id, **own) == whole.title


def test_other_activities_have_their_places_between_messages(ada: Person) -> None:
    here = ada.new_conversation()
    begun = post(ada, here, **EVENT)
    one = say(ada, here, "One")
    between = [post(ada, here, **EVENT) for _ in range(2)]
    two = say(ada, here, "Two")
    last = post(ada, here, **EVENT)

    def placed(query: str = "") -> list[tuple[str, str | None]]:
        answer = ada.get(f"/api/conversations/{here}/activities{query}")
        return [(item.id, item.after_message_id) for item in told(answer, list[models.PlacedActivity])]

    whole = [(begun.id, None), *((each.id, one.id) for each in between), (last.id, two.id)]
    assert placed() == whole
    assert placed("?limit=2") == whole[2:]
    assert placed(f"?limit=1&before={last.seq}") == whole[2:3]
    assert placed(f"?first_message_id={one.id}") == whole[1:]
    assert placed(f"?last_message_id={two.id}") == whole[:3]
    assert placed(f"?first_message_id={one.id}&last_message_id={two.id}") == whole[1:3]
    assert refused(ada.get(f"/api/conversations/{here}/activities?first_message_id=x")) == (404, "message_not_found")


def test_activities_are_suggested_here_then_in_threads_then_anywhere(ada: Person, eve: Person) -> None:
    here, there, far = (ada.new_conversation() for _ in range(3))
    asked = say(ada, here, "Build a castle?")
    event = post(ada, here, **EVENT)
    reply = say(ada, there, "A castle of 100% sand", reply_to=asked.id)
    other = say(ada, far, "No castle here")
    post(eve, eve.new_conversation(), **EVENT)

    def offered(typed: str, conversation_id: str | None = here) -> list[str]:
        query = {"q": typed, "conversation_id": conversation_id} if conversation_id else {"q": typed}
        answer = ada.get("/references/suggest", query_string=query)
        return [each["reference"] for each in answer.json if each["kind"] == "activity"]

    ids = [f"#{each.short_id}" for each in (event, asked, reply, other)]
    assert offered("#") == ids[:3]
    assert offered("#castle") == ids[1:3]
    assert offered("#100%") == ids[2:3]
    assert offered("#system_ev") == offered("#Spawned") == ids[:1]
    assert offered(ids[3][:5].upper())[-1:] == ids[3:]
    assert offered(ids[3], None) == ids[3:]
    assert offered("#") == ids[:3]
    assert offered("#", None) == offered("castle") == offered("#%") == []
    (titled,) = ada.get("/references/suggest", query_string={"q": ids[0], "conversation_id": here}).json
    assert titled["title"] == "🔔 minigame_spawned: It runs"
    for meant in (asked, other):
        say(ada, here, f"See #{meant.short_id}")
        assert offered(f"#{meant.short_id}")[0] == f"#{meant.short_id}"


def test_what_is_wrong_is_refused_by_its_code(ada: Person, state: AppState) -> None:
    class Closed(Game):
        domain, title, cross_domain_replies = "closed", "Closed", False

    state.recipes.register(Closed(), source="closed")
    here = ada.new_conversation()
    said, other = say(ada, here, "Hello"), say(ada, here, "Bye")
    thread_id = say(ada, here, "Hi", reply_to=said.id).thread_id
    for more, error in (
        ({"type": "game_action", "payload": {}}, (422, "ambiguous_type")),
        ({"type": "wave", "payload": {}}, (422, "unknown_type")),
        ({"type": "wave", "recipe": "nothing", "payload": {}}, (404, "recipe_not_found")),
        ({"type": "chat_message", "payload": {"text": ""}}, (422, "invalid_payload")),
        ({"type": "chat_message", "payload": {"text": "x" * 200_001}}, (422, "invalid_payload")),
        ({"type": "chat_message", "payload": []}, (400, "bad_request")),
        ({"type": "game_action", "recipe": "closed", "payload": {}, "reply_to": said.id}, (422, "cross_domain_reply")),
        ({**EVENT, "reply_to": other.id, "thread_id": thread_id}, (409, "thread_mismatch")),
        ({**EVENT, "reply_to": "nothing"}, (404, "activity_not_found")),
        ({**EVENT, "thread_id": "nothing"}, (404, "thread_not_found")),
        ({**EVENT, "actor": {"type": "nobody", "id": "x"}}, (400, "bad_request")),
        ({**EVENT, "notify": ["x"]}, (404, "agent_not_found")),
    ):
        assert refused(ada.post(f"/api/conversations/{here}/activities", json=more)) == error
    wrong = ada.post(f"/api/conversations/{here}/activities", json={"type": "game_action", "payload": {}})
    assert wrong.json["details"] == {"candidates": ["closed", "game"]}
    assert refused(
        ada.post(f"/send_message/{here}", json={"messageText": "x", "reply_to": other.id, "thread_id": thread_id})
    ) == (
        409,
        "thread_mismatch",
    )
    assert refused(ada.get("/api/activities/nothing")) == (404, "activity_not_found")
    assert len(ada.get(f"/list_messages_by_conversation/{here}").json) == 3


def test_recipes_say_which_types_there_are(ada: Person, state: AppState) -> None:
    found = {item.domain: item for item in told(ada.get("/api/recipes"), list[models.RecipeItem])}
    assert {"general-discussion", "tools", "system-monitoring", "knowledge", "vault", "agents", "game"} == set(found)
    game = found["game"]
    assert (game.source, game.is_built_in, found["tools"].is_built_in) == ("a-game", False, True)
    assert [(kind.type, kind.icon, kind.threading) for kind in game.activity_types] == [
        ("chat_message", "", "conversation"),
        ("game_action", "🎮", "session"),
    ]
    assert found["general-discussion"].activity_types[0].payload_schema["required"] == ["text"]


def test_an_activity_is_moved_to_another_conversation(ada: Person, state: AppState) -> None:
    here, there = ada.new_conversation(), ada.new_conversation()
    event, message = post(ada, here, **EVENT), say(ada, here, "Hello")
    address = f"/api/activities/%23{event.short_id}?conversation_id={here}"
    moved = told(ada.request("PATCH", address, json={"conversation_id": there}), Item)
    assert (moved.id, moved.conversation_id, moved.short_id) == (event.id, there, event.short_id)
    assert told(ada.get(address), Item) == moved
    assert ada.get(f"/api/conversations/{here}/activities").json == []
    (placed,) = told(ada.get(f"/api/conversations/{there}/activities"), list[models.PlacedActivity])
    assert placed.id == event.id
    answer = ada.request("PATCH", f"/api/activities/{message.id}", json={"conversation_id": there})
    assert refused(answer) == (422, "message_not_movable")
    assert answer.json["said"][0]["code"] == "message_not_movable"
    for body in ({}, {"conversation_id": ""}, {"conversation_id": there, "x": 1}):
        answer = ada.request("PATCH", f"/api/activities/{event.id}", json=body)
        assert refused(answer) == (400, "bad_request")
