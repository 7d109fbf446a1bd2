"""`inbox peek`, `inbox service`, `inbox retry`, and rules of agents in the shell."""

from __future__ import annotations

import json

import pytest
from flask import Flask

from database.agents.repository import get_agent
from endpoints.http.scope import EXTENSION
from language_models.errors import ModelUnavailableError
from language_models.testing import Reply, ScriptedChatModel
from tests.commands.test_activity import EVENT, Shell, ada, posted, room_of, shell
from tests.endpoints.conftest import Person, app, cheap_model, settings

__all__ = ["ada", "app", "cheap_model", "settings", "shell"]


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """Answers, breaks off once, and answers again."""
    return ScriptedChatModel(replies=[Reply("First."), Reply(ModelUnavailableError("It sleeps.")), Reply("Back.")])


def test_rules_are_given_replaced_and_removed(app: Flask, ada: Person, shell: Shell) -> None:
    room = room_of(app, ada)
    own = ("--email", ada.email)
    assert (
        shell(
            "agents", "create", *own, "--title", "Watcher", "--rule", f"system-monitoring/system_event@{room}"
        ).exit_code
        == 0
    )
    database = app.extensions[EXTENSION].database

    def rules() -> list[dict[str, object]]:
        agent = get_agent(database=database, user_email=ada.email, agent="watcher")
        return [dict(rule) for rule in agent.rules]

    event = {"recipe": "system-monitoring", "type": "system_event", "from_agents": False}
    assert rules() == [{**event, "conversation_id": room}]
    shell("agents", "update", *own, "watcher", "--rule", "general-discussion/chat_message+agents")
    chat = {"recipe": "general-discussion", "type": "chat_message", "from_agents": True}
    assert rules() == [{**chat, "conversation_id": None}]
    shell("agents", "update", *own, "watcher", "--hourly-limit", "3")
    assert len(rules()) == 1
    shell("agents", "update", *own, "watcher", "--no-rules")
    assert rules() == []
    wrong = shell("agents", "update", *own, "watcher", "--rule", "everything")
    assert wrong.exit_code == 2
    assert (
        shell("agents", "update", *own, "watcher", "--rule", f"{event['recipe']}/{event['type']}@Nowhere").exit_code
        != 0
    )
    wrong = shell("agents", "update", *own, "watcher", "--rule", "chess/move")
    assert (wrong.exit_code != 0, "There is no recipe “chess”." in wrong.stderr) == (True, True)


def test_what_waits_is_printed_answered_and_tried_again(app: Flask, ada: Person, shell: Shell) -> None:
    room = room_of(app, ada)
    shell("agents", "create", "--email", ada.email, "--title", "Helper", "--service", "later")
    sent = [posted(shell("activity", "post", "--room", room, *EVENT, "--notify", "@agent_helper")) for _ in range(2)]
    lines = [json.loads(line) for line in shell("inbox", "peek", "@agent_helper").stdout.splitlines()]
    assert [line["shortId"] for line in lines] == [each["shortId"] for each in sent]
    assert lines[0]["line"] == f"[{sent[0]['shortId']}] 🔔 system_event: It runs"
    assert (lines[0]["state"], lines[0]["error"]) == ("pending", None)
    assert len(shell("inbox", "peek", "helper", "-n", "1").stdout.splitlines()) == 1
    served = posted(shell("inbox", "service", "helper"))
    assert served["shortId"] == sent[0]["shortId"]
    assert served["answer"]["shortId"].startswith("#")
    assert served["answer"]["threadId"]
    broken = shell("inbox", "service", "helper")
    assert (broken.exit_code, broken.stdout) == (1, "")
    assert "It sleeps." in broken.stderr
    assert json.loads(shell("inbox", "peek", "helper").stdout)["error"] == "It sleeps."
    assert posted(shell("inbox", "retry", "helper")) == {"count": 1}
    assert posted(shell("inbox", "service", "helper", "--all"))["shortId"] == sent[1]["shortId"]
    assert shell("inbox", "service", "helper").stdout == ""
    assert shell("inbox", "peek", "nobody").exit_code == 3
    assert shell("activity", "post", "--room", room, *EVENT, "--notify", "nobody").exit_code == 3
