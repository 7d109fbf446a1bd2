"""The real embedded model answers in the page: no key, no network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from settings import load_settings
from tests.browser.transcript import body, card, copied, send
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.embedded, pytest.mark.proof]
# The model may have to be read from the disk first, and a busy machine reads slowly.
LOADED_AND_ANSWERED = 120_000


def test_the_embedded_model_answers_and_is_quoted_in_another_conversation(
    start_server: Callable[..., LiveServer], open_page: Callable[..., Page]
) -> None:
    server = start_server(ANAPHORA_MAIN_MODEL="embedded:small", ANAPHORA_MODEL_DIR=str(load_settings().model_dir))
    person = server.sign_up()
    page = open_page(person)
    send(page, "Answer with one short sentence: which colour has the sky?")
    expect(card(page, 2)).to_have_attribute("data-status", "complete", timeout=LOADED_AND_ANSWERED)
    expect(body(page, 2)).not_to_be_empty()

    reference = copied(page, card(page, 2).locator(".message-ref-badge").click)
    page.get_by_role("button", name="New conversation").first.click()
    expect(page.locator(".message-card")).to_have_count(0)
    send(page, f"Say in one word which colour is named here: {reference}")
    expect(card(page, 1)).to_contain_text("1 reference")
    expect(card(page, 2)).to_have_attribute("data-status", "complete", timeout=LOADED_AND_ANSWERED)
    expect(body(page, 2)).not_to_be_empty()
