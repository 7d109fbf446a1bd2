"""The sidebar in a real browser: both menus whole, moving by mouse, what it remembers, names that try to be code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held, wait_until
from tests.browser.history import conversation, hold_talk, make_workspace, messages, told, workspace
from tests.browser.screens import problems
from tests.browser.sidebar_page import SidebarPage, Way, by_dots, by_right_click, by_shift_f10, part, titles
from tests.browser.transcript import clipboard, copied, keep_toasts
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
WAYS: tuple[Way, ...] = (by_right_click, by_dots, by_shift_f10)


def labels(sidebar: SidebarPage) -> list[str]:
    rows = sidebar.page.locator(".vakata-context > li:not(.vakata-context-separator) > a").all_text_contents()
    return [row.replace("\xa0", " ").strip() for row in rows]


def let_through(page: Page, waiting: list[Route]) -> None:
    """Let the requests go on that are held back; there is at least one."""
    until_held(page, waiting)
    with page.expect_response("**/create_conversation/**"):
        for route in waiting:
            route.continue_()


def test_both_menus_are_the_same_however_they_are_opened(person: Client, open_page: OpenPage) -> None:
    make_workspace(person, "Garden")
    hold_talk(person, "Growing tomatoes")
    sidebar = SidebarPage(open_page(person))
    for name, first in (("Growing tomatoes", "Copy Conversation Reference"), ("Garden", "New Conversation")):
        offered = []
        for way in WAYS:
            way(sidebar, sidebar.row(name))
            expect(sidebar.menu_item(first)).to_be_visible()
            offered.append(labels(sidebar))
            sidebar.page.keyboard.press("Escape")
            expect(sidebar.menu()).to_be_hidden()
            expect(sidebar.row(name)).to_be_focused()
        assert offered == [offered[0]] * len(WAYS)


def test_the_full_reference_of_a_conversation_is_copied(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    sidebar = SidebarPage(open_page(person))
    keep_toasts(sidebar.page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Copy Full Reference")
    expect(sidebar.page.locator("#toasts")).to_contain_text("Copied")
    assert clipboard(sidebar.page) == f"@conversation_{talk.friendly_id}"


def test_the_tree_is_entered_and_walked_by_keys_alone(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    page.locator("#new-workspace").focus()
    page.keyboard.press("Tab")
    expect(sidebar.row("General (1)")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(sidebar.row("Growing tomatoes")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{talk.path}")


def test_the_menu_is_worked_by_keys_alone(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    sidebar = SidebarPage(open_page(person))
    keep_toasts(sidebar.page)
    by_shift_f10(sidebar, sidebar.row("Growing tomatoes"))
    expect(sidebar.menu_item("Copy Conversation Reference")).to_be_focused()
    sidebar.page.keyboard.press("Enter")
    expect(sidebar.page.locator("#toasts")).to_contain_text("Copied")
    assert clipboard(sidebar.page) == talk.friendly_id

    by_shift_f10(sidebar, sidebar.row("Growing tomatoes"))
    for _ in range(4):
        sidebar.page.keyboard.press("ArrowDown")
    expect(sidebar.menu_item("Rename")).to_be_focused()
    sidebar.page.keyboard.press("Enter")
    sidebar.answer("Growing beans")
    expect(sidebar.row("Growing beans")).to_be_visible()


def test_a_conversation_opens_in_a_window_of_its_own(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    sidebar = SidebarPage(page)
    with page.context.expect_page() as opened:
        sidebar.choose(sidebar.row("Growing tomatoes"), "Open in New Window")
    window = opened.value
    expect(window.locator(".message-card").first).to_contain_text("How much water?")
    assert window.url.endswith(talk.path)
    assert page.url.endswith("/interface/")


def test_renaming_changes_the_name_everywhere_and_no_reference(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Rename")
    sidebar.answer("Winter vegetables")
    expect(sidebar.row("Winter vegetables")).to_be_visible()
    expect(page.locator("#conversation-title")).to_have_text("Winter vegetables")
    page.reload()
    expect(sidebar.row("Winter vegetables")).to_be_visible()
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)
    assert told(person, talk.conversation_id) == talk


def test_references_copied_from_a_clone_lead_to_the_clone(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    keep_toasts(page)
    expect(page.locator(".message-card")).to_have_count(2)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Clone")
    expect(page.locator("#toasts")).to_contain_text("Cloned “Growing tomatoes”")
    expect(page).not_to_have_url(re.compile(re.escape(talk.path) + "$"))
    expect(page.locator("#composer-input")).to_be_focused()  # its details are there
    clone = told(person, str(page.url).rsplit("/", 1)[1].replace("%40", "@"))
    assert clone.friendly_id != talk.friendly_id

    badge = page.locator(f".message-ref-badge[data-msg-hash='{clone.hashes[0]}']")
    assert copied(page, badge.click) == clone.reference(1)
    found = person.get(f"/references/resolve?ref={clone.reference(1)}").json()
    assert found["target"]["conversation_id"] == clone.conversation_id


def test_a_deleted_conversation_comes_back_by_undo(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    # All of it has come, so that nothing is refused for being asked for after it is deleted.
    with page.expect_response("**/pinned_messages"), page.expect_response("**/activities?*"):
        sidebar.row("Growing tomatoes").click()
    expect(page.locator(".message-card")).to_have_count(2)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Delete")
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)
    expect(page.locator(".message-card")).to_have_count(0)
    assert conversation(person, "Growing tomatoes") is None
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    expect(page.locator(".message-card")).to_have_count(2)
    assert told(person, talk.conversation_id) == talk


def test_the_menu_moves_a_conversation_to_another_workspace(person: Client, open_page: OpenPage) -> None:
    garden = make_workspace(person, "Garden")
    hold_talk(person, "Growing tomatoes")
    sidebar = SidebarPage(open_page(person))
    sidebar.choose(sidebar.row("Growing tomatoes"), "Move to…", "Garden")
    target = sidebar.row("Garden (1)")
    sidebar.open(target)
    expect(sidebar.inside(target)).to_have_text(["Growing tomatoes"])
    moved = conversation(person, "Growing tomatoes")
    assert moved is not None
    assert moved["workspace_id"] == garden


def test_a_conversation_is_dragged_into_a_workspace(person: Client, open_page: OpenPage) -> None:
    garden = make_workspace(person, "Garden")
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.drag(sidebar.row("Growing tomatoes"), sidebar.row("Garden"))
    expect(sidebar.row("Garden (1)")).to_be_visible()
    page.reload()
    target = sidebar.row("Garden (1)")
    sidebar.open(target)
    expect(sidebar.inside(target)).to_have_text(["Growing tomatoes"])
    moved = conversation(person, "Growing tomatoes")
    assert moved is not None
    assert moved["workspace_id"] == garden


def test_the_list_scrolls_to_a_workspace_that_a_conversation_is_dragged_to(person: Client, open_page: OpenPage) -> None:
    make_workspace(person, "Zoo")
    for number in range(30):
        made = person.create_conversation()
        person.put(f"/conversations/{made}/title", {"title": f"Budget {number}"})
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.row("Budget 29").hover()
    page.mouse.down()
    view = page.locator("#sidebar-scroll").bounding_box()
    assert view is not None
    edge = view["y"] + view["height"] - 4
    page.mouse.move(100, edge - 20, steps=6)
    page.mouse.move(100, edge, steps=3)
    # The last row stays where it is once the list has come to its end.
    wait_until(
        page,
        """(place) => {
            const { scrollTop, clientHeight, scrollHeight } = document.querySelector(place);
            return scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 1;
        }""",
        "#sidebar-scroll",
    )
    target = sidebar.row("Zoo").bounding_box()
    assert target is not None
    page.mouse.move(100, target["y"] + target["height"] / 2, steps=6)
    expect(page.locator("#vakata-dnd .jstree-ok")).to_be_visible()
    page.mouse.up()
    expect(sidebar.row("Zoo (1)")).to_be_visible()


def test_what_is_dropped_after_the_list_scrolled_under_the_pointer_goes_to_no_row_out_of_view(
    person: Client, open_page: OpenPage
) -> None:
    for number in range(40):
        make_workspace(person, f"Shed {number:02}")
    hold_talk(person, "Growing tomatoes")
    page = open_page(person)
    sidebar = SidebarPage(page)
    sidebar.row("Growing tomatoes").hover()
    page.mouse.down()
    view = page.locator("#sidebar-scroll").bounding_box()
    assert view is not None
    edge = view["y"] + view["height"] - 4
    page.mouse.move(100, edge - 100, steps=6)
    expect(page.locator("#vakata-dnd .jstree-ok")).to_be_visible()
    page.mouse.move(100, edge)
    # The end of the list, below the last workspace, comes under the pointer, which rests.
    expect(sidebar.row("Shed 00")).not_to_be_in_viewport()
    expect(page.locator("#vakata-dnd .jstree-er")).to_be_visible()
    page.mouse.up()
    expect(page.locator("#vakata-dnd")).to_have_count(0)
    expect(sidebar.row("General (1)")).to_have_count(1)
    page.reload()
    expect(sidebar.row("General (1)")).to_have_count(1)


def test_a_workspace_is_dragged_into_another(person: Client, open_page: OpenPage) -> None:
    house = make_workspace(person, "House")
    make_workspace(person, "Garden")
    page = open_page(person)
    sidebar = SidebarPage(page)
    with page.expect_response("**/move_workspace/**"):
        sidebar.drag(sidebar.row("Garden"), sidebar.row("House"))
    with page.expect_response(lambda response: "/list_workspaces/" in response.url):
        page.reload()
    sidebar.open(sidebar.row("House"))
    expect(sidebar.inside(sidebar.row("House"))).to_have_text(["Garden"])
    moved = workspace(person, "Garden")
    assert moved is not None
    assert moved["parent_workspace_id"] == house


def test_a_workspace_is_not_dragged_into_what_is_inside_it(person: Client, open_page: OpenPage) -> None:
    house = make_workspace(person, "House")
    garden = make_workspace(person, "Garden", parent=house)
    make_workspace(person, "Shed", parent=garden)
    sidebar = SidebarPage(open_page(person))
    sidebar.open(sidebar.row("House"))
    sidebar.open(sidebar.row("Garden"))
    sidebar.drag(sidebar.row("House"), sidebar.row("Shed"), mark="er")
    sidebar.drag(sidebar.row("Garden"), sidebar.row("Shed"), mark="er")
    expect(sidebar.inside(sidebar.row("House"))).to_have_text(["Garden", "Shed"])
    listed = person.get("/list_workspaces/assistant").json()
    parents = {each["workspace_name"]: each["parent_workspace_id"] for each in listed}
    assert (parents["House"], parents["Garden"], parents["Shed"]) == (None, house, garden)


def test_the_menu_moves_a_workspace_but_never_into_itself(person: Client, open_page: OpenPage) -> None:
    house = make_workspace(person, "House")
    make_workspace(person, "Garden", parent=house)
    make_workspace(person, "Travel")
    sidebar = SidebarPage(open_page(person))
    by_right_click(sidebar, sidebar.row("House"))
    sidebar.menu_item("Move to…").hover()
    for name in ("House", "Garden", "Top level"):
        expect(sidebar.menu_item(name)).to_have_attribute("aria-disabled", "true")
    sidebar.menu_item("Travel").click()
    sidebar.open(sidebar.row("Travel"))
    expect(sidebar.inside(sidebar.row("Travel")).first).to_have_text("House")
    moved, target = workspace(person, "House"), workspace(person, "Travel")
    assert moved is not None
    assert target is not None
    assert moved["parent_workspace_id"] == target["workspace_id"]


def test_workspaces_are_made_named_coloured_and_deleted_by_their_menu(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    sidebar = SidebarPage(page)
    page.locator("#new-workspace").click()
    sidebar.answer("House")
    sidebar.choose(sidebar.row("House"), "New Sub-Workspace")
    sidebar.answer("Gardn")
    sidebar.open(sidebar.row("House"))
    sidebar.choose(sidebar.row("Gardn"), "Rename")
    sidebar.answer("Garden")
    sidebar.choose(sidebar.row("Garden"), "Change Color", "Green")
    green = page.locator("#workspaces-container li[data-color='success']")
    expect(green).to_have_count(1)
    expect(green.locator("> a")).to_have_text("Garden")

    sidebar.choose(sidebar.row("Garden"), "New Conversation")
    expect(sidebar.row("Garden (1)")).to_be_visible()
    page.fill("#composer-input", "How much water?")
    page.keyboard.press("Enter")
    expect(sidebar.row("A Short Title")).to_be_visible()
    garden = workspace(person, "Garden")
    assert garden is not None
    assert (garden["workspace_color"], garden["conversation_count"]) == ("success", 1)

    sidebar.choose(sidebar.row("Garden (1)"), "Delete")
    page.get_by_role("button", name="Delete workspace").click()
    expect(sidebar.row("Garden (1)")).to_have_count(0)
    house = sidebar.row("House (1)")
    sidebar.open(house)
    expect(sidebar.inside(house)).to_have_text(["A Short Title"])
    assert workspace(person, "Garden") is None


def test_a_new_workspace_comes_into_view_and_takes_the_focus(person: Client, open_page: OpenPage) -> None:
    for number in range(40):
        hold_talk(person, f"Talk {number}")
    page = open_page(person)
    sidebar = SidebarPage(page)
    expect(sidebar.row("General (40)")).to_be_visible()
    page.locator("#new-workspace").click()
    sidebar.answer("House")
    expect(sidebar.row("House")).to_be_in_viewport()
    expect(sidebar.row("House")).to_be_focused()
    sidebar.choose(sidebar.row("General (40)"), "New Sub-Workspace")
    sidebar.answer("Garden")
    expect(sidebar.row("Garden")).to_be_in_viewport()
    expect(sidebar.row("Garden")).to_be_focused()


def test_what_was_open_and_closed_is_so_after_a_reload(person: Client, open_page: OpenPage) -> None:
    for name, title in (("House", "Paint"), ("Garden", "Growing tomatoes")):
        hold_talk(person, title, workspace_id=make_workspace(person, name))
    page = open_page(person)
    sidebar = SidebarPage(page)
    for name, wanted in (("House (1)", "true"), ("Garden (1)", "false")):
        row = sidebar.row(name)
        sidebar.open(row)
        for state in ("false", "true") if wanted == "true" else ("false",):
            saved = f'"expanded":{state}'
            with page.expect_response(lambda response, saved=saved: saved in (response.request.post_data or "")):
                row.click()
            expect(row).to_have_attribute("aria-expanded", state)
    page.reload()
    expect(sidebar.row("House (1)")).to_have_attribute("aria-expanded", "true")
    expect(sidebar.row("Garden (1)")).to_have_attribute("aria-expanded", "false")
    expect(sidebar.row("Paint")).to_be_visible()
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)


def test_typing_finds_conversations_and_workspaces(person: Client, open_page: OpenPage) -> None:
    make_workspace(person, "Tomb raiders")
    hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Painting the house")
    page = open_page(person)
    expect(SidebarPage(page).row("Growing tomatoes")).to_be_visible()
    matches = page.locator("#sidebar-matches .filter-match-title")
    page.fill("#sidebar-filter", "tom")
    expect(matches).to_have_text(["Tomb raiders", "Growing tomatoes"])
    expect(page.locator("#sidebar-filter-status")).to_have_text("2 matches")
    expect(page.locator("#workspaces-container")).to_be_hidden()
    page.locator("#sidebar-filter").press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card").first).to_contain_text("How much water?")
    expect(page.locator("#composer-input")).to_be_focused()  # where a conversation that has come leads
    page.fill("#sidebar-filter", "nothing has this name")
    expect(page.locator("#sidebar-filter-status")).to_have_text("Nothing matches.")
    page.locator("#sidebar-filter").press("Escape")
    expect(SidebarPage(page).row("Painting the house")).to_be_visible()


def test_enter_goes_to_the_first_match_and_each_match_has_its_menu(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Painting the house")
    page = open_page(person)
    page.fill("#sidebar-filter", "tom")
    page.locator("#sidebar-filter").press("Enter")  # before or after the answer
    expect(page.locator(".message-card").first).to_contain_text("How much water?")
    dots = page.locator("#sidebar-matches").get_by_role("button", name="Actions for “Growing tomatoes”")
    page.locator("#sidebar-matches").get_by_text("Growing tomatoes").hover()
    dots.click()
    SidebarPage(page).menu_item("Pin").click()
    expect(titles(page, "pinned")).to_have_text(["Growing tomatoes"])


def test_the_open_conversation_is_marked_among_the_matches(person: Client, open_page: OpenPage) -> None:
    open_one = hold_talk(person, "Growing tomatoes")
    hold_talk(person, "Cooking tomatoes")
    page = open_page(person, open_one.path)
    page.fill("#sidebar-filter", "tomatoes")
    matches = page.locator("#sidebar-matches a")
    expect(matches).to_have_count(2)
    marked = page.locator("#sidebar-matches a[aria-current=true]")
    expect(marked).to_have_text("Growing tomatoes")
    matches.filter(has_text="Cooking").click()
    expect(marked).to_have_text("Cooking tomatoes")
    matches.filter(has_text="Growing").click(modifiers=["Alt"])
    expect(marked).to_have_count(2)


def test_menus_of_conversations_of_one_title_are_called_differently(person: Client, open_page: OpenPage) -> None:
    for title in ("Soup", "Soup", "Bread"):
        hold_talk(person, title)
    page = open_page(person)
    recent = part(page, "recent")
    buttons = recent.get_by_role("button")
    expect(buttons).to_have_count(3)
    time = r"\d{2}:\d{2}.*"
    # Both are of this minute, or of two.
    expect(recent.get_by_role("button", name=re.compile(rf"^Actions for “Soup”, {time}"))).to_have_count(2)
    expect(recent.get_by_role("button", name="Actions for “Bread”", exact=True)).to_have_count(1)
    names = [button.get_attribute("aria-label") for button in buttons.all()]
    assert len(set(names)) == 3
    # Of the same conversation in two lists, both say the same.
    sidebar = SidebarPage(page)
    sidebar.choose(recent.get_by_role("link", name="Bread"), "Pin")
    expect(part(page, "pinned").get_by_role("button", name="Actions for “Bread”", exact=True)).to_have_count(1)
    page.fill("#sidebar-filter", "soup")
    found = page.locator("#sidebar-matches button")
    expect(found).to_have_count(2)
    # Where only the titles are seen, so is the time.
    expect(page.locator("#sidebar-matches a")).to_have_text([re.compile(r"^Soup\d{2}:\d{2}")] * 2)
    page.fill("#sidebar-filter", "bread")
    expect(page.locator("#sidebar-matches a")).to_have_text(["Bread"])
    page.fill("#sidebar-filter", "soup")
    expect(found).to_have_count(2)
    assert len({button.get_attribute("aria-label") for button in found.all()}) == 2


def test_enter_opens_nothing_for_who_has_left_the_filter_when_the_answer_comes(
    person: Client, open_page: OpenPage
) -> None:
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    held: list[Route] = []
    page.route("**/conversations/autocomplete?*", lambda route: held.append(route))
    page.fill("#sidebar-filter", "tom")
    page.locator("#sidebar-filter").press("Enter")
    until_held(page, held)
    page.locator("#composer-input").focus()
    held.pop().continue_()
    expect(page.locator("#sidebar-matches .filter-match-title")).to_have_text(["Growing tomatoes"])
    expect(page.locator("#composer-input")).to_be_focused()
    expect(page.locator(".message-card")).to_have_count(0)


def test_typing_finds_empty_conversations_and_says_where_there_are_more(person: Client, open_page: OpenPage) -> None:
    for number in range(51):
        made = person.create_conversation()
        person.put(f"/conversations/{made}/title", {"title": f"Budget {number}"})
    page = open_page(person)
    page.fill("#sidebar-filter", "budget 50")
    expect(page.locator("#sidebar-matches .filter-match-title")).to_have_text(["Budget 50"])
    expect(page.locator("#sidebar-filter-status")).to_have_text("1 match")
    page.fill("#sidebar-filter", "budget")
    expect(page.locator("#sidebar-matches .filter-match-title")).to_have_count(50)
    expect(page.locator("#sidebar-filter-status")).to_contain_text("The first 50 matches.")


def test_workspaces_are_found_also_by_who_types_before_the_lists_have_come(person: Client, open_page: OpenPage) -> None:
    make_workspace(person, "Tomb raiders")
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, "/account")
    held: list[Route] = []
    page.route("**/list_workspaces/**", lambda route: held.append(route))
    page.goto("/interface/")
    matches = page.locator("#sidebar-matches .filter-match-title")
    page.fill("#sidebar-filter", "tom")
    expect(matches).to_have_text(["Growing tomatoes"])
    page.locator("#sidebar-filter").press("ArrowDown")
    until_held(page, held)
    for route in held:
        route.continue_()
    expect(matches).to_have_text(["Tomb raiders", "Growing tomatoes"])
    expect(page.locator("#sidebar-filter-status")).to_have_text("2 matches")
    expect(page.locator("#sidebar-matches a").nth(1)).to_be_focused()


def test_who_goes_to_what_was_found_stays_there_when_more_is_found(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Painting the house", "How much paint?")
    page = open_page(person)
    held: list[Route] = []
    finding = (
        ("#sidebar-filter", "#sidebar-matches a", "**/conversations/autocomplete?*", "gro"),
        ("#search-input", "#search-panel a.search-hit", "**/search?*", "growing"),
    )
    for field, found, asked, typed in finding:
        if field == "#search-input":
            page.get_by_role("button", name="Search", exact=True).click()
        matches = page.locator(found)
        page.fill(field, typed)
        expect(matches).to_have_count(1)
        page.route(asked, lambda route: held.append(route))
        # What is pressed is clicked though it comes anew, and what has the focus keeps it.
        page.fill(field, f"{typed} t")
        until_held(page, held)
        page.keyboard.press("ArrowDown")
        expect(matches.first).to_be_focused()
        matches.first.evaluate("node => { node.dataset.old = 'yes' }")
        matches.first.hover()
        page.mouse.down()
        with page.expect_response(asked):
            held.pop().continue_()
        page.evaluate("fetch('/healthz')")  # by the time that this is answered, what did not wait would have come
        expect(matches.first).to_have_attribute("data-old", "yes")
        page.mouse.move(0, 0)
        page.mouse.up()
        expect(matches.first).not_to_have_attribute("data-old", "yes")
        expect(matches.first).to_be_focused()
        page.unroute(asked)


def test_until_there_is_a_title_the_first_words_of_the_question_tell_conversations_apart(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Twice ", "a day.", pause_after=1)
    page = open_page(person)
    for question in ("How much water?", "Which pots?"):
        page.get_by_role("button", name="New conversation").click()
        page.fill("#composer-input", question)
        page.keyboard.press("Enter")
        expect(page.locator(".message-card").last).to_contain_text("Twice")
    listed = page.locator("#workspaces-container a[data-conversation-id]")
    expect(listed).to_have_text(["Which pots?", "How much water?"])
    expect(titles(page, "recent")).to_have_text(["Which pots?", "How much water?"])
    shared_model.release()
    expect(listed).to_have_text(["A Short Title", "A Short Title"])


def test_a_title_appears_while_the_page_is_open(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    hold_talk(person, "Painting the house")
    shared_model.scripts = {"main": saying("Twice ", "a ", "day."), "cheap": saying("Watering Young Tomato Plants")}
    page = open_page(person)
    page.fill("#composer-input", "How much water?")
    page.keyboard.press("Enter")
    sidebar = SidebarPage(page)
    row = sidebar.row("Watering Young Tomato Plants")
    expect(row).to_be_visible()
    expect(row).to_have_attribute("aria-selected", "true")
    expect(page).to_have_title(re.compile("Watering Young Tomato Plants"))
    # It is the newest, and its reference is there to be copied.
    rows = page.locator("#workspaces-container a.jstree-anchor[data-conversation-id]")
    expect(rows).to_have_text(["Watering Young Tomato Plants", "Painting the house"])
    by_right_click(sidebar, row)
    expect(sidebar.menu_item("Copy Conversation Reference")).not_to_have_attribute("aria-disabled", "true")


def test_what_is_typed_before_a_new_conversation_is_there_goes_into_it(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path)
    expect(page.locator(".message-card")).to_have_count(2)
    waiting: list[Route] = []
    page.route("**/create_conversation/**", lambda route: waiting.append(route))
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#composer-input")).to_be_focused()
    expect(page.locator(".message-card")).to_have_count(0)
    page.keyboard.type("How do I paint")
    page.keyboard.type(" a fence?")
    page.keyboard.press("Enter")
    page.keyboard.type("And a gate")
    let_through(page, waiting)
    cards = page.locator(".message-card")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("How do I paint a fence?")
    expect(cards.nth(1)).to_contain_text("Understood.")
    expect(page.locator("#composer-input")).to_have_value("And a gate")
    expect(SidebarPage(page).row("A Short Title")).to_have_attribute("aria-selected", "true")
    new = conversation(person, "A Short Title")
    assert new is not None
    assert messages(person, new["conversation_id"])[0]["text"] == "How do I paint a fence?"
    assert len(messages(person, talk.conversation_id)) == 2
    page.reload()
    expect(page.locator("#composer-input")).to_have_value("And a gate")
    page.go_back()
    expect(cards.first).to_contain_text("Hello")
    expect(page.locator("#composer-input")).to_have_value("")


def test_what_is_sent_to_a_conversation_on_its_way_gets_there_though_its_writer_left(
    person: Client, open_page: OpenPage
) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path)
    waiting: list[Route] = []
    page.route("**/create_conversation/**", lambda route: waiting.append(route))
    page.get_by_role("button", name="New conversation").click()
    page.fill("#composer-input", "How do I paint a fence?")
    page.keyboard.press("Enter")
    SidebarPage(page).row("Growing tomatoes").click()
    expect(page.locator(".message-card").first).to_contain_text("Hello")
    let_through(page, waiting)
    # Its title comes at some time during this.
    rows = page.locator("#workspaces-container a.jstree-anchor[data-conversation-id]")
    expect(rows).to_have_count(2)
    rows.first.click()
    expect(page.locator(".message-card").first).to_contain_text("How do I paint a fence?")
    expect(page.locator(".message-card").nth(1)).to_contain_text("Understood.")
    expect(page.locator("#composer-input")).to_have_value("")
    assert len(messages(person, talk.conversation_id)) == 2


def test_what_cannot_be_sent_to_a_conversation_on_its_way_waits_there(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path)
    waiting: list[Route] = []
    page.route("**/create_conversation/**", lambda route: waiting.append(route))
    page.route("**/send_message/**", lambda route: route.abort())
    page.get_by_role("button", name="New conversation").click()
    page.fill("#composer-input", "How do I paint a fence?")
    page.keyboard.press("Enter")
    SidebarPage(page).row("Growing tomatoes").click()
    expect(page.locator(".message-card").first).to_contain_text("Hello")
    let_through(page, waiting)
    page.get_by_role("button", name="Go there").click()
    expect(page.locator("#outbox")).to_contain_text("How do I paint a fence?")
    expect(page.locator(".message-card")).to_have_count(0)
    assert len(messages(person, talk.conversation_id)) == 2


def test_what_is_typed_is_kept_where_a_new_conversation_cannot_be_made(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path)
    page.route("**/create_conversation/**", lambda route: route.abort())
    page.get_by_role("button", name="New conversation").click()
    page.fill("#composer-input", "How do I paint a fence?")
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    page.keyboard.press("Enter")
    expect(page.locator("#outbox")).to_contain_text("How do I paint a fence?")
    expect(page.locator("#outbox")).to_contain_text("Not sent yet. The server cannot be reached.")
    page.unroute("**/create_conversation/**")
    expect(page.locator(".message-card").nth(1)).to_contain_text("Understood.")


def test_titles_and_names_that_are_code_stay_text(person: Client, open_page: OpenPage) -> None:
    name = '<img src=x onerror="window.broken=1"> & "Garden"'
    title = "</a><script>window.broken=2</script><svg onload='window.broken=3'> ${7*7} {{7*7}}"
    make_workspace(person, name)
    talk = hold_talk(person, title)
    page = open_page(person, talk.path)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    expect(sidebar.row(title)).to_be_visible()
    expect(sidebar.row(name)).to_be_visible()
    expect(page.locator("#conversation-title")).to_have_text(title)

    # The menu lists workspaces by name, the dialog and the toast say titles, the filter shows both.
    by_right_click(sidebar, sidebar.row(title))
    sidebar.menu_item("Move to…").hover()
    expect(sidebar.menu_item(name)).to_be_visible()
    page.keyboard.press("Escape")
    sidebar.choose(sidebar.row(name), "Delete")
    expect(page.locator("dialog[open]")).to_contain_text(name)
    page.get_by_role("button", name="Cancel").click()
    page.fill("#sidebar-filter", "img")
    expect(page.locator("#sidebar-matches")).to_contain_text(name)
    page.locator("#sidebar-filter").press("Escape")
    sidebar.choose(sidebar.row(title), "Delete")
    expect(page.locator("#toasts")).to_contain_text(title)

    assert page.evaluate("window.broken") is None
    expect(page.locator("img[src='x'], #sidebar script, #toasts script, svg[onload]")).to_have_count(0)


def test_who_has_conversations_in_several_domains_switches_between_them(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    there = person.create_conversation("research")
    assert person.put(f"/conversations/{there}/title", {"title": "Soil samples"}).status == 200
    page = open_page(person)
    sidebar = SidebarPage(page)
    domains = page.get_by_role("navigation", name="Domains")
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    expect(sidebar.row("Soil samples")).to_have_count(0)
    domains.get_by_role("link", name="research").click()
    expect(sidebar.row("Soil samples")).to_be_visible()
    expect(sidebar.row("Growing tomatoes")).to_have_count(0)
    expect(domains.get_by_role("link", name="research")).to_have_attribute("aria-current", "page")
    assert problems(page) == []

    # What begins here belongs here; what begins elsewhere is not listed here.
    page.get_by_role("button", name="New conversation").first.click()
    page.fill("#composer-input", "How deep?")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    assert len(person.get("/list_conversation_by_user/research").json()) == 2
    elsewhere = person.create_conversation()
    assert person.put(f"/conversations/{elsewhere}/title", {"title": "Watering"}).status == 200
    here = person.create_conversation("research")
    assert person.put(f"/conversations/{here}/title", {"title": "Compost"}).status == 200
    expect(sidebar.row("Compost")).to_be_visible()
    expect(sidebar.row("Watering")).to_have_count(0)

    # The page that is opened next is of the same domain.
    page.goto("/interface/")
    expect(sidebar.row("Soil samples")).to_be_visible()
    domains.get_by_role("link", name="assistant").click()
    expect(sidebar.row("Watering")).to_be_visible()
    page.goto("/interface/")
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
