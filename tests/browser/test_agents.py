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
    from playwright.sync_api import Page, Route

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


def test_an_inbox_is_given_a_rule_looked_into_and_answered_and_what_failed_is_tried_again(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    person.post("/api/agents", {"title": "Helper"})
    talk = hold_talk(person, "Deployments")
    shared_model.scripts["main"] = saying("Roll it back.")
    page = open_page(person, "/settings#agents")
    helper = page.locator("#agent-list .record").filter(has_text="@agent_helper")
    helper.get_by_role("button", name="Edit").click()
    page.get_by_label("When it answers").select_option("later")
    page.get_by_role("button", name="Add a rule").click()
    rule = page.locator(".agent-rule")
    rule.get_by_label("Activities").select_option("system-monitoring/system_event")
    rule.get_by_role("button", name="Conversation: In all conversations").click()
    choice = page.get_by_role("dialog", name="Which conversation is the rule for?")
    choice.get_by_role("combobox").fill("Deploy")
    choice.get_by_role("option", name="Deployments").click()
    expect(rule.get_by_role("button", name="Conversation: Deployments")).to_be_visible()
    with page.expect_response(lambda response: response.request.method == "PUT") as saved:
        page.locator("#agent-form").get_by_role("button", name="Save").click()
    assert saved.value.ok
    event = {"recipe": "system-monitoring", "type": "system_event", "from_agents": False}
    stored = person.get("/api/agents/helper").json()
    assert (stored["service"], stored["rules"]) == ("later", [{**event, "conversation_id": talk.conversation_id}])

    for text in ("It is down", "It is up"):
        body = {"type": "system_event", "payload": {"description": text}}
        person.post(f"/api/conversations/{talk.conversation_id}/activities", body)
    items = page.locator("#agent-inbox-items .record")
    answer = page.get_by_role("button", name="Answer the oldest")
    expect(items).to_have_count(2)
    expect(helper).to_contain_text("2 waiting")
    expect(items.first).to_contain_text("system_event: It is down")
    answer.click()
    expect(items).to_have_count(1)
    expect(helper).to_contain_text("1 waiting")
    shared_model.scripts["main"] = saying(status=401)
    answer.click()
    expect(items).to_contain_text("failed")
    expect(helper).to_contain_text("1 failed")
    shared_model.scripts["main"] = saying("Well done.")
    items.get_by_role("button", name="Try again").click()
    expect(items).to_contain_text("waits")
    answer.click()
    expect(page.locator("#agent-inbox-items")).to_contain_text("Nothing waits.")
    said = person.get(f"/list_messages_by_conversation/{talk.conversation_id}").json()
    assert [each["text"] for each in said][-2:] == ["Roll it back.", "Well done."]


def test_a_button_of_a_list_that_comes_anew_while_it_is_pressed_is_clicked(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings#agents")
    edit = page.get_by_role("button", name="Edit: Global Assistant")
    expect(edit).to_be_visible()
    page.locator(".settings-nav a[href='#account']").click()
    waiting: list[Route] = []
    page.route("**/api/agents", lambda route: waiting.append(route), times=1)
    with page.expect_request("**/api/agents"):
        page.locator(".settings-nav a[href='#agents']").click()
    edit.hover()
    edit.evaluate("button => { button.dataset.old = 'yes' }")
    page.mouse.down()
    with page.expect_response("**/api/agents"):
        waiting[0].continue_()
    page.evaluate("fetch('/healthz')")  # by the time that this is answered, a list that didn't wait would have come
    page.mouse.up()
    expect(page.get_by_role("heading", name="Agent “Global Assistant”")).to_be_visible()
    expect(edit).not_to_have_attribute("data-old", "yes")
