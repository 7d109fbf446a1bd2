"""What goes wrong, against what a person types: afterwards the text is there, once, and the person was told.

Each test is one trouble; it meets all kinds of text at once, each in a tab of its own.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Error, expect

from endpoints.http.guards import SESSION_COOKIE
from tests.browser.chromium import (
    CHROMIUM,
    CHROMIUM_OPTIONS,
    TIMEOUT,
    VIEWPORT,
    PageOpener,
    PageProblems,
    until_kept,
    wait_until,
)
from tests.browser.history import former_texts, hold_talk, messages
from tests.browser.memories_panel import address, claims
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import choose, opened_id
from tests.fakes import RecordingModel
from tests.http_client import Client
from tests.live_server import LiveServer, new_account

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Route

pytestmark = pytest.mark.browser

MARK = "Water them at dawn"
TEXT = f"{MARK}, and once more at dusk, when the sun has gone down behind the wall of the neighbours."
# Where the text can be seen: in fields, among the messages on their way, in messages and memories.
SEEN = """(mark) => {
  const fields = [...document.querySelectorAll('textarea, input')].filter((node) => node.value.includes(mark));
  const shown = [...document.querySelectorAll('.outbox-text, .message-body, .memory-statement')]
    .filter((node) => node.checkVisibility() && node.textContent.includes(mark));
  return fields.length + shown.length;
}"""


@dataclass
class Typed:
    """A kind of text, and the tab in which it is typed.

    asks: the request that brings it to the server; told: what the page says while that is on its way.
    """

    client: Client
    server: LiveServer
    path: str = ""
    page: Any = None
    asks: str = ""
    told: str = ""

    @property
    def name(self) -> str:
        """What a failure names."""
        return type(self).__name__

    def prepare(self) -> None:
        """Make what the text belongs to."""

    def open(self) -> None:
        """Open the form in a page that was loaded, as a person would who comes back to the text."""

    def write(self) -> None:
        """Type the text."""

    def submit(self) -> None:
        """Send or save it."""

    def again(self) -> None:
        """Try once more after a failure."""

    def failure(self) -> Any:
        """Where the page says what went wrong."""
        return self.page.locator("#toasts").get_by_role("alert").last

    def stored(self) -> int:
        """How often the server has it."""
        raise NotImplementedError

    def load(self, context: BrowserContext) -> None:
        """Open it in a new tab."""
        self.page = context.new_page()
        self.page.goto(self.path)
        self.open()

    def is_there_once(self) -> None:
        """Whether the text can be seen, in one place."""
        wait_until(self.page, f"(mark) => ({SEEN})(mark) === 1", MARK)

    def is_stored_once(self) -> None:
        """Wait until the server has it, and see that it has it once."""
        self.settled()
        assert self.stored() == 1, self.name

    def settled(self) -> None:
        """Wait until the page shows that the server has it."""


@dataclass
class Message(Typed):
    """A message of a conversation."""

    asks: str = "**/send_message/**"
    told: str = "Sending…"
    conversation_id: str = ""

    def prepare(self) -> None:
        """A conversation with one turn."""
        talk = hold_talk(self.client, "Growing tomatoes", "How much water?")
        self.conversation_id, self.path = talk.conversation_id, talk.path

    def open(self) -> None:
        """The field is there at once."""
        expect(self.page.locator(".message-card")).not_to_have_count(0)

    def write(self) -> None:
        """In the field."""
        self.page.fill("#composer-input", TEXT)

    def submit(self) -> None:
        """By Enter."""
        self.page.locator("#composer-input").press("Enter")

    def failure(self) -> Any:
        """Beside the text."""
        return self.page.locator("#outbox .outbox-state")

    def again(self) -> None:
        """As soon as the network is back; by itself it is sent a little later."""
        self.page.evaluate("dispatchEvent(new Event('online'))")

    def settled(self) -> None:
        """Its answer is complete."""
        answers = self.page.locator(".message-card.from-assistant[data-status='complete']")
        expect(answers.last).to_contain_text("Understood.")
        expect(self.page.locator("#outbox")).to_be_hidden()
        expect(self.page.locator(".message-body").filter(has_text=MARK)).to_have_count(1)

    def stored(self) -> int:
        """Among the messages."""
        return sum(each["text"] == TEXT for each in messages(self.client, self.conversation_id))


@dataclass
class Temporary(Message):
    """A message of a temporary conversation."""

    def prepare(self) -> None:
        """It is begun in the page."""
        self.path = "/interface/"

    def open(self) -> None:
        """Begin it, the first time."""
        if not self.conversation_id:
            expect(self.page.locator(".empty-state")).to_be_visible()
            self.page.get_by_role("button", name="More to begin").click()
            SidebarPage(self.page).menu_item("Temporary conversation").click()
            expect(self.page).not_to_have_url(re.compile("/interface/$"))
            self.conversation_id = opened_id(self.page)
            self.path = self.page.url
        expect(self.page.locator("#temporary-mark")).to_be_visible()


@dataclass
class Edit(Typed):
    """A message that is changed."""

    asks: str = "**/edit_message_from_conversation/**"
    told: str = "Saving…"
    conversation_id: str = ""

    def prepare(self) -> None:
        """A conversation with one turn."""
        talk = hold_talk(self.client, "Drying basil", "How much salt?")
        self.conversation_id, self.path = talk.conversation_id, talk.path

    def open(self) -> None:
        """What was typed into a message is shown at once."""
        expect(self.page.locator(".message-card")).to_have_count(2)
        if self.page.get_by_label("Text of the message").count() == 0:
            choose(self.page, 1, "Edit")

    def write(self) -> None:
        """In the place of the message."""
        self.page.get_by_label("Text of the message").fill(TEXT)

    def submit(self) -> None:
        """Without a new answer."""
        self.page.get_by_role("button", name="Save", exact=True).click()

    def again(self) -> None:
        """As the failure offers, or by the button again."""
        self.page.get_by_role("button", name=re.compile("^(Try again|Save)$")).last.press("Enter")

    def settled(self) -> None:
        """The message says it."""
        expect(self.page.get_by_label("Text of the message")).to_have_count(0)
        expect(self.page.locator(".message-body").first).to_have_text(TEXT)

    def stored(self) -> int:
        """In the message, and not among its former texts."""
        question = messages(self.client, self.conversation_id)[0]
        return int(question["text"] == TEXT) + former_texts(self.server, question["message_id"]).count(TEXT)


@dataclass
class Memory(Typed):
    """A memory that is added."""

    asks: str = "**/pkb/claims"
    told: str = "Saving…"
    path: str = field(default_factory=address)

    def open(self) -> None:
        """The form has what was typed before."""
        self.page.locator("#add-memory").click()
        expect(self.page.locator("#memory-statement")).to_be_focused()

    def write(self) -> None:
        """The statement."""
        self.page.fill("#memory-statement", TEXT)

    def submit(self) -> None:
        """Add it by keys."""
        self.page.locator("#memory-statement").press("Control+Enter")

    again = submit

    def failure(self) -> Any:
        """In the form."""
        return self.page.locator("dialog[open]").get_by_role("alert")

    def settled(self) -> None:
        """It is listed."""
        expect(self.page.locator("#memory-statement")).to_have_count(0)
        expect(self.page.locator(".memory")).to_have_count(1)

    def stored(self) -> int:
        """Among the memories."""
        return sum(each["statement"] == TEXT for each in claims(self.client))


@dataclass
class Settings(Typed):
    """What a person says about themselves."""

    asks: str = "**/modify_user_detail"
    told: str = "Saving…"
    path: str = "/settings"

    def open(self) -> None:
        """The form comes with what the server knows."""
        expect(self.page.locator("#user-detail")).to_be_visible()

    def write(self) -> None:
        """Fill it in."""
        self.page.fill("#user-detail", TEXT)

    def submit(self) -> None:
        """Save it."""
        self.page.locator("#about-form button[type=submit]").click()

    def again(self) -> None:
        """As the failure offers."""
        again = self.page.get_by_role("button", name="Try again")
        again.last.click() if again.count() else self.submit()

    def settled(self) -> None:
        """Its button says no more that it is being saved; what says so is gone after a moment."""
        expect(self.page.locator("#about-form button[type=submit]")).to_be_enabled()

    def stored(self) -> int:
        """With the account."""
        return str(self.client.get("/get_user_detail").json()).count(MARK)


KINDS: tuple[type[Typed], ...] = (Message, Temporary, Edit, Memory, Settings)


@dataclass
class Tabs:
    """All kinds of text, each typed in a tab of its own and not sent yet."""

    context: BrowserContext
    client: Client
    server: LiveServer
    all: list[Typed]

    def reopen(self) -> None:
        """Come back to each text in a new tab."""
        for typed in self.all:
            typed.load(self.context)

    def are_there_once(self, *, stored: int = 0) -> None:
        """Each text can be seen in one place; the server has it so often."""
        for typed in self.all:
            typed.is_there_once()
            assert typed.stored() == stored, typed.name

    def are_stored_once(self) -> None:
        """Each text is with the server, once, and shown once."""
        for typed in self.all:
            typed.is_stored_once()
            typed.is_there_once()

    def signed_in_as(self, client: Client) -> None:
        """From now on, the browser has the session of `client`."""
        cookie: Any = {"name": SESSION_COOKIE, "value": client.cookies[SESSION_COOKIE], "url": client.origin}
        self.context.add_cookies([cookie])


def typed_in(context: BrowserContext, server: LiveServer, client: Client) -> Tabs:
    """Type each kind of text."""
    tabs = Tabs(context, client, server, [kind(client, server) for kind in KINDS])
    tabs.signed_in_as(client)
    for typed in tabs.all:
        typed.prepare()
        typed.load(context)
        typed.write()
    return tabs


@pytest.fixture
def problems(page_problems: PageProblems) -> PageProblems:
    """Failed requests are what these tests are about."""
    for part in ("net::ERR", "401", "409", "404"):
        page_problems.expect(part)
    return page_problems


@pytest.fixture
def tabs(browser: Browser, server: LiveServer, person: Client, problems: PageProblems) -> Iterator[Tabs]:
    """Each kind of text, typed by a person on the shared server."""
    context = browser.new_context(viewport=VIEWPORT, base_url=server.url, service_workers="block")
    context.set_default_timeout(TIMEOUT)
    yield typed_in(context, server, person)
    context.close()


def hold_each(tabs: Sequence[Typed], then: Callable[[Route], None]) -> None:
    """Submit each text; `then` is called with its request, once."""
    handled: list[Route] = []

    def handle(route: Route) -> None:
        then(route)
        handled.append(route)

    for typed in tabs:
        typed.page.route(typed.asks, handle, times=1)
        with typed.page.expect_request(typed.asks):
            typed.submit()
    while len(handled) < len(tabs):
        tabs[0].page.evaluate("new Promise((done) => setTimeout(done))")


def test_a_slow_server(tabs: Tabs) -> None:
    held: list[Route] = []
    hold_each(tabs.all, lambda route: held.append(route))
    for typed in tabs.all:
        typed.is_there_once()
        expect(typed.page.locator("body")).to_contain_text(typed.told)
    for route in held:
        route.continue_()
    tabs.are_stored_once()


def test_a_dead_server(tabs: Tabs) -> None:
    # To all tabs: each sends after a while what another one could not.
    for asks in {typed.asks for typed in tabs.all}:
        tabs.context.route(asks, lambda route: route.abort())
    for typed in tabs.all:
        typed.submit()
        expect(typed.failure()).to_contain_text("The server cannot be reached.")
    tabs.are_there_once()
    tabs.context.unroute_all()
    for typed in tabs.all:
        typed.again()
    tabs.are_stored_once()


def test_a_response_that_is_lost(tabs: Tabs) -> None:
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    hold_each(tabs.all, lose)
    for typed in tabs.all:
        if not isinstance(typed, Message):  # which is sent again by itself
            expect(typed.failure()).to_contain_text("The server cannot be reached.")
            typed.again()
    tabs.are_stored_once()


def test_a_server_that_is_killed_between_accepting_and_answering(
    browser: Browser,
    start_server: Callable[..., LiveServer],
    recording_model: RecordingModel,
    problems: PageProblems,
) -> None:
    assert problems is not None
    server = start_server(**recording_model.environ)
    context = browser.new_context(viewport=VIEWPORT, base_url=server.url, service_workers="block")
    context.set_default_timeout(TIMEOUT)
    tabs = typed_in(context, server, new_account(server))
    held: list[Route] = []

    def accept(route: Route) -> None:
        route.fetch()
        held.append(route)

    hold_each(tabs.all, accept)
    server.kill()
    for route in held:
        route.abort()
    for typed in tabs.all:
        expect(typed.failure()).to_contain_text("The server cannot be reached.")
        typed.is_there_once()
    server.start()
    for typed in tabs.all:
        typed.again()
    tabs.are_stored_once()
    context.close()


def test_a_reload(tabs: Tabs) -> None:
    for typed in tabs.all:
        typed.page.reload()
        typed.open()
    tabs.are_there_once()
    # A message that could not be sent yet is sent by the page that comes after.
    message = tabs.all[0]
    message.page.route(message.asks, lambda route: route.abort())
    message.submit()
    expect(message.failure()).to_contain_text("Not sent yet.")
    message.page.unroute(message.asks)
    message.page.reload()
    message.is_stored_once()


def test_a_reload_between_accepting_and_answering(tabs: Tabs) -> None:
    hold_each(tabs.all, lambda route: route.fetch())
    for typed in tabs.all:
        typed.page.reload()
        typed.open()
        if not isinstance(typed, Message):  # which the page that comes after sends by itself
            typed.again()
    tabs.are_stored_once()


def test_a_closed_tab(tabs: Tabs) -> None:
    for typed in tabs.all:
        typed.page.close()
    tabs.reopen()
    tabs.are_there_once()


def test_a_browser_that_is_killed(
    browser: Browser, server: LiveServer, person: Client, problems: PageProblems, tmp_path: Path
) -> None:
    assert problems is not None

    def launched() -> BrowserContext:
        context = browser.browser_type.launch_persistent_context(
            tmp_path / "profile",
            executable_path=str(CHROMIUM.resolve()),
            args=list(CHROMIUM_OPTIONS),
            viewport=VIEWPORT,
            base_url=server.url,
        )
        context.set_default_timeout(TIMEOUT)
        return context

    tabs = typed_in(launched(), server, person)
    until_kept(tabs.all[0].page, MARK, times=len(tabs.all))
    for process in processes_with(str(tmp_path / "profile")):
        with suppress(ProcessLookupError):  # it has ended with its browser
            os.kill(process, signal.SIGKILL)
    with suppress(Error):  # which is raised where it has been seen already that the browser is gone
        tabs.context.close()
    (tmp_path / "profile" / "SingletonLock").unlink(missing_ok=True)
    tabs.context = launched()
    tabs.signed_in_as(person)
    tabs.reopen()
    tabs.are_there_once()
    tabs.context.close()


def processes_with(argument: str) -> list[int]:
    """The processes that were started with `argument` in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has ended
        if argument in command:
            found.append(int(folder.name))
    return found


