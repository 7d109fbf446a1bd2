"""What axe-core finds on every screen: nothing, wide and narrow, light and dark. And nothing moves unasked."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import RICH_ANSWER, Talk, hold_talk, make_workspace, messages
from tests.browser.screens import NARROW, SETTINGS, WIDE, WIDTHS, findings
from tests.browser.sidebar_page import by_right_click, show_sidebar
from tests.browser.transcript import keep_toasts, mark_what_flashes, suggested
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route, ViewportSize

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
# Minor ones, too.
every_finding = partial(findings, minor=True)
MOVING = """() => [...document.querySelectorAll('*')].flatMap((node) => [null, '::before', '::after'].filter((part) => {
  const style = getComputedStyle(node, part);
  return style.animationName !== 'none' || style.transitionDuration.split(', ').some((time) => time !== '0s');
}).map((part) => `${node.id || node.className}${part ?? ''}`))"""


@pytest.fixture
def told(person: Client, server: LiveServer, shared_model: RecordingModel) -> Talk:
    """A conversation with all that an answer can hold, and one that it refers to."""
    source = hold_talk(person, "Growing tomatoes", "How much water?")
    shared_model.scripts["main"] = saying(RICH_ANSWER)
    references = f"{source.reference(2)} and @conversation_{source.friendly_id}_message_99, @conversation_nobody_k3m9"
    return hold_talk(person, "Rows", f"Is this right? {references} `code`", "Once more, please")


@pytest.mark.shows("login", "login-refused")
def test_logging_in_and_being_refused(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("401")
    page = open_page(server.client())
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert every_finding(page, "login") == []
    page.get_by_label("E-mail").fill(str(person.get("/get_user_info").json()["user_email"]))
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Log in").click()
    assert every_finding(page, "login-refused", shown=page.get_by_role("alert")) == []


@pytest.mark.shows("not-found")
def test_a_page_that_is_not_there(person: Client, open_page: OpenPage, page_problems: PageProblems) -> None:
    page_problems.expect("404")
    page = open_page(person, "/interface/nothing")
    assert every_finding(page, "not-found", shown=page.get_by_role("heading", name="Not found")) == []


@pytest.mark.shows(*(f"settings-{section}" for section in SETTINGS), "token-made", "token-revoke-dialog", "agent-form")
def test_the_settings_and_their_dialogs(live_server: LiveServer, open_page: OpenPage) -> None:
    page = open_page(live_server.sign_up(), "/settings")
    found = []
    for name in SETTINGS:
        page.locator(f".settings-nav a[href='#{name}']").click()
        expect(page.locator(f"[data-section='{name}']")).to_be_visible()
        expect(page.get_by_text("Loading…")).to_have_count(0)
        found += every_finding(page, f"settings-{name}")
    assert found == []
    page.get_by_role("link", name="API tokens").click()
    page.locator("[data-section='tokens']").get_by_role("textbox", name="Name", exact=True).fill("Backup")
    page.get_by_role("button", name="Create token").click()
    assert every_finding(page, "token-made", shown=page.get_by_role("textbox", name="Your new token")) == []
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Revoke: Backup").click()
    assert every_finding(page, "token-revoke-dialog", shown=page.locator("dialog[open]")) == []
    page.keyboard.press("Escape")
    page.locator(".settings-nav a[href='#agents']").click()
    page.get_by_role("button", name="Edit: Global Assistant").click()
    page.get_by_role("checkbox", name=re.compile("Only those")).check()
    assert every_finding(page, "agent-form", shown=page.get_by_role("button", name="Ask")) == []


@pytest.mark.shows("welcome", "shortcuts-dialog", "empty")
def test_the_welcome_the_list_of_shortcuts_and_an_empty_page(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    expect(page.get_by_role("heading", name="What would you like to talk about?")).to_be_visible()
    expect(page.locator("#sidebar-status")).to_have_text("No conversations yet.")
    assert every_finding(page, "empty") == []
    page.goto("/interface/?welcome=1")
    expect(page.locator(".suggested-message")).to_have_count(3)
    assert every_finding(page, "welcome") == []
    page.locator("#chatView").focus()
    page.keyboard.press("?")
    assert every_finding(page, "shortcuts-dialog", shown=page.get_by_role("heading", name="Keyboard shortcuts")) == []


@pytest.mark.shows("messages", "references", "message-menu", "message-editor", "message-deleted")
def test_a_conversation_and_what_is_done_with_messages(told: Talk, person: Client, open_page: OpenPage) -> None:
    page = open_page(person, told.path)
    keep_toasts(page)
    cards = page.locator(".message-card")
    expect(cards).to_have_count(4)
    expect(cards.nth(1).locator(".katex")).to_have_count(2)
    expect(cards.nth(1).locator(".hljs-keyword").first).to_be_attached()
    chips = page.locator(".message-body .reference-chip")
    expect(chips).to_have_count(3)
    assert every_finding(page, "messages") == []

    page.get_by_text("3 references · 1 out of range · 1 not found").click()
    for size in WIDTHS:
        page.set_viewport_size(size)
        chips.first.hover()
        expect(page.locator(".reference-card")).to_contain_text("Understood.")
        assert every_finding(page, "references", sizes=[size]) == []
        page.mouse.move(0, 0)

    for number in (3, 4):
        page.get_by_label(f"Select message {number}").check()
    menu = page.get_by_role("menu", name="Message actions")
    for size in WIDTHS:
        page.set_viewport_size(size)
        cards.nth(3).get_by_role("button", name="Message actions").click()
        assert every_finding(page, "message-menu", shown=menu, sizes=[size]) == []
        page.keyboard.press("Escape")
    cards.nth(3).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Reply").click()
    cards.nth(2).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(page.get_by_label("Text of the message")).to_be_focused()
    assert every_finding(page, "message-editor", shown=page.get_by_label("Text of the message")) == []
    cards.nth(3).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    undo = page.locator("#toasts").get_by_role("button", name="Undo")
    undo.focus()  # a toast under the focus stays
    assert every_finding(page, "message-deleted", shown=undo) == []


@pytest.mark.shows("variants-and-earlier-texts")
def test_what_became_of_messages(told: Talk, person: Client, open_page: OpenPage) -> None:
    question, answer, *_ = messages(person, told.conversation_id)
    edit = f"/edit_message_from_conversation/{told.conversation_id}/{question['message_id']}/1"
    assert person.post(edit, {"text": "How much warm water?"}).status == 200
    assert person.put(f"/messages/{question['message_id']}/pin").status == 200
    again = person.stream(f"/regenerate/{told.conversation_id}/{answer['message_id']}", {})
    assert list(again)[-1]["done"]
    page = open_page(person, told.path)
    expect(page.get_by_role("region", name="Pinned messages")).to_be_visible()
    expect(page.get_by_role("group", name="Variants of this answer")).to_be_visible()
    cards = page.locator(".message-card")
    cards.nth(2).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Hide from the model").click()
    expect(cards.nth(2)).to_contain_text("Hidden from the model.")
    cards.nth(0).get_by_role("button", name="edited").click()
    dialog = page.get_by_role("dialog", name="Earlier texts")
    assert every_finding(page, "variants-and-earlier-texts", shown=dialog) == []


@pytest.mark.shows("variants-compared")
def test_answers_to_one_question_are_compared_and_one_of_them_is_taken(
    server: LiveServer, person: Client, shared_model: RecordingModel, open_page: OpenPage
) -> None:
    shared_model.scripts["main"] = saying("Water them **daily**.\n\n- in the morning\n- at the root")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    _, answer = messages(person, talk.conversation_id)
    path = f"/regenerate/{talk.conversation_id}/{answer['message_id']}"
    shared_model.scripts["main"] = saying(
        "Twice a week, as in " + talk.reference(1) + ". " + "Not more than that. " * 60
    )
    assert list(person.stream(path, {}))[-1]["done"]
    page = open_page(person, talk.path)
    card = page.locator(".message-card").nth(1)
    variants = card.get_by_role("group", name="Variants of this answer")
    expect(variants).to_contain_text("2/2")
    compare = variants.get_by_role("button", name="Compare side by side")
    compare.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="2 answers to the same question")
    answers = dialog.get_by_role("article")
    expect(answers).to_have_count(2)
    expect(dialog.get_by_role("group", name="The answers")).to_be_focused()
    expect(answers.first.locator("strong")).to_have_text("daily")
    expect(answers.nth(1)).to_contain_text("shown in the conversation")
    expect(answers.nth(1).locator(".reference-chip")).to_have_count(1)
    expect(answers.nth(1).get_by_role("button", name=re.compile("^Use"))).to_have_count(0)
    tops = "(nodes) => nodes.map((node) => Math.round(node.getBoundingClientRect().top))"
    page.set_viewport_size(WIDE)
    first, second = answers.evaluate_all(tops)
    assert first == second
    page.set_viewport_size(NARROW)
    first, second = answers.evaluate_all(tops)
    assert first < second
    assert every_finding(page, "variants-compared", shown=dialog) == []
    # Its cards can be used in the dialog, and go first.
    card_of_reference = dialog.locator("#reference-card")
    answers.nth(1).locator(".reference-chip").hover()
    expect(card_of_reference.get_by_role("button", name="Open")).to_be_visible()
    page.keyboard.press("Escape")
    expect(card_of_reference).to_be_hidden()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(compare).to_be_focused()
    page.keyboard.press("Enter")
    answers.nth(1).locator(".reference-chip").hover()
    card_of_reference.get_by_role("button", name="Open").click()
    expect(dialog).to_be_hidden()
    # However often it is pressed while it comes, it comes once.
    held: list[Route] = []
    page.route("**/variants", lambda route: held.append(route))
    compare.press("Enter")
    compare.press("Enter")
    until_held(page, held)
    for route in held:
        route.continue_()
    page.unroute("**/variants")
    expect(dialog).to_have_count(1)
    dialog.get_by_role("button", name="Use this one: 1 of 2").press("Enter")
    expect(dialog).to_be_hidden()
    expect(variants).to_contain_text("1/2")
    expect(card.locator(".message-body")).to_contain_text("Water them daily.")


@pytest.mark.shows("rail", "branch-tree")
def test_what_stands_beside_a_conversation_and_its_branches(told: Talk, person: Client, open_page: OpenPage) -> None:
    question, *_ = messages(person, told.conversation_id)
    person.post(f"/branch/{told.conversation_id}/{question['message_id']}", {"text": "How much salt?"})
    page = open_page(person, told.path)
    expect(page.locator(".message-body").first).to_have_text("How much salt?")
    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    rail.get_by_role("tab", name="Branches").click()
    branch = rail.get_by_role("button", name="How much salt?")
    assert every_finding(page, "rail", shown=branch) == []
    versions = page.locator(".message-card").first.get_by_role("group", name="Versions of this question")
    versions.get_by_role("button", name="Show all branches").click()
    tree = page.get_by_role("dialog", name="Branches of this conversation")
    assert every_finding(page, "branch-tree", shown=tree) == []


@pytest.mark.shows("mentions", "mentions-messages", "mention-chosen")
def test_what_is_offered_while_a_reference_is_written(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    page.locator("#composer-input").press_sequentially("Compare @growing")
    assert every_finding(page, "mentions", shown=page.get_by_role("option", name="Growing tomatoes")) == []
    suggested(page)
    page.keyboard.press("Enter")
    assert every_finding(page, "mentions-messages", shown=page.get_by_role("option", name="Understood.")) == []
    suggested(page)
    page.keyboard.press("Enter")
    assert every_finding(page, "mention-chosen", shown=page.locator("#composer .reference-chip")) == []


@pytest.mark.shows("answering", "answer-failed")
def test_an_answer_that_is_written_and_one_that_fails(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Said.", " Never said.", pause_after=1)
    page = open_page(person)
    page.fill("#composer-input", "Go on")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card").nth(1)).to_contain_text("Said.")
    assert every_finding(page, "answering", shown=page.get_by_role("button", name="Stop answering")) == []
    shared_model.scripts["main"] = saying(status=400)
    page.get_by_role("button", name="Stop answering").click()
    expect(page.locator(".message-ending[data-kind='cancelled']")).to_have_text("Stopped. What had been said is kept.")
    page.fill("#composer-input", "Once more")
    page.keyboard.press("Enter")
    failed = page.locator(".message-card", has=page.locator(".message-ending[data-kind='failed']"))
    expect(failed).to_have_count(1)
    assert every_finding(page, "answer-failed") == []
    shared_model.scripts["main"] = saying("Said at last.")
    failed.get_by_role("button", name="Answer again").click()
    last = page.locator(".message-card").last
    expect(last.locator(".message-body")).to_have_text("Said at last.")
    expect(last.locator(".message-ending")).to_be_hidden()


@pytest.mark.shows(
    "sidebar", "sidebar-move-menu", "sidebar-colour-menu", "sidebar-user-menu", "sidebar-filter", "rename-dialog",
    "workspace-delete-dialog", "undo",
)  # fmt: skip
def test_the_sidebar_its_menus_filter_and_dialogs(person: Client, open_page: OpenPage) -> None:
    garden = make_workspace(person, "Garden")
    make_workspace(person, "Beds", parent=garden)
    hold_talk(person, "Painting the fence", workspace_id=garden)
    opened = hold_talk(person, "Growing tomatoes")
    page = open_page(person, opened.path, viewport=NARROW)
    for size in WIDTHS:
        page.set_viewport_size(size)
        look_at_the_sidebar(page, size)


def look_at_the_sidebar(page: Page, size: ViewportSize) -> None:
    sizes = [size]
    # jsTree puts its menus at the end of the page, outside of its landmarks: that is minor.
    sidebar = show_sidebar(page)
    sidebar.open(sidebar.row("Garden (1)"))
    expect(sidebar.row("Painting the fence")).to_be_visible()
    assert findings(page, "sidebar", sizes=sizes) == []

    by_right_click(sidebar, sidebar.row("Growing tomatoes"))
    sidebar.menu_item("Move to…").hover()
    assert findings(page, "sidebar-move-menu", shown=sidebar.menu_item("Beds"), sizes=sizes) == []
    page.keyboard.press("Escape")
    by_right_click(sidebar, sidebar.row("Garden (1)"))
    sidebar.menu_item("Change Color").hover()
    assert findings(page, "sidebar-colour-menu", shown=sidebar.menu_item("Green"), sizes=sizes) == []
    page.keyboard.press("Escape")

    page.fill("#sidebar-filter", "ga")
    expect(page.locator("#sidebar-filter-status")).to_have_text("1 match")
    assert findings(page, "sidebar-filter", sizes=sizes) == []
    page.locator("#sidebar-filter").press("Escape")
    sidebar.choose(sidebar.row("Growing tomatoes"), "Rename")
    expect(page.locator("dialog[open] input")).to_be_focused()
    assert findings(page, "rename-dialog", sizes=sizes) == []
    page.keyboard.press("Escape")
    sidebar.choose(sidebar.row("Garden (1)"), "Delete")
    assert findings(page, "workspace-delete-dialog", shown=page.locator("dialog[open]"), sizes=sizes) == []
    page.get_by_role("button", name="Cancel").click()
    keep_toasts(page)
    sidebar.choose(sidebar.row("Painting the fence"), "Delete")
    undo = page.locator("#toasts").get_by_role("button", name="Undo")
    undo.focus()
    assert findings(page, "undo", shown=undo, sizes=sizes) == []
    undo.click()
    expect(sidebar.row("Painting the fence")).to_be_visible()
    page.locator("#toasts").get_by_role("button", name="Dismiss").click()

    page.locator(".sidebar-user").click()
    assert findings(page, "sidebar-user-menu", shown=page.locator("#user-menu"), sizes=sizes) == []
    page.keyboard.press("Escape")


def test_nothing_moves_for_who_wants_no_motion(
    told: Talk, person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    page = open_page(person, told.path, viewport=NARROW, reduced_motion="reduce")
    shared_model.scripts["main"] = saying("Said.", " Never said.", pause_after=1)
    page.fill("#composer-input", f"Go on about {told.reference(2)}")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card").nth(5)).to_contain_text("Said.")
    show_sidebar(page)
    page.keyboard.press("Escape")
    # What a reference leads to is lit up all the same, for a while.
    mark_what_flashes(page)
    page.locator(".message-card").nth(4).locator(".message-body .reference-chip").click()
    target = page.locator(".message-card").nth(1)
    expect(target).to_have_attribute("data-flashed", "")
    for size in WIDTHS:
        page.set_viewport_size(size)
        assert page.evaluate(MOVING) == []
        assert page.evaluate("document.getAnimations().length") == 0
    expect(target).not_to_have_class(re.compile("flash"))

    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) != []
    page.get_by_role("button", name="Stop answering").click()
    expect(page.locator(".message-ending[data-kind='cancelled']")).to_be_visible()
