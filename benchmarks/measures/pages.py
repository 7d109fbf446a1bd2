"""What a real browser makes of it: the weight of the page, a sidebar of 10,000, a conversation of 10,000."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from database.connection import close_store, open_store
from tests.browser.chromium import CHROMIUM, CHROMIUM_OPTIONS
from tests.browser.traffic import Traffic
from tests.http_client import Client
from tests.live_server import LiveServer

from ..figures import Figure, of_samples, percentile
from ..made_up.history import SeedPlan, seed
from ..seeded import EMAIL, Bench, closed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_ROUNDS = 5
_TIMES = 20
_MESSAGES = 200
# Notes when each of these was first there to be seen: two frames after it was put into the document.
_WATCH = """
window.painted = {};
const wanted = {tree: '#workspaces-container .jstree-anchor', card: '.message-card', input: '#composer-input'};
const seen = new Set();
new MutationObserver(() => {
  for (const [name, selector] of Object.entries(wanted)) {
    if (seen.has(name) || !document.querySelector(selector)) continue;
    seen.add(name);
    requestAnimationFrame(() => requestAnimationFrame(() => { window.painted[name] = performance.now(); }));
  }
}).observe(document, {childList: true, subtree: true});
"""
_PAINTED = """async (name) => {
  while (!(name in window.painted)) await new Promise(requestAnimationFrame);
  return window.painted[name];
}"""
_SCROLL = """async () => {
  const box = document.querySelector('#sidebar-scroll'), frames = [];
  let last = await new Promise(requestAnimationFrame);
  for (let step = 0; step < 90; step++) {
    box.scrollTop += 240;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""
_OPEN_FOLDER = """async (name) => {
  const tree = jQuery('#workspaces-container').jstree(true);
  const anchor = [...document.querySelectorAll('#workspaces-container a.jstree-anchor')]
    .find((each) => each.textContent.trim().startsWith(name));
  const begun = performance.now();
  await new Promise((done) => tree.open_node(anchor.closest('li'), done, false));
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""
# From a key in the filter box until what it finds is painted; the page waits 150 ms for the next key.
_FILTER = """async (text) => {
  const box = document.querySelector('#sidebar-filter'), list = document.querySelector('#sidebar-matches');
  list.replaceChildren();
  const found = new Promise((done) => {
    const watch = new MutationObserver(() => {
      if (!list.childElementCount) return;
      watch.disconnect();
      done();
    });
    watch.observe(list, {childList: true});
  });
  const begun = performance.now();
  box.value = text;
  box.dispatchEvent(new Event('input'));
  await found;
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""
_FILTERED = ("story", "bud", "night lock", "folder 1", "p")
_BACK = """async (index) => {
  const begun = performance.now();
  history.back();
  while (!document.querySelector('#chatView')?.textContent.includes(index)) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""


def page_weight(bench: Bench) -> Iterator[Figure]:
    """An account with one conversation of 200 messages opens it: for the first time, nothing cached, and again."""
    server = LiveServer(bench.scratch("page")).start()
    try:
        client = server.sign_up(EMAIL)
        _check_joined(client)
        plan = SeedPlan(conversations=1, messages=_MESSAGES)
        list(seed(database=open_store(server.users_dir), user_email=EMAIL, plan=plan))
        close_store(server.users_dir)
        (conversation,) = client.get("/list_conversation_by_user/assistant").json()
        path = f"/interface/{conversation['conversation_id']}"
        with _browser() as browser:
            visits = [_visits(browser, client, path) for _ in range(_ROUNDS)]
    finally:
        server.stop()
    kilobytes, requests, usable, again = (statistics.median(column) for column in zip(*visits, strict=True))
    yield Figure(name="first load, transferred", value=kilobytes, unit="KB", budget=250.0, samples=_ROUNDS)
    yield Figure(name="first load, requests", value=requests, unit="requests", budget=40.0, samples=_ROUNDS)
    yield Figure(name="first load, usable", value=usable, budget=800.0, samples=_ROUNDS)
    yield Figure(name="second load, requests", value=again, unit="requests", budget=10.0, samples=_ROUNDS)


def sidebar(bench: Bench) -> Iterator[Figure]:
    """The sidebar of all seeded conversations, and the longest of them opened."""
    longest = bench.longest.conversation_id
    server = LiveServer(closed(bench)).start()
    try:
        client = server.sign_in(EMAIL)
        _check_joined(client)
        with _browser() as browser:
            yield from _sidebar(browser, client)
            yield _opened_again(browser, client, longest)
    finally:
        server.stop()


def _check_joined(client: Client) -> None:
    """What is measured is the page as it is delivered, in a few joined files."""
    joined = "/built/main" in client.get("/interface/").text
    assert joined, "the page's modules or style sheets changed since they were joined: `python setup serve` joins them"


def _sidebar(browser: Browser, client: Client) -> Iterator[Figure]:
    after_data, opened, filtered, frames = (list[float]() for _ in range(4))
    for _ in range(_TIMES):
        with _page(browser, client) as page:
            page.goto("/interface/")
            painted = _painted(page, "tree")
            after_data.append(painted - float(page.evaluate(_LIST_ARRIVED)))
            opened.append(float(page.evaluate(_OPEN_FOLDER, "Folder 1")))
            frames += page.evaluate(_SCROLL)
            filtered += [float(page.evaluate(_FILTER, text)) for text in _FILTERED]
    yield of_samples("sidebar there after its data", after_data, budget=150.0)
    yield of_samples("its fullest folder opens", opened, budget=100.0)
    yield of_samples("its filter shows what it finds, 150 ms of waiting for keys included", filtered, budget=300.0)
    yield Figure(
        name="a frame while it scrolls",
        value=statistics.median(frames),
        p95=percentile(frames, 95),
        samples=len(frames),
        budget_p95=25.0,
    )


_LIST_ARRIVED = """performance.getEntriesByType('resource')
  .filter((each) => /list_(conversation_by_user|workspaces)/.test(each.name))
  .reduce((latest, each) => Math.max(latest, each.responseEnd), 0)"""


def _opened_again(browser: Browser, client: Client, conversation_id: str) -> Figure:
    """From leaving another conversation until the newest messages of this one are painted."""
    # Other benchmarks of this run may have added to it.
    count = client.get(f"/get_conversation_details/{conversation_id}").json()["message_count"]
    samples = []
    with _page(browser, client) as page:
        page.goto(f"/interface/{conversation_id}")
        # The list of all conversations may come later than the messages, and is measured on its own.
        for part in ("card", "tree"):
            _painted(page, part)
        for _ in range(_TIMES):
            page.get_by_role("button", name="New conversation").first.click()
            page.locator(".message-card").first.wait_for(state="detached")
            samples.append(float(page.evaluate(_BACK, f"#{count}")))
    return of_samples(f"conversation of {count:,} messages painted", samples, budget=300.0)


def _visits(browser: Browser, client: Client, path: str) -> tuple[float, int, float, int]:
    """(kilobytes over the wire, requests, milliseconds until it can be used, requests of the second visit)."""
    with _page(browser, client) as page:
        traffic = Traffic(page)

        def visit() -> float:
            page.goto(path)
            return max(_painted(page, name) for name in ("tree", "card", "input"))

        times = list[float]()
        requests, size = traffic.of(lambda: times.append(visit()))
        again, _ = traffic.of(visit)
        return size / 1_000, requests, times[0], again


def _painted(page: Page, name: str) -> float:
    """Milliseconds from the beginning of the navigation."""
    return float(page.evaluate(_PAINTED, name))


@contextmanager
def _browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM.resolve()), args=list(CHROMIUM_OPTIONS))
        yield browser
        browser.close()


@contextmanager
def _page(browser: Browser, client: Client) -> Iterator[Page]:
    """A page of a new visitor with the client's session: nothing is cached."""
    context = browser.new_context(
        base_url=client.origin, viewport={"width": 1280, "height": 800}, service_workers="block"
    )
    cookies: list[Any] = [
        {"name": name, "value": value, "url": client.origin} for name, value in client.cookies.items()
    ]
    context.add_cookies(cookies)
    context.add_init_script(_WATCH)
    context.set_default_timeout(60_000)
    try:
        yield context.new_page()
    finally:
        context.close()