def test_a_session_that_ended(tabs: Tabs) -> None:
    email = str(tabs.client.get("/get_user_info").json()["user_email"])
    tabs.client.post("/logout", {})
    for typed in tabs.all:
        typed.submit()
        expect(typed.page.locator("#toasts")).to_contain_text("You are logged out. What you typed is kept")
        typed.is_there_once()
    fresh = tabs.server.sign_in(email)
    tabs.client.cookies.update(fresh.cookies)
    tabs.are_there_once()
    tabs.signed_in_as(fresh)  # from now on another tab may send what is written, too
    for typed in tabs.all:
        typed.again()
    tabs.are_stored_once()


def test_another_account_gets_nothing_of_what_is_written_here(tabs: Tabs, newcomer: Callable[[], Client]) -> None:
    other = newcomer()
    tabs.signed_in_as(other)
    for typed in tabs.all:
        typed.submit()
        expect(typed.page.locator("#toasts")).to_contain_text("Another account is logged in in this browser now.")
    tabs.are_there_once()
    assert other.get("/list_conversation_by_user/assistant").json() == []
    assert [claims(other), MARK in other.get("/get_user_detail").text] == [[], False]
    page = tabs.context.new_page()
    page.goto("/interface/")
    expect(page.locator(".empty-state")).to_be_visible()
    assert page.evaluate(SEEN, MARK) == 0
    tabs.signed_in_as(tabs.client)
    for typed in tabs.all:
        typed.again()
    tabs.are_stored_once()


