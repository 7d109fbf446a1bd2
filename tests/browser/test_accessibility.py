"""What axe-core finds on every screen: nothing serious, wide and narrow, light and dark. And nothing moves unasked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ADMINISTRATOR
from tests.browser.history import Talk, hold_talk, make_workspace, messages
from tests.browser.screens import SETTINGS, WIDTHS, findings
from tests.browser.sidebar_page import SidebarPage, by_right_click
from tests.conftest import PageProblems
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
MOVING = """() => [...document.querySelectorAll('*')].flatMap((node) => [null, '::before', '::after'].filter((part) => {
  const style = getComputedStyle(node, part);
  return style.animationName !== 'none' || style.transitionDuration.split(', ').some((time) => time !== '0s');
}).map((part) => `${node.id || node.className}${part ?? ''}`))"""
RICH_ANSWER = """## Rows

Memoize them, see [the manual](https://example.org/manual) and `memo`:

```js
// Draws one row.
const Row = memo(({ id }) => <tr key={id} className="row" />); // 42
```

> It pays off when $n > 100$:

$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$

| way | milliseconds |
|---|---|
| plain | 120 |
| memoized | 12 |

1. Measure.
2. **Measure** again, ~~guess~~.
"""


@pytest.fixture(params=WIDTHS, ids=["narrow", "wide"])
def viewport(request: pytest.FixtureRequest) -> dict[str, int]:
    """The window's size."""
    size: dict[str, int] = request.param
    return size


def show_sidebar(page: Page) -> SidebarPage:
    """The sidebar, drawn out where the window is narrow."""
    expect(page.locator("html")).to_have_attribute("data-sidebar", "open" if is_wide(page) else "closed")
    if not is_wide(page):
        page.get_by_role("button", name="Show the sidebar").click()
    expect(page.locator("#sidebar-filter")).to_be_visible()
    return SidebarPage(page)


def is_wide(page: Page) -> bool:
    """Whether the sidebar has its place beside the conversation."""
    return bool(page.evaluate("innerWidth >= 768"))


@pytest.fixture
def told(person: Client, server: LiveServer, shared_model: RecordingModel) -> Talk:
    """A conversation with all that an answer can hold, and one that it refers to."""
    source = hold_talk(person, "Growing tomatoes", "How much water?")
    shared_model.scripts["main"] = saying(RICH_ANSWER)
    references = f"{source.reference(2)} and @conversation_{source.friendly_id}_message_99, @conversation_nobody_k3m9"
    return hold_talk(person, "Rows", f"Is this right? {references} `code`", "Once more, please")


def test_the_first_page_of_all(
    start_server: Callable[..., LiveServer], open_page: OpenPage, viewport: dict[str, int]
) -> None:
    page = open_page(start_server().client(), viewport=viewport)
    expect(page.get_by_role("heading", name="Create your account")).to_be_visible()
    assert findings(page, "setup") == []


def test_logging_in_and_being_refused(
    server: LiveServer, person: Client, open_page: OpenPage, viewport: dict[str, int], page_problems: PageProblems
) -> None:
    page_problems.expect("401")
    page = open_page(server.client(), viewport=viewport)
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert findings(page, "login") == []
    page.get_by_label("E-mail").fill(str(person.get("/get_user_info").json()["user_email"]))
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert findings(page, "login-refused") == []


def test_a_page_that_is_not_there(
    person: Client, open_page: OpenPage, viewport: dict[str, int], page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    page = open_page(person, "/interface/nothing", viewport=viewport)
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    assert findings(page, "not-found") == []


def test_the_settings_and_their_dialogs(server: LiveServer, open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_page(server.sign_in(ADMINISTRATOR), "/settings", viewport=viewport)
    found = []
    for name in SETTINGS:
        page.locator(f".settings-nav a[href='#{name}']").click()
        expect(page.locator(f"[data-section='{name}']")).to_be_visible()
        expect(page.get_by_text("Loading…")).to_have_count(0)
        found += findings(page, f"settings-{name}")
    assert found == []
    page.get_by_role("link", name="API tokens").click()
    token = f"Backup of {viewport['width']}"
    page.get_by_role("textbox", name="Name", exact=True).fill(token)
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("textbox", name="Your new token")).to_be_visible()
    assert findings(page, "token-made") == []
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name=f"Revoke: {token}").click()
    expect(page.locator("dialog[open]")).to_be_visible()
    assert findings(page, "token-revoke-dialog") == []


def test_the_welcome_and_the_list_of_shortcuts(person: Client, open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_page(person, "/interface/?welcome=1", viewport=viewport)
    expect(page.locator(".suggested-message")).to_have_count(3)
    assert findings(page, "welcome") == []
    page.locator("#chatView").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    assert findings(page, "shortcuts-dialog") == []


def test_an_empty_page(person: Client, open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_page(person, viewport=viewport)
    expect(page.get_by_role("heading", name="What would you like to talk about?")).to_be_visible()
    expect(page.locator("#sidebar-status")).to_have_text("No conversations yet.")
    assert findings(page, "empty") == []


def test_a_conversation(told: Talk, person: Client, open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_page(person, told.path, viewport=viewport)
    answer = page.locator(".message-card").nth(1)
    expect(answer.locator(".katex")).to_have_count(2)
    expect(answer.locator(".hljs-keyword").first).to_be_attached()
    chips = page.locator(".message-body .reference-chip")
    expect(chips).to_have_count(3)
    assert findings(page, "messages") == []

    page.get_by_text("3 references · 1 out of range · 1 not found").click()
    chips.first.hover()
    expect(page.locator(".reference-card")).to_contain_text("Understood.")
    assert findings(page, "references") == []


def test_what_is_done_with_messages(told: Talk, person: Client, open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_page(person, told.path, viewport=viewport)
    cards = page.locator(".message-card")
    expect(cards).to_have_count(4)
    for number in (3, 4):
        page.get_by_label(f"Select message {number}").check()
    cards.nth(3).get_by_role("button", name="Message actions").click()
    expect(page.get_by_role("menu", name="Message actions")).to_be_visible()
    assert findings(page, "message-menu") == []
    page.get_by_role("menuitem", name="Reply").click()
    cards.nth(2).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(page.get_by_label("Text of the message")).to_be_focused()
    assert findings(page, "message-editor") == []
    cards.nth(3).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator("#toasts").get_by_role("button", name="Undo")).to_be_visible()
    assert findings(page, "message-deleted") == []


def test_what_became_of_messages(told: Talk, person: Client, open_page: OpenPage, viewport: dict[str, int]) -> None:
    question, answer, *_ = messages(person, told.conversation_id)
    edit = f"/edit_message_from_conversation/{told.conversation_id}/{question['message_id']}/1"
    assert person.post(edit, {"text": "How much warm water?"}).status == 200
    assert person.put(f"/messages/{question['message_id']}/pin").status == 200
    again = person.stream(f"/regenerate/{told.conversation_id}/{answer['message_id']}", {})
    assert list(again)[-1]["done"]
    page = open_page(person, told.path, viewport=viewport)
    expect(page.get_by_role("region", name="Pinned messages")).to_be_visible()
    expect(page.get_by_role("group", name="Variants of this answer")).to_be_visible()
    cards = page.locator(".message-card")
    cards.nth(2).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Hide from the model").click()
    expect(cards.nth(2)).to_contain_text("Hidden from the model.")
    cards.nth(0).get_by_role("button", name="edited").click()
    expect(page.get_by_role("dialog", name="Earlier texts")).to_be_visible()
    assert findings(page, "variants-and-earlier-texts") == []


def test_what_is_offered_while_a_reference_is_written(
    told: Talk, person: Client, open_page: OpenPage, viewport: dict[str, int]
) -> None:
    page = open_page(person, viewport=viewport)
    page.locator("#composer-input").press_sequentially("Compare @growing")
    expect(page.get_by_role("option", name="Growing tomatoes")).to_be_visible()
    assert findings(page, "mentions") == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("option", name="Understood.")).to_be_visible()
    assert findings(page, "mentions-messages") == []
    page.keyboard.press("Enter")
    expect(page.locator("#composer .reference-chip")).to_be_visible()
    assert findings(page, "mention-chosen") == []


def test_an_answer_that_is_written_and_one_that_fails(
    person: Client,
    open_page: OpenPage,
    viewport: dict[str, int],
    server: LiveServer,
    shared_model: RecordingModel,
) -> None:
    shared_model.scripts["main"] = saying("Said.", " Never said.", pause_after=1)
    page = open_page(person, viewport=viewport)
    page.fill("#composer-input", "Go on")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card").nth(1)).to_contain_text("Said.")
    assert findings(page, "answering") == []
    shared_model.scripts["main"] = saying(status=400)
    page.get_by_role("button", name="Stop answering").click()
    expect(page.locator(".message-ending[data-kind='cancelled']")).to_have_text("Stopped. What had been said is kept.")
    page.fill("#composer-input", "Once more")
    page.keyboard.press("Enter")
    failed = page.locator(".message-card", has=page.locator(".message-ending[data-kind='failed']"))
    expect(failed).to_have_count(1)
    assert findings(page, "answer-failed") == []
    shared_model.scripts["main"] = saying("Said at last.")
    failed.get_by_role("button", name="Answer again").click()
    last = page.locator(".message-card").last
    expect(last.locator(".message-body")).to_have_text("Said at last.")
    expect(last.get_by_role("button", name="Answer again")).to_be_hidden()


def test_the_sidebar_and_its_menus(told: Talk, person: Client, open_page: OpenPage, viewport: dict[str, int]) -> None:
    garden = make_workspace(person, "Garden")
    make_workspace(person, "Beds", parent=garden)
    hold_talk(person, "Painting the fence", workspace_id=garden)
    page = open_page(person, told.path, viewport=viewport)
    sidebar = show_sidebar(page)
    sidebar.open(sidebar.row("Garden (1)"))
    expect(sidebar.row("Painting the fence")).to_be_visible()
    assert findings(page, "sidebar") == []

    by_right_click(sidebar, sidebar.row("Growing tomatoes"))
    sidebar.menu_item("Move to…").hover()
    expect(sidebar.menu_item("Beds")).to_be_visible()
    assert findings(page, "sidebar-move-menu") == []
    page.keyboard.press("Escape")
    by_right_click(sidebar, sidebar.row("Garden (1)"))
    sidebar.menu_item("Change Color").hover()
    expect(sidebar.menu_item("Green")).to_be_visible()
    assert findings(page, "sidebar-colour-menu") == []
    page.keyboard.press("Escape")

    page.locator(".sidebar-user").click()
    expect(page.locator("#user-menu")).to_be_visible()
    assert findings(page, "sidebar-user-menu") == []


def test_the_filter_and_the_sidebars_dialogs(
    told: Talk, person: Client, open_page: OpenPage, viewport: dict[str, int]
) -> None:
    make_workspace(person, "Rose garden")
    page = open_page(person, told.path, viewport=viewport)
    sidebar = show_sidebar(page)
    expect(sidebar.row("Growing tomatoes")).to_be_visible()
    page.fill("#sidebar-filter", "ro")
    expect(page.locator("#sidebar-filter-status")).to_have_text("2 matches")
    assert findings(page, "sidebar-filter") == []
    page.locator("#sidebar-filter").press("Escape")

    sidebar.choose(sidebar.row("Growing tomatoes"), "Rename")
    expect(page.locator("dialog[open] input")).to_be_focused()
    assert findings(page, "rename-dialog") == []
    page.keyboard.press("Escape")
    sidebar.choose(sidebar.row("Rose garden"), "Delete")
    expect(page.locator("dialog[open]")).to_be_visible()
    assert findings(page, "workspace-delete-dialog") == []
    page.get_by_role("button", name="Cancel").click()
    sidebar.choose(sidebar.row("Growing tomatoes"), "Delete")
    expect(page.locator("#toasts")).to_contain_text("Growing tomatoes")
    assert findings(page, "undo") == []


def test_nothing_moves_for_who_wants_no_motion(
    told: Talk, person: Client, open_page: OpenPage, shared_model: RecordingModel, viewport: dict[str, int]
) -> None:
    page = open_page(person, told.path, viewport=viewport, reduced_motion="reduce")
    shared_model.scripts["main"] = saying("Said.", " Never said.", pause_after=1)
    page.fill("#composer-input", f"Go on about {told.reference(2)}")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card").nth(5)).to_contain_text("Said.")
    show_sidebar(page)
    if not is_wide(page):
        page.keyboard.press("Escape")
    # What a reference leads to is lit up all the same, for a while.
    page.locator(".message-card").nth(4).locator(".message-body .reference-chip").click()
    target = page.locator(".message-card").nth(1)
    expect(target).to_have_class(re.compile("flash"))
    assert page.evaluate(MOVING) == []
    assert page.evaluate("document.getAnimations().length") == 0
    expect(target).not_to_have_class(re.compile("flash"))

    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) != []
    page.get_by_role("button", name="Stop answering").click()
    expect(page.locator(".message-ending[data-kind='cancelled']")).to_be_visible()
