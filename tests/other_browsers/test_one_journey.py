"""One journey in each browser: sign in, send, refer to a message, reload, see what a second window does."""

from __future__ import annotations

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
            return next((one for one in each if one.is_displayed() and text in one.text), False)

        wait = WebDriverWait(self.browser, PATIENCE, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(found, f"no {selector} with {text!r}")

    def write(self, selector: str, text: str) -> None:
        """Type `text` into a field."""
        self.find(selector).send_keys(text)

    def reload(self) -> None:
        """Load the page again; what is found afterwards is of the new one."""
        from selenium.webdriver.support.expected_conditions import staleness_of
        from selenium.webdriver.support.ui import WebDriverWait

        before = self.browser.find_element("css selector", "html")
        self.browser.refresh()
        WebDriverWait(self.browser, PATIENCE).until(staleness_of(before))

    def send(self, text: str) -> None:
        """Write a message and send it."""
        self.write("#composer-input", text)
        self.find("#send-button:not(:disabled)").click()


@pytest.mark.parametrize("opened", [firefox, webkit])
def test_signing_in_sending_referring_reloading_and_a_second_window(
    opened: Any, live_server: LiveServer, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying("Twice a week, ", "in the morning.")
    live_server.sign_up("ada@example.org")
    browsing: AbstractContextManager[Any] = opened()
    with browsing as browser:
        ada = Visitor(browser)
        browser.get(f"{live_server.url}/login")
        ada.write("#email", "ada@example.org")
        ada.write("#password", PASSWORD)
        ada.find("button[type=submit]").click()

        ada.find("#new-conversation").click()
        ada.send("How often do tomatoes need water?")
        answer = ada.find(".message-card.from-assistant", "in the morning.")
        # The badge has its reference once the server has named the message; it is shown when the card is pointed at.
        ada.find(".message-card.from-assistant:has(.message-ref-badge[data-msg-hash])")
        badge = answer.find_element("css selector", ".message-ref-badge")
        conversation, shown = browser.current_url, badge.get_attribute("data-msg-hash")

        client = live_server.sign_in("ada@example.org")
        about = client.get(f"/get_conversation_details/{conversation.rsplit('/', 1)[1]}").json()
        ada.send(f"Is that true? @conversation_{about['conversation_friendly_id']}_message_{shown}")
        ada.find(".message-card.from-user .reference-chip")
        ada.find(".message-card:nth-of-type(4)", "in the morning.")
        assert "in the morning." in str(recording_model.requests_to("main")[-1]["messages"])

        ada.reload()
        ada.find(".message-card:nth-of-type(4)", "in the morning.")
        assert len(browser.find_elements("css selector", ".message-card")) == 4

        browser.switch_to.new_window("window")
        browser.get(conversation)
        ada.find(".message-card:nth-of-type(4)", "in the morning.")
        first = browser.window_handles[0]
        client.put(f"/conversations/{conversation.rsplit('/', 1)[1]}/title", {"title": "Watering"})
        ada.find("#conversation-title", "Watering")
        ada.send("And in winter?")
        ada.find(".message-card:nth-of-type(6)", "in the morning.")
        browser.switch_to.window(first)
        ada.find("#conversation-title", "Watering")
        ada.find(".message-card:nth-of-type(6)", "in the morning.")
