"""The transcript and the composer as a person works them: cards by number, menus, sending, scrolling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.chromium import TIMEOUT, until_ready
from tests.browser.history import Talk, hold_talk, messages
from tests.http_client import Client

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page, Route

# What a failure offers.
AGAIN = "Try again"
# How many cards a page holds at most.
MOST_CARDS = 200
# How many messages a long conversation has on the page soon after it was opened.
FIRST_PAGE = 50
# The first card that is in view, and how far below the upper edge of the view it begins.
READING = """() => {
  const edge = document.getElementById('chatView').getBoundingClientRect().top;
  const cards = [...document.querySelectorAll('.message-card')];
  const card = cards.find((each) => each.getBoundingClientRect().bottom > edge);
  return [card.getAttribute('message-id'), Math.round(card.getBoundingClientRect().top - edge)];
}"""
AT_END = """() => {
  const view = document.getElementById('chatView');
  return view.scrollHeight - view.scrollTop - view.clientHeight < 3;
}"""

_MARK_WHAT_FLASHES = """() => new MutationObserver((changes) => {
  for (const { target } of changes) if (target.classList.contains('flash')) target.dataset.flashed = '';
}).observe(document.body, { subtree: true, attributeFilter: ['class'] })"""
# What somebody points at stays: so does what is pointed at from its first moment on, and again whenever that ends.
_KEEP_TOASTS = """() => {
  const point = (toast) => toast.dispatchEvent(new PointerEvent('pointerenter'));
  const keep = (toast) => {
    for (const end of ['pointerleave', 'focusout']) toast.addEventListener(end, () => point(toast));
    point(toast);
  };
  new MutationObserver((changes) => {
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
    added.filter((node) => node.matches?.('.toast-message')).forEach(keep);
  }).observe(document, { childList: true, subtree: true });
}"""


def card(page: Page, number: int) -> Locator:
    """The card of message `number`, counted from 1 in the conversation."""
    return page.locator(f".message-card[message-index='{number}']")


def body(page: Page, number: int) -> Locator:
    """What message `number` says."""
    return card(page, number).locator(".message-body")


def choose(page: Page, number: int, action: str | re.Pattern[str]) -> None:
    """Open the menu of a message and click what it offers."""
    card(page, number).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name=action).click()


def answer_again(page: Page, number: int) -> None:
    """Have an answer made again."""
    card(page, number).get_by_role("button", name="Answer again").click()


def send(page: Page, text: str) -> None:
    """Write and send by keyboard."""
    until_ready(page)
    page.fill("#composer-input", text)
    page.keyboard.press("Enter")


def suggested(page: Page) -> None:
    """Wait until what the composer suggests answers what is written: before, Enter takes no row."""
    expect(page.locator(".suggestions[data-stale]")).to_have_count(0)


def clipboard(page: Page) -> str:
    """What was copied last."""
    return str(page.evaluate("navigator.clipboard.readText()"))


def copied(page: Page, copy: Callable[[], object]) -> str:
    """What `copy` copies. The label that says so is gone after a moment, on a busy machine before anybody looks."""
    page.evaluate("navigator.clipboard.writeText('')")
    copy()
    for _ in range(TIMEOUT // 20):
        if text := clipboard(page):
            return text
        page.wait_for_timeout(20)
    raise AssertionError("nothing was copied")


def mark_what_flashes(page: Page) -> None:
    """From now on, what is lit up for a moment can be seen afterwards, too: by `data-flashed`."""
    page.evaluate(_MARK_WHAT_FLASHES)


def keep_toasts(page: Page) -> None:
    """From now on until it is loaded anew, toasts of the page stay until they are answered or dismissed.

    Otherwise they are gone after some seconds, on a busy machine before anybody looks.
    """
    page.evaluate(_KEEP_TOASTS)


def opened_id(page: Page) -> str:
    """The id of the open conversation."""
    return str(page.evaluate("decodeURIComponent(location.pathname.split('/').pop())"))


def texts_of(client: Client, talk: Talk) -> list[str]:
    """What the server says was said, in order."""
    return [message["text"] for message in messages(client, talk.conversation_id)]


def open_talk(client: Client, open_page: Callable[..., Page], *texts: str) -> tuple[Talk, Page]:
    """A page that shows a conversation in which `texts` were sent and answered."""
    talk = hold_talk(client, "Growing tomatoes", *texts)
    page = open_page(client, talk.path)
    expect(page.locator(".message-card")).to_have_count(2 * len(texts))
    return talk, page


def edit(page: Page, text: str) -> None:
    """Write something else in the place of the first message."""
    choose(page, 1, "Edit")
    page.get_by_label("Text of the message").fill(text)
    page.get_by_role("button", name="Save", exact=True).click()


def paragraphs(word: str) -> list[str]:
    """The pieces of an answer longer than the window."""
    return [f"{word} paragraph {number} of many.\n\n" for number in range(40)]


def reading_place(page: Page) -> object:
    """What `READING` says once a turn of the wheel has ended, which goes on for some frames."""
    return page.evaluate(
        f"""async () => {{
            const place = {READING};
            for (let [last, same] = [null, 0]; ;) {{
                const next = String(place());
                same = next === last ? same + 1 : 0;
                last = next;
                if (same === 20) return place();
                await new Promise((done) => requestAnimationFrame(done));
            }}
        }}"""
    )


def scroll_by_wheel(page: Page, towards: str) -> None:
    """Turn the wheel until the card of that number is there."""
    page.locator("#chatView").hover()
    up = int(towards) < int(page.locator(".message-card").first.get_attribute("message-index") or 0)
    for _ in range(TIMEOUT // 20):
        if card(page, int(towards)).count():
            return
        page.mouse.wheel(0, -900 if up else 900)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    raise AssertionError(f"message {towards} never came")


def refuse(route: Route) -> None:
    """For `page.route`: the network is away, nothing arrives."""
    route.abort()