def test_two_tabs(tabs: Tabs) -> None:
    first = [typed.page for typed in tabs.all]
    tabs.reopen()
    tabs.are_there_once()
    for typed in tabs.all:
        typed.submit()
    tabs.are_stored_once()
    # What was sent in the one is not written in the other any more.
    for page in first[:2]:
        expect(page.locator("#composer-input")).to_have_value("")
        expect(page.locator(".message-body").filter(has_text=MARK)).to_have_count(1)


def duplicated(typed: Typed) -> Page:
    """A copy of the tab, as browsers make it: with the tab's own storage."""
    copy = typed.page.context.new_page()
    storage = typed.page.evaluate("JSON.stringify({ ...sessionStorage })")
    copy.goto("/settings")
    copy.evaluate("(stored) => Object.assign(sessionStorage, JSON.parse(stored))", storage)
    copy.goto("about:blank")
    copy.goto(typed.page.url)
    return copy


def test_a_duplicated_tab(tabs: Tabs) -> None:
    for typed in tabs.all[:2]:
        copy = duplicated(typed)
        typed.open()
        expect(copy.locator("#composer-input")).to_have_value(TEXT)
        copy.get_by_role("link", name="Drying basil").first.click()
        expect(copy.locator("#conversation-title")).to_have_text("Drying basil")
        typed.is_there_once()
        typed.submit()
        typed.is_stored_once()
    for typed in tabs.all[2:]:
        typed.page = duplicated(typed)
        typed.open()
        typed.is_there_once()
        typed.submit()
    tabs.are_stored_once()


