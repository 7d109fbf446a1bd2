"""The settings: each section shows what the server says, says when it can't, and keeps what is set."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_ready
from tests.browser.history import hold_talk
from tests.browser.screens import NARROW, findings, problems
from tests.browser.transcript import keep_toasts
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def look_at(page: Page, name: str) -> None:
    page.locator(".settings-nav").get_by_role("link", name=name).click()
    expect(page.locator(".settings-section:visible h2")).to_have_count(1)


def test_one_section_is_shown_at_a_time_and_named_in_the_address(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings")
    shown = page.locator(".settings-section:visible h2")
    expect(shown).to_have_text("Account")
    look_at(page, "Models")
    expect(shown).to_have_text("Models")
    expect(shown).to_be_focused()
    expect(page).to_have_url(re.compile("#models$"))
    page.reload()
    expect(shown).to_have_text("Models")
    page.go_back()
    expect(shown).to_have_text("Account")
    page.keyboard.press("?")
    expect(shown).to_have_text("Keyboard shortcuts")
    # Other people's accounts are the administrator's.
    expect(page.get_by_role("link", name="People")).to_have_count(0)


def test_in_a_narrow_window_the_sections_are_one_list_to_choose_from(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings", viewport=NARROW)
    shown = page.locator(".settings-section:visible h2")
    sections = page.get_by_role("combobox", name="Settings")
    expect(page.locator(".settings-nav")).to_be_hidden()
    expect(shown).to_be_in_viewport(ratio=1)
    sections.focus()
    page.keyboard.press("ArrowDown")
    expect(shown).to_have_text("Devices")
    # Whoever goes through the list by keys stays in it.
    expect(sections).to_be_focused()
    sections.select_option(label="Shared links")
    expect(shown).to_have_text("Shared links")
    expect(page).to_have_url(re.compile("#shares$"))
    page.go_back()
    expect(sections).to_have_value("devices")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_the_server_has_and_allows_is_told(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings#models")
    answers = page.locator(".settings-section:visible .record").first
    expect(answers).to_contain_text("ready")
    expect(answers).to_contain_text("ANAPHORA_MAIN_MODEL")
    look_at(page, "Server limits")
    cap = page.locator(".record", has_text="ANAPHORA_REFERENCE_CAP")
    expect(cap).to_contain_text("Characters of one referenced message")
    expect(cap.locator(".record-value")).to_have_text("8,000")
    look_at(page, "Shared links")
    expect(page.locator(".settings-section:visible")).to_contain_text("Nothing is shared.")


def test_a_model_that_is_being_made_ready_is_followed(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings")
    models = person.get("/models").json()
    half = {**models, "main": {"name": "big", "phase": "fetching", "progress": 0.5, "detail": ""}}
    page.route("**/models", lambda route: route.fulfill(json=half))
    look_at(page, "Models")
    answers = page.locator(".settings-section:visible .record").first
    expect(answers).to_contain_text("50 %")
    page.unroute("**/models")
    expect(answers).to_contain_text("ready")
    expect(page.get_by_role("progressbar", name="Progress of big")).to_have_count(0)


def test_what_takes_a_while_shows_a_bar_above_the_settings(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings")
    bar = page.get_by_role("progressbar", name="Working…")
    expect(bar).to_be_hidden()
    waiting: list[Route] = []
    page.route("**/limits", lambda route: waiting.append(route))
    look_at(page, "Server limits")
    expect(bar).to_be_visible()
    place = bar.evaluate("bar => { const { x, y, width } = bar.getBoundingClientRect(); return [x, y, width]; }")
    assert place == [0, 0, page.evaluate("document.documentElement.clientWidth")]
    waiting[0].continue_()
    expect(bar).to_be_hidden()


def test_what_could_not_be_loaded_or_saved_is_tried_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person, "/settings")
    keep_toasts(page)
    page.route("**/limits", lambda route: route.abort(), times=1)
    look_at(page, "Server limits")
    failed = page.locator(".settings-section:visible").get_by_role("alert")
    expect(failed).to_contain_text("This could not be loaded.")
    failed.get_by_role("button", name="Try again").click()
    expect(page.locator(".settings-section:visible .record").first).to_be_visible()

    look_at(page, "Account")
    page.route("**/get_user_info", lambda route: route.abort(), times=1)
    page.get_by_label("Your name").fill("Ada <i>Lovelace</i>")
    page.get_by_role("button", name="Save name").click()
    expect(page.locator("#toasts")).to_contain_text("That did not work.")
    expect(page.get_by_label("Your name")).to_have_value("Ada <i>Lovelace</i>")
    page.locator("#toasts").get_by_role("button", name="Try again").click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    assert person.get("/get_user_info").json()["name"] == "Ada <i>Lovelace</i>"
    page.get_by_role("link", name="Conversations").click()
    expect(page.locator(".sidebar-user-name")).to_have_text("Ada <i>Lovelace</i>")


def test_which_key_sends_is_chosen_here_and_true_there(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, "/settings#sending")
    page.get_by_role("radio", name=re.compile("Ctrl")).check()
    page.get_by_role("checkbox", name=re.compile("Propose memories")).check()
    look_at(page, "Shortcuts")
    send = page.locator(".shortcut", has_text="Send the message")
    expect(send).to_contain_text("Ctrl + Enter")
    page.reload()
    look_at(page, "Sending")
    expect(page.get_by_role("radio", name=re.compile("Ctrl"))).to_be_checked()
    expect(page.get_by_role("checkbox", name=re.compile("Propose memories"))).to_be_checked()
    page.goto(talk.path)
    expect(page.locator(".message-card")).to_have_count(2)
    until_ready(page)
    page.fill("#composer-input", "One line")
    page.keyboard.press("Enter")
    page.keyboard.type("and another")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".message-card")).to_have_count(4)
    expect(page.locator(".message-card").nth(2)).to_contain_text("and another")


def test_an_agent_is_made_tried_and_named_in_a_message_and_another_deleted(
    person: Client, open_page: OpenPage, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    page_problems.expect("409")
    shared_model.scripts["main"] = saying("Boil it.")
    person.post("/api/agents", {"title": "Critic"})
    page = open_page(person, "/settings#agents")
    rows = page.locator("#agent-list .record")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Global Assistant")
    expect(rows.first.get_by_role("button")).to_have_text(["Edit"])
    page.get_by_role("button", name="New agent").click()
    title = page.get_by_role("textbox", name="Title", exact=True)
    expect(title).to_be_focused()
    title.fill("The Cook")
    page.get_by_label("What the agent is told").fill("You know soups.")
    page.get_by_role("checkbox", name=re.compile("Only those")).check()
    tools = page.get_by_role("group", name="Which tools")
    tools.get_by_role("checkbox", name="Search messages").uncheck()

    # What is typed stays when the page is left, and what is refused is said at its field.
    page.reload()
    expect(title).to_have_value("The Cook")
    expect(tools.get_by_role("checkbox", name="Search messages")).not_to_be_checked()
    slug = page.get_by_role("textbox", name="Name in messages")
    slug.fill("critic")
    save = page.get_by_role("button", name="Save", exact=True).and_(page.locator("#agent-form button"))
    save.click()
    expect(slug).to_have_accessible_description(re.compile("^Another agent has this name."))
    slug.fill("")
    save.click()
    cook = rows.filter(has_text="@agent_the_cook")
    expect(cook).to_be_visible()
    expect(slug).to_have_value("the_cook")
    made = person.get("/api/agents/the_cook").json()
    assert (made["title"], made["system_prompt"], made["model"]) == ("The Cook", "You know soups.", None)
    assert made["enabled_tools"]
    assert "search_messages" not in made["enabled_tools"]

    page.get_by_role("textbox", name="Message", exact=True).fill("How is soup made?")
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("#agent-answer")
    expect(answer).to_contain_text("Boil it.")
    expect(answer).to_contain_text("Answered in")
    rows.filter(has_text="@agent_critic").get_by_role("button", name="Delete").click()
    page.locator("dialog[open]").get_by_role("button", name="Delete agent").click()
    expect(rows).to_have_count(2)
    assert person.get("/api/agents/critic").status == 404

    answer.get_by_role("link", name="Open the conversation").click()
    expect(page.locator(".message-card").last).to_contain_text("Boil it.")
    page.locator("#composer-input").focus()
    page.keyboard.insert_text("@agent_th")
    expect(page.get_by_role("option")).to_have_count(1)
    expect(page.get_by_role("option")).to_contain_text("The Cook")
    page.keyboard.press("Enter")
    expect(page.locator("#composer-input")).to_have_value("@agent_the_cook ")


def test_what_an_agent_answers_in_the_settings_is_drawn_as_answers_are_and_runs_nothing(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying(
        "It is **hot**:\n\n```py\nprint('soup')\n```\n\n| Pot | Litres |\n|---|---|\n| big | 5 |\n\n"
        '<img src=x onerror="globalThis.hasRun = true"><script>globalThis.hasRun = true</script>\n\n'
        "[Press](javascript:globalThis.hasRun=true)"
    )
    page = open_page(person, "/settings#agents")
    page.get_by_role("button", name="Edit: Global Assistant").click()
    page.get_by_role("textbox", name="Message", exact=True).fill("How is soup made?")
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("#agent-answer .agent-answer")
    expect(answer.locator("strong")).to_have_text("hot")
    expect(answer.locator("td")).to_have_text(["big", "5"])
    expect(answer.locator(".code-block .hljs-built_in")).to_have_text("print")
    expect(answer.locator(".code-block")).to_have_css("border-top-style", "solid")
    expect(answer).to_contain_text("<script>")
    expect(answer.locator("script, img, [onerror], a[href^='javascript']")).to_have_count(0)
    assert page.evaluate("globalThis.hasRun") is None
    assert problems(page) == []


def test_an_administrator_makes_disables_and_enables_accounts(
    live_server: LiveServer, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("409")
    administrator = live_server.sign_up("ada@example.org")
    page = open_page(administrator, "/settings#people")
    keep_toasts(page)
    own = page.locator("#people-list .record", has_text="ada@example.org")
    expect(own).to_contain_text("you")
    expect(own.get_by_role("button")).to_have_count(0)
    page.get_by_label("E-mail").fill("linus@example.org")
    page.get_by_role("textbox", name="Name", exact=True).fill("Linus")
    page.get_by_label("First password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    row = page.locator("#people-list .record", has_text="linus@example.org")
    expect(row).to_contain_text("not logged in")
    linus = live_server.sign_in("linus@example.org")

    row.get_by_role("button", name="Disable").click()
    # Somebody else changes the list, so that its buttons are others when the dialog closes.
    assert administrator.post("/users", {"email": "grace@example.org", "password": PASSWORD}).status == 201
    expect(page.locator("#people-list .record")).to_have_count(3)
    page.locator("dialog[open]").get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    assert linus.get("/get_user_info").status == 401
    # The button that was pressed has gone; the next key goes on in the list.
    expect(page.locator("#people-list button").first).to_be_focused()
    row.get_by_role("button", name="Enable").click()
    expect(row.get_by_role("button", name="Disable")).to_be_visible()
    assert live_server.sign_in("linus@example.org").get("/get_user_info").json()["name"] == "Linus"

    # What is refused says why, and what was typed stands.
    page.get_by_label("E-mail").fill("linus@example.org")
    page.get_by_label("First password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.locator("#toasts")).to_contain_text("There is an account with this e-mail address already.")
    expect(page.get_by_label("E-mail")).to_have_value("linus@example.org")
    accounts = [each["user_email"] for each in administrator.get("/users").json()]
    assert accounts.count("linus@example.org") == 1


@pytest.mark.shows("tool-servers")
def test_a_tool_server_is_joined_tried_switched_off_and_removed(
    person: Client, open_page: OpenPage, server: LiveServer
) -> None:
    token = person.post("/api_tokens", {"name": "own"}).json()
    # The first request of the protocol takes long: the server imports what speaks it.
    Client(server.port, token=token["token"]).post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    page = open_page(person, "/settings#tool-servers")
    section = page.locator("[data-section='tool-servers']")
    expect(section).to_contain_text("You have not joined any servers yet.")
    section.get_by_role("textbox", name="Name", exact=True).fill("Own Things")
    section.get_by_role("textbox", name="Address").fill(f"{server.url}/mcp")
    key = section.get_by_label("Key", exact=True)
    key.fill(token["token"])
    section.get_by_role("button", name="Add server").click()
    row = section.locator(".record")
    expect(row.locator(".record-badge")).to_have_text("answers")
    expect(row).to_contain_text("Authorization is set")
    expect(key).to_have_value("")
    row.locator("summary").click()
    expect(row).to_contain_text("own-things__list_conversations")
    # Who comes back to the tab finds the list as it is now, unfolded as it was.
    row.locator("summary").focus()
    with page.expect_response("**/api/tool_servers"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(row.locator("summary")).to_be_focused()
    expect(row.locator("details")).to_have_attribute("open", "")
    assert token["token"] not in page.content()
    row.get_by_role("button", name="Switch off").click()
    expect(row.get_by_role("button", name="Switch on")).to_be_focused()
    expect(row.locator(".record-badge")).to_have_text("off")
    row.get_by_role("button", name="Switch on").click()
    expect(row.locator(".record-badge")).to_have_text("answers")

    person.delete(f"/api_tokens/{token['token_id']}")
    row.get_by_role("button", name="Try").click()
    expect(row.locator(".record-badge")).to_have_text("does not answer")
    expect(row).to_contain_text("It does not accept the key.")
    assert findings(page, "tool-servers") == []
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove server").click()
    expect(row).to_have_count(0)
    assert person.get("/api/tool_servers").json()["servers"] == []
