"""A newcomer's first minute, with the real embedded model: no key, no network, an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from settings import load_settings
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.embedded, pytest.mark.proof]


def test_the_embedded_model_answers_and_is_quoted_in_another_conversation(
    start_server: Callable[..., LiveServer], open_page: Callable[..., Page]
) -> None:
    server = start_server(
        ANAPHORA_MAIN_MODEL="embedded:small",
        ANAPHORA_CHEAP_MODEL="embedded:small",
        ANAPHORA_MODEL_DIR=str(load_settings().model_dir),
    )
    page = open_page(server.sign_up())
    page.context.set_default_timeout(300_000)
    page.fill("#composer-input", "Answer with one short sentence: which colour has the sky?")
    page.keyboard.press("Enter")
    hashed = page.locator(".message-ref-badge[data-msg-hash]:not([data-msg-hash=''])")
    expect(hashed).to_have_count(2, timeout=300_000)
    answer = page.locator(".message-card").nth(1)
    expect(answer.locator(".message-body")).to_have_text(re.compile(r"\w{2,}"))
    expect(answer).not_to_contain_text("failed")
    expect(page.locator("#conversation-title")).to_have_text(re.compile(r"\w+( \w+){2,5}"))

    hashed.nth(1).click()
    reference = str(page.evaluate("navigator.clipboard.readText()"))
    page.get_by_role("button", name="New conversation").first.click()
    expect(page.locator(".message-card")).to_have_count(0)
    page.fill("#composer-input", f"Say in a short sentence which colour is named here: {reference}")
    page.keyboard.press("Enter")
    expect(hashed).to_have_count(2, timeout=300_000)
    expect(page.locator(".message-card").first).to_contain_text("1 reference")
    quoting = page.locator(".message-card").nth(1)
    expect(quoting.locator(".message-body")).to_have_text(re.compile(r"\S"))
    expect(quoting).not_to_contain_text("failed")