def test_a_page_that_is_hidden_and_frozen(tabs: Tabs) -> None:
    held: list[Route] = []
    hold_each(tabs.all, lambda route: held.append(route))
    for typed, route in zip(tabs.all, held, strict=True):
        devtools = tabs.context.new_cdp_session(typed.page)
        devtools.send("Page.setWebLifecycleState", {"state": "frozen"})
        route.continue_()
        devtools.send("Page.setWebLifecycleState", {"state": "active"})
    tabs.are_stored_once()


def test_what_is_meant_for_a_temporary_conversation_goes_to_no_other(
    browser: Browser, server: LiveServer, person: Client, problems: PageProblems
) -> None:
    assert problems is not None
    context = browser.new_context(viewport=VIEWPORT, base_url=server.url, service_workers="block")
    context.set_default_timeout(TIMEOUT)
    tabs = Tabs(context, person, server, [])
    tabs.signed_in_as(person)
    page = context.new_page()
    page.route("**/create_temporary_conversation/**", lambda route: route.abort())
    page.goto("/interface/")
    page.wait_for_selector("#composer:not([aria-busy])", state="attached")
    page.get_by_role("button", name="More to begin").click()
    SidebarPage(page).menu_item("Temporary conversation").click()
    page.fill("#composer-input", TEXT)
    page.locator("#composer-input").press("Enter")
    expect(page.locator("#outbox")).to_contain_text("Not sent yet.")
    # As by a reload. A page that is still there could send it by itself, and the next one shows another conversation.
    page.goto("about:blank")
    page.unroute("**/create_temporary_conversation/**")
    page.goto("/interface/")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    assert person.get(f"/get_conversation_details/{opened_id(page)}").json()["temporary"] is True
    assert person.get("/list_conversation_by_user/assistant").json() == []
    context.close()


