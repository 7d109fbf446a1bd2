"""The example packages: installed, their activities are seen everywhere; uninstalled, everything still renders."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from activity.recipes import installed_recipes
from endpoints.activities import models
from endpoints.http.scope import EXTENSION, AppState
from tests.activity.packages import install
from tests.endpoints.conftest import Person, refused, told

GAME, PIPELINE = "castle-defense-game", "data-pipeline"
MODULES = ("castle_defense", "data_pipeline")
DESIGNER = {"type": "agent", "id": "designer", "name": "GameDesigner AI"}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with both examples, from which Python imports."""
    target = tmp_path / "installed"
    install(*MODULES, target=target)
    monkeypatch.syspath_prepend(str(target))
    yield target
    for name in MODULES:
        sys.modules.pop(name, None)


def restarted(app: Flask) -> AppState:
    """The server with the recipes that are installed now."""
    importlib.invalidate_caches()
    state: AppState = replace(app.extensions[EXTENSION], recipes=installed_recipes())
    app.extensions[EXTENSION] = state
    return state


def poster(person: Person, conversation_id: str) -> Callable[..., models.ActivityItem]:
    """Posts to a conversation: post("game_action", {"type": "jump"}, reply_to=…)."""

    def post(type_name: str, payload: dict[str, Any], **more: Any) -> models.ActivityItem:
        body = {"type": type_name, "payload": payload, **more}
        answer = person.post(f"/api/conversations/{conversation_id}/activities", json=body)
        return told(answer, models.ActivityItem, status=HTTPStatus.CREATED)

    return post


def test_a_castle_defense_session_is_seen_everywhere_with_and_without_its_recipe(
    app: Flask, ada: Person, packages: Path
) -> None:
    state = restarted(app)
    post = poster(ada, ada.new_conversation())
    own = {"recipe": GAME}
    asked = post("chat_message", {"text": "Should we add tower upgrades?"}, **own)
    tree = post("chat_message", {"text": "Yes! Here's the upgrade tree."}, reply_to=asked.id, actor=DESIGNER, **own)
    upgrade = {"type": "spawn_upgrade_ui", "location": {"x": 100, "y": 200}}
    action = post("game_action", upgrade, reply_to=tree.id, actor=DESIGNER)
    event = {"type": "upgrade_ui_spawned", "description": "Tower upgrade menu created"}
    spawned = post("system_event", event, reply_to=action.id, recipe=GAME)
    dear = post("chat_message", {"text": "The upgrade costs seem too high"}, reply_to=spawned.id)
    costs = [{"field": "basic → advanced", "old": "100 gold", "new": "50 gold"}]
    costs += [{"field": "advanced → elite", "old": "500 gold", "new": "250 gold"}]
    changed = {"type": "upgrade_costs_adjusted", "changes": costs}
    lower = post("player_state_change", changed, reply_to=dear.id, actor=DESIGNER)
    assert (dear.recipe, lower.recipe) == ("general-discussion", GAME)
    assert lower.thread_id is not None

    def context() -> list[str]:
        thread = state.recipes.build_thread_context(ada.email, lower.thread_id or "", database=state.database)
        return [line.line.partition(" (reply")[0].partition("] ")[2] for line in thread]

    assert context() == [
        f"{ada.email}: Should we add tower upgrades?",
        "GameDesigner AI: Yes! Here's the upgrade tree.",
        "🎮 spawn_upgrade_ui by GameDesigner AI",
        "🔔 upgrade_ui_spawned: Tower upgrade menu created",
        f"{ada.email}: The upgrade costs seem too high",
        "📊 basic → advanced: 100 gold → 50 gold; advanced → elite: 500 gold → 250 gold",
    ]
    exported = ada.get(f"/api/export?recipe={GAME}&thread={lower.thread_id}").get_data(as_text=True)
    assert exported.startswith(f"# Castle Defense Game Session (Thread: {lower.thread_id})")
    headings = [line for line in exported.splitlines() if line.startswith("## ")]
    assert headings == ["## Chat Discussion", "## Game Actions", "## System Events", "## State Changes"]
    assert "> basic → advanced: 100 gold → 50 gold" in exported
    thread = told(ada.get(f"/api/threads/{lower.thread_id}"), models.ThreadDetails)
    assert [item.heading for item in thread.activities if item.recipe == GAME][2:] == [
        "🎮 spawn_upgrade_ui",
        "🔔 upgrade_ui_spawned",
        "📊 upgrade_costs_adjusted",
    ]

    shutil.rmtree(packages)
    for name in MODULES:
        sys.modules.pop(name, None)
    state = restarted(app)
    assert [line for line in context() if line.startswith("❓")] == [
        "❓ chat_message",
        "❓ chat_message",
        "❓ game_action",
        "❓ system_event",
        "❓ player_state_change",
    ]
    for form in ("markdown", "html", "json"):
        answer = ada.get(f"/api/export?thread={lower.thread_id}&format={form}")
        assert answer.status_code == HTTPStatus.OK
        assert "The upgrade costs seem too high" in answer.get_data(as_text=True)
    thread = told(ada.get(f"/api/threads/{lower.thread_id}"), models.ThreadDetails)
    assert [item.heading for item in thread.activities][2] == "❓ game_action"
    assert thread.activities[2].payload == upgrade
    refusal = ada.post(
        f"/api/conversations/{dear.conversation_id}/activities", json={"type": "game_action", "payload": {}}
    )
    assert refused(refusal) == (422, "unknown_type")


def test_a_run_of_a_pipeline_is_a_thread_that_chat_may_join(app: Flask, ada: Person, packages: Path) -> None:
    assert packages.is_dir()
    state = restarted(app)
    assert state.recipes.source_of(PIPELINE) == "anaphora-data-pipeline"
    post = poster(ada, ada.new_conversation())
    begun = post("data_ingestion", {"rows": 12000, "source": "orders.csv"}, session_id="run-1")
    joined = post("data_transform", {"rows": 11950, "step": "deduplicate"}, session_id="run-1")
    asked = post("chat_message", {"text": "Where did fifty rows go?"}, reply_to=joined.id)
    exported = post("data_export", {"rows": 11950, "target": "warehouse"}, session_id="run-1")
    assert {begun.thread_id, joined.thread_id, asked.thread_id} == {exported.thread_id}
    assert begun.line == f"[#{begun.short_id}] 📥 data_ingestion: 12,000 rows orders.csv"
    assert post("data_ingestion", {"rows": 1}, session_id="run-2").thread_id != begun.thread_id
    wrong = {"type": "data_ingestion", "payload": {"rows": "many"}}
    assert refused(ada.post(f"/api/conversations/{begun.conversation_id}/activities", json=wrong)) == (
        422,
        "invalid_payload",
    )
