"""The administration in the settings: use and quotas, models, health, jobs, and what administrators did."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from sqlalchemy import insert

from database.accounts.users import new_account
from database.connection import close_store, open_store
from database.schema import users
from tests.browser.chromium import PageProblems
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer
from tests.midnight import away_from_midnight

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
# How long a test takes at most, in seconds.
LONGEST_TEST = 120


def until_done(administrator: Client, kind: str) -> None:
    """Wait until the job has run that each start begins: the page asks once how jobs are."""
    until = time.monotonic() + 60
    while not any(
        (job["kind"], job["status"]) == (kind, "done") for job in administrator.get("/admin/jobs").json()["jobs"]
    ):
        assert time.monotonic() < until, f"{kind} did not end"
        time.sleep(0.1)


def test_an_administrator_sets_a_quota_which_the_person_meets_and_sees(
    live_server: LiveServer, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("429")
    away_from_midnight(LONGEST_TEST)
    administrator = live_server.sign_up("ada@example.org")
    until_done(administrator, "expire_proposals")
    assert administrator.post("/users", {"email": "linus@example.org", "password": PASSWORD}).status == 201
    page = open_page(administrator, "/settings#administration")
    section = page.locator("[data-section='administration']")
    health = section.locator("[data-part='health'] .record")
    expect(health.filter(has_text="Store")).to_contain_text("in order")
    expect(health.filter(has_text="Version")).to_contain_text("sqlite")
    jobs = section.locator("[data-part='jobs'] .record")
    expect(jobs.filter(has_text="Let old proposals expire")).to_contain_text("done")
    row = section.locator("[data-part='people'] .record", has_text="linus@example.org")
    expect(row).to_contain_text("Messages today: 0 · tokens: 0")
    row.get_by_role("button", name="Quota…").click()
    dialog = page.get_by_role("dialog", name="What linus@example.org may use")
    expect(dialog.get_by_label("Megabytes of files")).to_have_attribute("placeholder", "as for everybody: 5000")
    dialog.get_by_label("Messages a day").fill("-1")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_visible()
    dialog.get_by_label("Messages a day").fill("1")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Messages today: 0 of 1")
    expect(row).to_contain_text("own quota")

    linus = live_server.sign_in("linus@example.org")
    theirs = open_page(linus)
    message = theirs.locator("#composer-input")
    message.fill("First")
    message.press("Enter")
    expect(theirs.locator(".message-card")).to_have_count(2)
    expect(theirs.get_by_role("button", name="Answer again")).to_be_visible()
    message.fill("Second")
    message.press("Enter")
    # It stays in the page, and is sent when there is room again.
    waiting = theirs.get_by_role("list", name="Messages that are not sent yet")
    expect(waiting).to_contain_text("You have reached your limit of messages within a day, 1.")
    theirs.goto("/settings#limits")
    mine = theirs.locator("#own-usage .record")
    expect(mine.filter(has_text="Messages today").locator(".record-value")).to_have_text("1 of 1")


def test_people_come_page_after_page_and_are_found_by_name(live_server: LiveServer, open_page: OpenPage) -> None:
    administrator = live_server.sign_up("ada@example.org")
    names = [f"{number:02}" for number in range(52)]
    rows = [new_account(f"person-{name}@example.org", "", f"Zoë {name}", is_admin=False) for name in names]
    open_store(live_server.users_dir).write(lambda connection: connection.execute(insert(users), rows).close())
    close_store(live_server.users_dir)
    for section, place in (("people", "#people-list"), ("administration", "[data-part='people']")):
        page = open_page(administrator, f"/settings#{section}")
        people = page.locator(place)
        shown, status = people.locator(".record"), people.get_by_role("status")
        expect(shown).to_have_count(50)
        expect(status).to_have_text("The first 50 accounts")
        more = people.get_by_role("button", name="Show more")
        more.focus()
        more.press("Enter")
        expect(shown).to_have_count(53)
        expect(status).to_have_text("53 accounts")
        # Keys go on with the first who came.
        expect(shown.nth(50)).to_be_focused()
        expect(shown.nth(50)).to_contain_text("person-49@example.org")
        expect(more).to_be_hidden()
        find = people.get_by_label("Find somebody")
        find.press_sequentially("zoe 07")
        expect(shown).to_have_count(1)
        expect(shown).to_contain_text("person-07@example.org")
        expect(find).to_be_focused()
        find.fill("nobody at all")
        expect(status).to_have_text("Nobody is called so.")
        expect(shown).to_have_count(0)
        find.fill("")
        expect(shown).to_have_count(50)
        expect(more).to_be_visible()
        page.close()


def test_what_administrators_did_is_listed_page_by_page_and_filtered(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    administrator = live_server.sign_up("ada@example.org")
    assert administrator.post("/users", {"email": "linus@example.org", "password": PASSWORD}).status == 201
    for number in range(50):
        administrator.put("/admin/people/linus@example.org/quota", {"messages_a_day": number})
    page = open_page(administrator, "/settings#administration")
    rows = page.locator("[data-part='audit'] .record")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("linus@example.org · Messages a day: 48 → 49")
    expect(rows.first).to_contain_text("ada@example.org · by the page · 127.0.0.1")
    page.get_by_role("button", name="Show earlier ones").click()
    expect(rows).to_have_count(51)
    page.get_by_label("Which acts").select_option("Account created")
    expect(rows).to_have_count(1)
    page.get_by_label("Done to").fill("nobody@example.org")
    page.get_by_label("Done to").press("Enter")
    expect(page.locator("[data-part='audit']")).to_have_text("Nothing of this kind was done.")


def test_accounts_limits_and_acts_follow_other_tabs_and_other_administrators(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    ada = live_server.sign_up("ada@example.org")
    grace = {"email": "grace@example.org", "password": PASSWORD, "is_admin": True}
    linus = {"email": "linus@example.org", "password": PASSWORD}
    for account in (grace, linus):
        assert ada.post("/users", account).status == 201
    other = live_server.sign_in("grace@example.org")
    accounts, use = (open_page(other, f"/settings#{name}") for name in ("people", "administration"))
    own = open_page(live_server.sign_in("linus@example.org"), "/settings#limits")
    people, invitations = accounts.locator("#people-list .record"), accounts.locator("#invitation-list .record")
    row = use.locator("[data-part='people'] .record", has_text="linus@example.org")
    acts = use.locator("[data-part='audit'] .record")
    today = own.locator("#own-usage .record").filter(has_text="Messages today").locator(".record-value")
    expect(people).to_have_count(3)
    expect(row).to_contain_text("Messages today: 0 · tokens")
    expect(today).to_have_text("0")
    first_acts = acts.count()
    # Who is in a row stays there.
    disable = people.filter(has_text="linus@example.org").get_by_role("button", name="Disable")
    disable.focus()

    assert ada.put("/admin/people/linus@example.org/quota", {"messages_a_day": 7}).status == 200
    expect(row).to_contain_text("Messages today: 0 of 7")
    expect(today).to_have_text("0 of 7")
    expect(acts.first).to_contain_text("linus@example.org · Messages a day: as for everybody → 7")
    assert ada.post("/users", {"email": "rob@example.org", "password": PASSWORD}).status == 201
    expect(people).to_have_count(4)
    expect(disable).to_be_focused()
    assert ada.post("/invitations", {"days": 3, "uses": 2}).status == 201
    expect(invitations).to_have_count(1)
    expect(acts.first).to_contain_text("for anybody · as member · can be used 2 times · valid for 3 days")
    expect(acts).to_have_count(first_acts + 3)


def test_nobody_else_is_offered_the_administration(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings#administration")
    expect(page.locator(".settings-section:visible h2")).to_have_text("Account")
    expect(page.get_by_role("link", name="Administration")).to_have_count(0)
    assert page.locator("[data-section='administration']").count() == 0
    assert person.get("/admin/people").status == 403
