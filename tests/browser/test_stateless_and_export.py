"""What is said in a stateless conversation is there until one leaves; and a conversation goes onto the own disk."""

from __future__ import annotations

import json
import secrets
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Route, expect

from tests.browser.chromium import PageProblems
from tests.browser.history import hold_talk, messages
from tests.browser.screens import findings
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import keep_toasts, open_talk, send
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


@pytest.mark.shows("stateless")
def test_what_is_not_kept_is_shown_apart_until_one_leaves(
    server: LiveServer, shared_model: RecordingModel, person: Client, open_page: OpenPage
) -> None:
    assert server
    talk, page = open_talk(person, open_page, "How much water?")
    mark = page.locator("#stateless-mark")
    expect(mark).to_be_hidden()
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Growing tomatoes"), "Toggle Stateless")
    expect(mark).to_be_visible()
    expect(mark).to_have_text("Not kept")

    shared_model.scripts["main"] = saying("Parsley ", "salt.", pause_after=1)
    send(page, "Remember this between us.")
    unkept = page.locator(".message-card.unkept")
    expect(unkept.last.locator(".message-body")).to_have_text("Parsley")
    # Who comes back in the middle finds it being written.
    page.reload()
    expect(unkept).to_have_count(2)
    expect(unkept.last.locator(".message-body")).to_have_text("Parsley")
    shared_model.release()
    expect(unkept.last.locator(".message-body")).to_have_text("Parsley salt.")
    expect(unkept.last).to_have_attribute("aria-busy", "false")
    for card in unkept.all():
        expect(card.get_by_text("not kept")).to_be_visible()
        expect(card.locator(".message-ref-badge")).to_be_hidden()
    unkept.last.get_by_role("button", name="Message actions").click()
    expect(page.get_by_role("menuitem")).to_have_text(["Copy text"])
    page.keyboard.press("Escape")
    expect(page.locator(".memory-proposals")).to_have_count(0)
    assert [message["text"] for message in messages(person, talk.conversation_id)] == ["How much water?", "Understood."]
    assert findings(page, "stateless") == []

    # What is kept again comes behind it, and takes the number that it has on the server.
    sidebar.choose(sidebar.row("Growing tomatoes"), "Toggle Stateless (on)")
    expect(mark).to_be_hidden()
    shared_model.scripts["main"] = saying("Noted.")
    send(page, "For the record?")
    expect(page.locator(".message-card")).to_have_count(6)
    expect(page.locator(".message-card").last.locator(".message-body")).to_have_text("Noted.")
    # It has an address when it is whole.
    expect(page.locator(".message-card").last).to_have_attribute("aria-busy", "false")
    stored = messages(person, talk.conversation_id)
    badge = page.locator(".message-card").last.locator(".message-ref-badge")
    expect(badge).to_have_text(f"#4 · {stored[3]['message_short_hash']}")
    expect(unkept).to_have_count(2)
    page.reload()
    expect(page.locator(".message-card")).to_have_count(4)
    expect(unkept).to_have_count(0)
    expect(mark).to_be_hidden()


@pytest.mark.shows("exported")
def test_a_conversation_is_saved_as_a_file_and_tried_again_where_that_failed(
    person: Client, open_page: OpenPage, page_problems: PageProblems, tmp_path: Path
) -> None:
    talk = hold_talk(person, "Bröd & butter", "How much water?")
    page = open_page(person, talk.path)
    keep_toasts(page)
    expect(page.locator(".message-card")).to_have_count(2)

    def refuse(route: Route) -> None:
        error = {"status": "error", "code": "storage_busy", "message": "The store is busy."}
        route.fulfill(status=503, content_type="application/json", body=json.dumps(error))

    page_problems.expect("503")
    page.route("**/export_conversation/**", refuse)
    sidebar = SidebarPage(page)
    sidebar.choose(sidebar.row("Bröd & butter"), "Export", "Markdown")
    toast = page.locator("#toasts").get_by_role("alert")
    expect(toast).to_contain_text("The conversation could not be exported. The store is busy.")
    page.unroute("**/export_conversation/**")
    with page.expect_download() as coming:
        toast.get_by_role("button", name="Try again").click()
    expect(page.locator("#toasts")).to_contain_text("Saved “Bröd & butter.md”")
    assert coming.value.suggested_filename == "Bröd & butter.md"
    saved = tmp_path / "saved.md"
    coming.value.save_as(saved)
    assert "> How much water?" in saved.read_text(encoding="utf-8")

    with page.expect_download() as coming:
        sidebar.choose(sidebar.row("Bröd & butter"), "Export", "Web page (HTML)")
    web_page = tmp_path / "saved.html"
    coming.value.save_as(web_page)
    page.goto(web_page.as_uri())
    expect(page.locator("h1")).to_have_text("Bröd & butter")
    expect(page.locator("article")).to_have_count(2)
    assert findings(page, "exported") == []


