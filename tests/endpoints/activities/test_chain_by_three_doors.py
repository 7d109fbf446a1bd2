"""The chain of eight, posted by HTTP, command line and Python in turn: one thread, read and exported as one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import Result
from flask import Flask

from activity.export import INCLUDED, export
from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from database.connection import close_store, open_store
from database.timeline.posting import Actor
from endpoints.http.scope import EXTENSION, AppState
from portability.importers.anaphora import import_export
from tests.activity.made import Game
from tests.endpoints.conftest import Person, account, app, cheap_model, main_model, settings
from tests.stores import put_empty_store

__all__ = ["app", "cheap_model", "main_model", "settings"]
DOORS = ("http", "shell", "python")
DESIGNER = "designer"
# Which conversation, recipe, type, payload, and who: None for the person.
CHAIN: tuple[tuple[int, str, str, dict[str, Any], str | None], ...] = (
    (0, "general-discussion", "chat_message", {"text": "Should we add a castle defense minigame?"}, None),
    (1, "game", "game_action", {"type": "spawn_minigame", "x": 1}, DESIGNER),
    (1, "system-monitoring", "system_event", {"type": "minigame_spawned", "description": "It runs"}, "monitor"),
    (0, "general-discussion", "chat_message", {"text": "Fun, but it needs balancing"}, None),
    (1, "tools", "tool_invocation", {"name": "analyze_balance", "description": "costs too high"}, DESIGNER),
    (1, "system-monitoring", "data_change", {"field": "cost", "old": 100, "new": 50}, "config"),
    (0, "general-discussion", "chat_message", {"text": "Rebalanced!"}, DESIGNER),
    (0, "general-discussion", "chat_message", {"text": "Great."}, None),
)


class Posted(NamedTuple):
    """An activity as each door tells of it. short_id: without `#`."""

    activity_id: str
    short_id: str
    thread_id: str | None


class Doors:
    """The three ways to post, which take and give the same."""

    def __init__(self, app: Flask, ada: Person) -> None:
        self.app, self.ada = app, ada
        self.state: AppState = app.extensions[EXTENSION]
        self.state.recipes.register(Game(), source="a-game")

    def run(self, *arguments: str) -> Result:
        """Run a command that has to succeed."""
        done = self.app.test_cli_runner().invoke(args=arguments)
        assert done.exit_code == 0, done.output
        return done

    def http(self, room: str, actor: str | None, **body: Any) -> Posted:
        named = {} if actor is None else {"actor": {"type": "agent", "id": actor, "name": actor}}
        answer = self.ada.post(f"/api/conversations/{room}/activities", json={**body, **named}).json
        return Posted(answer["id"], answer["short_id"], answer["thread_id"])

    def shell(self, room: str, actor: str | None, **body: Any) -> Posted:
        flags = {"--room": room, "--payload": json.dumps(body.pop("payload")), "--actor": actor}
        flags |= {f"--{name.replace('_', '-')}": value for name, value in body.items()}
        given = [text for name, value in flags.items() if value is not None for text in (name, value)]
        answer = json.loads(self.run("activity", "post", *given).stdout)
        return Posted(answer["activityId"], answer["shortId"].removeprefix("#"), answer["threadId"])

    def python(self, room: str, actor: str | None, **body: Any) -> Posted:
        who = None if actor is None else Actor(type="agent", id=actor, name=actor)
        made = {"conversation_id": room, "recipes": self.state.recipes, "database": self.state.database}
        posted = post_activity(self.ada.email, actor=who, **made, **body)
        return Posted(posted.activity_id, posted.short_id, posted.thread_id)


class Told(NamedTuple):
    """What was posted to which conversations."""

    doors: Doors
    rooms: tuple[str, str]
    chain: list[Posted]

    @property
    def thread_id(self) -> str:
        """Of all of them."""
        assert self.chain[-1].thread_id is not None
        return self.chain[-1].thread_id


@pytest.fixture(params=range(len(DOORS)), ids=[f"beginning by {door}" for door in DOORS])
def told(request: pytest.FixtureRequest, app: Flask) -> Told:
    """The chain, each activity by another door than the one before; every activity takes its turn at every door."""
    ada = account(app, "ada@example.org")
    doors = Doors(app, ada)
    rooms = (ada.new_conversation(), ada.new_conversation())
    chain: list[Posted] = []
    for place, (room, recipe, type_name, payload, actor) in enumerate(CHAIN):
        post: Callable[..., Posted] = getattr(doors, DOORS[(place + request.param) % len(DOORS)])
        reply = {"reply_to": f"#{chain[-1].short_id.upper()}"} if chain else {}
        chain.append(post(rooms[room], actor, recipe=recipe, type=type_name, payload=payload, **reply))
    for room, title in zip(rooms, ("Plans", "The game"), strict=True):
        assert ada.put(f"/conversations/{room}/title", json={"title": title}).status_code == 200
    return Told(doors, rooms, chain)


def lines_of(told: Told) -> list[str]:
    """How a model reads the thread."""
    ids = [each.short_id for each in told.chain]
    ada = told.doors.ada.email
    said = [
        f"{ada}: Should we add a castle defense minigame?",
        f"🎮 spawn_minigame by {DESIGNER}",
        "🔔 minigame_spawned: It runs",
        f"{ada}: Fun, but it needs balancing",
        "🔧 tool_invocation: costs too high",
        "📊 cost: 100 → 50",
        f"{DESIGNER}: Rebalanced!",
        f"{ada}: Great.",
    ]
    replies = ["", *(f" (reply to #{short_id})" for short_id in ids)]
    return [f"[#{own}] {text}{reply}" for own, text, reply in zip(ids, said, replies, strict=False)]


def test_the_chain_reads_the_same_for_models_people_and_files(told: Told) -> None:
    doors, ids = told.doors, [each.short_id for each in told.chain]
    assert {each.thread_id for each in told.chain[1:]} == {told.thread_id}
    own: dict[str, Any] = {"database": doors.state.database}
    lines = doors.state.recipes.build_thread_context(doors.ada.email, told.thread_id, **own)
    assert [line.line for line in lines] == lines_of(told)
    context = doors.state.recipes.build_context(lines[-1].activity, title="Plans", **own)
    assert context == [
        "Thread context (Plans):",
        *(f"  {line}" for line in lines_of(told)[:-1]),
        "",
        "Current activity:",
        f"  {lines_of(told)[-1]}",
    ]

    panel = doors.ada.get(f"/api/threads/{told.thread_id}").json
    assert [each["id"] for each in panel["activities"]] == [each.activity_id for each in told.chain]
    assert [each["reply_to_short_id"] for each in panel["activities"]] == [None, *ids[:-1]]
    assert [each["conversation_id"] for each in panel["activities"]] == [told.rooms[room] for room, *_ in CHAIN]
    assert [each["payload"] for each in panel["activities"]] == [
        {} if type_name == "chat_message" else payload for _, _, type_name, payload, _ in CHAIN
    ]
    assert panel["title"] == "Should we add a castle defense"
    assert panel["thread_metadata"]["reply_count"] == len(CHAIN) - 1


def test_the_chain_is_the_same_file_from_each_door(told: Told, tmp_path: Path) -> None:
    doors = told.doors
    for fmt in ("markdown", "html", "json"):
        by_http = doors.ada.get("/api/export", query_string={"thread": told.thread_id, "format": fmt}).data.decode()
        written = tmp_path / f"chain.{fmt}"
        doors.run("chat", "export", "--thread-id", told.thread_id, "--format", fmt, "--output", str(written))
        made = export(
            doors.ada.email, database=doors.state.database, recipes=doors.state.recipes, thread=told.thread_id, fmt=fmt
        )
        by_python = b"".join(made.chunks).decode()
        files = (by_http, written.read_text("utf-8"), by_python)
        (text,) = {re.sub(r'"exported_at":"[^"]*"', "", file) for file in files}
        places = [text.index(each.activity_id if fmt == "json" else f"#{each.short_id}") for each in told.chain]
        assert places == sorted(places)


def test_the_chain_comes_into_an_empty_server_and_out_again(told: Told, tmp_path: Path) -> None:
    doors = told.doors
    empty = open_store(put_empty_store(tmp_path / "empty"))
    recipes = RecipeRegistry([*(doors.state.recipes.get(each.domain) for each in doors.state.recipes.recipes())])

    def exported(database: Any) -> dict[str, Any]:
        made = export(doors.ada.email, database=database, recipes=recipes, thread=told.thread_id, fmt="json")
        whole: dict[str, Any] = json.loads(b"".join(made.chunks))
        return {name: value for name, value in whole.items() if name != "exported_at"}

    whole = exported(doors.state.database)
    assert (whole["count"], whole["conversation"]["title"]) == (len(CHAIN), "Plans")
    item, depth = whole["activities"][0], 1
    while item["replies"]:
        (item,), depth = item["replies"], depth + 1
    assert depth == len(CHAIN)
    import_export(json.dumps(whole).encode(), database=empty, user_email=doors.ada.email)
    assert exported(empty) == whole
    for room in told.rooms:
        rooms = [
            json.loads(
                b"".join(
                    export(
                        doors.ada.email, database=database, recipes=recipes, room=room, include=INCLUDED, fmt="json"
                    ).chunks
                )
            )["activities"]
            for database in (doors.state.database, empty)
        ]
        assert rooms[0] == rooms[1]
    close_store(str(tmp_path / "empty"))
