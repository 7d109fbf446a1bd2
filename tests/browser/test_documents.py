"""Documents in a real browser: named in a message, read in the panel, followed and written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.screens import findings
from tests.browser.transcript import keep_toasts, suggested
from tests.fakes import Answer, RecordingModel, calling, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


@pytest.mark.shows("document", "document-editor")
def test_a_document_is_named_read_followed_and_written(person: Client, open_page: OpenPage) -> None:
    """Seed 003, integration 4: the chips, the panel, and the messages that used a document."""
    for path, text in (("garden plan", "# Beds\n\nSee [[tomatoes]] and [[nowhere]]."), ("tomatoes", "Sown in March.")):
        person.put(f"/api/vault/document?path={path.replace(' ', '%20')}.md", {"text": text})
    page = open_page(person)
    field = page.locator("#composer-input")
    field.click()
    page.keyboard.type("See [[gard")
    expect(page.locator("#composer-suggestions [role=option]")).to_have_count(1)
    suggested(page)
    page.keyboard.press("Enter")
    expect(field).to_have_value("See [[garden plan]] ")
    page.keyboard.press("Enter")
    chips = page.locator(".from-user .message-documents .reference-chip")
    expect(chips).to_have_count(1)
    expect(page.locator(".from-assistant[data-status=complete]")).to_have_count(1)

    chips.click()
    panel = page.locator("#documents")
    expect(panel.get_by_role("heading", name="Beds", level=2)).to_be_visible()
    expect(panel.locator(".document-text .unresolved")).to_have_text("[[nowhere]] (Not found)")
    expect(panel.locator(".document-user")).to_have_count(1)
    assert findings(page, "document", shown=panel) == []
    panel.locator(".document-text .reference-chip", has_text="[[tomatoes]]").click()
    expect(panel.locator(".document-text")).to_have_text("Sown in March.")
    expect(panel.locator(".document-link")).to_have_text(["Beds"])

    panel.get_by_role("button", name="Edit").click()
    text = panel.get_by_role("textbox", name="Text of the document")
    expect(text).to_be_focused()
    assert findings(page, "document-editor", shown=text) == []
    text.fill("Sown in **April**.")
    panel.get_by_role("button", name="Save").click()
    expect(panel.locator(".document-text strong")).to_have_text("April")
    panel.get_by_role("button", name="All documents").click()
    expect(panel.locator(".documents-tree .document-link")).to_have_count(2)
    panel.get_by_role("searchbox", name="Find a document").fill("april")
    expect(panel.locator(".documents-excerpt")).to_have_text(["tomatoesSown in **April**."])
    panel.get_by_role("link", name="tomatoes").focus()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_the_switch_beside_the_message_box_turns_the_following_of_links_off_and_on(
    person: Client, open_page: OpenPage
) -> None:
    person.put("/api/vault/document?path=plan.md", {"text": "Tomatoes."})
    page = open_page(person)
    for number, chips in enumerate((0, 1), start=1):
        page.get_by_role("button", name="Options").click()
        page.get_by_label("Follow links to documents").set_checked(bool(chips))
        page.keyboard.press("Escape")
        page.locator("#composer-input").fill("See [[plan]].")
        page.keyboard.press("Enter")
        expect(page.locator(".from-assistant[data-status=complete]")).to_have_count(number)
        expect(page.locator(".from-user .message-documents .reference-chip")).to_have_count(chips)


def test_a_chip_tells_of_its_document_and_opens_it_at_the_place(person: Client, open_page: OpenPage) -> None:
    filler = "\n\n".join(f"Line {number}." for number in range(100))
    text = f"A plan for the year.\n\n{filler}\n\n# Beds\n\n{filler}\n\nTulips by the wall. ^wall\n\n{filler}"
    for name in ("plan", "wall"):
        person.put(f"/api/vault/document?path=notes/{name}.md", {"text": text})
    conversation_id = person.create_conversation()
    list(person.send(conversation_id, "See [[plan#Beds]] and [[wall#^wall]]."))
    page = open_page(person, f"/interface/{conversation_id}")
    chips = page.locator(".from-user .message-documents .reference-chip")
    heading, block = chips.first, chips.nth(1)
    heading.hover()
    for told in ("notes/plan.md", "# Beds", "A plan for the year."):
        expect(page.locator("#reference-card")).to_contain_text(told)
    panel = page.locator("#documents")
    heading.click()
    expect(panel.locator(".document-text h1")).to_be_in_viewport()
    block.click()
    expect(panel.get_by_text("Tulips by the wall.")).to_be_in_viewport()


def test_marks_of_embedded_documents_and_of_blocks_are_not_read(person: Client, open_page: OpenPage) -> None:
    person.put("/api/vault/document?path=queen.md", {"text": "# Queen\n\nGreen in 2024.\n"})
    swarming = "# Swarming\n\nSwarms leave in May. ^may\n\nLook: ![[queen]]\n\nStop! [[queen]] `x ^y`"
    person.put("/api/vault/document?path=swarming.md", {"text": swarming})
    page = open_page(person, "/interface/?panel=documents&document=swarming.md")

    text = page.locator(".document-text")
    expect(text.locator("p").nth(0)).to_have_text("Swarms leave in May. ^may")
    expect(text.locator("p").nth(0).locator("[hidden]")).to_have_text("^may")
    expect(text.locator("p").nth(1)).to_have_text(re.compile(r"^Look:\s*queen"))
    expect(text.locator("p").nth(2)).to_have_text(re.compile(r"^Stop! \s*queen.*x \^y$"))


def test_what_an_answer_used_and_what_it_only_found_stand_apart_while_it_is_written_and_later(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        if any(message["role"] == "tool" for message in request["messages"]):
            return saying("It says ", "roses.", pause_after=1)
        found, read = ("find_documents", {"query": "roses"}), ("read_document", {"path": "plan.md"})
        return calling(*((name, json.dumps(arguments)) for name, arguments in (found, read)))

    shared_model.scripts["main"] = answer
    for name in ("plan", "notes"):
        person.put(f"/api/vault/document?path={name}.md", {"text": f"Roses of the {name}."})
    conversation_id = person.create_conversation()
    person.request("PATCH", f"/conversations/{conversation_id}/settings", {"use_tools": True})
    page = open_page(person, f"/interface/{conversation_id}")
    page.locator("#composer-input").fill("What does the plan say?")
    page.keyboard.press("Enter")
    answered = page.locator(".from-assistant")
    groups = answered.locator(".documents-group:visible")
    expect(answered.locator(".message-body").last).to_contain_text("It says")
    expect(groups).to_have_text([re.compile("^Documents.*plan"), re.compile("^Found.*notes")])
    shared_model.release()
    expect(answered).to_have_attribute("data-status", "complete")
    page.reload()
    expect(groups).to_have_text([re.compile("^Documents.*plan"), re.compile("^Found.*notes")])


def test_of_many_documents_the_first_are_shown_until_more_are_wanted(person: Client, open_page: OpenPage) -> None:
    links = [f"[[note {number}]]" for number in range(55)]
    person.put("/api/vault/document?path=plan.md", {"text": "\n".join(links)})
    conversation_id = person.create_conversation()
    list(person.send(conversation_id, " ".join(["See [[plan]]", *links[:11]])))
    page = open_page(person, f"/interface/{conversation_id}")
    documents, panel = page.locator(".from-user .message-documents"), page.locator("#documents")
    chips = documents.locator(".reference-chip")
    expect(chips).to_have_count(10)
    documents.get_by_role("button", name="+2 more").click()
    expect(chips).to_have_count(12)
    expect(chips.nth(10)).to_be_focused()
    expect(documents.get_by_role("button", name="more")).to_have_count(0)
    chips.first.click()
    expect(panel.locator(".documents-broken")).to_have_count(50)
    panel.get_by_role("button", name="+5 more").click()
    expect(panel.locator(".documents-broken")).to_have_count(55)
    expect(panel.get_by_role("button", name="more")).to_have_count(0)


def test_long_names_of_folders_and_documents_leave_room_for_what_stands_beside(
    person: Client, open_page: OpenPage
) -> None:
    person.put(f"/api/vault/document?path={'Elbphilharmonie' * 8}/{'Konzertsaal' * 10}.md", {"text": "[[nowhere]]"})
    page = open_page(person, "/interface/?panel=documents", viewport={"width": 360, "height": 740})
    folder = page.locator("#documents .documents-tree summary")
    counted = folder.locator(".documents-count").bounding_box()
    assert counted
    assert counted["x"] + counted["width"] <= 360
    folder.click()
    page.locator("#documents .documents-folder .document-link").click()
    expect(page.locator("#documents").get_by_role("button", name="Edit")).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_the_document_that_was_meant_is_written_or_opened_by_a_click(person: Client, open_page: OpenPage) -> None:
    person.put("/api/vault/document?path=garden%20plan.md", {"text": "Tomatoes."})
    page = open_page(person)
    field, card = page.locator("#composer-input"), page.locator("#reference-card")
    field.fill("See [[gaden plan]]. ")
    page.locator("#composer-preview .reference-chip.unresolved").click()
    expect(card.get_by_role("button", name="[[garden plan]]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(field).to_have_value("See [[garden plan]]. ")
    expect(field).to_be_focused()
    expect(page.locator("#composer-preview .reference-chip[data-status=resolved]")).to_have_count(1)

    field.fill("See [[gaden plan]].")
    field.press("Enter")
    expect(page.locator(".from-assistant[data-status=complete]")).to_have_count(1)
    page.locator(".from-user .message-documents .reference-chip").click()
    card.get_by_role("button", name="[[garden plan]]").click()
    expect(page.locator("#documents .document-text")).to_have_text("Tomatoes.")


def test_what_was_meant_stays_offered_while_the_message_is_read_anew(person: Client, open_page: OpenPage) -> None:
    """The report of a turn comes first, the stored message later: its chip, card and focus stay."""
    person.put("/api/vault/document?path=garden%20plan.md", {"text": "Tomatoes."})
    page = open_page(person)
    held: list[Route] = []
    page.route("**/list_messages_by_conversation/**", lambda route: held.append(route), times=1)
    page.locator("#composer-input").fill("See [[gaden plan]].")
    page.keyboard.press("Enter")
    question = page.locator(".from-user")
    meant = page.locator("#reference-card").get_by_role("button", name="[[garden plan]]")
    expect(page.locator(".from-assistant[data-status=complete]")).to_have_count(1)
    question.locator(".message-documents .reference-chip").click()
    expect(meant).to_be_focused()

    (conversation,) = person.get("/list_conversation_by_user/assistant").json()
    where = conversation["conversation_id"]
    edit = f"/edit_message_from_conversation/{where}/{question.get_attribute('message-id')}/1"
    assert person.post(edit, {"text": "See [[gaden plan]], please."}).status == 200
    until_held(page, held)
    held[0].continue_()
    expect(question).to_contain_text("please")
    expect(meant).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#documents .document-text")).to_have_text("Tomatoes.")


def write(person: Client, path: str, text: str) -> None:
    """Write a document as another program does, whatever it says now."""
    now = person.get(f"/api/vault/document?path={path}")
    headers = {"If-Match": f'"{now.json()["version"]}"'} if now.status == 200 else {}
    assert person.put(f"/api/vault/document?path={path}", {"text": text}, **headers).status == 200


def text_of(person: Client, path: str) -> str:
    """What a document says now."""
    return str(person.get(f"/api/vault/document?path={path}").json()["text"])


def test_what_other_windows_and_programs_do_to_documents_is_seen_in_the_list_the_reader_and_the_editor(
    person: Client, server: LiveServer, open_page: OpenPage
) -> None:
    known = f"0{uuid4().hex}.md"
    write(person, known, "# Plan")
    write(person, "beds.md", "Sown in March.")
    (vault,) = (file.parent for file in Path(server.users_dir).glob(f"vaults/*/{known}"))
    page = open_page(person, "/interface/?panel=documents")
    panel = page.locator("#documents")
    links = panel.locator(".documents-tree .document-link")
    expect(links).to_have_text(["Plan", "beds"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/vault/" in request.url else None)
    vault.joinpath("a.md").write_text("# Another", encoding="utf-8")
    expect(links).to_have_text(["Plan", "Another", "beds"])
    assert person.delete("/api/vault/document?path=a.md").status == 200
    expect(links).to_have_text(["Plan", "beds"])
    assert asked == []

    panel.get_by_role("link", name="beds").click()
    text = panel.locator(".document-text")
    expect(text).to_have_text("Sown in March.")
    write(person, "beds.md", "Sown in April.")
    expect(text).to_have_text("Sown in April.")
    vault.joinpath("beds.md").rename(vault / "new beds.md")
    expect(panel.get_by_text("new beds.md")).to_be_visible()
    expect(text).to_have_text("Sown in April.")

    panel.get_by_role("button", name="Edit").click()
    field = panel.get_by_role("textbox", name="Text of the document")
    field.fill("My text.")
    write(person, "new%20beds.md", "Their text.")
    expect(panel.get_by_role("alert")).to_contain_text("Their text.")
    expect(field).to_have_value("My text.")
    expect(field).to_be_focused()
    panel.get_by_role("button", name="Throw away what I changed").click()
    expect(text).to_have_text("Their text.")
    assert person.delete("/api/vault/document?path=new%20beds.md").status == 200
    expect(panel.get_by_text("This document is not there any more.")).to_be_visible()


@pytest.mark.shows("documents")
def test_documents_are_imported_moved_deleted_and_brought_back(
    person: Client, open_page: OpenPage, tmp_path: Path
) -> None:
    write(person, "plan.md", "See [[tomatoes]].")
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in (("tomatoes.md", "Sown in March."), ("plan.md", "Another plan."), ("picture.png", "x")):
        (notes / name).write_text(text)
    page = open_page(person, "/interface/?panel=documents")
    panel = page.locator("#documents")
    expect(panel.get_by_role("link", name="plan")).to_be_visible()
    panel.get_by_role("button", name="Import").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("menuitem", name="A folder…").click()
    chooser.value.set_files(notes)
    expect(panel.get_by_text("2 documents imported · 1 other file passed over")).to_be_visible()
    panel.get_by_role("button", name="Import").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("menuitem", name="Files or ZIP archives…").click()
    chooser.value.set_files(notes / "plan.md")
    expect(panel.get_by_text("0 documents imported · 1 refused")).to_be_visible()
    expect(panel.locator(".documents-refused")).to_have_text(
        "plan.mdAnother document or a folder has this path, or it leads through a document."
    )
    assert findings(page, "documents", shown=panel) == []
    panel.get_by_role("button", name="Close the report").click()

    panel.locator("summary", has_text="notes").click()
    panel.get_by_role("link", name="tomatoes").click()
    panel.get_by_role("button", name="Actions for this document").click()
    page.get_by_role("menuitem", name="Rename or move…").click()
    dialog = page.get_by_role("dialog", name="Rename or move the document")
    expect(dialog.get_by_role("textbox")).to_have_value("notes/tomatoes.md")
    dialog.get_by_role("textbox").fill("plants/big tomatoes")
    dialog.get_by_role("button", name="Rename").click()
    expect(panel.get_by_text("plants/big tomatoes.md")).to_be_visible()
    assert text_of(person, "plan.md") == "See [[big tomatoes]]."

    panel.get_by_role("button", name="Actions for this document").click()
    page.get_by_role("menuitem", name="Delete").click()
    panel.locator("summary", has_text="Bin").click()
    panel.get_by_role("button", name="Restore “plants/big tomatoes.md”").click()
    expect(panel.locator("summary", has_text="plants")).to_be_visible()
    assert text_of(person, "plants/big%20tomatoes.md") == "Sown in March."


def test_who_renames_a_file_whose_text_says_its_old_name_may_change_the_title_too(
    person: Client, open_page: OpenPage
) -> None:
    write(person, "Rye.md", "# Rye\n\nSown in autumn.")
    page = open_page(person, "/interface/?panel=documents&document=Rye.md")
    panel, dialog = page.locator("#documents"), page.get_by_role("dialog", name="Rename or move the document")

    def rename(path: str) -> None:
        panel.get_by_role("button", name="Actions for this document").click()
        page.get_by_role("menuitem", name="Rename or move…").click()
        dialog.get_by_role("textbox").fill(path)
        dialog.get_by_role("button", name="Rename").click()
        expect(panel.get_by_text(path)).to_be_visible()

    toasts = page.locator("#toasts")
    # Whoever only moves it keeps its name.
    rename("fields/Rye.md")
    expect(toasts).to_contain_text("It is “fields/Rye.md” now.")
    expect(toasts).not_to_contain_text("still calls it")
    rename("fields/Wheat.md")
    expect(toasts).to_contain_text("It is “fields/Wheat.md” now. Its text still calls it “Rye”.")
    expect(panel.get_by_role("heading", name="Rye")).to_be_visible()
    toasts.get_by_role("button", name="Change the title").click()
    expect(panel.get_by_role("heading", name="Wheat")).to_be_visible()
    assert text_of(person, "fields/Wheat.md") == "# Wheat\n\nSown in autumn."

    # Whoever edits it by then goes on with that.
    rename("fields/Barley.md")
    panel.get_by_role("button", name="Edit").click()
    text = panel.get_by_role("textbox", name="Text of the document")
    text.fill("# Wheat\n\nSown in spring.")
    with page.expect_response(lambda response: response.request.method == "PUT"):
        toasts.get_by_role("button", name="Change the title").click()
    page.evaluate("fetch('/healthz')")  # by the time that this is answered, it would be closed
    expect(text).to_have_value("# Wheat\n\nSown in spring.")
    assert text_of(person, "fields/Barley.md") == "# Barley\n\nSown in autumn."


def test_a_document_that_was_changed_while_it_was_edited_keeps_both_texts_until_the_person_decides(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("412")
    write(person, "plan.md", "The first text.")
    page = open_page(person, "/interface/?panel=documents&document=plan.md")
    panel = page.locator("#documents")
    panel.get_by_role("button", name="Edit").click()
    text = panel.get_by_role("textbox", name="Text of the document")
    text.fill("My text.")
    write(person, "plan.md", "Their text.")
    save, conflict = panel.get_by_role("button", name="Save", exact=True), panel.get_by_role("alert")
    expect(conflict).to_contain_text("Their text.")
    save.click()
    expect(conflict.get_by_role("button", name="Save my text instead")).to_be_focused()
    expect(text).to_have_value("My text.")

    page.reload()
    keep_toasts(page)
    expect(text).to_have_value("My text.")
    save.click()
    conflict.get_by_role("button", name="Take this text").click()
    expect(text).to_have_value("Their text.")
    page.locator(".toast-message").get_by_role("button", name="Undo").click()
    expect(text).to_have_value("My text.")
    write(person, "plan.md", "Their second text.")
    expect(conflict).to_contain_text("Their second text.")
    assert text_of(person, "plan.md") == "Their second text."
    conflict.get_by_role("button", name="Save my text instead").click()
    expect(panel.locator(".document-text")).to_have_text("My text.")
    assert text_of(person, "plan.md") == "My text."


def test_a_new_document_is_not_begun_where_there_is_one_or_may_be_none(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("400")
    page_problems.expect("404")
    write(person, "notes/other.md", "What was written before.")
    page = open_page(person, "/interface/?panel=documents")
    keep_toasts(page)
    panel = page.locator("#documents")
    name = panel.get_by_role("textbox", name="Path of a new document")
    name.fill("notes/.hidden")
    name.press("Enter")
    expect(page.locator(".toast-message")).to_contain_text("hidden")
    page.locator(".toast-message").get_by_role("button", name="Dismiss").click()
    expect(name).to_have_value("notes/.hidden")
    name.fill("notes/other")
    name.press("Enter")
    told = page.locator(".toast-message").filter(has_text="There is a document of that path already")
    expect(told).to_be_visible()
    told.get_by_role("button", name="Dismiss").click()
    expect(panel.locator(".document-text")).to_have_text("What was written before.")
    page.go_back()

    name.fill("notes/new")
    name.press("Enter")
    expect(panel.get_by_role("button", name="Cancel")).to_be_visible()
    panel.locator(".document-input").fill("One line")
    expect(panel.get_by_role("button", name="Throw away what I changed")).to_be_visible()
    panel.locator(".document-input").fill("")
    panel.get_by_role("button", name="Cancel").click()
    expect(name).to_be_visible()
    assert person.get("/api/vault/document?path=notes/new.md").status == 404


def test_a_document_that_does_not_come_is_not_called_gone_and_is_asked_for_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("502")
    page_problems.expect("404")
    write(person, "heron.md", "A grey bird.")
    page = open_page(person, "/account")
    down = {"/events", "/api/vault/document"}

    def gateway(route: Route) -> None:
        if urlsplit(route.request.url).path in down:
            route.fulfill(status=502, content_type="text/html", body="<h1>Bad Gateway</h1>")
        else:
            route.fallback()

    page.route(re.compile("/events|/api/vault/document"), gateway)
    panel = page.get_by_role("region", name="Documents")
    failure = panel.get_by_text("The document could not be loaded. The server cannot be reached.")
    again = panel.get_by_role("button", name="Try again")

    def fails_to_open(path: str) -> None:
        page.goto(f"/interface/?panel=documents&document={path}")
        expect(failure).to_be_visible()
        expect(panel.get_by_text("not there any more")).to_have_count(0)

    fails_to_open("heron.md")
    with page.expect_response("**/api/vault/document?*"):
        again.click()
    expect(failure).to_be_visible()
    down.remove("/api/vault/document")
    again.click()
    expect(panel.locator(".document-text")).to_have_text("A grey bird.")
    expect(panel.get_by_role("heading", name="Documents")).to_be_focused()

    down.add("/api/vault/document")
    fails_to_open("heron.md")
    down.clear()
    expect(panel.locator(".document-text")).to_have_text("A grey bird.")
    page.goto("/interface/?panel=documents&document=nowhere.md")
    expect(panel.get_by_text("This document is not there any more.")).to_be_visible()


def test_documents_without_links_are_listed_by_their_titles_and_lead_to_themselves(
    person: Client, open_page: OpenPage
) -> None:
    write(person, "alone.md", "# Quite alone\n\nNobody names it.")
    page = open_page(person, "/interface/?panel=documents")
    panel = page.locator("#documents")
    expect(panel.get_by_role("link", name="Quite alone")).to_be_visible()  # the list moves what stands below it
    panel.get_by_text("Documents without links").click()
    panel.locator(".documents-folded").get_by_role("link", name="Quite alone").click()
    expect(panel.locator(".document-text")).to_contain_text("Nobody names it.")


def test_what_is_typed_into_a_document_and_not_saved_is_found_in_the_list(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    page = open_page(person, "/interface/?panel=documents")
    panel = page.get_by_role("region", name="Documents")
    panel.get_by_label("Path of a new document").fill("plans/garden")
    panel.get_by_role("button", name="New document").click()
    text = panel.get_by_label("Text of the document")
    text.fill("Beans\nand peas")
    page.reload()
    expect(panel.get_by_role("heading", name="Not saved yet")).to_be_visible()
    panel.get_by_role("link", name="plans/garden.md").click()
    expect(text).to_have_value("Beans\nand peas")
    panel.get_by_role("button", name="Throw away what I changed").click()
    page.get_by_role("dialog").get_by_role("button", name="Throw away what I changed").click()
    expect(panel.get_by_label("Path of a new document")).to_be_visible()
    expect(panel.get_by_role("heading", name="Not saved yet")).to_have_count(0)
    assert person.get("/api/vault/document?path=plans/garden.md").status == 404