@pytest.mark.shows("download-everything")
def test_the_download_of_everything_says_how_far_it_is_and_can_be_cancelled_and_tried_again(
    person: Client, open_page: OpenPage, tmp_path: Path
) -> None:
    hold_talk(person, "Bröd & butter", "How much water?")
    noise, headers = secrets.token_hex(2_000_000).encode(), {"Content-Type": "application/octet-stream"}
    assert person.request("POST", "/attachments?name=noise.txt", noise, headers=headers).status == 201
    page = open_page(person, "/settings#data")
    network = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": 60_000, "uploadThroughput": -1}
    network.send("Network.enable")
    link, state = page.get_by_role("link", name="Download everything"), page.locator("#export-account-state")
    # What the page loads for it comes with the first one, so that only the archive is slow then.
    with page.expect_download() as coming:
        link.click()
    assert coming.value.suggested_filename.startswith("anaphora-")
    expect(state.get_by_role("status")).to_contain_text("Saved “anaphora-")

    network.send("Network.emulateNetworkConditions", slow)
    link.click()
    expect(state.get_by_text("1 of 1 conversation · ")).to_be_visible()
    expect(state.get_by_role("progressbar", name="Progress of the download")).to_be_visible()
    expect(link).to_be_hidden()
    expect(state.get_by_role("button", name="Cancel")).to_be_focused()
    assert findings(page, "download-everything") == []
    state.get_by_role("button", name="Cancel").click()
    expect(state.get_by_role("status")).to_have_text("The download was cancelled. Nothing was saved.")
    expect(link).to_be_visible()
    network.send("Network.emulateNetworkConditions", {**slow, "downloadThroughput": -1})

    cut = person.get("/export_account").body[:-100]
    page.route("**/export_account", lambda route: route.fulfill(body=cut, content_type="application/zip"))
    link.click()
    expect(state.get_by_role("alert")).to_contain_text("Nothing was saved. The download broke off before its end")
    page.unroute("**/export_account")
    with page.expect_download() as coming:
        state.get_by_role("button", name="Try again").click()
    coming.value.save_as(tmp_path / "everything.zip")
    assert zipfile.ZipFile(tmp_path / "everything.zip").testzip() is None
    expect(link).to_be_visible()


def test_everything_is_downloaded_and_read_from_the_disk(person: Client, open_page: OpenPage, tmp_path: Path) -> None:
    hold_talk(person, "Bröd & butter", "How much water?")
    page = open_page(person, "/settings")
    for _ in range(2):
        page.get_by_role("link", name="Account").click()
        page.get_by_role("link", name="Download first what you want to keep.").click()
        expect(page.get_by_role("heading", name="Import and export")).to_be_focused()
    with page.expect_download() as coming:
        page.get_by_role("link", name="Download everything").click()
    assert coming.value.suggested_filename.startswith("anaphora-")
    packed = tmp_path / "everything.zip"
    coming.value.save_as(packed)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "everything")
    page.goto((tmp_path / "everything" / "index.html").as_uri())
    expect(page.locator("h1")).to_contain_text("everything of")
    expect(page.get_by_role("link", name="All memories")).to_be_visible()
    page.get_by_role("link", name="Bröd & butter").click()
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("article").first).to_contain_text("How much water?")