# As a browser does that needs the room, or another version of the page that changes the database.
CLOSE = """() => new Promise((resolve, reject) => {
  const request = indexedDB.deleteDatabase('anaphora');
  request.onsuccess = resolve;
  request.onerror = reject;
})"""


def test_a_browser_that_closes_its_database(person: Client, open_page: PageOpener) -> None:
    page = open_page(person, hold_talk(person, "Growing tomatoes", "How much water?").path)
    field = page.locator("#composer-input")
    page.wait_for_selector("#composer:not([aria-busy])", state="attached")
    field.fill("Typed before")
    until_kept(page, "Typed before")
    page.evaluate(CLOSE)
    field.fill(TEXT)
    until_kept(page, MARK)
    page.reload()
    expect(field).to_have_value(TEXT)


def test_a_browser_that_keeps_nothing_says_so_once_and_no_longer_than_that(
    person: Client, open_page: PageOpener
) -> None:
    page = open_page(person, hold_talk(person, "Growing tomatoes", "How much water?").path)
    field, said = page.locator("#composer-input"), page.get_by_text("can’t keep what you type")
    page.wait_for_selector("#composer:not([aria-busy])", state="attached")
    page.evaluate("""() => {
      const { open } = IDBFactory.prototype;
      window.allowAgain = () => { IDBFactory.prototype.open = open; };
      IDBFactory.prototype.open = () => { throw new DOMException('no room', 'UnknownError'); };
    }""")
    page.evaluate(CLOSE)
    field.press_sequentially("Twice")
    expect(said).to_have_count(1)
    page.evaluate("allowAgain()")
    field.fill(TEXT)
    until_kept(page, MARK)
    expect(said).to_have_count(0)
