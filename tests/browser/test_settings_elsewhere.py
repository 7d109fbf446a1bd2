"""What another tab, device or program sets is shown in the settings that are open; what somebody types stays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
CHANGED = "Something else was saved elsewhere meanwhile. Saving here replaces it."


def test_a_name_saved_in_one_tab_is_shown_in_the_others(person: Client, open_page: OpenPage) -> None:
    one, other, chat = (open_page(person, path) for path in ("/settings", "/settings", "/interface/"))
    one.get_by_role("textbox", name="Your name").fill("Grace Hopper")
    one.get_by_role("button", name="Save name").click()
    expect(other.get_by_role("textbox", name="Your name")).to_have_value("Grace Hopper")
    expect(chat.locator(".sidebar-user-name")).to_have_text("Grace Hopper")
    expect(chat.locator(".sidebar-user-mark")).to_have_text("G")
    # What is saved here is not taken for what was saved elsewhere.
    expect(one.get_by_text(CHANGED)).to_be_hidden()


def test_of_two_names_the_newest_is_shown_also_where_the_older_answer_comes_last(
    person: Client, open_page: OpenPage
) -> None:
    chat = open_page(person, "/interface/")
    held: list[tuple[Route, APIResponse]] = []
    chat.route(
        "**/get_user_info",
        lambda route: route.continue_() if held else held.append((route, route.fetch())),
    )
    person.put("/get_user_info", {"name": "Ada"})
    until_held(chat, held)
    person.put("/get_user_info", {"name": "Grace"})
    name = chat.locator(".sidebar-user-name")
    expect(name).to_have_text("Grace")
    route, older = held[0]
    with chat.expect_response("**/get_user_info"):
        route.fulfill(response=older)
    chat.evaluate("fetch('/healthz')")  # by the time that this is answered, the older name would be shown
    expect(name).to_have_text("Grace")


def test_what_somebody_types_stays_and_the_other_value_is_offered(person: Client, open_page: OpenPage) -> None:
    person.put("/get_user_info", {"name": "Ada"})
    page = open_page(person, "/settings")
    name, note = page.get_by_role("textbox", name="Your name"), page.get_by_text(CHANGED)
    name.fill("Ada Lovel")
    person.put("/get_user_info", {"name": "Countess"})
    expect(note).to_be_visible()
    expect(name).to_have_value("Ada Lovel")
    name.press_sequentially("ace")
    page.get_by_role("button", name="Show what was saved").click()
    expect(name).to_have_value("Countess")
    page.get_by_role("button", name="Show what was typed").click()
    expect(name).to_have_value("Ada Lovelace")
    # The same over a reload, and when another value comes.
    page.reload()
    expect(name).to_have_value("Ada Lovelace")
    person.put("/get_user_info", {"name": "Lady"})
    page.get_by_role("button", name="Show what was saved").click()
    expect(name).to_have_value("Lady")
    page.get_by_role("button", name="Show what was typed").click()
    page.get_by_role("button", name="Save name").click()
    expect(note).to_be_hidden()
    assert person.get("/get_user_info").json()["name"] == "Ada Lovelace"


def test_what_was_typed_is_kept_while_what_was_saved_is_shown(person: Client, open_page: OpenPage) -> None:
    person.put("/get_user_info", {"name": "Ada"})
    page = open_page(person, "/settings")
    name = page.get_by_role("textbox", name="Your name")
    saved = page.get_by_role("button", name="Show what was saved: Your name")
    typed = page.get_by_role("button", name="Show what was typed: Your name")
    name.fill("Ada Lovelace")
    person.put("/get_user_info", {"name": "Countess"})
    saved.click()
    expect(name).to_have_value("Countess")
    # A third value takes the place of the second, and not of what was typed.
    person.put("/get_user_info", {"name": "Lady"})
    expect(name).to_have_value("Lady")
    expect(typed).to_be_visible()
    typed.click()
    expect(name).to_have_value("Ada Lovelace")
    # What is changed of the shown value stays, too, where another one comes.
    saved.click()
    name.fill("Lady Ada")
    with page.expect_response("**/get_user_info"):
        person.put("/get_user_info", {"name": "Augusta"})
    typed.click()
    expect(name).to_have_value("Ada Lovelace")
    saved.click()
    expect(name).to_have_value("Lady Ada")
    # Saving what is shown, or a reload, takes nothing of what was typed.
    page.get_by_role("button", name="Save name").click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    expect(typed).to_be_visible()
    page.reload()
    expect(name).to_have_value("Ada Lovelace")
    assert person.get("/get_user_info").json()["name"] == "Lady Ada"


def test_what_the_saved_value_was_changed_to_outlives_a_reload_beside_what_was_typed(
    person: Client, open_page: OpenPage
) -> None:
    person.put("/get_user_info", {"name": "Ada"})
    page = open_page(person, "/settings")
    name = page.get_by_role("textbox", name="Your name")
    saved = page.get_by_role("button", name="Show what was saved: Your name")
    typed = page.get_by_role("button", name="Show what was typed: Your name")
    name.fill("Ada Lovelace")
    person.put("/get_user_info", {"name": "Countess"})
    saved.click()
    name.fill("Countess Ada")
    page.reload()
    expect(name).to_have_value("Countess Ada")
    typed.click()
    expect(name).to_have_value("Ada Lovelace")
    page.reload()
    expect(name).to_have_value("Ada Lovelace")
    saved.click()
    expect(name).to_have_value("Countess Ada")


def test_a_tab_in_which_nothing_was_typed_keeps_what_another_one_keeps(person: Client, open_page: OpenPage) -> None:
    person.put("/get_user_info", {"name": "Ada"})
    one, idle = (open_page(person, "/settings") for _ in range(2))
    one.get_by_role("textbox", name="Your name").fill("Ada Lovelace")
    person.put("/get_user_info", {"name": "Countess"})
    expect(one.get_by_text(CHANGED)).to_be_visible()
    expect(idle.get_by_role("textbox", name="Your name")).to_have_value("Countess")
    one.reload()
    expect(one.get_by_role("textbox", name="Your name")).to_have_value("Ada Lovelace")


def test_of_two_texts_only_the_one_that_was_changed_is_saved(person: Client, open_page: OpenPage) -> None:
    person.post("/modify_user_detail", {"text": "I cook.", "kept_by_a_program": True})
    page = open_page(person, "/settings")
    about, how = page.get_by_label("About me"), page.get_by_label("How to answer me")
    expect(about).to_have_value("I cook.")
    how.fill("Be brief.")
    person.post("/modify_user_detail", {"text": "I bake.", "kept_by_a_program": True})
    expect(about).to_have_value("I bake.")
    expect(how).to_have_value("Be brief.")
    saved: list[str] = []
    page.on("request", lambda request: saved.append(request.url) if "/modify_user_" in request.url else None)
    page.locator("#about-form").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    assert [url.rsplit("/", 1)[-1] for url in saved] == ["modify_user_preference"]
    assert person.get("/get_user_detail").json() == {"text": "I bake.", "kept_by_a_program": True}


def test_agents_that_are_changed_elsewhere_are_shown_and_typed_ones_stay(person: Client, open_page: OpenPage) -> None:
    cook = person.post("/api/agents", {"title": "Cook", "system_prompt": "Soups."}).json()
    page = open_page(person, "/settings#agents")
    rows, title, told = page.locator("#agent-list .record"), page.locator("#agent-title"), page.locator("#agent-told")
    page.get_by_role("button", name="Edit: Cook").click()
    person.put(f"/api/agents/{cook['agent_id']}", {"title": "Chef", "slug": "cook", "system_prompt": "Soups."})
    expect(rows.filter(has_text="@agent_cook")).to_contain_text("Chef")
    expect(title).to_have_value("Chef")
    expect(page.locator("#agent-form-title")).to_contain_text("Chef")

    told.fill("Soups and bread.")
    person.put(f"/api/agents/{cook['agent_id']}", {"title": "Chef", "slug": "cook", "system_prompt": "Cakes."})
    expect(page.get_by_text(CHANGED)).to_be_visible()
    expect(told).to_have_value("Soups and bread.")
    page.get_by_role("button", name="Show what was saved").click()
    expect(told).to_have_value("Cakes.")
    expect(page.get_by_text(CHANGED)).to_be_visible()
    page.get_by_role("button", name="Show what was typed").click()
    expect(told).to_have_value("Soups and bread.")

    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Edit: Chef").click()
    expect(page.get_by_text(CHANGED)).to_be_hidden()
    expect(told).to_have_value("Cakes.")
    person.delete(f"/api/agents/{cook['agent_id']}")
    expect(rows.filter(has_text="@agent_cook")).to_have_count(0)
    expect(page.locator("#agent-editor")).to_be_hidden()


def test_what_was_typed_of_an_agent_stays_while_the_saved_one_is_shown_and_when_it_is_deleted(
    person: Client, open_page: OpenPage
) -> None:
    cook = person.post("/api/agents", {"title": "Cook", "system_prompt": "Soups."}).json()
    address = f"/api/agents/{cook['agent_id']}"
    page = open_page(person, "/settings#agents")
    told = page.locator("#agent-told")
    page.get_by_role("button", name="Edit: Cook").click()
    told.fill("Soups and bread.")
    person.put(address, {"title": "Cook", "slug": "cook", "system_prompt": "Cakes."})
    page.get_by_role("button", name="Show what was saved").click()
    expect(told).to_have_value("Cakes.")
    person.put(address, {"title": "Cook", "slug": "cook", "system_prompt": "Pies."})
    expect(told).to_have_value("Pies.")
    page.get_by_role("button", name="Show what was typed").click()
    expect(told).to_have_value("Soups and bread.")
    page.get_by_role("button", name="Show what was saved").click()
    expect(told).to_have_value("Pies.")
    # What is changed of it is kept beside what was typed.
    told.fill("Pies and tarts.")
    page.reload()
    expect(told).to_have_value("Pies and tarts.")
    page.get_by_role("button", name="Show what was typed").click()
    expect(told).to_have_value("Soups and bread.")
    with page.expect_response(lambda response: cook["agent_id"] in response.url):  # its inbox, before it is deleted
        page.reload()
    expect(told).to_have_value("Soups and bread.")
    page.get_by_role("button", name="Show what was saved").click()
    expect(told).to_have_value("Pies and tarts.")
    page.get_by_role("button", name="Show what was typed").click()

    person.delete(address)
    expect(page.locator("#toasts")).to_contain_text("This agent was deleted elsewhere.")
    expect(page.locator("#agent-form-title")).to_have_text("New agent")
    expect(told).to_have_value("Soups and bread.")
    page.reload()
    expect(told).to_have_value("Soups and bread.")
    page.locator("#agent-form button[type='submit']").click()
    expect(page.locator("#agent-list .record").filter(has_text="@agent_cook")).to_have_count(1)
    assert [agent["system_prompt"] for agent in person.get("/api/agents").json() if not agent["is_global"]] == [
        "Soups and bread."
    ]


def test_what_a_saved_agent_was_changed_to_is_kept_when_what_was_typed_is_saved_elsewhere(
    person: Client, open_page: OpenPage
) -> None:
    cook = person.post("/api/agents", {"title": "Cook", "system_prompt": "Soups."}).json()
    address = f"/api/agents/{cook['agent_id']}"
    page = open_page(person, "/settings#agents")
    told = page.locator("#agent-told")
    page.get_by_role("button", name="Edit: Cook").click()
    told.fill("Bread.")
    person.put(address, {"title": "Cook", "slug": "cook", "system_prompt": "Pies."})
    page.get_by_role("button", name="Show what was saved").click()
    told.fill("Pies and tarts.")
    person.put(address, {"title": "Cook", "slug": "cook", "system_prompt": "Bread."})
    expect(page.get_by_role("button", name="Show what was saved")).to_be_visible()
    expect(told).to_have_value("Pies and tarts.")
    page.reload()
    expect(told).to_have_value("Pies and tarts.")


def test_a_language_chosen_elsewhere_is_told(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings#appearance")
    language = page.get_by_label("Language", exact=True)
    expect(language).to_have_value("")
    person.put("/language", {"language": "de"})
    expect(language).to_have_value("de")
    toast = page.locator("#toasts")
    expect(toast).to_contain_text("The language of these pages was changed elsewhere.")
    toast.get_by_role("button", name="Reload").click()
    expect(page.get_by_label("Sprache", exact=True)).to_have_value("de")


def test_what_this_device_keeps_is_shown_in_all_its_tabs(person: Client, open_page: OpenPage) -> None:
    one, other, third = (open_page(person, f"/settings#{name}") for name in ("sending", "sending", "shortcuts"))
    one.get_by_role("radio", name=re.compile(r"Ctrl\+Enter")).check()
    one.get_by_role("checkbox", name=re.compile("Propose memories")).check()
    expect(other.get_by_role("radio", name=re.compile(r"Ctrl\+Enter"))).to_be_checked()
    expect(other.get_by_role("checkbox", name=re.compile("Propose memories"))).to_be_checked()
    four = open_page(person, "/settings#shortcuts")
    four.get_by_role("checkbox", name=re.compile("Single characters")).uncheck()
    expect(third.get_by_role("checkbox", name=re.compile("Single characters"))).not_to_be_checked()


def test_who_comes_back_to_a_tab_sees_tokens_that_were_made_elsewhere(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    """No change is told of these lists."""
    page = open_page(person, "/settings#tokens")
    expect(page.locator("#token-list")).to_contain_text("No tokens yet.")
    person.post("/api_tokens", {"name": "A script"})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#token-list .record")).to_contain_text("A script")
    revoke = page.get_by_role("button", name="Revoke: A script")
    revoke.focus()
    person.post("/api_tokens", {"name": "Before it"})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#token-list .record")).to_have_count(2)
    expect(revoke).to_be_focused()

    # Where nobody answers, what is there stays.
    page_problems.expect("ERR_FAILED")
    page.evaluate("""() => new MutationObserver(() => {
      if (document.querySelector('#token-list .is-failed')) document.body.dataset.failed = 'yes';
    }).observe(document.body, { childList: true, subtree: true })""")
    page.route("**/api_tokens", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.unroute("**/api_tokens")
    person.post("/api_tokens", {"name": "The last"})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#token-list .record")).to_have_count(3)
    expect(page.locator("body")).not_to_have_attribute("data-failed", "yes")
