"""What a page asks the server for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


# Of the stream of changes there is no end.
_STREAM = "/events?"
_PATIENCE = 600
"""Times that the page is waited for to be idle; what is still being asked then is counted, too."""
_IDLE = "new Promise((resolve) => requestIdleCallback(resolve))"


class Traffic:
    """The requests of a page, with what came over the wire; what comes from the browser's cache does not count."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.paths = list[str]()
        self.bytes = 0.0
        self._asked = dict[str, str]()
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.on("Network.requestWillBeSent", lambda event: self._ask(event["requestId"], event["request"]["url"]))
        network.on("Network.requestServedFromCache", self._forget)
        network.on("Network.responseReceived", self._receive)
        network.on("Network.loadingFinished", self._finish)
        network.on("Network.loadingFailed", self._forget)

    def _ask(self, request_id: str, url: str) -> None:
        if not url.startswith("data:"):
            self._asked[request_id] = url

    def _receive(self, event: dict[str, object]) -> None:
        response = event["response"]
        assert isinstance(response, dict)
        if response.get("fromDiskCache"):
            self._forget(event)

    def _forget(self, event: dict[str, object]) -> None:
        self._asked.pop(str(event["requestId"]), None)

    def _finish(self, event: dict[str, object]) -> None:
        url = self._asked.pop(str(event["requestId"]), None)
        if url is not None:
            self.paths.append(url)
            self.bytes += float(str(event["encodedDataLength"]))

    def of(self, visit: Callable[[], object]) -> tuple[int, float]:
        """(requests, bytes) of a visit, from its beginning until nothing more is asked."""
        self._asked.clear()
        self.paths.clear()
        self.bytes = 0.0
        visit()
        for _ in range(_PATIENCE):
            self._page.evaluate(_IDLE)
            if all(_STREAM in url for url in self._asked.values()):
                break
        self.paths += self._asked.values()
        return len(self.paths), self.bytes
