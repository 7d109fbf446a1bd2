"""What all tests share: real servers, a recording model behind a real address, a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from argon2 import PasswordHasher

from database.passwords import hash_with
from tests import tiers
from tests.fakes import RecordingModel
from tests.live_server import ROOT, LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = ROOT / ".anaphora" / "bin" / "chromium"
CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


tiers.load_hypothesis_profile()
# A hash of full cost takes longer than most tests; database/test_accounts.py tests the real one.
hash_with(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests into tiers; a browser test is retried once until none of them is flaky."""
    tiers.mark_by_fixtures(items)
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture
def recording_model() -> Iterator[RecordingModel]:
    """A model service on loopback that records its requests; set `.scripts["main"]` and `["cheap"]`."""
    with RecordingModel().serving() as model:
        yield model


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., LiveServer]]:
    """Start real servers: start_server(name="server", **settings). They are stopped after the test."""
    started: list[LiveServer] = []

    def start(name: str = "server", **environ: str) -> LiveServer:
        server = LiveServer(tmp_path / name, environ)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def live_server(start_server: Callable[..., LiveServer], recording_model: RecordingModel) -> LiveServer:
    """A real server whose models are the recording one."""
    return start_server(**recording_model.environ)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium, for one module alone: Playwright keeps an event loop running, and others want their own."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM.exists(), "No browser is set up: run `make test`, or `python setup test`."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM.resolve()), args=list(CHROMIUM_OPTIONS))
        yield browser
        browser.close()


class PageProblems(list[str]):
    """What went wrong in pages of a test: errors in the console, violations of the policy, requests to elsewhere.

    A test that provokes an answer such as 404 says so by `expect(part of the message)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.expected: list[str] = []

    def expect(self, part: str) -> None:
        """Messages with this part in them are meant to happen."""
        self.expected.append(part)

    def watch(self, context: BrowserContext) -> None:
        """Listen to all pages of `context`."""
        context.on("console", lambda message: self.append(message.text) if message.type == "error" else None)
        context.on("weberror", lambda error: self.append(str(error.error)))
        context.on("request", lambda request: self._note_foreign(request.url))

    def _note_foreign(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname != "127.0.0.1":
            self.append(f"request to another host: {url}")

    def unexpected(self) -> list[str]:
        """Those that no `expect` covers."""
        return [problem for problem in self if not any(part in problem for part in self.expected)]


@pytest.fixture
def page_problems() -> Iterator[PageProblems]:
    """Collects what goes wrong in pages and fails the test for it."""
    problems = PageProblems()
    yield problems
    assert problems.unexpected() == []


@pytest.fixture
def open_page(browser: Browser, page_problems: PageProblems) -> Iterator[Callable[..., Page]]:
    """Open a page in a context of its own: open_page(client, path="/interface/", **context options).

    It has the client's session and may use the clipboard. Context options are Playwright's (viewport, color_scheme …).
    """
    with ExitStack() as stack:

        def open_page(client: Any, path: str = "/interface/", **options: Any) -> Page:
            options = {"viewport": {"width": 1280, "height": 800}, "base_url": client.origin} | options
            context = browser.new_context(**options)
            stack.callback(context.close)
            context.set_default_timeout(15_000)
            context.grant_permissions(["clipboard-read", "clipboard-write"], origin=client.origin)
            cookies: Any = [
                {"name": name, "value": value, "url": client.origin} for name, value in client.cookies.items()
            ]
            context.add_cookies(cookies)
            page_problems.watch(context)
            page = context.new_page()
            page.goto(path)
            return page

        yield open_page
