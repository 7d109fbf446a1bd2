"""One journey in each browser: log in, send, refer to a message, reload, see what a second window does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.fakes import RecordingModel, saying
from tests.live_server import PASSWORD, LiveServer
from tests.other_browsers.drivers import firefox, webkit

pytestmark = [
    pytest.mark.proof,
    # Selenium uses for WebKit what Selenium warns of.
    pytest.mark.filterwarnings("ignore:setting remote_server_addr:DeprecationWarning"),
]
Opened = Callable[[], AbstractContextManager[Any]]
# Seconds that a browser may take for what it is asked: generous, since a busy machine takes its time.
PATIENCE = 90


class Visitor:
    """Somebody at a browser who knows elements by their selectors."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def find(self, selector: str, text: str = "") -> Any:
        """The first visible element that `selector` finds with `text` in it, once there is one."""
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        def found(_browser: Any) -> Any:
            each = self.browser.find_elements("css selector", selector)
            # WebKit's driver finds no rendered text in a window that is not in front.
            shown = (one for one in each if one.is_displayed() and text in one.get_property("textContent"))
            return next(shown, False)

        wait = WebDriverWait(self.browser, PATIENCE, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(found, f"no {selector} with {text!r}")

    def write(self, selector: str, text: str) -> None:
        """Type `text` into a field."""
        self.find(selector).send_keys(text)

    def open_in_another_tab(self, address: str) -> None:
        """Open `address` beside what is open; what is found afterwards is there."""
        self.browser.switch_to.new_window("tab")
        self.browser.get(address)

    def send(self, text: str) -> None:
        """Write a message and send it."""
        self.write("#composer-input", text)
        self.find("#send-button:not(:disabled)").click()


def talk_about_tomatoes(ada: Visitor, server: LiveServer, model: RecordingModel) -> str:
    """Log in, ask, and ask again about the answer by its reference. Returns the address of the conversation."""
    model.scripts["main"] = saying("Twice a week, ", "in the morning.")
    client = server.sign_up("ada@example.org")
    ada.browser.get(f"{server.url}/login")
    ada.write("#email", "ada@example.org")
    ada.write("#password", PASSWORD)
    ada.find("button[type=submit]").click()

    # The welcome opens by itself; what is clicked before would be overtaken by it.
    ada.find(".suggested-message")
    ada.find("#new-conversation").click()
    ada.find(".empty-state")
    ada.send("How often do tomatoes need water?")
    answer = ada.find(".message-card.from-assistant", "in the morning.")
    # The badge has its reference once the server has named the message; it is shown when the card is pointed at.
    ada.find(".message-card.from-assistant:has(.message-ref-badge[data-msg-hash])")
    shown = answer.find_element("css selector", ".message-ref-badge").get_attribute("data-msg-hash")
    address = str(ada.browser.current_url)
    about = client.get(f"/get_conversation_details/{address.rsplit('/', 1)[1]}").json()
    ada.send(f"Is that true? @conversation_{about['conversation_friendly_id']}_message_{shown}")
    ada.find(".message-card.from-user .reference-chip")
    ada.find(".message-card:nth-of-type(4)", "in the morning.")
    assert "Twice a week, in the morning." in str(model.requests_to("main")[-1]["messages"])
    return address


@pytest.mark.parametrize("opened", [firefox, webkit], ids=["firefox", "webkit"])
def test_somebody_signs_in_sends_refers_reloads_and_sees_what_a_second_window_does(
    opened: Opened, live_server: LiveServer, recording_model: RecordingModel
) -> None:
    with opened() as browser:
        ada = Visitor(browser)
        conversation = talk_about_tomatoes(ada, live_server, recording_model)
        browser.refresh()
        ada.find(".message-card:nth-of-type(4)", "in the morning.")
        assert len(browser.find_elements("css selector", ".message-card")) == 4

        ada.open_in_another_tab(conversation)
        ada.find(".message-card:nth-of-type(4)", "in the morning.")
        client = live_server.sign_in("ada@example.org")
        client.put(f"/conversations/{conversation.rsplit('/', 1)[1]}/title", {"title": "Watering"})
        ada.find("#conversation-title", "Watering")
        ada.send("And in winter?")
        ada.find(".message-card:nth-of-type(6)", "in the morning.")
        browser.switch_to.window(browser.window_handles[0])
        ada.find("#conversation-title", "Watering")
        ada.find(".message-card:nth-of-type(6)", "in the morning.")
