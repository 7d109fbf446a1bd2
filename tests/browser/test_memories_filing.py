"""The other tabs of the Memories panel: contexts, entities, tags, conflicts, texts, history, files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import until_held, until_kept
from tests.browser.memories_panel import (
    MemoriesPanel,
    address,
    claim,
    claims,
    make_context,
    remember,
    store_memories,
    told,
)
from tests.browser.transcript import keep_toasts
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def context_named(client: Client, name: str) -> dict[str, Any] | None:
    listed = client.get("/pkb/contexts").json()["contexts"]
    return next((each for each in listed if each["name"] == name), None)


def open_tab(open_page: OpenPage, client: Client, tab: str) -> MemoriesPanel:
    page = open_page(client, address(tab=tab))
    keep_toasts(page)
    return MemoriesPanel(page)


def test_contexts_are_made_renamed_described_and_deleted(person: Client, open_page: OpenPage) -> None:
    panel = open_tab(open_page, person, "contexts")
    page = panel.page
    page.get_by_role("button", name="New context").click()
    panel.answer("Health")
    expect(panel.context("Health")).to_be_visible()
    expect(panel.node.get_by_role("heading", name="Health")).to_be_visible()

    panel.context("Health").click(button="right")
    page.get_by_role("menuitem", name="Rename").click()
    panel.answer("Well-being")
    expect(panel.context("Well-being")).to_be_visible()

    panel.context("Well-being").click(button="right")
    page.get_by_role("menuitem", name="Describe").click()
    page.keyboard.type("Sleep, food, sport")
    panel.dialog.get_by_role("button", name="Save").click()
    expect(panel.node.locator(".memories-context-head")).to_contain_text("Sleep, food, sport")

    panel.context("Well-being").click(button="right")
    page.get_by_role("menuitem", name="Delete").click()
    expect(panel.context("Well-being")).to_have_count(0)
    assert context_named(person, "Well-being") is None
    panel.undo()
    expect(panel.context("Well-being")).to_be_visible()


def test_beside_the_contexts_a_memory_is_read_and_worked_with_at_every_width(
    person: Client, open_page: OpenPage
) -> None:
    remember(person, "I sleep seven hours and then I need a strong coffee")
    panel = open_tab(open_page, person, "contexts")
    row = panel.row("I sleep seven hours and then I need a strong coffee")
    for width in (1400, 1100, 900, 760, 620, 360):
        panel.page.set_viewport_size({"width": width, "height": 740})
        statement, menu = row.locator(".memory-statement").bounding_box(), row.locator("button").last.bounding_box()
        assert statement
        assert menu
        assert statement["width"] > 150
        assert menu["x"] + menu["width"] <= width


def test_contexts_are_moved_by_mouse_and_never_below_themselves(person: Client, open_page: OpenPage) -> None:
    with told(person, 3):
        health = make_context(person, "Health")
        sleep = make_context(person, "Sleep", parent=health["context_id"])
        make_context(person, "Work")
    panel = open_tab(open_page, person, "contexts")
    with told(person, 2):
        panel.drag_context("Sleep", to="Work")
        expect(panel.toasts).to_contain_text("Moved “Sleep” below “Work”")
        moved = context_named(person, "Sleep")
        assert moved is not None
        assert moved["parent_context_id"] == (context_named(person, "Work") or {})["context_id"]
        panel.undo()
        expect(panel.context("Sleep").locator("xpath=../../..").locator("> .jstree-anchor")).to_contain_text("Health")

    panel.drag_context("Health", to="Sleep")
    expect(panel.toasts).to_contain_text("A context cannot go below itself.")
    kept = context_named(person, "Health")
    assert kept is not None
    assert kept["parent_context_id"] is None
    assert sleep["parent_context_id"] == health["context_id"]


def test_memories_are_dropped_onto_a_context_and_found_there(person: Client, open_page: OpenPage) -> None:
    with told(person, 3):
        health = make_context(person, "Health")
        make_context(person, "Sleep", parent=health["context_id"])
        known = remember(person, "I sleep seven hours")
    panel = open_tab(open_page, person, "contexts")
    panel.row("I sleep seven hours").locator(".memory-statement").drag_to(panel.context("Sleep"))
    expect(panel.toasts).to_contain_text("Filed 1 memory under “Sleep”")
    expect(panel.context("Sleep")).to_contain_text("(1)")
    assert [each["name"] for each in claim(person, known["claim_id"])["contexts"]] == ["Sleep"]

    panel.context("Health").click()
    expect(panel.rows).to_have_count(1)
    panel.node.get_by_label("With the contexts below").uncheck()
    expect(panel.node).to_contain_text("No memories in this context yet.")
    panel.context("Sleep").click()
    expect(panel.rows).to_have_count(1)
    expect(panel.page).to_have_url(re.compile("open=sleep"))
    panel.choose(panel.rows.first, "Remove from this context")
    expect(panel.rows).to_have_count(0)
    assert claim(person, known["claim_id"])["contexts"] == []


def test_entities_and_tags_lead_to_their_memories(person: Client, open_page: OpenPage) -> None:
    remember(person, "Mira plays chess", tags=["games"], entities=[{"name": "Mira", "type": "person"}])
    remember(person, "I play go", tags=["games"])
    panel = open_tab(open_page, person, "entities")
    panel.node.get_by_role("button", name="Mira", exact=True).click()
    expect(panel.rows).to_have_count(1)
    expect(panel.node.locator(".memories-chip")).to_have_text("Entity:Mira")

    panel.tab("Tags").click()
    row = panel.node.locator(".memories-record", has_text="games")
    expect(row).to_contain_text("2 memories")
    row.click(button="right")
    panel.page.get_by_role("menuitem", name="New tag below").click()
    panel.answer("board games")
    expect(panel.node.locator(".memories-record.memories-depth-1")).to_contain_text("board games")
    row.filter(has_text="2 memories").get_by_role("button", name="games", exact=True).click()
    expect(panel.rows).to_have_count(2)


def test_a_conflict_is_decided_with_a_note(person: Client, open_page: OpenPage) -> None:
    old = remember(person, "I live in Graz")
    new = remember(person, "I live in Vienna")
    person.post("/pkb/conflicts", {"claim_ids": [old["claim_id"], new["claim_id"]]})
    panel = open_tab(open_page, person, "conflicts")
    panel.node.get_by_role("button", name="Resolve").click()
    expect(panel.node.get_by_role("alert")).to_contain_text("Choose which one holds")
    panel.node.locator(".memories-side", has_text="I live in Vienna").get_by_label("This one holds").check()
    panel.node.get_by_label("Note (optional)").fill("Moved in May")
    panel.node.get_by_role("button", name="Resolve").click()
    expect(panel.node).to_contain_text("No conflicts")
    assert claim(person, new["claim_id"])["status"] == "active"
    assert claim(person, old["claim_id"])["status"] != "active"


def test_memories_that_contradict_each_other_are_set_against_each_other(person: Client, open_page: OpenPage) -> None:
    for statement in ("I live in Graz", "I live in Vienna", "Tea is good"):
        remember(person, statement)
    panel = open_tab(open_page, person, "memories")
    against = panel.node.get_by_role("button", name="They contradict each other")
    panel.row("I live in Graz").get_by_role("checkbox").check()
    expect(against).to_be_hidden()
    panel.row("I live in Vienna").get_by_role("checkbox").check()
    against.click()
    expect(panel.tab("Conflicts (1)")).to_be_visible()
    expect(panel.row("I live in Graz")).to_contain_text("Contested")
    panel.tab("Conflicts (1)").click()
    expect(panel.node.locator(".memories-side")).to_have_count(2)
    panel.undo()
    expect(panel.node).to_contain_text("No conflicts")
    assert {each["status"] for each in claims(person)} == {"active"}


def test_memories_are_found_in_a_text_and_kept_as_approved(person: Client, open_page: OpenPage) -> None:
    panel = open_tab(open_page, person, "add")
    page = panel.page
    page.locator("#ingest-text").fill("I prefer tea to coffee.\nMy sister Mira lives in Vienna.\nI run every Sunday.")
    panel.node.get_by_label("Let the model read it").uncheck()
    page.locator("#start-ingest").click()
    rows = panel.node.locator(".memories-plan tbody tr")
    expect(rows).to_have_count(3)
    rows.nth(0).get_by_label("Statement").fill("I prefer green tea to coffee.")
    rows.nth(2).get_by_role("checkbox").uncheck()
    expect(page.locator("#execute-plan")).to_have_text("Keep 2 memories")

    page.reload()
    keep_toasts(page)
    expect(rows.nth(0).get_by_label("Statement")).to_have_value("I prefer green tea to coffee.")
    page.locator("#execute-plan").click()
    expect(panel.node).to_contain_text("2 added")
    kept = {each["statement"] for each in claims(person)}
    assert kept == {"I prefer green tea to coffee.", "My sister Mira lives in Vienna."}
    panel.node.get_by_role("button", name="Undo").click()
    expect(panel.toasts).to_contain_text("Undone")
    assert claims(person) == []


def test_reading_a_text_goes_on_while_the_person_is_elsewhere(person: Client, open_page: OpenPage) -> None:
    panel = open_tab(open_page, person, "add")
    page = panel.page
    held: list[Route] = []
    page.route("**/pkb/ingest_text", lambda route: held.append(route))
    page.locator("#ingest-text").fill("I prefer tea to coffee.")
    page.locator("#start-ingest").click()
    expect(panel.node).to_contain_text("Reading the text…")
    page.locator("#close-memories").click()
    expect(panel.node).to_be_hidden()
    until_held(page, held)
    held[0].continue_()
    expect(panel.toasts).to_contain_text("Your memories are ready to look at.")
    panel.toasts.get_by_role("button", name="Show").click()
    expect(panel.node.locator(".memories-plan tbody tr")).to_have_count(1)


def test_a_page_that_was_left_while_a_text_was_read_keeps_the_text(person: Client, open_page: OpenPage) -> None:
    panel = open_tab(open_page, person, "add")
    page = panel.page
    page.route("**/pkb/ingest_text", lambda _route: None)
    page.locator("#ingest-text").fill("I prefer tea to coffee.")
    page.locator("#start-ingest").click()
    expect(panel.node).to_contain_text("Reading the text…")
    page.reload()
    expect(panel.node.get_by_role("alert")).to_contain_text("The page was left while the text was read.")
    expect(page.locator("#ingest-text")).to_have_value("I prefer tea to coffee.")


# The browser's database opens after the five seconds that a page waits for it, which take no time here. Those that
# follow, where it needs what was written, never end.
_LATE = """
const { setTimeout: later } = globalThis;
let waits = 0;
globalThis.setTimeout = (job, ms, ...rest) => {
  if (ms !== 5000) return later(job, ms, ...rest);
  waits += 1;
  return waits === 1 ? later(job, 0, ...rest) : 0;
};
const { open } = IDBFactory.prototype;
IDBFactory.prototype.open = function (...given) {
  const late = new EventTarget();
  const opened = (asked) => {
    late.result = asked.result;
    late.onsuccess();
  };
  setTimeout(() => {
    const asked = open.apply(this, given);
    asked.onsuccess = () => opened(asked);
  }, 200);
  return late;
};
"""


def test_a_text_is_there_also_where_the_browsers_database_opens_late(person: Client, open_page: OpenPage) -> None:
    panel = open_tab(open_page, person, "add")
    page = panel.page
    page.locator("#ingest-text").fill("I prefer tea to coffee.")
    until_kept(page, "I prefer tea to coffee.")
    page.add_init_script(_LATE)
    page.reload()
    expect(page.locator("#ingest-text")).to_have_value("I prefer tea to coffee.")


# The browser's database opens when the test says so, after all patience of the page, which takes no time here.
_LATER = """
const { setTimeout: later } = globalThis;
globalThis.setTimeout = (job, ms, ...rest) => later(job, ms === 5000 ? 0 : ms, ...rest);
const { open } = IDBFactory.prototype;
const mayOpen = new Promise((resolve) => { globalThis.openDatabase = resolve; });
IDBFactory.prototype.open = function (...given) {
  const late = new EventTarget();
  mayOpen.then(() => {
    const asked = open.apply(this, given);
    asked.onsuccess = () => {
      late.result = asked.result;
      late.onsuccess();
    };
  });
  return late;
};
"""


def test_what_the_browsers_database_keeps_of_a_text_is_shown_when_it_comes_unless_another_was_begun(
    person: Client, open_page: OpenPage
) -> None:
    panel = open_tab(open_page, person, "add")
    page = panel.page
    text = page.locator("#ingest-text")
    rows = panel.node.locator(".memories-plan tbody tr")
    text.fill("I prefer tea to coffee.")
    until_kept(page, "I prefer tea to coffee.")
    page.add_init_script(_LATER)
    page.reload()
    expect(text).to_have_value("")
    page.evaluate("openDatabase()")
    expect(text).to_have_value("I prefer tea to coffee.")
    page.locator("#start-ingest").click()
    expect(rows).to_have_count(1)
    until_kept(page, "proposals")

    page.reload()
    expect(text).to_have_value("")
    page.evaluate("openDatabase()")
    expect(rows).to_have_count(1)

    page.reload()
    text.fill("I run every Sunday.")
    page.evaluate("openDatabase()")
    until_kept(page, "I run every Sunday.")  # written behind what was read
    expect(text).to_have_value("I run every Sunday.")
    expect(rows).to_have_count(0)


def test_a_text_that_is_too_large_is_refused_before_it_is_sent(person: Client, open_page: OpenPage) -> None:
    panel = open_tab(open_page, person, "add")
    panel.page.locator("#ingest-text").fill("ä" * 26_000)
    expect(panel.node.get_by_role("alert")).to_contain_text("A text holds at most 50 KB.")
    expect(panel.page.locator("#start-ingest")).to_be_disabled()


def test_each_change_is_in_the_history_and_can_be_taken_back(person: Client, open_page: OpenPage) -> None:
    known = remember(person, "I like long walks")
    assert person.delete(f"/pkb/claims/{known['claim_id']}").status == 200
    panel = open_tab(open_page, person, "history")
    changes = panel.node.locator(".memories-change")
    expect(changes.first).to_contain_text("I like long walks")
    changes.first.get_by_role("button", name=re.compile("^Undo")).click()
    expect(panel.toasts).to_contain_text("Undone")
    assert claim(person, known["claim_id"])["status"] == "active"
    expect(panel.node.locator(".memories-change.undone")).to_have_count(1)


def test_what_was_exported_is_imported_elsewhere_once(
    newcomer: Callable[[], Client], open_page: OpenPage, tmp_path: Path
) -> None:
    ada, ben = newcomer(), newcomer()
    for n in range(3):
        remember(ada, f"Fact {n}", tags=["facts"])
    panel = open_tab(open_page, ada, "transfer")
    expect(panel.node.locator(".memories-stats")).to_contain_text("3")
    with panel.page.expect_download() as downloading:
        panel.node.get_by_role("link", name="Download JSON").click()
    file = tmp_path / "memories.json"
    downloading.value.save_as(file)
    assert json.loads(file.read_text(encoding="utf-8"))["counts"]["claims"] == 3
    with panel.page.expect_download() as downloading:
        panel.node.get_by_role("link", name="Download Markdown").click()
    downloading.value.save_as(tmp_path / "memories.md")
    assert "Fact 1" in (tmp_path / "memories.md").read_text(encoding="utf-8")

    panel = open_tab(open_page, ben, "transfer")
    for said in ("3 memories", "Everything in it was there already."):
        panel.node.locator("input[type=file]").set_input_files(file)
        expect(panel.node.locator(".memories-outcome")).to_contain_text(said)
    assert {each["statement"] for each in claims(ben)} == {"Fact 0", "Fact 1", "Fact 2"}

    (tmp_path / "other.json").write_text("no JSON", encoding="utf-8")
    panel.node.locator("input[type=file]").set_input_files(tmp_path / "other.json")
    expect(panel.node.get_by_role("alert")).to_contain_text("is no JSON export")


def test_an_export_larger_than_a_request_may_be_is_imported_whole(
    server: LiveServer, newcomer: Callable[[], Client], open_page: OpenPage, tmp_path: Path
) -> None:
    ada, ben = newcomer(), newcomer()
    store_memories(server, ada, 1_000, words=" and more" * 500)
    exported = ada.get("/pkb/export?format=json").body
    assert len(exported) > 4 * 1024 * 1024
    file = tmp_path / "memories.json"
    file.write_bytes(exported)
    panel = open_tab(open_page, ben, "transfer")
    panel.node.locator("input[type=file]").set_input_files(file)
    expect(panel.node.locator(".memories-outcome")).to_contain_text("1,000 memories", timeout=60_000)
    assert ben.get("/pkb/claims?limit=1").json()["total_count"] == 1_000
