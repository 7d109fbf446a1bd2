"""Beside the tree: pins, the newest, flags, archive, bin, temporary conversations, and several chosen at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import conversation, hold_talk, make_workspace
from tests.browser.screens import THEMES, WIDE, findings
from tests.browser.sidebar_page import SidebarPage, by_right_click, part, titles, unfold
from tests.browser.transcript import keep_toasts
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def details(client: Client, conversation_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/get_conversation_details/{conversation_id}").json()
    return found


def undo(page: Page) -> None:
    page.locator("#toasts").get_by_role("button", name="Undo").click()


def choose_all(sidebar: SidebarPage, *names: str) -> Locator:
    """Select rows by Control and click; the last of them."""
    for name in names:
        sidebar.row(name).click(modifiers=["Control"])
        expect(sidebar.row(name)).to_have_attribute("aria-selected", "true")
    return sidebar.row(names[-1])


def test_a_pinned_conversation_stands_above_the_newest_and_stays_there(person: Client, open_page: OpenPage) -> None:
    for title in ("Oldest", "Middle", "Newest"):
        hold_talk(person, title)
    page = open_page(person)
    sidebar = SidebarPage(page)
    expect(titles(page, "recent")).to_have_text(["Newest", "Middle", "Oldest"])
    expect(part(page, "pinned")).to_be_hidden()
    sidebar.choose(sidebar.row("Oldest"), "Pin")
    expect(titles(page, "pinned")).to_have_text(["Oldest"])
    expect(titles(page, "recent")).to_have_text(["Newest", "Middle"])
    page.reload()
    expect(titles(page, "pinned")).to_have_text(["Oldest"])
    titles(page, "pinned").click()
    expect(page.locator(".message-card").first).to_contain_text("Hello")
    expect(titles(page, "pinned")).to_have_attribute("aria-current", "true")
    titles(page, "pinned").click(button="right")
    sidebar.menu_item("Unpin").click()
    expect(part(page, "pinned")).to_be_hidden()
    found = conversation(person, "Oldest")
    assert found is not None
    assert found["pinned"] is False


def test_opening_a_recent_conversation_leaves_the_list_of_recent_ones_where_it_is(
    person: Client, open_page: OpenPage
) -> None:
    garden = make_workspace(person, "Garden")
    far = hold_talk(person, "Growing tomatoes", workspace_id=garden)
    for number in range(30):
        made = person.create_conversation()
        person.put(f"/conversations/{made}/title", {"title": f"Budget {number}"})
    hold_talk(person, "Newest")
    assert list(person.send(far.conversation_id, "And peppers?"))
    page = open_page(person)
    sidebar = SidebarPage(page)
    expect(titles(page, "recent").first).to_have_text("Growing tomatoes")
    titles(page, "recent").first.click()
    expect(page.locator(".message-card").last).to_be_visible()
    expect(sidebar.row("Growing tomatoes")).to_have_attribute("aria-selected", "true")
    assert page.evaluate("document.getElementById('sidebar-scroll').scrollTop") == 0

    # Where no list shows it, the tree does.
    oldest = conversation(person, "Budget 0")
    assert oldest is not None
    page.goto(f"/interface/{oldest['conversation_id']}")
    expect(sidebar.row("Budget 0")).to_be_in_viewport()


def test_a_section_that_was_closed_is_closed_after_a_reload(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    expect(titles(page, "recent")).to_be_visible()
    part(page, "recent").locator("summary").click()
    expect(titles(page, "recent")).to_be_hidden()
    page.reload()
    expect(SidebarPage(page).row("Growing tomatoes")).to_be_visible()
    expect(titles(page, "recent")).to_be_hidden()
    part(page, "recent").locator("summary").focus()
    page.keyboard.press("Enter")
    expect(titles(page, "recent")).to_be_visible()


def test_a_section_that_opens_below_the_fold_comes_into_view_by_pointer_and_by_key(
    person: Client, open_page: OpenPage
) -> None:
    for _ in range(8):
        assert person.delete(f"/delete_conversation/{person.create_conversation()}").status == 200
    page = open_page(person, viewport={"width": 1280, "height": 480})
    expect(SidebarPage(page).row("General")).to_be_visible()
    summary = part(page, "bin").locator("summary")
    first = titles(page, "bin").first

    def shown() -> None:
        expect(summary).to_be_in_viewport(ratio=1)
        expect(first).to_be_in_viewport(ratio=1)
        expect(summary).to_be_focused()

    summary.click()
    shown()
    summary.click()
    expect(first).to_be_hidden()
    page.keyboard.press("Enter")
    shown()


def test_a_flag_is_seen_and_said(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    row = page.locator("#workspaces-container a[data-conversation-id]")
    sidebar.choose(row, "Set Flag", "Red")
    expect(page.locator("#workspaces-container li.jstree-flag-red")).to_have_count(1)
    expect(page.get_by_role("treeitem", name="Growing tomatoes, red flag")).to_be_visible()
    expect(part(page, "recent").get_by_role("link", name="Growing tomatoes, red flag")).to_be_visible()
    color = row.evaluate("(anchor) => getComputedStyle(anchor, '::after').backgroundColor")
    assert color == "rgb(213, 55, 61)"
    assert details(person, talk.conversation_id)["flag"] == "red"
    page.reload()
    sidebar.choose(row, "Set Flag", "No flag")
    expect(page.get_by_role("treeitem", name="Growing tomatoes", exact=True)).to_be_visible()
    expect(page.locator("#workspaces-container [class*='jstree-flag-']")).to_have_count(0)
    assert details(person, talk.conversation_id)["flag"] == "none"


@pytest.mark.shows("tags-dialog")
def test_conversations_are_tagged_from_their_menu_and_found_by_their_tags(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    other = hold_talk(person, "Painting the house")
    assert person.put(f"/conversations/{other.conversation_id}/tags", {"tags": ["home"]}).status == 200
    page = open_page(person)
    sidebar = SidebarPage(page)
    row = page.locator(f'#workspaces-container a[data-conversation-id="{talk.conversation_id}"]')
    sidebar.choose(row, "Tags…")
    assert findings(page, "tags-dialog", shown=page.locator("dialog[open]")) == []
    sidebar.answer("garden, #summer time")
    expect(row).to_have_attribute("data-tags", "#garden #summer time")
    assert details(person, talk.conversation_id)["tags"] == ["garden", "summer time"]
    find = page.get_by_role("searchbox", name="Find a conversation")
    find.fill("#")
    matches = page.locator("#sidebar-matches a")
    expect(matches).to_have_text(["#garden1 conversation", "#home1 conversation", "#summer time1 conversation"])
    matches.nth(2).click()
    expect(find).to_have_value("#summer time")
    expect(matches).to_have_text(["Growing tomatoes"])
    find.fill("")
    sidebar.choose(row, "Tags…")
    sidebar.answer("")
    expect(page.locator("#workspaces-container a[data-tags]")).to_have_count(1)
    assert details(person, talk.conversation_id)["tags"] == []


def test_the_archive_is_asked_for_when_it_opens_and_gives_back(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    hold_talk(person, "Painting the house")
    page = open_page(person)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "archived_only" in request.url else None)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Archive")
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)
    expect(titles(page, "recent")).to_have_text(["Painting the house"])
    assert details(person, talk.conversation_id)["archived"] is True
    assert not asked

    section = unfold(page, "archived")
    expect(titles(page, "archived")).to_have_text(["Growing tomatoes"])
    assert len(asked) == 1
    titles(page, "archived").click()
    expect(page.locator(".message-card")).to_have_count(2)
    # Whoever opens it does not take it out.
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)
    expect(titles(page, "archived")).to_have_attribute("aria-current", "true")
    expect(page.locator("#archived-mark")).to_be_visible()
    section.get_by_role("button", name="Actions for “Growing tomatoes”").click()
    expect(sidebar.menu_item("Pin")).to_have_count(0)
    sidebar.menu_item("Take out of the Archive").click()
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    expect(section).to_contain_text("Nothing is archived.")
    expect(page.locator("#archived-mark")).to_be_hidden()
    assert details(person, talk.conversation_id)["archived"] is False


def test_an_archived_match_has_a_menu_and_is_shown_as_it_is_renamed_and_deleted(
    person: Client, open_page: OpenPage
) -> None:
    for title in ("Growing tomatoes", "Growing pots"):
        talk = hold_talk(person, title)
        assert person.post(f"/archive_conversation/{talk.conversation_id}", {"archived": True}).status == 200
    page = open_page(person)
    sidebar = SidebarPage(page)
    page.fill("#sidebar-filter", "growing")
    matches = page.locator("#sidebar-matches .filter-match-title")
    expect(matches).to_have_text(["Growing pots", "Growing tomatoes"])
    dots = page.locator("#sidebar-matches").get_by_role("button")
    dots.last.click()
    sidebar.menu_item("Rename").click()
    sidebar.answer("Growing herbs")
    expect(matches).to_have_text(["Growing pots", "Growing herbs"])
    expect(dots.last).to_have_accessible_name(re.compile("Growing herbs"))
    dots.last.click()
    sidebar.menu_item("Delete").click()
    expect(matches).to_have_text(["Growing pots"])
    expect(page.locator("#sidebar-filter-status")).to_have_text("1 match")


def test_archiving_is_undone(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Archive")
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)
    undo(page)
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    assert details(person, talk.conversation_id)["archived"] is False


def test_the_bin_gives_back_and_erases(person: Client, open_page: OpenPage) -> None:
    back, gone, rest = (hold_talk(person, title) for title in ("Back", "Gone", "Rest"))
    for talk in (back, gone, rest):
        assert person.delete(f"/delete_conversation/{talk.conversation_id}").status == 200
    page = open_page(person)
    keep_toasts(page)
    expect(page.locator("#sidebar-status")).to_have_text("No conversations yet.")
    section = unfold(page, "bin")
    expect(titles(page, "bin")).to_have_text(["Rest", "Gone", "Back"])
    expect(section.locator(".sidebar-row-note").first).to_have_text("30 days left")
    older: list[tuple[Route, APIResponse]] = []
    page.route("**/bin/assistant", lambda route: older.append((route, route.fetch())), times=1)
    section.get_by_role("button", name="Restore “Back”").click()
    expect(SidebarPage(page).row("Back")).to_be_visible()
    expect(titles(page, "bin")).to_have_text(["Rest", "Gone"])

    section.get_by_role("button", name="Erase “Gone” for good").click()
    page.get_by_role("button", name="Cancel").click()
    expect(titles(page, "bin")).to_have_count(2)
    section.get_by_role("button", name="Erase “Gone” for good").click()
    page.locator("dialog").get_by_role("button", name="Erase for good").click()
    expect(titles(page, "bin")).to_have_text(["Rest"])
    # It was asked twice after Restore: the older answer, which comes only now, changes nothing.
    until_held(page, older)
    route, answer = older.pop()
    with page.expect_event("requestfinished", lambda request: request == route.request):
        route.fulfill(response=answer)
    page.evaluate("fetch('/healthz').then((response) => response.text())")
    expect(titles(page, "bin")).to_have_text(["Rest"])
    assert person.post(f"/restore_conversation/{gone.conversation_id}").status == 404

    section.get_by_role("button", name="Empty the bin").click()
    page.locator("dialog").get_by_role("button", name="Erase for good").click()
    expect(page.locator("#toasts")).to_contain_text("Erased 1 conversation")
    expect(section).to_contain_text("The bin is empty.")
    assert person.get("/bin/assistant").json() == []


def test_what_is_deleted_while_the_bin_is_open_appears_in_it(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    keep_toasts(page)
    unfold(page, "bin")
    expect(part(page, "bin")).to_contain_text("The bin is empty.")
    sidebar = SidebarPage(page)
    sidebar.row("Growing tomatoes").focus()
    page.keyboard.press("Delete")
    expect(titles(page, "bin")).to_have_text(["Growing tomatoes"])
    undo(page)
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    expect(part(page, "bin")).to_contain_text("The bin is empty.")


def test_a_section_that_cannot_be_loaded_says_so_and_tries_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person)
    page.route("**/bin/assistant", lambda route: route.abort())
    section = unfold(page, "bin")
    expect(section).to_contain_text("The server cannot be reached.")
    page.unroute("**/bin/assistant")
    section.get_by_role("button", name="Try again").click()
    expect(section).to_contain_text("The bin is empty.")


@pytest.mark.shows("sidebar-many-menu")
def test_several_conversations_are_chosen_flagged_and_deleted_with_one_undo(
    person: Client, open_page: OpenPage
) -> None:
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three")]
    page = open_page(person)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    expect(sidebar.row("Three")).to_be_visible()
    row = choose_all(sidebar, "One", "Two")
    expect(page.locator("#announcer")).to_have_text("2 conversations selected")
    by_right_click(sidebar, row)
    sidebar.menu_item("Flag 2 conversations").hover()
    assert findings(page, "sidebar-many-menu", shown=sidebar.menu_item("Green"), sizes=[WIDE], themes=THEMES) == []
    sidebar.menu_item("Green").click()
    expect(page.locator("#workspaces-container li.jstree-flag-green")).to_have_count(2)
    row = page.locator("#workspaces-container li.jstree-flag-green > a").first
    by_right_click(sidebar, row)
    sidebar.menu_item("Delete 2 conversations").click()
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_text(["Three"])
    undo(page)
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_count(3)
    assert [details(person, talk.conversation_id)["flag"] for talk in talks] == ["green", "green", "none"]


def test_several_conversations_are_chosen_by_keyboard_and_moved(person: Client, open_page: OpenPage) -> None:
    garden = make_workspace(person, "Garden")
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three")]
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.row("Three").focus()
    for _ in range(2):
        page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowUp")
    rows = page.locator("#workspaces-container a[data-conversation-id]")
    for number, selected in enumerate(("true", "true", "false")):
        expect(rows.nth(number)).to_have_attribute("aria-selected", selected)
    expect(sidebar.row("Two")).to_be_focused()
    page.keyboard.press("Shift+F10")
    sidebar.menu_item("Move 2 conversations to…").hover()
    sidebar.menu_item("Garden").click()
    expect(sidebar.row("Garden (2)")).to_be_visible()
    places = [details(person, talk.conversation_id)["workspace_id"] for talk in talks]
    assert [place == garden for place in places] == [False, True, True]


def test_several_conversations_are_dragged_together(person: Client, open_page: OpenPage) -> None:
    garden = make_workspace(person, "Garden")
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three")]
    page = open_page(person)
    sidebar = SidebarPage(page)
    row = choose_all(sidebar, "One", "Two")
    row.hover()
    page.mouse.down()
    page.mouse.move(200, 400, steps=6)
    expect(page.locator("#vakata-dnd")).to_contain_text("2 selected")
    # Beside the list, nothing is dropped.
    page.mouse.move(900, 400)
    page.mouse.up()
    sidebar.drag(row, sidebar.row("Garden"))
    expect(sidebar.row("Garden (2)")).to_be_visible()
    expect(sidebar.row("General (1)")).to_be_visible()
    sidebar.open(sidebar.row("Garden (2)"))
    expect(sidebar.inside(sidebar.row("Garden (2)"))).to_have_count(2)
    places = [details(person, talk.conversation_id)["workspace_id"] for talk in talks]
    assert [place == garden for place in places] == [True, True, False]


def test_a_range_is_archived_and_brought_back_at_once(person: Client, open_page: OpenPage) -> None:
    for title in ("One", "Two", "Three"):
        hold_talk(person, title)
    page = open_page(person)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    sidebar.row("Three").click()
    expect(sidebar.row("Three")).to_have_attribute("aria-selected", "true")
    sidebar.row("One").click(modifiers=["Shift"])
    by_right_click(sidebar, sidebar.row("Two"))
    sidebar.menu_item("Archive 3 conversations").click()
    expect(page.locator("#sidebar-status")).to_have_text("No conversations yet.")
    unfold(page, "archived")
    expect(titles(page, "archived")).to_have_count(3)
    undo(page)
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_count(3)


def test_f2_names_a_conversation_anew(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.row("Growing tomatoes").focus()
    page.keyboard.press("F2")
    sidebar.answer("Growing beans")
    expect(sidebar.row("Growing beans")).to_be_visible()
    expect(titles(page, "recent")).to_have_text(["Growing beans"])
    assert conversation(person, "Growing beans") is not None


def test_a_temporary_conversation_answers_outlives_a_reload_and_is_gone_when_left(
    person: Client, open_page: OpenPage
) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    page.get_by_role("button", name="More to begin").click()
    sidebar.menu_item("Temporary conversation").click()
    mark = page.locator("#temporary-mark")
    expect(mark).to_be_visible()
    page.fill("#composer-input", "Tell nobody")
    page.keyboard.press("Enter")
    cards = page.locator(".message-card")
    expect(cards.nth(1)).to_contain_text("Understood.")
    page.reload()
    expect(cards).to_have_count(2)
    expect(mark).to_be_visible()
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_text(["Growing tomatoes"])
    expect(titles(page, "recent")).to_have_text(["Growing tomatoes"])
    address = re.search(r"/interface/([^?]+)", page.url)
    assert address is not None
    assert person.get(f"/get_conversation_details/{address[1]}").status == 200
    # Commands begin conversations too, and leave this one no second time: that would be a 404 on the page.
    page.fill("#composer-input", "/help")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Commands")).to_be_visible()
    with page.expect_response(lambda response: "/delete_conversation/" in response.url):
        sidebar.row("Growing tomatoes").click()
    expect(mark).to_be_hidden()
    expect(cards).to_have_count(2)
    assert person.get(f"/get_conversation_details/{address[1]}").status == 404
    assert person.get("/bin/assistant").json() == []


def test_titles_that_are_code_stay_text_in_every_section(person: Client, open_page: OpenPage) -> None:
    title = "</a><script>window.broken=1</script><img src=x onerror='window.broken=2'>"
    talks = [hold_talk(person, f"{number} {title}") for number in range(4)]
    person.put(f"/conversations/{talks[0].conversation_id}/pin")
    person.post(f"/archive_conversation/{talks[1].conversation_id}")
    person.delete(f"/delete_conversation/{talks[2].conversation_id}")
    page = open_page(person)
    for name in ("archived", "bin"):
        unfold(page, name)
    for number, name in enumerate(("pinned", "archived", "bin", "recent")):
        expect(titles(page, name)).to_have_text([f"{number} {title}"])
    part(page, "bin").get_by_role("button", name=re.compile("for good")).click()
    expect(page.locator("dialog")).to_contain_text(title)
    assert page.evaluate("window.broken") is None
    expect(page.locator("#sidebar script, #sidebar img[src='x'], dialog img")).to_have_count(0)


def test_a_reference_that_cannot_be_copied_is_shown_for_copying_by_hand(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    page.evaluate("() => { document.execCommand = () => false; }")
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Copy Conversation Reference")
    field = page.get_by_role("textbox", name="Copy by hand")
    expect(field).to_have_value(talk.friendly_id)
    expect(field).to_be_focused()
    assert page.evaluate("getSelection().toString()") == talk.friendly_id
