"""The sidebar's greater deeds: forks, what is not kept, many at once by one request, failures that are tried again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import conversation, hold_talk, make_workspace, messages, workspace
from tests.browser.screens import NARROW, findings, problems
from tests.browser.sidebar_page import SidebarPage, by_right_click, part, show_sidebar, titles, unfold
from tests.browser.transcript import keep_toasts
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

# The live stream: once it is heard, a sidebar that could not be loaded asks by itself.
HEARD = re.compile(r"/events(\?|$)")
pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
BULK = "**/conversations/bulk"


def toast_button(page: Page, name: str) -> Locator:
    return page.locator("#toasts").get_by_role("button", name=name)


def choose_all(sidebar: SidebarPage, *names: str) -> Locator:
    """Select rows by Control and click; the last of them."""
    for name in names:
        sidebar.row(name).click(modifiers=["Control"])
        expect(sidebar.row(name)).to_have_attribute("aria-selected", "true")
    return sidebar.row(names[-1])


@pytest.mark.shows("fork-dialog")
def test_a_conversation_forks_at_the_message_that_is_chosen(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?", "Which pots?", "When to plant?")
    page = open_page(person, viewport=NARROW)
    keep_toasts(page)
    sidebar = show_sidebar(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Fork…")
    dialog = page.locator("dialog[open]")
    heads = dialog.locator(".fork-choice-head")
    expect(heads).to_have_text([f"#{number} · {'You' if number % 2 else 'main'}" for number in range(6, 0, -1)])
    expect(dialog.get_by_role("button").first).to_have_text("The whole conversation")
    assert findings(page, "fork-dialog", shown=dialog) == []
    dialog.get_by_role("searchbox").fill("pots")
    expect(heads).to_have_text(["#3 · You"])
    page.keyboard.press("ArrowDown")
    expect(dialog.locator(".fork-choice")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Forked “Growing tomatoes”")
    expect(page.locator(".message-card")).to_have_count(3)
    expect(page).not_to_have_url(re.compile(re.escape(talk.path) + "$"))
    fork = page.url.rsplit("/", 1)[1].replace("%40", "@")
    assert [each["text"] for each in messages(person, fork)][-1] == "Which pots?"
    assert len(messages(person, talk.conversation_id)) == 6


def test_what_is_not_kept_is_seen_in_the_sidebar_and_kept_again(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Toggle Stateless")
    unkept = page.get_by_role("treeitem", name="Growing tomatoes, not kept")
    expect(unkept.locator(".fa-eye-slash")).to_have_count(1)
    expect(part(page, "recent").get_by_role("link", name="Growing tomatoes, not kept")).to_be_visible()
    found = conversation(person, "Growing tomatoes")
    assert found is not None
    assert found["stateless"] is True
    page.reload()
    unkept.focus()
    page.keyboard.press("Shift+F10")
    sidebar.menu_item("Toggle Stateless (on)").click()
    expect(page.get_by_role("treeitem", name="Growing tomatoes", exact=True)).to_be_visible()
    found = conversation(person, "Growing tomatoes")
    assert found is not None
    assert found["stateless"] is False


def test_a_submenu_is_worked_by_keys_and_exports(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.row("Growing tomatoes").focus()
    page.keyboard.press("ContextMenu")
    expect(sidebar.menu_item("Copy Conversation Reference")).to_be_focused()
    for _ in range(2):
        page.keyboard.press("ArrowUp")
    expect(sidebar.menu_item("Export")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(sidebar.menu_item("Markdown")).to_be_visible()
    expect(sidebar.menu_item("Markdown")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(sidebar.menu_item("Web page (HTML)")).to_be_focused()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".html")


def test_many_are_changed_by_one_request_and_what_failed_is_tried_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    garden = make_workspace(person, "Garden")
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three")]
    page = open_page(person)
    sidebar = SidebarPage(page)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method != "GET" else None)
    row = choose_all(sidebar, "One", "Two", "Three")
    page.route(BULK, lambda route: route.abort())
    by_right_click(sidebar, row)
    sidebar.menu_item("Move 3 conversations to…").hover()
    sidebar.menu_item("Garden").click()
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    expect(sidebar.row("General (3)")).to_be_visible()
    page.unroute(BULK)
    # One of them is gone by then: the others move, and that one is told.
    assert person.delete(f"/delete_conversation/{talks[0].conversation_id}").status == 200
    toast_button(page, "Try again").click()
    expect(sidebar.row("Garden (2)")).to_be_visible()
    expect(page.locator("#toasts")).to_contain_text("1 conversation of 3 could not be changed.")
    places = [person.get(f"/get_conversation_details/{talk.conversation_id}").json() for talk in talks[1:]]
    assert [place["workspace_id"] for place in places] == [garden, garden]
    assert len([url for url in sent if url.endswith("/conversations/bulk")]) == 2
    assert not [url for url in sent if "move_conversation" in url]


@pytest.mark.shows("tags-of-many-dialog")
def test_several_conversations_get_and_lose_tags_together_with_one_undo(person: Client, open_page: OpenPage) -> None:
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three")]
    before = [["garden"], ["garden", "zoo"], []]
    for talk, tags in zip(talks, before, strict=True):
        person.put(f"/conversations/{talk.conversation_id}/tags", {"tags": tags})
    hold_talk(person, "Four")
    page = open_page(person)
    keep_toasts(page)
    sidebar = SidebarPage(page)

    def tags() -> list[list[str]]:
        return [person.get(f"/get_conversation_details/{talk.conversation_id}").json()["tags"] for talk in talks]

    rows = [page.locator(f'#workspaces-container a[data-conversation-id="{talk.conversation_id}"]') for talk in talks]
    for row in rows:
        row.click(modifiers=["Control"])
        expect(row).to_have_attribute("aria-selected", "true")
    by_right_click(sidebar, rows[-1])
    sidebar.menu_item("Tags of 3 conversations…").click()
    dialog = page.get_by_role("dialog", name="Tags of 3 conversations")
    field = dialog.get_by_role("combobox", name="More tags")
    expect(field).to_be_focused()
    expect(dialog.locator("datalist option")).to_have_count(2)
    garden, zoo = (dialog.get_by_role("checkbox", name=name) for name in ("#garden", "#zoo"))
    assert garden.evaluate("(box) => box.indeterminate")
    expect(garden.locator("xpath=../span[last()]")).to_have_text("2 of 3")
    assert findings(page, "tags-of-many-dialog", shown=dialog) == []
    # By keys: what some have, all have, then none, then as it was.
    garden.focus()
    states = [garden.evaluate("(box) => [box.checked, box.indeterminate]")]
    for _ in range(3):
        page.keyboard.press("Space")
        states.append(garden.evaluate("(box) => [box.checked, box.indeterminate]"))
    assert states == [[False, True], [True, False], [False, False], [False, True]]
    page.keyboard.press("Space")
    zoo.click()
    zoo.click()
    field.fill(f"trip, {'x' * 51}")
    for _ in range(2):
        field.press("Enter")
        expect(dialog.get_by_role("alert")).to_have_text("A tag has 50 characters at most.")
    expect(field).to_have_value(f"trip, {'x' * 51}")
    field.fill("")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    page.keyboard.type("trip, #Summer time")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("checkbox", name="#Summer time")).to_be_checked()
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#toasts")).to_contain_text("Changed the tags of 3 conversations")
    assert tags() == [["garden", "Summer time", "trip"]] * 3
    for row in rows:
        expect(row).to_have_attribute("data-tags", "#garden #Summer time #trip")
    toast_button(page, "Undo").click()
    expect(rows[2]).not_to_have_attribute("data-tags", re.compile(".*"))
    expect(rows[1]).to_have_attribute("data-tags", "#garden #zoo")
    assert tags() == before


def test_a_drag_that_fails_goes_back_and_is_tried_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    for name in ("Garden", "House"):
        make_workspace(person, name)
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    for address in (BULK, "**/move_workspace/**"):
        page.route(address, lambda route: route.abort())
    sidebar.drag(sidebar.row("Growing tomatoes"), sidebar.row("Garden"))
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    expect(sidebar.row("General (1)")).to_be_visible()
    expect(sidebar.inside(sidebar.row("General (1)"))).to_have_text(["Growing tomatoes"])
    page.unroute(BULK)
    toast_button(page, "Try again").click()
    expect(sidebar.row("Garden (1)")).to_be_visible()
    sidebar.drag(sidebar.row("Garden (1)"), sidebar.row("House"))
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    expect(sidebar.row("House")).to_have_class(re.compile("jstree-anchor"))
    expect(sidebar.row("House").locator("xpath=..")).to_have_class(re.compile("jstree-leaf"))
    page.unroute("**/move_workspace/**")
    toast_button(page, "Try again").click()
    sidebar.open(sidebar.row("House"))
    expect(sidebar.inside(sidebar.row("House")).first).to_have_text("Garden (1)")


def test_a_deleted_workspace_comes_back_by_undo(person: Client, open_page: OpenPage) -> None:
    house = make_workspace(person, "House")
    garden = make_workspace(person, "Garden", parent=house)
    make_workspace(person, "Roses", parent=garden)
    hold_talk(person, "Growing tomatoes", workspace_id=garden)
    before = person.get("/list_workspaces/assistant").json()
    page = open_page(person)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    sidebar.open(sidebar.row("House"))
    sidebar.choose(sidebar.row("Garden (1)"), "Delete")
    page.get_by_role("button", name="Delete workspace").click()
    expect(sidebar.row("House (1)")).to_be_visible()
    assert workspace(person, "Garden") is None
    toast_button(page, "Undo").click()
    expect(page.locator("#toasts")).to_contain_text("Brought the workspace “Garden” back")
    expect(sidebar.row("Garden (1)")).to_be_visible()
    known = {each["workspace_id"]: each | {"expanded": True} for each in before}
    after = person.get("/list_workspaces/assistant").json()
    assert {each["workspace_id"]: each | {"expanded": True} for each in after} == known


def test_what_could_not_be_loaded_or_begun_is_tried_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    hold_talk(person, "Growing tomatoes")
    talk = hold_talk(person, "Thrown away")
    assert person.delete(f"/delete_conversation/{talk.conversation_id}").status == 200
    page = open_page(person, "/account")
    page.route(HEARD, lambda route: route.abort())
    page.route("**/list_workspaces/**", lambda route: route.abort())
    page.goto("/interface/")
    status = page.locator("#sidebar-status")
    expect(status).to_contain_text("The server cannot be reached.")
    page.unroute("**/list_workspaces/**")
    status.get_by_role("button", name="Try again").click()
    sidebar = SidebarPage(page)
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    page.unroute(HEARD)

    page.route("**/conversations/autocomplete**", lambda route: route.abort())
    page.fill("#sidebar-filter", "tom")
    page.locator("#sidebar-filter-status").get_by_role("button", name="Try again").wait_for()
    page.unroute("**/conversations/autocomplete**")
    page.locator("#sidebar-filter-status").get_by_role("button", name="Try again").click()
    expect(page.locator("#sidebar-matches .filter-match-title")).to_have_text(["Growing tomatoes"])
    page.locator("#sidebar-filter").press("Escape")

    page.route("**/restore_conversation/**", lambda route: route.abort())
    unfold(page, "bin").get_by_role("button", name="Restore “Thrown away”").click()
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    page.unroute("**/restore_conversation/**")
    toast_button(page, "Try again").click()
    expect(sidebar.row("Thrown away")).to_be_visible()

    tried: list[str] = []

    def refuse(route: Route) -> None:
        tried.append(route.request.post_data_json["client_id"])
        route.abort()

    page.route("**/create_conversation/**", refuse)
    page.get_by_role("button", name="New conversation").click()
    page.keyboard.type("How do I paint a fence?")
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    page.unroute("**/create_conversation/**")
    with page.expect_response("**/create_conversation/**") as created:
        toast_button(page, "Try again").click()
    assert tried == [created.value.request.post_data_json["client_id"]]
    expect(page.locator("#composer-input")).to_have_value("How do I paint a fence?")
    page.locator("#composer-input").press("Enter")
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.locator(".message-card").first).to_contain_text("How do I paint a fence?")
    expect(titles(page, "recent").first).to_have_text("A Short Title")


@pytest.mark.parametrize("comes_back", ["globalThis, 'online'", "document, 'visibilitychange'"])
def test_a_sidebar_that_could_not_be_loaded_asks_by_itself_when_the_network_or_the_person_is_back(
    person: Client, open_page: OpenPage, page_problems: PageProblems, comes_back: str
) -> None:
    page_problems.expect("ERR_FAILED")
    hold_talk(person, "Growing tomatoes")
    page = open_page(person, "/account")
    lists = "**/list_workspaces/**"
    page.route(HEARD, lambda route: route.abort())
    page.route(lists, lambda route: route.abort())
    page.goto("/interface/")
    again = page.locator("#sidebar-status").get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    come_back = f"((target, name) => {{ target.dispatchEvent(new Event(name)); }})({comes_back})"
    with page.expect_event("requestfailed", lambda request: "/list_workspaces/" in request.url):
        page.evaluate(come_back)
    expect(again).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/list_workspaces/" in request.url else None)
    page.unroute(lists)
    page.evaluate(come_back)
    expect(SidebarPage(page).row("Growing tomatoes")).to_be_visible()
    expect(again).to_have_count(0)
    page.evaluate(come_back)
    status = page.evaluate("() => fetch('/healthz').then(({ status }) => status)")  # behind what would have been asked
    assert (status, len(asked)) == (200, 1)


def test_the_tree_never_names_a_row_that_is_not_there(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("502")
    hold_talk(person, "Growing tomatoes")
    page = open_page(person, "/account")
    lists = re.compile("/list_workspaces/|/list_conversation_by_user/")
    page.route(HEARD, lambda route: route.abort())
    page.route(lists, lambda route: route.fulfill(status=502, body="Bad Gateway"))
    page.goto("/interface/")
    again = page.locator("#sidebar-status").get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    expect(page.locator("#workspaces-container .jstree-loading")).to_have_count(0)
    assert problems(page) == []
    page.unroute(lists)
    again.click()
    sidebar = SidebarPage(page)
    row = sidebar.row("Growing tomatoes")
    page.unroute(HEARD)
    row.hover()
    node = str(row.evaluate("row => row.closest('.jstree-node').id"))
    tree = page.locator("#workspaces-container")
    expect(tree).to_have_attribute("aria-activedescendant", node)
    page.get_by_role("button", name="Collapse all workspaces").click()
    expect(row).to_have_count(0)
    current = str(tree.get_attribute("aria-activedescendant"))
    expect(page.locator(f"[id='{current}']")).to_have_count(1)


def test_a_new_conversation_that_was_not_used_serves_again(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path)
    listed = page.locator("#workspaces-container a[data-conversation-id]")
    new = page.get_by_role("button", name="New conversation")
    expect(page.locator(".message-card")).to_have_count(2)
    new.dblclick()
    expect(listed).to_have_text(["(untitled)", "Growing tomatoes"])
    expect(page).not_to_have_url(re.compile("/interface/$"))
    begun = page.url
    new.click()
    expect(page.locator("#composer-input")).to_be_focused()
    listed.last.click()
    expect(page.locator(".message-card")).to_have_count(2)
    new.click()
    expect(page).to_have_url(begun)
    assert len(person.get("/list_conversation_by_user/assistant").json()) == 2

    # What waits to be sent is in nobody's way.
    page.locator("#composer-input").fill("How do I paint a fence?")
    new.click()
    expect(listed).to_have_text(["(untitled)", "(untitled)", "Growing tomatoes"])
    expect(page.locator("#composer-input")).to_have_value("")
