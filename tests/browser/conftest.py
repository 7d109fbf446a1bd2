"""What the tests of the page share: one browser, one model, one server and one browser context for the whole run.

Each test has an account of its own. What changes the server itself (its settings, its accounts, its end) has a server
of its own: `live_server` or `start_server`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.chromium import (
    CHROMIUM,
    CHROMIUM_OPTIONS,
    TIMEOUT,
    VIEWPORT,
    PageOpener,
    PageProblems,
    SharedContext,
)
from tests.browser.screens import looked_at, shown_by
from tests.fakes import RecordingModel
from tests.http_client import Client
from tests.live_server import LiveServer, new_account

expect.set_options(timeout=TIMEOUT)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A test looks at exactly those screens that it is marked with."""
    looked_at.clear()
    yield
    assert looked_at == shown_by(item.iter_markers())


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    assert CHROMIUM.exists(), "No browser is set up: run `make test`, or `python setup test`."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM.resolve()), args=list(CHROMIUM_OPTIONS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def administrator(shared_server: LiveServer) -> Client:
    """The first account of the shared server."""
    return new_account(shared_server, "administrator@example.org", is_admin=True)


@pytest.fixture(scope="session")
def shared_context(browser: Browser, shared_server: LiveServer) -> Iterator[SharedContext]:
    """The browser context of the shared server, for the whole run."""
    context = browser.new_context(viewport=VIEWPORT, base_url=shared_server.url, service_workers="block")
    context.set_default_timeout(TIMEOUT)
    yield SharedContext(context, shared_server.url)
    context.close()


@pytest.fixture
def page_problems() -> Iterator[PageProblems]:
    """Collects what goes wrong in pages and fails the test for it."""
    problems = PageProblems()
    yield problems
    assert problems.unexpected() == []


@pytest.fixture
def open_page(browser: Browser, shared_context: SharedContext, page_problems: PageProblems) -> Iterator[PageOpener]:
    """Opens pages: open_page(client, path="/interface/", **options); see `PageOpener`."""
    with ExitStack() as stack:
        stack.callback(shared_context.cleared)
        yield PageOpener(browser, shared_context, page_problems, stack)


@pytest.fixture
def server(shared_server: LiveServer, shared_model: RecordingModel) -> LiveServer:
    """The shared server; its model says one thing."""
    assert shared_model
    return shared_server


@pytest.fixture
def newcomer(server: LiveServer, administrator: Client) -> Callable[[], Client]:
    """Makes an account on the shared server, logged in, with nothing in it yet."""
    assert administrator
    return lambda: new_account(server)


@pytest.fixture
def person(newcomer: Callable[[], Client]) -> Client:
    """Somebody new to the shared server."""
    return newcomer()
