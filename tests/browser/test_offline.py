"""The page without a network: the service worker shows its shell, what is typed waits and is sent later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk
from tests.browser.traffic import Traffic
from tests.browser.transcript import card
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.chromium import PageProblems

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
MOST_REQUESTS_AGAIN = 10


def test_a_page_that_was_here_before_opens_without_a_network_and_sends_later(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    # Whatever the page or its worker asks for without a network is told in the console.
    for failure in ("ERR_INTERNET_DISCONNECTED", "Failed to fetch", "net::ERR_FAILED"):
        page_problems.expect(failure)
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path, service_workers="allow")
    expect(card(page, 2)).to_be_visible()
    assert page.evaluate("navigator.serviceWorker.ready.then(({ active }) => active !== null)")

    # Nothing that anybody said or is called is in its cache.
    kept = page.evaluate("""async () => {
      const name = (await caches.keys()).find((each) => each.startsWith('anaphora-'));
      const cache = await caches.open(name);
      const textOf = async (url) => (await cache.match(url)).text();
      return Promise.all((await cache.keys()).map(async ({ url }) => [new URL(url).pathname, await textOf(url)]));
    }""")
    assert {path for path, _ in kept if not path.startswith("/static/")} == {"/shell"}
    email = str(person.get("/get_user_info").json()["user_email"])
    assert [path for path, text in kept if email in text or "Growing tomatoes" in text] == []

    # Online, a page comes from the server, by no more requests than without the worker.
    traffic = Traffic(page)
    requests, _ = traffic.of(lambda: (page.reload(), expect(card(page, 2)).to_be_visible()))
    assert requests <= MOST_REQUESTS_AGAIN, traffic.paths

    page.locator("#composer-input").fill("And how much sun?")
    page.context.set_offline(True)
    page.reload()
    expect(page.locator("#composer-input")).to_have_value("And how much sun?")
    expect(page.locator(".sidebar-user-name")).to_have_text(email)
    page.wait_for_selector("#composer:not([aria-busy])", state="attached")
    page.locator("#composer-input").press("Enter")
    waiting = page.get_by_role("list", name="Messages that are not sent yet").get_by_role("listitem")
    expect(waiting).to_contain_text("And how much sun?")
    page.context.set_offline(False)
    expect(card(page, 4)).to_contain_text("Understood.")
    expect(waiting).to_have_count(0)
    expect(card(page, 1)).to_contain_text("How much water?")
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_count(1)

    # Logging out removes it all.
    page.locator(".sidebar-user").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    assert page.evaluate("caches.keys()") == []
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(({ length }) => length)") == 0
    assert page.evaluate("localStorage.getItem('anaphora:account')") is None
