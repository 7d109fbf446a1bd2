"""Chromium, the pages that tests open in it, and what goes wrong in those."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from tests.live_server import ROOT

if TYPE_CHECKING:
    from collections.abc import Sized

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize

    from tests.http_client import Client

CHROMIUM = ROOT / ".anaphora" / "bin" / "chromium"
CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages of one context come in one process, one after the other: what it has compiled of the page's scripts is still
    # there, and no process is started for a page that nobody opens.
    "--renderer-process-limit=1",
)
PERMISSIONS = ("clipboard-read", "clipboard-write")
VIEWPORT: ViewportSize = {"width": 1280, "height": 800}
# How long a page may take for what it is asked, in milliseconds: generous, since a busy machine takes its time.
TIMEOUT = 45_000
_CONTEXT_OPTIONS: dict[str, Any] = {"viewport": VIEWPORT, "service_workers": "block"}
_STORED_BY_PAGES = "local_storage,indexeddb,cache_storage,service_workers"


_IS_KEPT = """async ([mark, times]) => {
  const result = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await result(indexedDB.open('anaphora'));
  for (let left = 1000; ; left -= 1) {
    const values = await result(database.transaction('kept').objectStore('kept').getAll());
    if (values.filter((value) => JSON.stringify(value).includes(mark)).length === times) break;
    if (left === 0) throw new Error('it was never kept');
    await new Promise((done) => setTimeout(done, 20));
  }
  database.close();
}"""


class PageProblems(list[str]):
    """What went wrong in the pages of a test: console errors, policy violations, requests to other hosts.

    A test that provokes an answer such as 404 says so by `expect(part of the message)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.expected: list[str] = []

    def expect(self, part: str) -> None:
        """Messages with this part in them are meant to happen."""
        self.expected.append(part)

    def watch(self, context: BrowserContext, *, until: ExitStack) -> None:
        """Listen to all pages of `context` until the stack closes."""
        listeners = {
            "console": self._note_error,
            "weberror": lambda error: self.append(str(error.error)),
            "request": lambda request: self._note_foreign(request.url),
        }
        for event, listener in listeners.items():
            context.on(event, listener)  # type: ignore[call-overload]
            until.callback(context.remove_listener, event, listener)

    def _note_error(self, message: ConsoleMessage) -> None:
        # The stream of changes lasts as long as its page: where a server ends, it breaks and is taken up again.
        if message.type == "error" and urlsplit(message.location["url"]).path != "/events":
            self.append(message.text)

    def _note_foreign(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname != "127.0.0.1":
            self.append(f"request to another host: {url}")

    def unexpected(self) -> list[str]:
        """Those that no `expect` covers."""
        return [problem for problem in self if not any(part in problem for part in self.expected)]


@dataclass
class SharedContext:
    """One browser context for all tests of a server: assets that never change stay in its cache.

    `cleared` gives it back as new: no page, cookie, stored value, route or permission of the last test is left.
    """

    context: BrowserContext
    origin: str

    def __post_init__(self) -> None:
        # A page that stays open: with none left, Chromium would tear the context's storage down and up again.
        self._kept = self.context.new_page()
        self._devtools = self.context.new_cdp_session(self._kept)

    def cleared(self) -> BrowserContext:
        """The context, as it was when it was made."""
        for page in self.context.pages:
            if page is not self._kept:
                page.close()
        assert not self._kept.evaluate("'__pwClock' in globalThis"), "a clock stays: open the page with own_clock=True"
        self.context.unroute_all()
        self.context.set_offline(False)
        self.context.clear_cookies()
        self.context.clear_permissions()
        self._devtools.send("Storage.clearDataForOrigin", {"origin": self.origin, "storageTypes": _STORED_BY_PAGES})
        return self.context


@dataclass
class PageOpener:
    """Opens the pages of one test: `open_page(client, path="/interface/", **options)`.

    The page has the client's session, may use the clipboard, and takes what is typed once it is returned. options:
    viewport, color_scheme and reduced_motion, or any other option of a browser context. The first client of the shared
    server gets the shared context; who comes beside it, uses another server, or needs another option, an empty cache
    or a clock of their own (`Page.clock` is that of the context, and stays) gets a context of their own.

    Pages have no service worker, since tests could not answer or count what goes through it; those about the worker
    itself ask for `service_workers="allow"`.
    """

    browser: Browser
    shared: SharedContext
    problems: PageProblems
    stack: ExitStack
    _owner: Client | None = field(default=None, init=False)

    def __call__(
        self,
        client: Client,
        path: str = "/interface/",
        *,
        empty_cache: bool = False,
        own_clock: bool = False,
        **options: Any,
    ) -> Page:
        viewport = options.pop("viewport", VIEWPORT)
        media = {name: options.pop(name) for name in ("color_scheme", "reduced_motion") if name in options}
        if options or empty_cache or own_clock:
            context = self._own_context(client, viewport=viewport, **options)
        else:
            context = self._shared_context(client) or self._own_context(client)
        page = context.new_page()
        if context is self.shared.context:
            page.set_viewport_size(viewport)
        if media:
            page.emulate_media(**media)
        _slow_down(page)
        page.goto(urljoin(client.origin, path))
        if page.locator("#composer").count():
            until_ready(page)
        return page

    def _shared_context(self, client: Client) -> BrowserContext | None:
        if client.origin != self.shared.origin or (self._owner is not None and self._owner is not client):
            return None
        if self._owner is None:
            self._owner = client
            self._prepare(self.shared.context, client)
        return self.shared.context

    def _own_context(self, client: Client, **options: Any) -> BrowserContext:
        context = self.browser.new_context(**_CONTEXT_OPTIONS | {"base_url": client.origin} | options)
        self.stack.callback(context.close)
        context.set_default_timeout(TIMEOUT)
        self._prepare(context, client)
        return context

    def _prepare(self, context: BrowserContext, client: Client) -> None:
        context.grant_permissions(PERMISSIONS, origin=client.origin)
        cookies: Any = [{"name": name, "value": value, "url": client.origin} for name, value in client.cookies.items()]
        context.add_cookies(cookies)
        self.problems.watch(context, until=self.stack)


def _slow_down(page: Page) -> None:
    """Let each answer come `TEST_LATENCY_MS` milliseconds late, and scripts run `TEST_SLOWDOWN` times slower.

    Unset, as in `make test`, nothing is slowed down. Whatever is in a hurry only by luck fails where these are large.
    """
    latency, slowdown = int(os.environ.get("TEST_LATENCY_MS", "0")), int(os.environ.get("TEST_SLOWDOWN", "1"))
    if not latency and slowdown == 1:
        return
    session = page.context.new_cdp_session(page)
    unlimited = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", unlimited | {"latency": latency})
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})


def wait_until(page: Page, condition: str, arg: object = None) -> None:
    """Wait until the JavaScript function `condition` is true of `arg`.

    `Page.wait_for_function` needs `eval`, which the page's Content-Security-Policy forbids.
    """
    page.evaluate(
        f"""async (arg) => {{
            const holds = {condition};
            for (let left = {TIMEOUT // 20}; !holds(arg); left -= 1) {{
                if (left === 0) throw new Error('it never came true');
                await new Promise((done) => setTimeout(done, 20));
            }}
        }}""",
        arg,
    )


def until_ready(page: Page) -> None:
    """Wait until messages can be sent and buttons of the composer listen: what is written before becomes a draft."""
    page.wait_for_selector("#composer:not([aria-busy])", state="attached")


def until_kept(page: Page, mark: str, *, times: int = 1) -> None:
    """Wait until so many values in the browser's database have the text `mark` in them."""
    page.evaluate(_IS_KEPT, [mark, times])


def until_held(page: Page, held: Sized, *, times: int = 1) -> None:
    """Wait until a handler that notes in `held` what it keeps back has so many requests.

    `Page.expect_request` ends when the page asks, which is before a handler of `Page.route` is told.
    """
    for _ in range(TIMEOUT // 20):
        if len(held) >= times:
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{times} requests were to be held back, and {len(held)} were")
