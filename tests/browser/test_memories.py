"""The Memories panel in a real browser: finding among ten thousand, adding, changing, many at once, by keys alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held, wait_until
from tests.browser.history import hold_talk
from tests.browser.memories_panel import (
    MemoriesPanel,
    address,
    claim,
    claims,
    remember,
    store_memories,
)
from tests.browser.screens import MEMORIES, findings
from tests.browser.transcript import AT_END, copied, keep_toasts
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Page, Route, ViewportSize

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
# Where the panel has no room beside the conversation.
COVERED: ViewportSize = {"width": 1100, "height": 800}
WIDE: ViewportSize = {"width": 1440, "height": 900}
HOSTILE = '<img src=x onerror=alert(1)> <b>bold</b> & "quoted" ${x} \''


def test_ten_thousand_memories_are_listed_a_page_at_a_time(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    store_memories(server, person, 10_000)
    page = open_page(person, address())
    panel = MemoriesPanel(page)
    panel.count("1–50 of 10,000")
    expect(panel.rows).to_have_count(50)
    expect(panel.rows.first).to_contain_text("Memory 10000")

    panel.node.get_by_role("spinbutton", name="Page").fill("150")
    page.keyboard.press("Enter")
    panel.count("7,451–7,500 of 10,000")
    expect(panel.rows).to_have_count(50)
    page.reload()
    panel.count("7,451–7,500 of 10,000")
    page.go_back()
    panel.count("1–50 of 10,000")

    panel.rows.first.get_by_role("button", name="Personal").click()
    panel.count("1–50 of 3,334")
    chip = panel.node.locator(".memories-chip")
    expect(chip).to_have_text("Domain:Personal")
    chip.click()
    panel.count("1–50 of 10,000")

    panel.node.get_by_role("checkbox", name="Select all on this page").check()
    panel.node.get_by_role("button", name="Select the first 500").click()
    expect(panel.node.locator(".memories-bulk-count")).to_have_text("500 selected")
    keep_toasts(page)
    panel.node.get_by_role("button", name="Retract").click()
    expect(panel.toasts).to_contain_text("Retracted 500 memories")
    panel.count("1–50 of 9,500")
    panel.undo()
    panel.count("1–50 of 10,000")

    panel.node.get_by_role("searchbox", name="Search memories").fill("7777")
    expect(panel.rows.first).to_contain_text("Memory 7777")
    expect(page).to_have_url(re.compile(r"q=7777"))


def test_the_first_visit_does_without_the_panel(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    expect(page.locator("#composer-input")).to_be_visible()
    names = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    assert [name for name in names if "/memories/" in name] == []


@pytest.mark.shows("memories-empty")
def test_who_has_none_is_told_what_a_memory_is(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    panel = MemoriesPanel(page)
    page.get_by_role("button", name="Memories", exact=True).click()
    expect(panel.node).to_contain_text("No memories yet")
    assert findings(page, "memories-empty") == []
    panel.node.get_by_role("button", name="I prefer short answers with code first.").click()
    expect(page.locator("#memory-statement")).to_have_value("I prefer short answers with code first.")
    panel.dialog.get_by_role("button", name="Add memory").click()
    expect(panel.rows).to_have_count(1)


@pytest.mark.shows("memory-form")
def test_what_is_suggested_is_taken_by_a_click_and_never_replaces_what_was_typed(
    person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, address())
    keep_toasts(page)
    panel = MemoriesPanel(page)
    page.locator("#add-memory").click()
    page.locator("#memory-statement").fill("I prefer running outside in the morning for my health")
    suggestion = panel.dialog.locator(".suggestion").first
    expect(suggestion).to_be_visible()
    assert findings(page, "memory-form", shown=panel.dialog) == []
    panel.dialog.get_by_label("Tags", exact=True).fill("sport")
    panel.dialog.get_by_role("button", name="Use all").click()
    expect(panel.dialog.get_by_label("Tags", exact=True)).to_have_value(re.compile(r"^sport"))
    panel.dialog.get_by_role("button", name="Add memory").click()
    expect(panel.toasts).to_contain_text("Added “I prefer running outside")
    [added] = claims(person)
    assert added["claim_type"] == "preference"
    assert "sport" in [tag["name"] for tag in added["tags"]]
    panel.undo()
    expect(panel.rows).to_have_count(0)
    assert claims(person) == []


def test_what_was_typed_is_there_again_after_leaving(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, address())
    page.locator("#add-memory").click()
    page.locator("#memory-statement").fill("Half a thought")
    page.keyboard.press("Escape")
    page.reload()
    page.locator("#add-memory").click()
    expect(page.locator("#memory-statement")).to_have_value("Half a thought")


def test_a_near_duplicate_can_take_the_place_of_the_old_one(person: Client, open_page: OpenPage) -> None:
    old = remember(person, "I drink black tea in the morning")
    page = open_page(person, address())
    keep_toasts(page)
    panel = MemoriesPanel(page)
    expect(panel.rows).to_have_count(1)
    page.locator("#add-memory").click()
    page.locator("#memory-statement").fill("I drink black tea in the morning.")
    panel.dialog.get_by_role("button", name="Add memory").click()
    expect(panel.dialog).to_contain_text("You have something like this")
    panel.dialog.get_by_role("button", name="Replace the old one").click()
    expect(panel.toasts).to_contain_text("The old one is superseded.")
    expect(panel.rows).to_have_count(1)
    assert claim(person, old["claim_id"])["status"] == "superseded"


def test_a_memory_is_changed_with_what_it_is_filed_under(person: Client, open_page: OpenPage) -> None:
    known = remember(
        person, "Mira lives in Graz", tags=["family", "old"], entities=[{"name": "Mira", "type": "person"}]
    )
    page = open_page(person, address())
    panel = MemoriesPanel(page)
    panel.choose(panel.row("Mira lives in Graz"), "Edit")
    page.locator("#memory-statement").fill("Mira lives in Vienna")
    # What only another memory makes of this one is no choice.
    expect(panel.dialog.get_by_label("Status").locator("option")).to_have_text(
        ["Active", "Historical", "Retracted", "Draft", "Expired"]
    )
    panel.dialog.get_by_label("Tags", exact=True).fill("family, city")
    panel.dialog.get_by_label("People, places and things").fill("Mira, Vienna")
    panel.dialog.get_by_role("button", name="Save").click()
    row = panel.row("Mira lives in Vienna")
    expect(row.locator(".filed-tag")).to_have_text(["city", "family"])
    expect(row.locator(".filed-entity")).to_have_text(["Mira", "Vienna"])
    saved = claim(person, known["claim_id"])
    assert sorted(tag["name"] for tag in saved["tags"]) == ["city", "family"]
    assert saved["friendly_id"] == known["friendly_id"]


def test_an_older_answer_does_not_take_back_what_was_changed_since(person: Client, open_page: OpenPage) -> None:
    known = remember(person, "Mira lives in Graz")
    page = open_page(person, address())
    panel = MemoriesPanel(page)
    expect(panel.row("Mira lives in Graz")).to_be_visible()
    older: list[tuple[Route, APIResponse]] = []
    page.route(f"**/pkb/claims/{known['claim_id']}", lambda route: older.append((route, route.fetch())), times=1)
    assert person.put(f"/pkb/claims/{known['claim_id']}", {"statement": "Mira lives in Linz"}).status == 200
    until_held(page, older)
    panel.choose(panel.row("Mira lives in Graz"), "Retract")
    expect(panel.rows).to_have_count(0)
    route, answer = older.pop()
    with page.expect_response("**/pkb/claims?*"):
        route.fulfill(response=answer)
    page.evaluate("fetch('/healthz').then((response) => response.text())")
    expect(panel.rows).to_have_count(0)


def test_a_retracted_memory_comes_back_by_undo(person: Client, open_page: OpenPage) -> None:
    known = remember(person, "I play the flute")
    panel = MemoriesPanel(open_page(person, address()))
    keep_toasts(panel.page)
    panel.choose(panel.row("I play the flute"), "Retract")
    expect(panel.rows).to_have_count(0)
    assert claim(person, known["claim_id"])["status"] == "retracted"
    panel.undo()
    expect(panel.rows).to_have_count(1)
    assert claim(person, known["claim_id"])["status"] == "active"

    panel.choose(panel.row("I play the flute"), "Retract")
    expect(panel.rows).to_have_count(0)
    panel.page.goto(address(status="retracted"))
    expect(panel.rows.first.locator(".mark-retracted")).to_be_visible()
    panel.choose(panel.row("I play the flute"), "Restore")
    expect(panel.rows).to_have_count(0)
    assert claim(person, known["claim_id"])["status"] == "active"


def test_many_are_changed_at_once_and_taken_back_at_once(person: Client, open_page: OpenPage) -> None:
    for n in range(6):
        remember(person, f"Thing number {n}", context_domain="personal")
    page = open_page(person, address())
    keep_toasts(page)
    panel = MemoriesPanel(page)
    panel.row("Thing number 4").locator(".memory-select").click()
    panel.row("Thing number 1").locator(".memory-select").click(modifiers=["Shift"])
    expect(panel.node.locator(".memories-bulk-count")).to_have_text("4 selected")
    panel.node.get_by_role("button", name="Set domain").click()
    panel.dialog.get_by_role("button", name="Health").click()
    expect(panel.toasts).to_contain_text("Changed the domain of 4 memories")
    assert len(claims(person, context_domain="health")) == 4
    panel.undo()
    expect(panel.rows.first).to_contain_text("Personal")
    assert claims(person, context_domain="health") == []

    panel.node.get_by_role("checkbox", name="Select all on this page").check()
    panel.node.get_by_role("button", name="Add tag").click()
    panel.answer("everything")
    expect(panel.node.locator(".filed-tag")).to_have_count(6)
    assert len(claims(person, tag="everything_tag")) == 6


def test_several_are_added_one_a_line_and_what_fails_stays_to_be_mended(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, address())
    panel = MemoriesPanel(page)
    panel.node.get_by_role("button", name="Add several").click()
    page.locator("#many-memories").fill("- I like tea\n- I like cake\n\n")
    expect(panel.dialog).to_contain_text("2 memories")
    panel.dialog.get_by_role("button", name="Add all").click()
    expect(panel.dialog.locator(".result-ok")).to_have_count(2)
    expect(page.locator("#many-memories")).to_have_value("")
    page.keyboard.press("Escape")
    expect(panel.rows).to_have_count(2)
    assert {each["statement"] for each in claims(person)} == {"I like tea", "I like cake"}


def test_pins_are_kept_for_all_and_for_one_conversation(person: Client, open_page: OpenPage) -> None:
    known = remember(person, "I am left-handed")
    talk = hold_talk(person, "Guitars")
    page = open_page(person, address(talk.path))
    panel = MemoriesPanel(page)
    panel.row("I am left-handed").get_by_role("button", name="Pin: I am left-handed", exact=True).click()
    expect(panel.rows.first.locator(".mark-pinned")).to_be_visible()
    assert claim(person, known["claim_id"])["pinned"] is True

    panel.choose(panel.rows.first, "Pin to this conversation")
    expect(panel.rows.first.locator(".mark-pinned_here")).to_be_visible()
    pinned = person.get(f"/pkb/conversation/{talk.conversation_id}/pinned").json()["claims"]
    assert [each["claim_id"] for each in pinned] == [known["claim_id"]]
    page.reload()
    expect(panel.rows.first.locator(".mark-pinned_here")).to_be_visible()
    panel.choose(panel.rows.first, "Unpin from this conversation")
    expect(panel.rows.first.locator(".mark-pinned_here")).to_have_count(0)


def test_a_reference_is_copied_and_a_memory_goes_with_the_next_message(person: Client, open_page: OpenPage) -> None:
    known = remember(person, "I am allergic to nuts")
    page = open_page(person, address(), viewport=COVERED)
    keep_toasts(page)
    panel = MemoriesPanel(page)
    badge = panel.rows.first.locator(".memories-badge")
    assert copied(page, badge.click) == f"@{known['friendly_id']}"
    expect(badge).to_have_text(f"@{known['friendly_id']}")

    panel.rows.first.get_by_role("button", name="Use now").click()
    panel.toasts.get_by_role("button", name="Write it").click()
    expect(panel.node).to_be_hidden()
    expect(page.locator("#composer .claim-chip")).to_contain_text(known["friendly_id"])
    page.locator("#composer .claim-chip-name").click()
    expect(panel.rows).to_have_count(1)
    expect(panel.node.locator(".memories-chip")).to_contain_text(known["friendly_id"])


def test_everything_is_done_by_keys_alone(person: Client, open_page: OpenPage) -> None:
    for n in range(4):
        remember(person, f"Fact {n}")
    page = open_page(person)
    panel = MemoriesPanel(page)
    expect(page.locator("#composer-input")).to_be_focused()
    page.get_by_role("button", name="Memories", exact=True).focus()
    page.keyboard.press("Enter")
    expect(panel.rows).to_have_count(4)
    expect(page.locator("#memories-title")).to_be_focused()

    page.keyboard.press("j")
    expect(panel.row("Fact 3")).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+X")
    expect(panel.node.locator(".memory.selected")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(panel.node.locator(".memory.selected")).to_have_count(0)

    page.keyboard.press("p")
    expect(panel.row("Fact 1").locator(".mark-pinned")).to_be_visible()
    expect(panel.row("Fact 1")).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator("#memory-statement")).to_be_focused()
    page.locator("#memory-statement").press("End")
    page.keyboard.type(" indeed")
    page.keyboard.press("Control+Enter")
    expect(panel.row("Fact 1 indeed")).to_be_visible()

    page.keyboard.press("?")
    expect(panel.dialog).to_contain_text("Keyboard shortcuts")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(panel.node.get_by_role("searchbox", name="Search memories")).to_be_focused()
    page.keyboard.type("Fact 2")
    expect(page).to_have_url(re.compile("q=Fact"))
    page.keyboard.press("Escape")

    panel.tab("Memories").focus()
    page.keyboard.press("ArrowRight")
    expect(panel.tab("Contexts")).to_be_focused()
    expect(panel.tab("Contexts")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(panel.tab("Import and export")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(panel.node).to_be_hidden()
    expect(page.locator("#composer-input")).to_be_focused()


def test_the_conversation_below_keeps_its_place(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "A long one", *[f"Question {n}\n\n" + "text\n\n" * 30 for n in range(3)])
    page = open_page(person, talk.path, viewport=COVERED)
    expect(page.locator(".message-card")).to_have_count(6)
    wait_until(page, AT_END)
    page.locator("#chatView").evaluate("""node => {
      node.scrollTo(0, 500);
      return new Promise((seen) => node.addEventListener('scroll', seen, { once: true }));
    }""")
    before = page.locator("#chatView").evaluate("node => node.scrollTop")
    page.get_by_role("button", name="Memories", exact=True).click()
    panel = MemoriesPanel(page)
    panel.tab("Tags").click()
    expect(panel.node).to_contain_text("No tags yet")
    expect(page).to_have_title("Tags · Anaphora")
    page.go_back()
    expect(panel.tab("Memories")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(panel.node).to_be_hidden()
    assert page.locator("#chatView").evaluate("node => node.scrollTop") == before
    expect(page.locator("#conversation-title")).to_have_text("A long one")

    page.go_forward()
    expect(panel.node).to_be_visible()
    page.locator("#workspaces-container a.jstree-anchor", has_text="A long one").click()
    expect(panel.node).to_be_hidden()
    expect(page.locator(".message-card")).to_have_count(6)
    expect(page).to_have_title("A long one · Anaphora")
    page.get_by_role("button", name="Memories", exact=True).click()
    page.get_by_role("button", name="New conversation").click()
    expect(panel.node).to_be_hidden()
    expect(page.locator(".message-card")).to_have_count(0)


def test_the_panel_stands_beside_the_conversation_where_there_is_room(person: Client, open_page: OpenPage) -> None:
    nuts, tea = remember(person, "I am allergic to nuts"), remember(person, "I like green tea")
    talk, other = hold_talk(person, "Baking bread"), hold_talk(person, "Growing tomatoes")
    page = open_page(person, talk.path, viewport=WIDE)
    panel = MemoriesPanel(page)
    page.get_by_role("button", name="Memories", exact=True).click()
    expect(panel.rows).to_have_count(2)
    expect(page.locator("#chatView")).to_contain_text("Understood.")
    column, box = panel.node.bounding_box(), page.locator("#composer").bounding_box()
    assert column
    assert box
    assert box["x"] + box["width"] <= column["x"] + 1
    expect(panel.node.get_by_role("tab", name="Import and export")).to_be_in_viewport(ratio=1)

    chips = page.locator("#composer .claim-chip-name")
    panel.row("I am allergic to nuts").get_by_role("button", name="Use now").click()
    expect(chips).to_have_text([f"@{nuts['friendly_id']}"])
    panel.row("I like green tea").locator(".memory-statement").drag_to(page.locator("#composer-input"))
    expect(chips).to_have_text([f"@{nuts['friendly_id']}", f"@{tea['friendly_id']}"])
    expect(page.locator("#composer-input")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel.node).to_be_visible()

    # It stays while the person turns to another conversation, and gives its place to the rail.
    page.locator("#workspaces-container a.jstree-anchor", has_text="Growing tomatoes").click()
    expect(page).to_have_title("Growing tomatoes · Anaphora")
    expect(page).to_have_url(re.compile(rf"{re.escape(other.path)}\?panel=memories$"))
    expect(panel.node).to_be_visible()
    rail = page.get_by_role("complementary", name="Conversation details")
    page.get_by_role("button", name="Conversation details").click()
    expect(rail).to_be_visible()
    expect(panel.node).to_be_hidden()
    page.get_by_role("button", name="Memories", exact=True).click()
    expect(panel.node).to_be_visible()
    expect(rail).to_be_hidden()
    page.set_viewport_size(COVERED)
    expect(page).to_have_title("Memories · Anaphora")
    page.set_viewport_size(WIDE)
    expect(page.locator("#composer-input")).to_be_visible()
    page.locator("#close-memories").click()
    expect(panel.node).to_be_hidden()
    expect(rail).to_be_visible()


def test_a_failure_is_said_and_tried_again(person: Client, open_page: OpenPage, page_problems: PageProblems) -> None:
    remember(person, "I sleep badly at full moon")
    page = open_page(person)
    page_problems.expect("net::ERR_FAILED")
    page.route("**/pkb/claims?*", lambda route: route.abort())
    page.get_by_role("button", name="Memories", exact=True).click()
    panel = MemoriesPanel(page)
    failure = panel.node.get_by_role("alert")
    expect(failure).to_contain_text("This could not be loaded. The server cannot be reached.")
    with page.expect_request("**/pkb/stats"):  # is asked anew when the page is told of a change
        remember(person, "I sleep well at new moon")
    expect(failure).to_be_visible()
    expect(panel.rows).to_have_count(0)
    page.unroute("**/pkb/claims?*")
    failure.get_by_role("button", name="Try again").click()
    expect(panel.rows).to_have_count(2)

    page.route("**/pkb/claims", lambda route: route.abort())
    page.locator("#add-memory").click()
    page.locator("#memory-statement").fill("Kept although it failed")
    panel.dialog.get_by_role("button", name="Add memory").click()
    expect(panel.dialog.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    page.unroute("**/pkb/claims")
    panel.dialog.get_by_role("button", name="Add memory").click()
    expect(panel.rows).to_have_count(3)


def test_what_tries_to_be_code_stays_text(person: Client, open_page: OpenPage) -> None:
    known = remember(person, HOSTILE, tags=[HOSTILE[:60]], entities=[{"name": HOSTILE[:60], "type": "person"}])
    context = person.post("/pkb/contexts", {"name": HOSTILE[:60], "description": HOSTILE}).json()["context"]
    assert person.put(f"/pkb/contexts/{context['context_id']}/claims/{known['claim_id']}").status == 200
    dialogs: list[str] = []
    page = open_page(person)
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    panel = MemoriesPanel(page)
    page.goto(address())
    for number, tab in enumerate(MEMORIES):
        panel.node.get_by_role("tab").nth(number).click()
        expect(page).to_have_url(re.compile(rf"tab={tab}") if number else re.compile("panel=memories"))
        expect(panel.node.get_by_role("tabpanel")).not_to_have_text("")
        if tab not in ("conflicts", "add", "transfer"):
            expect(panel.node).to_contain_text("<img src=x onerror=alert(1)>")
        expect(page.locator("#memories img, #memories b")).to_have_count(0)
    assert dialogs == []


@pytest.mark.shows(*(f"memories-{tab}" for tab in MEMORIES))
def test_no_tab_keeps_anybody_out_or_is_wider_than_a_telephone(person: Client, open_page: OpenPage) -> None:
    first = remember(person, "I like tea in the morning", tags=["tea"], entities=[{"name": "Mira", "type": "person"}])
    second = remember(person, "I dislike tea in the morning")
    person.post("/pkb/conflicts", {"claim_ids": [first["claim_id"], second["claim_id"]]})
    person.post("/pkb/contexts", {"name": "Breakfast"})
    page = open_page(person, address(), reduced_motion="reduce")
    panel = MemoriesPanel(page)
    for number, tab in enumerate(MEMORIES):
        panel.node.get_by_role("tab").nth(number).click()
        expect(page).to_have_url(re.compile(rf"tab={tab}") if number else re.compile("panel=memories"))
        expect(panel.node.get_by_role("tabpanel")).not_to_have_text("")
        expect(panel.node.locator("[aria-busy='true']")).to_have_count(0)
        assert findings(page, f"memories-{tab}") == []


# In a window that is marked so, the browser's database does not open: as on a busy machine for seconds.
_SLOW = """
const open = IDBFactory.prototype.open;
IDBFactory.prototype.open = function (...given) {
  return sessionStorage.getItem('slow') ? new EventTarget() : open.apply(this, given);
};
"""


def test_what_was_typed_before_the_browsers_database_opened_is_there_after_a_reload(
    person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, address())
    page.add_init_script(_SLOW)
    page.evaluate("sessionStorage.setItem('slow', '1')")
    page.reload()
    page.locator("#add-memory").click()
    page.locator("#memory-statement").fill("Half a thought")
    page.keyboard.press("Escape")
    page.evaluate("sessionStorage.removeItem('slow')")
    for _ in range(2):  # the first reload brings it to the database, from which the second has it
        page.reload()
        page.locator("#add-memory").click()
        expect(page.locator("#memory-statement")).to_have_value("Half a thought")
        page.keyboard.press("Escape")
        wait_until(page, "() => sessionStorage.getItem('anaphora:unwritten') === null")
