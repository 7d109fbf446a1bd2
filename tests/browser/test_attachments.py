"""Files in messages in a real browser: uploaded, shown, opened, kept with the draft."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from attachments.storage import Attachments
from database.connection import open_store
from tests.attachments.made_files import HEIC, pdf_of, picture_of
from tests.browser.chromium import PageProblems, until_held, until_kept
from tests.browser.history import hold_talk
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import keep_toasts
from tests.fakes import RecordingModel
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
INPUT = "#composer-input"
PROBLEM = "#composer-problem"
REPORT = {
    "name": "report.pdf",
    "mimeType": "application/pdf",
    "buffer": pdf_of(["The first page.", "The second page."]),
}
COPY_PICTURE = """async () => {
  const canvas = new OffscreenCanvas(30, 10);
  canvas.getContext('2d').fillRect(0, 0, 30, 10);
  await navigator.clipboard.write([new ClipboardItem({ 'image/png': await canvas.convertToBlob() })]);
}"""
TEXT_FILE = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Sow in March."}
PHOTO = {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": picture_of(40, 20, turned=True)}


def test_files_are_uploaded_stay_with_the_draft_and_are_shown_with_their_message(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    page = open_page(person)
    chip = page.locator(".file-chip")
    # A phone offers its camera, its pictures and its files where neither `accept` nor `capture` narrows the choice.
    assert page.locator("#attach-files:is([accept], [capture])").count() == 0
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    assert chooser.value.is_multiple()
    chooser.value.set_files([REPORT, PHOTO])
    expect(chip.filter(has_text="2 pages")).to_have_count(1)
    expect(chip.filter(has_text="20 × 40 pixels")).to_have_count(1)
    page.reload()
    expect(chip).to_have_count(2)
    expect(page.locator("#composer")).not_to_have_attribute("aria-busy", "true")
    page.fill(INPUT, "Look at these")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    expect(chip).to_have_count(0)
    assert "[Page 2]\nThe second page." in shared_model.prompt(model="main")

    question = page.locator(".message-card.from-user")
    expect(question.get_by_role("button", name="Show photo.jpg").locator("img")).to_have_js_property("naturalWidth", 20)
    question.get_by_role("button", name="Show report.pdf").click()
    dialog = page.get_by_role("dialog", name="report.pdf")
    expect(dialog.locator("pre")).to_contain_text("The first page.")
    dialog.get_by_role("button", name="Next page").click()
    expect(dialog.locator("pre")).to_contain_text("The second page.")
    expect(dialog.get_by_role("button", name="Next page")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.reload()
    expect(question.get_by_role("button", name="Show report.pdf")).to_be_visible()


def test_a_message_of_files_alone_is_sent_without_words(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    page = open_page(person)
    page.set_input_files("#attach-files", [REPORT])
    expect(page.locator(".file-chip").filter(has_text="2 pages")).to_have_count(1)
    page.focus(INPUT)
    with page.expect_request("**/send_message/*") as sent:
        page.keyboard.press("Enter")
    assert sent.value.post_data_json["messageText"] == ""
    question = page.locator(".message-card.from-user")
    expect(question.get_by_role("button", name="Show report.pdf")).to_be_visible()
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    assert "[Page 2]\nThe second page." in shared_model.prompt(model="main")
    page.reload()
    expect(question.get_by_role("button", name="Show report.pdf")).to_be_visible()
    expect(question.locator(".message-content")).not_to_contain_text("report.pdf, ")
    # Of a file that went as it is, there is nothing to report.
    expect(question.locator(".reference-report")).to_be_hidden()


def test_an_upload_that_takes_long_can_be_cancelled_and_one_that_failed_tried_again(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page = open_page(person)
    fates = iter(["held", "lost"])

    def answer(route: Route) -> None:
        match next(fates, "sent"):
            case "lost":
                route.abort()
            case "sent":
                route.continue_()

    page.route("**/attachments?name=*", answer)
    page.set_input_files("#attach-files", [REPORT])
    uploading = page.get_by_role("progressbar", name="Uploading report.pdf")
    expect(uploading).to_be_visible()
    page.fill(INPUT, "Look at this")
    page.keyboard.press("Enter")
    expect(page.locator(PROBLEM)).to_have_text("A file is on its way. The message is sent once it is there.")
    page.get_by_role("button", name="Do not attach report.pdf").click()
    expect(page.locator(".file-chip")).to_have_count(0)
    expect(page.locator(PROBLEM)).to_be_hidden()

    page_problems.expect("ERR_FAILED")
    page.set_input_files("#attach-files", [REPORT])
    expect(page.locator(PROBLEM)).to_contain_text("“report.pdf” could not be uploaded. The server cannot be reached.")
    page.focus(INPUT)
    page.keyboard.press("Enter")
    expect(page.locator(PROBLEM)).to_have_text("A file is not uploaded. Try it again, or take it out.")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".file-chip").filter(has_text="2 pages")).to_have_count(1)
    expect(page.locator(PROBLEM)).to_be_hidden()
    expect(page.locator(".message-card")).to_have_count(0)


def test_enter_while_files_arrive_sends_the_message_with_them_once_they_are_there(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    held: list[Route] = []
    page.route("**/attachments?name=*", lambda route: route.continue_() if held else held.append(route))
    page.fill(INPUT, "Look at both")
    # The key comes in the same moment as the files, before any of them is read.
    with page.expect_request("**/attachments?name=report.pdf"):
        page.set_input_files("#attach-files", [REPORT, PHOTO])
        page.focus(INPUT)
        page.keyboard.press("Enter")
    expect(page.locator(PROBLEM)).to_have_text("A file is on its way. The message is sent once it is there.")
    until_held(page, held)
    held[0].continue_()
    question = page.locator(".message-card.from-user")
    expect(question).to_contain_text("Look at both")
    expect(question.get_by_role("button", name="Show report.pdf")).to_be_visible()
    expect(question.get_by_role("button", name="Show photo.jpg")).to_be_visible()
    expect(page.locator(PROBLEM)).to_be_hidden()


def test_what_is_changed_after_enter_waits_for_another_enter(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    held: list[Route] = []
    page.route("**/attachments?name=*", lambda route: held.append(route))
    page.set_input_files("#attach-files", [REPORT])
    expect(page.get_by_role("progressbar", name="Uploading report.pdf")).to_be_visible()
    page.fill(INPUT, "Look")
    page.keyboard.press("Enter")
    expect(page.locator(PROBLEM)).to_have_text("A file is on its way. The message is sent once it is there.")
    page.keyboard.type(" closely")
    expect(page.locator(PROBLEM)).to_be_hidden()
    until_held(page, held)
    held[0].continue_()
    expect(page.locator(".file-chip").filter(has_text="2 pages")).to_have_count(1)
    expect(page.locator(INPUT)).to_have_value("Look closely")
    expect(page.locator(".message-card")).to_have_count(0)


def test_a_file_that_is_too_large_is_refused_with_the_limit_and_not_offered_again(
    open_page: OpenPage, person: Client, page_problems: PageProblems, tmp_path: Path
) -> None:
    page_problems.expect("413")
    with (tmp_path / "film.mp4").open("wb") as file:
        file.truncate(50 * 1024 * 1024 + 1)
    page = open_page(person)
    chip = page.locator(".file-chip")
    page.set_input_files("#attach-files", file.name)
    for _ in range(2):
        expect(page.locator(PROBLEM)).to_contain_text("could not be uploaded. A file may have 50 MB at most.")
        expect(chip.get_by_role("button")).to_have_count(1)
        page.reload()
    chip.get_by_role("button", name="Do not attach film.mp4").click()
    expect(chip).to_have_count(0)
    expect(page.locator(PROBLEM)).to_be_hidden()


def test_a_file_of_a_kind_that_is_never_taken_is_not_offered_again(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page_problems.expect("415")
    page = open_page(person)
    chip = page.locator(".file-chip")
    page.set_input_files(
        "#attach-files", {"name": "a.bin", "mimeType": "application/x", "buffer": bytes(range(256)) * 9}
    )
    expect(page.locator(PROBLEM)).to_contain_text("“a.bin” could not be uploaded.")
    expect(chip.get_by_role("button")).to_have_count(1)
    chip.get_by_role("button", name="Do not attach a.bin").click()
    expect(page.locator(PROBLEM)).to_be_hidden()


def test_uploads_that_failed_or_were_on_their_way_stay_with_the_draft_over_a_reload(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    talk, _ = (hold_talk(person, title) for title in ("Here", "Elsewhere"))
    page = open_page(person, talk.path)
    fates = {"photo.jpg": "held", "report.pdf": "lost"}

    def answer(route: Route) -> None:
        match fates.get(route.request.url.rpartition("=")[2]):
            case "lost":
                route.abort()
            case None:
                route.continue_()

    page.route("**/attachments?name=*", answer)
    page_problems.expect("ERR_FAILED")
    page.set_input_files("#attach-files", [REPORT, PHOTO])
    chip = page.locator(".file-chip")
    failed, uploading = chip.filter(has_text="report.pdf"), chip.filter(has_text="photo.jpg")

    def expect_both() -> None:
        expect(failed.get_by_role("button", name="Try again")).to_be_visible()
        expect(uploading.get_by_role("progressbar")).to_be_visible()
        expect(page.locator(PROBLEM)).to_contain_text("“report.pdf” could not be uploaded.")

    expect_both()
    for name in ("report.pdf", "photo.jpg"):
        until_kept(page, name)
    page.reload()
    expect_both()
    SidebarPage(page).row("Elsewhere").click()
    expect(chip).to_have_count(0)
    expect(page.locator(PROBLEM)).to_be_hidden()
    page.go_back()
    expect_both()
    fates.clear()
    page.reload()
    expect(chip.filter(has_text="20 × 40 pixels")).to_have_count(1)
    failed.get_by_role("button", name="Try again").click()
    expect(chip.filter(has_text="2 pages")).to_have_count(1)
    expect(page.locator(PROBLEM)).to_be_hidden()
    page.reload()
    expect(chip.locator(".claim-chip-name")).to_have_text(["report.pdf", "photo.jpg"])


def test_the_chip_of_a_running_upload_stays_the_same_while_other_files_come_fail_and_are_pressed(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person)
    held: list[Route] = []
    lost = iter([True])

    def answer(route: Route) -> None:
        if route.request.url.endswith("photo.jpg") and next(lost, False):
            route.abort()
        else:
            held.append(route)

    page.route("**/attachments?name=*", answer)
    page.set_input_files("#attach-files", [REPORT])
    chip = page.locator(".file-chip")
    uploading = chip.filter(has=page.get_by_role("progressbar", name="Uploading report.pdf"))
    uploading.evaluate("node => { node.dataset.same = 'yes'; }")
    cancel = uploading.get_by_role("button", name="Do not attach report.pdf")
    cancel.focus()
    page.set_input_files("#attach-files", [PHOTO])
    expect(chip.filter(has_text="photo.jpg").get_by_role("button", name="Try again")).to_be_visible()
    expect(uploading).to_have_attribute("data-same", "yes")
    expect(cancel).to_be_focused()
    page.set_input_files("#attach-files", [TEXT_FILE])
    expect(chip).to_have_count(3)
    expect(uploading).to_have_attribute("data-same", "yes")

    # What comes while it is pressed takes its place once it is let go of.
    with page.expect_request("**/attachments?name=photo.jpg"):
        chip.get_by_role("button", name="Try again").click()
    expect(chip.get_by_role("progressbar")).to_have_count(2)
    until_held(page, held, times=2)
    cancel.hover()
    page.mouse.down()
    with page.expect_response("**/attachments?name=photo.jpg"):
        held[-1].continue_()
    page.evaluate("() => new Promise((painted) => requestAnimationFrame(() => setTimeout(painted, 100)))")
    expect(uploading).to_have_attribute("data-same", "yes")
    page.mouse.up()
    expect(chip.locator(".claim-chip-name")).to_have_text(["notes.txt", "photo.jpg"])
    expect(chip.get_by_role("progressbar")).to_have_count(0)


def test_over_a_slow_network_the_bar_follows_the_bytes_and_a_cancelled_file_leaves_nothing(
    open_page: OpenPage, person: Client, server: LiveServer
) -> None:
    page = open_page(person)
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 200_000}
    network.send("Network.emulateNetworkConditions", slow)
    page.set_input_files("#attach-files", [{**REPORT, "buffer": REPORT["buffer"] + bytes(4_000_000)}])
    bar = page.get_by_role("progressbar", name="Uploading report.pdf")
    page.wait_for_function("bar => bar.value > 0.05 && bar.value < 1", arg=bar.element_handle())
    page.get_by_role("button", name="Do not attach report.pdf").click()
    expect(page.locator(".file-chip")).to_have_count(0)
    network.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    page.set_input_files("#attach-files", [PHOTO])
    expect(page.locator(".file-chip").filter(has_text="20 × 40 pixels")).to_have_count(1)
    user_email = str(person.get("/get_user_info").json()["user_email"])
    stored = Attachments(database=open_store(server.users_dir)).list_of(user_email)
    assert [each.name for each in stored] == ["photo.jpg"]


def test_a_picture_from_the_clipboard_and_dropped_files_are_attached_also_those_of_phones(
    open_page: OpenPage, person: Client, tmp_path: Path
) -> None:
    page = open_page(person)
    chip = page.locator(".file-chip")
    page.evaluate(COPY_PICTURE)
    page.focus(INPUT)
    page.keyboard.press("ControlOrMeta+V")
    expect(chip.filter(has_text="30 × 10 pixels").locator("img")).to_have_js_property("naturalWidth", 30)

    dropped = {"IMG_0001.HEIC": HEIC, "report.pdf": REPORT["buffer"]}
    for name, content in dropped.items():
        (tmp_path / name).write_bytes(content)
    data = {"items": [], "files": [str(tmp_path / name) for name in dropped], "dragOperationsMask": 1}
    browser = page.context.new_cdp_session(page)
    box = page.locator(INPUT).bounding_box()
    assert box
    for kind in ("dragEnter", "dragOver", "drop"):
        where = {"x": box["x"] + 20, "y": box["y"] + 10}
        browser.send("Input.dispatchDragEvent", {"type": kind, **where, "data": data})
    expect(page.locator(".drop-target")).to_be_hidden()
    expect(chip.filter(has_text="2 pages")).to_have_count(1)
    expect(chip.filter(has_text="20 × 40 pixels")).to_have_count(1)
    page.keyboard.type("Look")
    expect(page.locator("#composer")).not_to_have_attribute("aria-busy", "true")
    page.keyboard.press("Enter")
    question = page.locator(".message-card.from-user")
    shown = question.get_by_role("button", name="Show IMG_0001.HEIC").locator("img")
    expect(shown).to_have_js_property("naturalWidth", 20)
    expect(question.get_by_role("button", name="Show report.pdf")).to_be_visible()
    assert question.get_by_role("button", name="Show ").count() == 3


def test_why_a_file_was_not_taken_stays_while_the_others_are_uploaded(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    empty = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    page.set_input_files("#attach-files", [empty, PHOTO, REPORT])
    expect(page.locator(".file-chip").filter(has_text="20 × 40 pixels")).to_have_count(1)
    expect(page.locator(".file-chip").filter(has_text="2 pages")).to_have_count(1)
    expect(page.locator(PROBLEM)).to_contain_text("empty.txt")
    page.get_by_role("button", name="Do not attach photo.jpg").click()
    expect(page.locator(PROBLEM)).to_be_hidden()


def until_found(person: Client, words: str) -> None:
    """Wait until a file is found by its words, which are indexed behind the answer."""
    until = time.monotonic() + 60
    while not person.get(f"/search?q={words}&kind=file").json()["results"]:
        assert time.monotonic() < until, "no file was found"
        time.sleep(0.05)


def test_all_files_of_a_conversation_stand_beside_it_and_are_found_and_named(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    rail.get_by_role("tab", name="Files").click()
    expect(rail).to_contain_text("No message here has a file yet.")
    page.set_input_files("#attach-files", [REPORT, PHOTO])
    page.fill(INPUT, "Look at these")
    page.keyboard.press("Enter")
    # It is there as soon as the message is.
    expect(rail.locator(".rail-file-name")).to_have_text(["report.pdf", "photo.jpg"])
    rail.get_by_role("button", name="Show report.pdf").click()
    expect(page.get_by_role("dialog", name="report.pdf").locator("pre")).to_contain_text("The first page.")
    page.keyboard.press("Escape")
    rail.get_by_role("button", name="Go to message 1").first.click()
    expect(page.locator(".message-card.from-user")).to_be_focused()

    fid = page.locator(".message-card.from-user .message-ref-badge").get_attribute("data-msg-hash")
    assert fid
    until_found(person, "second")
    page.goto(f"{page.url.split('?')[0]}?panel=search&q=second&kind=file")
    hit = page.locator("#search-panel .search-hit")
    expect(hit.locator(".search-hit-title")).to_have_text("report.pdf")
    expect(hit.locator(".search-hit-about")).to_contain_text("page 2")


def test_a_text_file_is_kept_as_a_document_instead_and_linked(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    page = open_page(person)
    keep_toasts(page)
    chip = page.locator(".file-chip")
    offer = page.locator(".toast-message").filter(has_text="goes with this message alone.")
    page.fill(INPUT, "Read this:")
    page.set_input_files("#attach-files", [{"name": "plan.md", "mimeType": "text/markdown", "buffer": b"# Plan\nSow."}])
    expect(chip).to_contain_text("plan.md")
    offer.get_by_role("button", name="Keep as a document").click()
    expect(page.locator(INPUT)).to_have_value("Read this: [[plan.md]] ")
    expect(chip).to_have_count(0)
    assert person.get("/api/vault/document?path=plan.md").json()["text"] == "# Plan\nSow."
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    assert "Sow." in shared_model.prompt(model="main")

    # Another document has this name: the file stays with the message.
    page.set_input_files("#attach-files", [{"name": "plan.md", "mimeType": "text/markdown", "buffer": b"# Another"}])
    offer.get_by_role("button", name="Keep as a document").click()
    expect(page.locator("#toasts")).to_contain_text("“plan.md” was not kept as a document.")
    expect(chip).to_contain_text("plan.md")
    assert person.get("/api/vault/document?path=plan.md").json()["text"] == "# Plan\nSow."
