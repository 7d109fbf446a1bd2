"""Several agents answer a message in the page: each in a card of its own, under its title."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk
from tests.browser.transcript import body, card, send
from tests.fakes import Answer, RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
ANSWERS = {"You are Cook": saying("Boil it."), "You are Critic": saying("Never ", "boil it.", pause_after=1)}


def script(asked: dict[str, Any]) -> Answer:
    """What the agent says that the model is told to be."""
    told = asked["messages"][0]["content"].partition(".")[0]
    return ANSWERS.get(told, saying("Understood."))


def test_each_agent_answers_in_a_card_of_its_own_also_after_a_reload(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    for title in ("Cook", "Critic"):
        person.post("/api/agents", {"title": title, "system_prompt": "You taste."})
    talk = hold_talk(person, "Soup")
    shared_model.scripts["main"] = script
    page = open_page(person, talk.path)
    send(page, "@agent_cook and @agent_critic: how is soup made?")

    def shows(number: int, title: str, text: str) -> None:
        expect(card(page, number).locator(".message-sender")).to_have_text(title)
        expect(body(page, number)).to_have_text(text)

    shows(4, "Cook", "Boil it.")
    shows(5, "Critic", "Never")
    page.reload()
    shows(4, "Cook", "Boil it.")
    shows(5, "Critic", "Never")
    shared_model.release()
    shows(5, "Critic", "Never boil it.")
    expect(page.locator(".message-card")).to_have_count(5)
    shared_model.scripts["main"] = saying("Understood.")
    send(page, "Thank you both.")
    shows(7, "main", "Understood.")
