"""How the page comes: in few files, from the cache the second time, again after a failure, anew after an update."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from benchmarks.made_up.history import SeedPlan
from endpoints.http.languages import LANGUAGES, Language
from tests.browser.chromium import until_ready
from tests.browser.history import hold_talk, store_talk
from tests.browser.traffic import Traffic
from tests.browser.transcript import card
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.browser.chromium import PageProblems

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
TURNS = 100
MOST_REQUESTS = 40
MOST_BYTES = 250_000
MOST_REQUESTS_AGAIN = 10


def opened(page: Page, path: str) -> None:
    """Open the long conversation at its end."""
    page.goto(path)
    expect(card(page, 2 * TURNS)).to_be_in_viewport()


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_long_conversation_opens_with_few_requests_and_fewer_the_second_time(
    language: Language, shared_server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    assert person.put("/language", {"language": language}).status == 200
    # As heavy as the one that `python -m benchmarks page` opens.
    talk = store_talk(shared_server, person, "Growing tomatoes", turns=TURNS, chars=SeedPlan().chars)
    page = open_page(person, "/healthz", empty_cache=True)
    traffic = Traffic(page)
    requests, size = traffic.of(lambda: opened(page, talk.path))
    assert requests <= MOST_REQUESTS, traffic.paths
    assert size <= MOST_BYTES
    assert [path for path in traffic.paths if re.search(r"/page/(?!app/theme).*\.js", path)] == []
    # What is seen first comes in a small window; what was asked for ahead is not asked for twice.
    opening, *_ = (path for path in traffic.paths if "/list_messages_by_conversation/" in path)
    assert opening.endswith("?limit=16")
    for once in ("/list_workspaces/", "/list_conversation_by_user/", "/get_conversation_details/"):
        assert sum(once in path for path in traffic.paths) == 1

    requests, _ = traffic.of(lambda: opened(page, talk.path))
    assert requests <= MOST_REQUESTS_AGAIN, traffic.paths


def test_a_part_that_failed_is_asked_for_at_another_address(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person, empty_cache=True)
    asked = list[str]()

    def fail_twice(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 2:
            route.continue_()
        else:
            route.abort()

    page.route(re.compile(r"/built/later\.js"), fail_twice)
    page.locator("#model-button").click()
    problem = page.locator("#composer-problem")
    for _ in range(2):
        problem.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("listbox", name="Models").get_by_role("option")).not_to_have_count(0)
    assert [re.sub(r".*/later\.js", "", url) for url in asked] == ["", "?try=1", "?try=2"]


def answered_as_by(page: Page, version: list[str], what: str) -> Any:
    """Have the server's answers name the last version; gives what the page says of it."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, headers={**response.headers, "x-anaphora-version": version[-1]})

    page.route(re.compile(what), answer)
    return page.locator(".toast-message").filter(has_text="Anaphora was updated on the server.")


def test_after_each_update_of_the_server_the_page_offers_once_to_be_loaded_again(
    person: Client, open_page: OpenPage
) -> None:
    for title in ("Growing tomatoes", "Drying basil"):
        hold_talk(person, title, "How much water?")
    page = open_page(person)
    versions = ["another"]
    offers = answered_as_by(page, versions, "/(get_conversation_details|list_messages)")

    def look(title: str) -> None:
        page.locator("#workspaces-container .jstree-anchor", has_text=title).click()
        expect(page.locator("#conversation-title")).to_have_text(title)
        expect(card(page, 2)).to_be_visible()

    look("Growing tomatoes")
    offers.get_by_role("button", name="Dismiss").click()
    look("Drying basil")
    expect(offers).to_have_count(0)
    versions.append("a third")
    look("Growing tomatoes")
    expect(offers).to_have_count(1)
    page.unroute_all()
    with page.expect_navigation():
        offers.get_by_role("button", name="Reload").click()
    expect(card(page, 2)).to_be_visible()
    expect(offers).to_have_count(0)


def test_an_update_is_told_again_where_a_part_of_the_page_does_not_come(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person, empty_cache=True)
    page.route(re.compile(r"/built/later\.js"), lambda route: route.abort())
    offers = answered_as_by(page, ["another"], "/list_workspaces")
    page.reload()
    offers.get_by_role("button", name="Dismiss").click()
    expect(offers).to_have_count(0)
    until_ready(page)
    page.locator("#model-button").click()
    expect(offers).to_have_count(1)


def test_a_part_of_a_page_from_before_an_update_says_to_reload_and_nothing_typed_is_lost(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    page = open_page(person, empty_cache=True)
    offers = answered_as_by(page, ["another"], "/manifest.webmanifest")

    def ask_the_updated_server(route: Route) -> None:
        route.continue_(url=re.sub(r"/static/[0-9a-f]+/", "/static/0123456789abcdef/", route.request.url))

    page.route(re.compile(r"/built/later\.js"), ask_the_updated_server)
    page.fill("#composer-input", "How much water?")
    page.locator("#model-button").click()
    expect(page.locator("#composer-problem")).to_contain_text(
        "Anaphora was updated on the server. Reload the page; what you typed is kept."
    )
    expect(offers).to_have_count(1)
    page.unroute_all()
    with page.expect_navigation():
        offers.get_by_role("button", name="Reload").click()
    expect(page.locator("#composer-input")).to_have_value("How much water?")
    until_ready(page)
    page.locator("#model-button").click()
    expect(page.get_by_role("listbox", name="Models").get_by_role("option")).not_to_have_count(0)


def test_the_page_also_runs_from_its_single_modules(
    start_server: Callable[..., LiveServer], open_page: OpenPage
) -> None:
    server = start_server(ANAPHORA_PAGE="modules")
    person = server.sign_up()
    talk = store_talk(server, person, "Growing tomatoes", turns=1)
    page = open_page(person, talk.path)
    expect(card(page, 2)).to_be_visible()
    assert page.locator('script[src*="/built/"]').count() == 0
    page.locator("#open-memories").click()
    expect(page.get_by_role("heading", name="Memories", exact=True)).to_be_visible()
    page.goto("/settings")
    expect(page.locator("#user-detail")).to_be_visible()
