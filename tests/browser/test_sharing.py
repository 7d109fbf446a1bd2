"""A conversation given to somebody without an account: the dialog, the link, the page behind it, taking it back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.attachments.made_files import picture_of
from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import RICH_ANSWER, Talk, hold_talk, store_talk
from tests.browser.screens import findings
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import copied, keep_toasts
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
FILES = {"notes.txt": b"Sow in March.", "<b>plan.txt": b"Beans by the wall.", "photo.jpg": picture_of(turned=True)}


@pytest.fixture
def garden(person: Client, shared_model: RecordingModel) -> Talk:
    """A conversation with all that an answer can hold, which refers to another one."""
    source = hold_talk(person, "Secret recipe", "How much water?")
    shared_model.scripts["main"] = saying(RICH_ANSWER)
    text = f"Is {source.reference(2)} right?\n<b>And this?</b> [away](https://example.org/)"
    return hold_talk(person, "Garden <i>plans</i>", text)


def share_dialog(page: Page, title: str) -> Locator:
    """The dialog, opened by the menu of a conversation."""
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row(title), "Share…")
    return page.get_by_role("dialog", name=f"Share “{title}”")


def link_in(dialog: Locator) -> str:
    """The link that a dialog shows."""
    return dialog.get_by_role("textbox", name="Link").input_value()


def uploaded(client: Client, name: str, content: bytes) -> str:
    """The id of a file that was uploaded."""
    headers = {"Content-Type": "application/octet-stream"}
    reply = client.request("POST", f"/attachments?name={quote(name)}", content, headers=headers)
    assert reply.status == 201, reply.text
    return str(reply.json()["attachment_id"])


def shared_link(client: Client, talk: Talk) -> str:
    """The path of the link to a conversation, made over HTTP."""
    reply = client.post(f"/share/{talk.conversation_id}")
    assert reply.status == 200, reply.text
    return str(reply.json()["url"])


def test_a_link_that_is_made_after_its_dialog_was_closed_is_not_copied(
    person: Client, garden: Talk, open_page: OpenPage
) -> None:
    page = open_page(person, garden.path)
    dialog = share_dialog(page, "Garden <i>plans</i>")
    expect(dialog).to_contain_text("Anyone with the link can read 2 messages as they are now")
    page.evaluate("navigator.clipboard.writeText('something else')")
    held: list[Route] = []
    page.route("**/share/**", lambda route: held.append(route))
    page.keyboard.press("Enter")
    until_held(page, held)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    with page.expect_response("**/share/**"):
        held[0].continue_()
    page.unroute("**/share/**")
    share_dialog(page, "Garden <i>plans</i>")
    assert page.evaluate("navigator.clipboard.readText()") == "something else"


def test_a_conversation_is_shared_renewed_and_withdrawn(
    server: LiveServer, person: Client, garden: Talk, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    page = open_page(person, garden.path)
    keep_toasts(page)
    dialog = share_dialog(page, "Garden <i>plans</i>")
    expect(dialog).to_contain_text("Anyone with the link can read 2 messages as they are now")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("textbox", name="Link")).to_be_focused()
    link = link_in(dialog)
    assert link.startswith(f"{server.url}/shared_chat/")
    # It is copied at once.
    expect(dialog.locator(".share-status")).to_have_text("The link was made and copied.")
    assert page.evaluate("navigator.clipboard.readText()") == link
    page.evaluate("navigator.clipboard.writeText('')")
    dialog.get_by_role("button", name="Copy", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == link
    expect(dialog.get_by_role("link", name="Open")).to_have_attribute("href", link)

    reader = open_page(server.client(), link)
    cards = reader.locator(".message-card")
    expect(reader.get_by_role("heading", name="Garden <i>plans</i>", level=1)).to_be_visible()
    expect(cards).to_have_count(2)
    expect(reader.locator("#shared-about")).to_contain_text("2 messages · a read-only copy, as of")
    # A reference stays what it is: words.
    expect(cards.first).to_contain_text(garden.reference(1)[:13])
    expect(reader.locator(".reference-chip, .message-ref-badge, .message-menu-button")).to_have_count(0)
    expect(cards.first).to_contain_text("<b>And this?</b>")
    expect(cards.first.get_by_role("link", name="away")).to_have_attribute("rel", "noopener noreferrer")
    expect(cards.nth(1).locator(".katex")).to_have_count(2)
    expect(cards.nth(1).locator(".hljs-keyword").first).to_be_attached()
    assert "Draws one row." in copied(reader, reader.get_by_role("button", name="Copy code").click)
    reader.get_by_role("radio", name="Dark").check(force=True)
    expect(reader.locator("html")).to_have_attribute("data-theme", "dark")

    assert list(person.send(garden.conversation_id, "And light?"))[-1]["done"]
    dialog.get_by_role("button", name="Update snapshot").click()
    expect(dialog.locator(".share-status")).to_have_text("The link shows the conversation as it is now.")
    assert link_in(dialog) == link
    reader.reload()
    expect(cards).to_have_count(4)

    dialog.get_by_role("button", name="Withdraw link").click()
    page.get_by_role("dialog", name="Withdraw the link?").get_by_role("button", name="Withdraw").click()
    expect(dialog.get_by_role("button", name="Create link")).to_be_focused()
    expect(dialog.locator(".share-status")).to_have_text("The link was withdrawn.")
    answer = reader.reload()
    assert answer is not None
    assert answer.status == 404
    expect(reader.locator("main")).to_contain_text("This link leads nowhere: it was withdrawn or mistyped.")
    expect(reader.get_by_role("link")).to_have_count(0)


def test_a_link_that_can_not_be_made_is_tried_again(
    person: Client, garden: Talk, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person, garden.path)
    dialog = share_dialog(page, "Garden <i>plans</i>")
    create = dialog.get_by_role("button", name="Create link")
    expect(create).to_be_focused()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    page.evaluate("() => { document.execCommand = () => false; }")
    page.route("**/share/**", lambda route: route.abort())
    create.click()
    expect(dialog.get_by_role("alert")).to_have_text("It could not be shared. The server cannot be reached.")
    expect(dialog.get_by_role("button", name="Try again")).to_be_focused()
    page.unroute("**/share/**")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("textbox", name="Link")).to_be_focused()
    link = link_in(dialog)
    assert link == f"{person.origin}{person.get('/shares').json()[0]['url']}"
    # Where the clipboard is refused, that is said, and the link is ready to be copied by hand.
    expect(dialog.locator(".share-status")).to_contain_text("This browser did not let it be copied by itself")
    assert page.evaluate("getSelection().toString()") == link
    expect(page.locator("dialog[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_long_one_comes_as_one_reads_and_goes_on_after_a_failure(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    talk = store_talk(server, person, "Patience", turns=80)
    link = shared_link(person, talk)
    reader = open_page(server.client(), link)
    cards = reader.locator(".message-card")
    expect(cards).to_have_count(50)
    reader.route("**/shared_chat/*after*", lambda route: route.abort())
    # It goes on by itself as its end comes near; the button is there for who can't scroll.
    cards.nth(49).scroll_into_view_if_needed()
    expect(reader.get_by_role("alert")).to_have_text("No more could be loaded. The server cannot be reached.")
    expect(cards).to_have_count(50)
    reader.unroute("**/shared_chat/*after*")
    reader.get_by_role("button", name="Try again").click()
    cards.nth(99).scroll_into_view_if_needed()
    expect(cards).to_have_count(150)
    cards.nth(149).scroll_into_view_if_needed()
    expect(cards).to_have_count(160)
    expect(cards.last).to_contain_text("Answer 80")
    expect(reader.get_by_role("button", name="Show more")).to_have_count(0)


@pytest.mark.shows("shared-links")
def test_links_are_listed_and_withdrawn(person: Client, garden: Talk, open_page: OpenPage) -> None:
    link = shared_link(person, garden)
    page = open_page(person, garden.path)
    page.evaluate(
        """async () => {
          const { mountShareList } = await import('/static/apart/page/conversation/sharing/list.js');
          const { createApi } = await import('/static/apart/page/core/api.js');
          const place = document.createElement('div');
          document.getElementById('chatView').replaceChildren(place);
          await mountShareList(place, { api: createApi() });
        }"""
    )
    row = page.locator(".share-list-row")
    expect(row).to_contain_text("Garden <i>plans</i>")
    expect(row).to_contain_text("2 messages as of")
    expect(row.get_by_role("link")).to_have_attribute("href", f"{person.origin}{link}")
    assert findings(page, "shared-links", shown=row) == []
    row.get_by_role("button", name="Withdraw the link to").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    expect(page.locator("#chatView")).to_have_text("Nothing is shared.")
    expect(page.locator("#chatView > div")).to_be_focused()
    assert person.get("/shares").json() == []


def test_what_fails_again_is_told_once_and_a_part_that_does_not_come_is_tried_again(
    person: Client, garden: Talk, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person, garden.path)
    page.route("**/page/conversation/sharing/sharing.css", lambda route: route.abort(), times=1)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Garden <i>plans</i>"), "Share…")
    page.route("**/share/*", lambda route: route.abort(), times=2)
    page.locator(".toast-message").get_by_role("button", name="Try again").click()
    dialog = page.get_by_role("dialog", name="Share “Garden <i>plans</i>”")
    with page.expect_event("requestfailed"):
        dialog.get_by_role("button", name="Try again").click()
    expect(dialog.get_by_role("button", name="Try again")).to_be_enabled()
    expect(dialog.get_by_role("alert")).to_have_count(1)
    dialog.get_by_role("button", name="Try again").click()
    expect(dialog.get_by_role("button", name="Create link")).to_be_focused()


@pytest.mark.shows("share-dialog-files", "shared-files")
def test_files_that_are_chosen_are_shown_behind_the_link(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    talk = hold_talk(person, "Seed plans", "When?")
    files = [uploaded(person, name, content) for name, content in FILES.items()]
    assert list(person.send(talk.conversation_id, "Look at these", files=files))[-1].get("done")
    page = open_page(person, talk.path)
    dialog = share_dialog(page, "Seed plans")
    expect(dialog.get_by_role("button", name="Create link")).to_be_focused()
    choice = dialog.get_by_role("group", name="Files that the link shows")
    expect(choice.get_by_role("checkbox")).to_have_count(3)
    expect(choice.get_by_role("checkbox", checked=True)).to_have_count(0)
    choice.get_by_role("checkbox", name="<b>plan.txt").check()
    choice.get_by_role("checkbox", name="photo.jpg").check()
    dialog.get_by_role("button", name="Create link").click()
    expect(choice.get_by_role("checkbox", checked=True)).to_have_count(2)
    assert findings(page, "share-dialog-files", shown=dialog) == []

    reader = open_page(server.client(), link_in(dialog))
    cards = reader.locator(".message-card")
    expect(cards).to_have_count(4)
    expect(cards.nth(2).get_by_role("img", name="photo.jpg")).to_have_js_property("naturalWidth", 20)
    expect(reader.locator(".message-file")).to_have_count(2)
    with reader.expect_download() as saved:
        cards.nth(2).get_by_role("link", name="Save <b>plan.txt").click()
    assert saved.value.path().read_bytes() == FILES["<b>plan.txt"]
    assert findings(reader, "shared-files") == []

    choice.get_by_role("checkbox", name="<b>plan.txt").uncheck()
    choice.get_by_role("checkbox", name="notes.txt").check()
    dialog.get_by_role("button", name="Update snapshot").click()
    expect(dialog.locator(".share-status")).to_have_text("The link shows the conversation as it is now.")
    # The page is from before: it gets no other file in the place of this one.
    page_problems.expect("410")
    cards.nth(2).get_by_role("link", name="Save <b>plan.txt").click()
    expect(reader.locator("main")).to_contain_text("The link was renewed, and the page is from before.")
    reader.go_back()
    reader.reload()
    expect(cards.nth(2).get_by_role("link")).to_have_text(re.compile(r"^notes\.txt"))
    page.keyboard.press("Escape")
    # What the link shows by now is ticked.
    dialog = share_dialog(page, "Seed plans")
    expect(choice.get_by_role("checkbox", name="notes.txt")).to_be_checked()
    expect(choice.get_by_role("checkbox", name="<b>plan.txt")).not_to_be_checked()
    # The files are gone with the link.
    picture = str(cards.nth(2).get_by_role("img").get_attribute("src"))
    assert reader.request.get(f"{server.url}{picture}").status == 200
    person.delete(f"/share/{talk.conversation_id}")
    assert reader.request.get(f"{server.url}{picture}").status == 404


@pytest.mark.shows("shared", "shared-not-found", "share-dialog", "share-dialog-empty")
def test_nothing_serious_is_found_on_the_page_and_in_the_dialog(
    server: LiveServer, person: Client, garden: Talk, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    link = shared_link(person, garden)
    reader = open_page(server.client(), link)
    expect(reader.locator(".katex")).to_have_count(2)
    expect(reader.locator(".hljs-keyword").first).to_be_attached()
    assert findings(reader, "shared") == []
    reader.goto("/shared_chat/never-was")
    expect(reader.get_by_role("heading", name="Not found")).to_be_visible()
    assert findings(reader, "shared-not-found") == []

    page = open_page(person, garden.path)
    open_dialog = """async (conversationId) => {
      const { openShareDialog } = await import('/static/apart/page/conversation/sharing/dialog.js');
      const { createApi } = await import('/static/apart/page/core/api.js');
      openShareDialog({ api: createApi(), conversationId, title: 'Garden plans' });
    }"""
    page.evaluate(open_dialog, garden.conversation_id)
    dialog = page.get_by_role("dialog", name="Share “Garden plans”")
    expect(dialog.get_by_role("textbox", name="Link")).to_be_focused()
    assert findings(page, "share-dialog", shown=dialog) == []
    dialog.get_by_role("button", name="Withdraw link").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw", exact=True).click()
    expect(dialog.get_by_role("button", name="Create link")).to_be_focused()
    assert findings(page, "share-dialog-empty", shown=dialog) == []


def test_a_link_outlives_a_restart_and_a_clone_has_none(
    start_server: Callable[..., LiveServer], recording_model: RecordingModel, open_page: OpenPage
) -> None:
    server = start_server(**recording_model.environ)
    owner = server.sign_up()
    talk = hold_talk(owner, "Growing tomatoes", "How much water?")
    link = shared_link(owner, talk)
    server.kill()
    server.start()
    reader = open_page(server.client(), link)
    expect(reader.locator(".message-card")).to_have_count(2)
    assert owner.get(f"/share/{talk.conversation_id}").json()["share"]["url"] == link
    copy = owner.post(f"/clone_conversation/{talk.conversation_id}").json()["conversation_id"]
    assert owner.get(f"/share/{copy}").json()["share"] is None
