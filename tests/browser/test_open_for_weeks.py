"""A tab that stays open for weeks: what it shows stays true."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import wait_until
from tests.browser.history import hold_talk
from tests.browser.transcript import card
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def come_back(page: Page, *, after: datetime.timedelta) -> None:
    """The person sees the page again, so much later; the clock is that of all pages of the context."""
    page.clock.set_system_time(datetime.datetime.now(tz=datetime.UTC) + after)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_messages_of_earlier_days_say_their_day(person: Client, open_page: OpenPage) -> None:
    # Where no day ends while this runs.
    zone = "UTC" if 1 <= datetime.datetime.now(tz=datetime.UTC).hour < 23 else "America/Lima"
    path = hold_talk(person, "Growing tomatoes", "How much water?").path
    page = open_page(person, path, own_clock=True, timezone_id=zone)
    time = card(page, 2).locator("time.message-time")
    expect(time).to_have_text(re.compile(r"^[^,]+$"))
    said = time.inner_text()
    come_back(page, after=datetime.timedelta(days=1))
    expect(time).to_have_text(re.compile(f", {re.escape(said)}$"))


def test_a_model_that_is_ready_is_asked_about_now_and_then_when_somebody_comes_back(
    person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, own_clock=True)
    models = person.get("/models").json()
    failed = {**models, "main": {"name": "big", "phase": "failed", "progress": None, "detail": "no room"}}
    asked = list[str]()

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(json=failed)

    wait_until(page, "() => document.documentElement.dataset.model === 'ready'")
    page.route("**/models", answer)
    for minutes in (1, 3):
        come_back(page, after=datetime.timedelta(minutes=minutes))
    assert asked == []
    come_back(page, after=datetime.timedelta(minutes=10))
    expect(page.locator(".model-status")).to_contain_text("big")
