"""`activity post` and `recipes list`: what they print, and the exit codes of what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from database.conversations.repository import create_conversation
from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import Person, account, app, cheap_model, main_model, settings

__all__ = ["app", "cheap_model", "main_model", "settings"]
Shell = Callable[..., Result]
EVENT = ("--type", "system_event", "--payload", '{"description": "It runs"}')


@pytest.fixture
def ada(app: Flask) -> Person:
    """The only person of the server."""
    return account(app, "ada@example.org")


@pytest.fixture
def shell(app: Flask) -> Shell:
    """Runs a command: shell("recipes", "list")."""

    def run(*arguments: str, standard_input: str | None = None) -> Result:
        return app.test_cli_runner().invoke(args=arguments, input=standard_input)

    return run


def room_of(app: Flask, person: Person) -> str:
    """A new conversation of the person."""
    database = app.extensions[EXTENSION].database
    return create_conversation(database=database, user_email=person.email, domain="assistant").conversation_id


def posted(result: Result) -> dict[str, Any]:
    """What a successful command printed."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_activity_is_posted_and_replied_to_in_both_spellings(app: Flask, ada: Person, shell: Shell) -> None:
    room = room_of(app, ada)
    first = posted(shell("activity", "post", "--room", room, *EVENT))
    assert first["shortId"].startswith("#")
    assert first["threadId"] is None
    for flag in ("--reply-to", "--replyTo"):
        change = '{"field": "cost", "old": 100, "new": 50}'
        arguments = ("--room", room, "--type", "data_change", "--payload", "-", flag, first["shortId"])
        reply = posted(shell("activity", "post", *arguments, "--actor", "Config", standard_input=change))
        assert reply["threadId"]
        shown = ada.get(f"/api/activities/{reply['activityId']}").json
        assert (shown["line"], shown["actor"]["name"]) == (f"[{reply['shortId']}] 📊 cost: 100 → 50", "Config")
        assert (shown["reply_to_id"], shown["thread_id"]) == (first["activityId"], reply["threadId"])
    joined = posted(shell("activity", "post", "--room", room, *EVENT, "--threadId", reply["threadId"]))
    assert joined["threadId"] == reply["threadId"]


def test_what_is_wrong_ends_with_its_code_and_one_line(app: Flask, ada: Person, shell: Shell) -> None:
    room = room_of(app, ada)
    for code, arguments in (
        (2, ("--room", room, "--type", "system_event", "--payload", "{")),
        (2, ("--room", room, "--type", "system_event", "--payload", "[1]")),
        (2, ("--room", room, "--type", "system_event", "--payload", '{"description": "\\u0000"}')),
        (2, ("--room", room, "--type", "system_event", "--payload", "{}")),
        (2, ("--room", room, "--type", "system_event", "--payload", f'{{"description": "x", "n": {10**30}}}')),
        (2, ("--room", room, "--type", "wave", "--payload", "{}")),
        (2, ("--room", room, "--payload", "{}")),
        (3, ("--room", room, "--type", "wave", "--recipe", "nothing", "--payload", "{}")),
        (3, ("--room", "nowhere", *EVENT)),
        (3, ("--room", room, *EVENT, "--reply-to", "#000000")),
        (3, ("--room", room, *EVENT, "--thread-id", "nothing")),
        (3, ("--user", "nobody@example.org", "--room", room, *EVENT)),
    ):
        result = shell("activity", "post", *arguments)
        assert result.exit_code == code, (arguments, result.output)
        assert "Traceback" not in result.output
    assert ada.get(f"/api/conversations/{room}/activities").json == []


def test_an_activity_is_moved_in_both_spellings(app: Flask, ada: Person, shell: Shell) -> None:
    here, there = room_of(app, ada), room_of(app, ada)
    event = posted(shell("activity", "post", "--room", here, *EVENT))
    for flag, room in (("--to-room", there), ("--toRoom", here)):
        assert posted(shell("activity", "move", event["shortId"], flag, room)) == event
        assert ada.get(f"/api/activities/{event['activityId']}").json["conversation_id"] == room
    message = posted(
        shell("activity", "post", "--room", here, "--type", "chat_message", "--payload", '{"text": "Hello"}')
    )
    for code, reference, room in ((2, message["shortId"], there), (3, event["shortId"], "nowhere"), (3, "#0", there)):
        result = shell("activity", "move", reference, "--to-room", room)
        assert (result.exit_code, result.stdout) == (code, "")
    assert "Fork the conversation" in shell("activity", "move", message["shortId"], "--to-room", there).stderr


def test_recipes_are_listed_with_their_types(shell: Shell) -> None:
    result = shell("recipes", "list")
    assert result.exit_code == 0
    assert "general-discussion: General Discussion (Anaphora)" in result.stdout
    assert "  🔔 system_event: System Events, reply_to" in result.stdout
