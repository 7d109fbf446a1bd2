"""Who may come in, and what they see: setting up, logging in and out, devices, tokens, other people's conversations."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import hold_talk
from tests.browser.screens import findings
from tests.browser.transcript import keep_toasts
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer
from tests.openid_provider import OLD_FASHIONED, running_provider

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def log_in(page: Page, email: str, password: str = PASSWORD) -> None:
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def email_of(client: Client) -> str:
    return str(client.get("/get_user_info").json()["user_email"])


@pytest.mark.shows("setup")
def test_the_first_visitor_makes_the_account_and_is_in_also_without_a_model(
    start_server: Callable[..., LiveServer], open_page: OpenPage
) -> None:
    page = open_page(start_server().client())
    expect(page.get_by_role("heading", name="Create your account")).to_be_visible()
    assert findings(page, "setup") == []
    page.get_by_label("E-mail").fill("grace@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.locator("#sidebar")).to_contain_text("grace@example.org")
    expect(page.locator("#conversation-title")).to_have_text("Welcome to Anaphora")
    expect(page.get_by_text("No model is set up, so nobody will answer")).to_be_visible()
    page.locator(".suggested-message").first.click()
    page.keyboard.press("Enter")
    expect(page.locator(".message-card").nth(2)).to_contain_text("1 reference")
    page.get_by_role("button", name="New conversation").first.click()
    expect(page.get_by_text("No model is set up, so nobody answers.")).to_be_visible()
    page.goto("/account")
    expect(page).to_have_url(re.compile("/settings$"))
    expect(page.locator("main")).to_contain_text("administrator of this server")
    # There is no second first account.
    page.goto("/setup")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_wrong_password_is_refused_and_the_right_one_lets_in(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("401")
    page = open_page(server.client())
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    log_in(page, email_of(person), "not the password")
    expect(page.get_by_role("alert")).to_have_text("The e-mail address or the password is wrong.")
    expect(page.get_by_label("E-mail")).to_have_value(email_of(person))
    expect(page.get_by_label("Password")).to_be_focused()
    log_in(page, email_of(person))
    expect(page.locator("#composer-input")).to_be_visible()


def test_who_logs_out_is_out(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    page.locator(".sidebar-user").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.goto("/interface/")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert person.get("/get_user_info").status == 401


def test_a_device_logged_out_from_another_is_out(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("401")
    telephone = open_page(server.sign_in(email_of(person)))
    expect(telephone.locator("#composer-input")).to_be_visible()
    page = open_page(person, "/settings#devices")
    devices = page.locator("#session-list .record")
    expect(devices).to_have_count(2)
    expect(page.locator("#session-list")).to_contain_text("this device")
    # Two more of one browser are told apart by their names, too.
    more = [server.sign_in(email_of(person)) for _ in range(2)]
    page.reload()
    revoke = page.locator("#session-list").get_by_role("button", name=re.compile("^Revoke"))
    expect(revoke).to_have_count(3)
    assert len(set(revoke.evaluate_all("(buttons) => buttons.map((button) => button.ariaLabel)"))) == 3
    for each in more:
        each.post("/logout", {})
    page.reload()
    expect(devices).to_have_count(2)
    page.locator("#session-list").get_by_role("button", name=re.compile("^Revoke")).click()
    page.locator("dialog[open]").get_by_role("button", name="Revoke").click()
    expect(devices).to_have_count(1)

    # The open page notices with the next thing it asks for, and keeps what was written until they are back.
    telephone.fill("#composer-input", "Is anybody there?")
    telephone.keyboard.press("Enter")
    expect(telephone.locator("#toasts")).to_contain_text("You are logged out. What you typed is kept in this browser.")
    expect(telephone.locator("#outbox")).to_contain_text("Is anybody there?")
    # Who is refused again is not told again: what they are pressing stays.
    telephone.evaluate("document.querySelector('.toast-message').dataset.mark = 'first'")
    with telephone.expect_response(lambda answer: answer.status == 401):
        telephone.evaluate("dispatchEvent(new Event('online'))")
    telephone.evaluate("fetch('/healthz').then((response) => response.text())")
    expect(telephone.locator(".toast-message[data-mark=first]")).to_be_visible()
    telephone.get_by_role("button", name="Log in").click()
    expect(telephone.get_by_role("heading", name="Log in")).to_be_visible()
    log_in(telephone, email_of(person))
    expect(telephone.locator(".message-card").nth(1)).to_contain_text("Understood.")
    expect(telephone.locator("#outbox")).to_be_hidden()
    page.reload()
    expect(devices).to_have_count(2)


def test_a_token_is_shown_once_works_and_ends_when_revoked(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, "/settings#tokens")
    keep_toasts(page)
    expect(page.locator("#token-list")).to_contain_text("No tokens yet.")
    page.get_by_role("textbox", name="Name", exact=True).fill("Backup script")
    page.get_by_label("Read-only").check()
    page.get_by_role("button", name="Create token").click()
    program = server.client()
    program.token = page.get_by_role("textbox", name="Your new token").input_value()
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == program.token
    page.get_by_role("button", name="Close").click()

    assert program.get("/get_user_info").json()["user_email"] == email_of(person)
    assert program.post("/create_conversation/assistant/", {}).status == 403
    page.reload()
    expect(page.locator("#token-list .record")).to_contain_text("Backup script")
    expect(page.locator("#token-list .record")).to_contain_text("read-only")
    assert program.token not in page.content()

    page.get_by_role("button", name="Revoke: Backup script").click()
    page.locator("dialog[open]").get_by_role("button", name="Revoke").click()
    expect(page.locator("#token-list")).to_contain_text("No tokens yet.")
    assert program.get("/get_user_info").status == 401


def test_a_new_password_logs_out_every_other_device(server: LiveServer, person: Client, open_page: OpenPage) -> None:
    email = email_of(person)
    other = server.sign_in(email)
    page = open_page(person, "/settings")
    keep_toasts(page)
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_label("New password").fill("another fine password")
    page.get_by_role("button", name="Change password").click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    assert other.get("/get_user_info").status == 401
    page.reload()
    page.get_by_role("link", name="Devices").click()
    expect(page.locator("#session-list .record")).to_have_count(1)
    again = open_page(server.client())
    log_in(again, email, "another fine password")
    expect(again.locator("#composer-input")).to_be_visible()


def test_what_is_told_about_oneself_is_kept(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings")
    keep_toasts(page)
    page.get_by_label("About me").fill("I grow <b>tomatoes</b>.")
    page.get_by_label("How to answer me").fill("Briefly.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    page.reload()
    expect(page.get_by_label("About me")).to_have_value("I grow <b>tomatoes</b>.")
    expect(page.get_by_label("How to answer me")).to_have_value("Briefly.")


def test_nobody_sees_what_is_somebody_elses(
    newcomer: Callable[[], Client], open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    owner, stranger = newcomer(), newcomer()
    talk = hold_talk(owner, "Growing tomatoes", "My secret fertiliser")
    page = open_page(stranger)
    expect(page.locator("#sidebar-status")).to_have_text("No conversations yet.")
    page.fill("#sidebar-filter", "tomatoes")
    expect(page.locator("#sidebar-filter-status")).to_have_text("Nothing matches.")

    missing = talk.conversation_id[:-6] + "zzzzzz"
    for theirs, nobodys in (
        (talk.path, f"/interface/{quote(missing, safe='')}"),
        (f"/r/{talk.friendly_id}/{talk.hashes[0]}", f"/r/{talk.friendly_id[:-4]}zzzz/{talk.hashes[0]}"),
        (f"/r/{talk.friendly_id}/1", "/r/nothing_here_zzzz/1"),
    ):
        texts = []
        for path in (theirs, nobodys):
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 404
            texts.append(page.locator(".panel").inner_text())
        assert texts[0] == texts[1]
        assert "fertiliser" not in page.content()


def find_person(page: Page, email: str) -> None:
    """The list shows the first fifty of all people of the server."""
    people = page.locator("#people-list")
    people.get_by_label("Find somebody").fill(email)
    expect(people.locator(".record").filter(has_text=email)).to_have_count(1)


@pytest.mark.shows("reset", "password-link")
def test_a_lost_password_is_replaced_by_an_administrators_link(
    server: LiveServer, administrator: Client, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    email = email_of(person)
    page = open_page(administrator, "/settings#people")
    keep_toasts(page)
    find_person(page, email)
    page.get_by_role("button", name=f"Password link…: {email}").click()
    address = page.get_by_role("textbox", name=f"Password link for {email}").input_value()
    assert findings(page, "password-link", shown=page.locator("dialog[open]")) == []
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Copied")

    own = open_page(server.client(), address)
    expect(own.locator(".panel")).to_contain_text(email)
    assert findings(own, "reset") == []
    own.get_by_label("New password").fill("another fine password")
    own.get_by_role("button", name="Set password").click()
    expect(own.locator("#composer-input")).to_be_visible()
    assert person.get("/get_user_info").status == 401
    own.goto(address)
    expect(own.locator(".panel")).to_contain_text("This link is not valid.")


@pytest.mark.shows("account-delete-dialog")
def test_an_account_is_deleted_by_its_owner_with_the_password(
    server: LiveServer, administrator: Client, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("403")
    email = email_of(person)
    hold_talk(person, "Growing tomatoes", "My secret fertiliser")
    page = open_page(person, "/settings")
    keep_toasts(page)
    page.get_by_role("button", name="Delete account…").click()
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("conversations, memories, documents, files, agents")
    expect(dialog).to_contain_text("shared links")
    assert findings(page, "account-delete-dialog", shown=dialog) == []
    dialog.get_by_label("Your password").fill("not the password")
    dialog.get_by_role("button", name="Delete my account").click()
    expect(page.locator("#toasts")).to_contain_text("The current password is wrong.")
    page.get_by_role("button", name="Delete account…").click()
    dialog.get_by_label("Your password").fill(PASSWORD)
    dialog.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert person.get("/get_user_info").status == 401
    assert email not in [each["user_email"] for each in administrator.get("/users").json()]
    # The address is free again when all of it is erased.
    while administrator.post("/users", {"email": email, "password": PASSWORD}).status == 409:
        page.wait_for_timeout(50)
    assert server.sign_in(email).get("/list_conversation_by_user/assistant").json() == []


def test_an_administrator_deletes_an_account(administrator: Client, person: Client, open_page: OpenPage) -> None:
    email = email_of(person)
    page = open_page(administrator, "/settings#people")
    keep_toasts(page)
    find_person(page, email)
    page.get_by_role("button", name=f"Delete…: {email}").click()
    page.locator("dialog[open]").get_by_role("button", name="Delete account").click()
    expect(page.locator("#toasts")).to_contain_text(f"{email} is closed")
    expect(page.locator("#people-list")).not_to_contain_text(email)
    assert person.get("/get_user_info").status == 401


@pytest.mark.shows("invited")
def test_an_administrator_invites_a_person_and_gives_them_a_role(live_server: LiveServer, open_page: OpenPage) -> None:
    page = open_page(live_server.sign_up(), "/settings#people")
    expect(page.locator("#invitation-list")).to_have_text("No invitation is open.")
    for address in ("bob@example.org", "eve@example.org"):
        page.get_by_label("For whom").fill(address)
        expect(page.get_by_label("How many people may use it")).to_be_disabled()
        page.get_by_role("button", name="Make invitation").click()
        link = page.get_by_role("textbox", name="Invitation").input_value()
        page.locator("dialog[open]").get_by_role("button", name="Close").click()
        expect(page.locator("#invitation-list")).to_contain_text(address)
        if address.startswith("bob"):
            bobs = link
    page.get_by_role("button", name="Withdraw: eve@example.org").click()
    expect(page.locator("#invitation-list")).not_to_contain_text("eve@example.org")

    own = open_page(live_server.client(), bobs)
    expect(own.locator(".panel")).to_contain_text("You are invited as bob@example.org.")
    assert findings(own, "invited") == []
    own.get_by_label("Your name").fill("Bob")
    own.get_by_label("Password").fill(PASSWORD)
    own.get_by_role("button", name="Create account").click()
    expect(own.locator("#sidebar")).to_contain_text("bob@example.org")

    page.reload()
    expect(page.locator("#invitation-list")).to_have_text("No invitation is open.")
    page.get_by_role("button", name="Make administrator: bob@example.org").click()
    page.locator("dialog[open]").get_by_role("button", name="Make administrator").click()
    row = page.locator("#people-list .record", has_text="bob@example.org")
    expect(row).to_contain_text("administrator")
    row.get_by_role("button", name="Make member").click()
    expect(row.get_by_role("button", name="Make administrator")).to_be_visible()
    assert not live_server.sign_in("bob@example.org").get("/get_user_info").json()["is_admin"]


@OLD_FASHIONED[0]
@OLD_FASHIONED[1]
@pytest.mark.shows("login-provider", "account-link")
def test_a_person_logs_in_by_an_openid_provider(
    start_server: Callable[..., LiveServer], open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("favicon.ico")
    page_problems.expect("404 (NOT FOUND)")
    with running_provider() as provider:
        provider.knows("u1", "linus@example.org")
        provider.knows("u2", "ada@example.org")
        server = start_server(**provider.environ(ALLOWED_DOMAINS="example.org"))
        server.sign_up()

        def log_in_there(page: Page, subject: str) -> None:
            page.get_by_role("link", name="Log in with Example").click()
            page.get_by_placeholder("sub").fill(subject)
            page.get_by_role("button", name="Authorize").click()

        page = open_page(server.client(), "/interface/?panel=memories")
        assert findings(page, "login-provider") == []
        log_in_there(page, "u1")
        expect(page).to_have_url(re.compile("/interface/.*panel=memories"))
        expect(page.locator("#sidebar")).to_contain_text("linus@example.org")

        # Somebody with a password connects both ways in, once.
        page = open_page(server.client(), "/settings")
        log_in_there(page, "u2")
        expect(page.get_by_role("heading", name="Connect your account")).to_be_visible()
        assert findings(page, "account-link") == []
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Connect and log in").click()
        expect(page).to_have_url(re.compile("/settings$"))
        page.get_by_role("button", name="Log out").click()
        log_in_there(page, "u2")
        expect(page.locator("#sidebar")).to_contain_text("ada@example.org")
