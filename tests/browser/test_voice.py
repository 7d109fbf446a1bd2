"""Dictation and reading aloud in a real browser, whose own interface to speech is replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import wait_until
from tests.browser.history import hold_talk
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
SPEECH = """
globalThis.said = [];
globalThis.webkitSpeechRecognition = globalThis.SpeechRecognition = class extends EventTarget {
  start() { globalThis.listener = this; }
  stop() { this.dispatchEvent(new Event('end')); }
};
globalThis.hear = (transcript) => {
  const results = [Object.assign([{ transcript }], { isFinal: true })];
  globalThis.listener.dispatchEvent(Object.assign(new Event('result'), { results, resultIndex: 0 }));
};
globalThis.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
Object.defineProperty(globalThis, 'speechSynthesis', { value: {
  speaking: false,
  cancel() { this.speaking = false; },
  speak({ text }) { this.speaking = true; globalThis.said.push(text); },
} });
"""


def test_messages_are_dictated_and_read_aloud_once_that_is_chosen(
    open_page: Callable[..., Page], person: Client
) -> None:
    talk = hold_talk(person, "Bread at home")
    page = open_page(person, talk.path)
    page.add_init_script(SPEECH)
    answer = page.reload()
    assert answer is not None
    assert "microphone=(self)" in answer.headers["permissions-policy"]
    card = page.locator(".message-card.from-assistant")
    expect(card).to_contain_text("Understood.")
    dictate = page.get_by_role("button", name="Dictate")
    expect(dictate).to_have_count(0)
    page.click("#options-button")
    options = page.get_by_role("dialog", name="Options of the composer")
    expect(options).to_contain_text("Some browsers send the sound")
    options.get_by_label("Dictate messages").check()
    options.get_by_label("Read messages aloud").check()
    page.keyboard.press("Escape")

    page.fill("#composer-input", "Dear all,")
    dictate.click()
    stop = page.get_by_role("button", name="Listening… Stop")
    expect(stop).to_have_attribute("aria-pressed", "true")
    page.evaluate("hear('good morning')")
    expect(page.locator("#composer-input")).to_have_value("Dear all, good morning")
    stop.click()
    expect(dictate).to_have_attribute("aria-pressed", "false")

    card.hover()
    for _ in range(2):
        card.get_by_role("button", name="Message actions").click()
        page.get_by_role("menuitem", name="Read aloud").click()
    wait_until(page, "() => said.length === 1 && !speechSynthesis.speaking")
    assert page.evaluate("said") == ["Understood."]
