"""What an activity is refused for: the same words over HTTP and in the shell, and nothing is left behind."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import pytest
from flask import Flask

from activity.recipes import ActivityType, Recipe
from endpoints.http.scope import EXTENSION, AppState
from tests.activity.made import Game
from tests.endpoints.conftest import Person, account, app, cheap_model, main_model, settings

__all__ = ["app", "cheap_model", "main_model", "settings"]
_MOVE = {"type": "object", "properties": {"to": {"enum": ["a1", "a2"]}, "steps": {"items": {"type": "integer"}}}}
_EVENT = {"type": "system_event", "payload": {"description": "It runs"}}


class Chess(Recipe):
    """A domain that keeps to itself, with types of other names too."""

    domain, title = "chess", "Chess"
    activity_types = {
        "move": ActivityType(icon="♟", section="Moves", schema=_MOVE),
        "game_action": ActivityType(icon="♟", section="Actions", schema={}),
    }
    cross_domain_replies = False


@pytest.fixture
def ada(app: Flask) -> Person:
    """The only person, on a server with two recipes from outside."""
    state: AppState = app.extensions[EXTENSION]
    state.recipes.register(Game(), source="a-game")
    state.recipes.register(Chess(), source="chess-for-two")
    return account(app, "ada@example.org")


REFUSED: tuple[tuple[dict[str, Any], int, str, str, int], ...] = (
    # Body, HTTP status and code, what the message says, exit code.
    ({"recipe": "ches"}, 404, "recipe_not_found", "There is no recipe “ches”. Did you mean “chess”?", 3),
    ({"recipe": "\U0001f3b2"}, 404, "recipe_not_found", "There is no recipe “\U0001f3b2”.", 3),
    (
        {"type": "system_evnt"},
        422,
        "unknown_type",
        "No recipe has a type “system_evnt”. Did you mean “system_event”?",
        2,
    ),
    (
        {"recipe": "chess", "type": "mov"},
        422,
        "unknown_type",
        "The recipe “chess” has no type “mov”. Did you mean “move”?",
        2,
    ),
    (
        {"type": "game_action"},
        422,
        "ambiguous_type",
        "Several recipes have the type “game_action”. Name one: chess, game.",
        2,
    ),
    ({"payload": {}}, 422, "invalid_payload", "payload: “description” is missing.", 2),
    ({"payload": {"description": 7}}, 422, "invalid_payload", "payload.description: expected a text.", 2),
    (
        {"type": "chat_message", "payload": {"text": " \n"}},
        422,
        "invalid_payload",
        "payload.text: expected a text that is not blank.",
        2,
    ),
    (
        {"type": "chat_message", "payload": {"text": "Hi", "mood": "good"}},
        422,
        "invalid_payload",
        "payload: “mood” is unknown: expected text.",
        2,
    ),
    (
        {"type": "data_change", "payload": {"changes": [{"field": "x"}]}},
        422,
        "invalid_payload",
        "payload.changes.0: “old” is missing.",
        2,
    ),
    (
        {"recipe": "chess", "type": "move", "payload": {"to": "h9"}},
        422,
        "invalid_payload",
        "payload.to: expected one of a1, a2.",
        2,
    ),
    (
        {"recipe": "chess", "type": "move", "payload": {"steps": [1, "2"]}},
        422,
        "invalid_payload",
        "payload.steps.1: expected a whole number.",
        2,
    ),
    (
        {"recipe": "chess", "type": "move", "payload": {"to": "a1"}, "reply_to": "EVENT"},
        422,
        "cross_domain_reply",
        "Activities of “chess” reply to their own kind only, not to one of “system-monitoring”.",
        2,
    ),
    ({"reply_to": "#0a0b0c"}, 404, "activity_not_found", "There is no activity “#0a0b0c”.", 3),
    ({"thread_id": "nowhere"}, 404, "thread_not_found", "There is no such thread.", 3),
    ({"reply_to": "EVENT", "thread_id": "OTHER"}, 409, "thread_mismatch", "belongs to another thread.", 2),
)


@pytest.mark.parametrize(
    ("changes", "status", "code", "message", "exit_code"), REFUSED, ids=[f"{each[2]} {each[0]}" for each in REFUSED]
)
def test_each_refusal_reads_alike_over_http_and_in_the_shell(
    changes: dict[str, Any], status: int, code: str, message: str, exit_code: int, ada: Person, app: Flask
) -> None:
    room = ada.new_conversation()
    where = f"/api/conversations/{room}/activities"
    event, root = (ada.post(where, json=_EVENT).json for _ in range(2))
    other = ada.post(where, json={**_EVENT, "reply_to": root["id"]}).json
    named = {"EVENT": event["id"], "OTHER": other["thread_id"]}
    body = {**_EVENT, **{name: named.get(str(value), value) for name, value in changes.items()}}

    answer = ada.post(where, json=body)
    assert (answer.status_code, answer.json["code"]) == (HTTPStatus(status), code)
    assert message in answer.json["message"]

    flags = {f"--{name.replace('_', '-')}": value for name, value in body.items() if name != "payload"}
    given = [text for pair in {**flags, "--payload": json.dumps(body["payload"])}.items() for text in pair]
    shell = app.test_cli_runner().invoke(args=["activity", "post", "--room", room, *given])
    assert shell.exit_code == exit_code, shell.output
    assert message in shell.stderr
    assert shell.stderr.startswith("Error: ")
    assert ("recipes list" in shell.stderr) == (code in {"recipe_not_found", "unknown_type"})
    assert len(ada.get(where).json) == 3
