"""How messages look and read in a real browser: chips, quiet numbers, folded texts, diagrams, directions of writing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import wait_until
from tests.browser.history import hold_talk
from tests.browser.screens import NARROW
from tests.browser.sidebar_page import SidebarPage, by_right_click
from tests.browser.transcript import body, card, choose, copied, open_talk, send
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.chromium import PageProblems

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
FOUND = "const at = [...(CSS.highlights.get('found-text-current') ?? [])][0].getBoundingClientRect();"


def test_a_reference_reads_as_its_title_and_copies_as_itself(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water?")
    talk, page = open_talk(person, open_page, f"See {tomatoes.reference(1)}, please.")
    expect(page.locator("#composer-input")).to_be_focused()  # that would take the selection
    chip = body(page, 1).locator(".reference-chip")
    expect(chip).to_have_accessible_name("Growing tomatoes › #1")
    expect(chip.locator(".reference-chip-label")).to_have_text("Growing tomatoes › #1")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    body(page, 1).evaluate("node => getSelection().selectAllChildren(node)")
    assert copied(page, lambda: page.keyboard.press("Control+c")).strip() == f"See {tomatoes.reference(1)}, please."
    choose(page, 1, "Edit")
    expect(page.get_by_label("Text of the message")).to_have_value(f"See {tomatoes.reference(1)}, please.")
    page.get_by_role("button", name="Cancel").click()

    # The number of a card that nobody points at is quiet.
    badge = card(page, 2).locator(".message-ref-badge")
    page.locator("#composer-input").hover()
    expect(badge).to_have_css("opacity", "0")
    card(page, 2).hover()
    expect(badge).to_have_css("opacity", "1")

    # A new title is what the chip says; a card that is open stays while an answer grows.
    assert person.put(f"/conversations/{tomatoes.conversation_id}/title", {"title": "Tomatoes"}).status == 200
    page.reload()
    expect(chip).to_have_accessible_name("Tomatoes › #1")
    shared_model.scripts["main"] = saying(*[f"Line {number}.\n\n" for number in range(30)], "end", pause_after=30)
    send(page, "Tell me more.")
    expect(body(page, 4)).to_contain_text("Line 29.")
    answered = card(page, 4)
    answered.scroll_into_view_if_needed()
    page.evaluate("document.getElementById('chatView').scrollTop = 0")
    chip.hover()
    hover_card = page.locator("#reference-card")
    expect(hover_card).to_be_visible()
    page.evaluate("document.getElementById('chatView').scrollTop = 4")
    shared_model.release()
    expect(body(page, 4)).to_contain_text("end")
    expect(hover_card).to_be_visible()
    assert talk.friendly_id


def test_long_messages_are_folded_and_each_block_has_its_own_direction(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("שלום, עולם!\n\n- אחת\n- two\n\nHello.\n\n```\ncode\n```")
    long = "\n".join(f"line {number}" for number in range(250))
    talk, page = open_talk(person, open_page, long, "مرحبا")
    unfold = card(page, 1).get_by_role("button", name="Show all 250 lines")
    expect(unfold).to_be_visible()
    assert body(page, 1).evaluate("node => node.parentElement.clientHeight") < 500
    # What is looked for below the fold is shown.
    page.locator("#composer-input").press("Control+f")
    page.keyboard.type("line 249")
    page.keyboard.press("Enter")
    expect(card(page, 1).get_by_role("button", name="Show less")).to_be_visible()
    wait_until(page, f"() => {{ {FOUND} return at.top > 0 && at.bottom < innerHeight; }}")
    page.keyboard.press("Escape")
    card(page, 1).get_by_role("button", name="Show less").click()
    unfold.click()
    expect(card(page, 1).get_by_role("button", name="Show less")).to_be_visible()
    assert body(page, 1).evaluate("node => node.parentElement.clientHeight") > 4_000

    direction = "nodes => nodes.map((node) => getComputedStyle(node).direction)"
    blocks = body(page, 2).locator(".md-block > p, .md-block > ul, pre")
    assert blocks.evaluate_all(direction) == ["rtl", "rtl", "ltr", "ltr"]
    assert body(page, 3).locator("p").evaluate_all(direction) == ["rtl"]
    page.fill("#composer-input", "שלום")
    expect(page.locator("#composer-input")).to_have_css("direction", "rtl")
    page.fill("#composer-input", "Hello")
    expect(page.locator("#composer-input")).to_have_css("direction", "ltr")

    person.put(f"/conversations/{talk.conversation_id}/title", {"title": "زراعة الطماطم (v2)"})
    expect(page.locator("#conversation-title")).to_have_text("زراعة الطماطم (v2)")
    expect(page.locator("#conversation-title")).to_have_css("direction", "rtl")
    row = SidebarPage(page).row("زراعة الطماطم (v2)")
    expect(row).to_have_css("unicode-bidi", "plaintext")
    by_right_click(SidebarPage(page), row)
    SidebarPage(page).menu_item("Rename").click()
    expect(page.locator("dialog[open] input")).to_have_css("direction", "rtl")
    page.keyboard.press("Escape")


def test_what_copies_a_block_of_code_stays_in_view_while_it_is_read(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    code = "\n".join(f"line {number}" for number in range(150))
    shared_model.scripts["main"] = saying(f"Here:\n\n```\n{code}\n```\n\nDone.")
    _, page = open_talk(person, open_page, "Write code")
    expect(card(page, 2).get_by_text("Done.")).to_be_in_viewport()
    expect(card(page, 2).get_by_role("button", name="Copy code")).to_be_in_viewport(ratio=1)


def test_on_a_phone_the_hash_makes_room_for_who_said_it(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path, viewport=NARROW, has_touch=True, is_mobile=True)
    for number, name in ((1, "You"), (2, "claude-sonnet-4")):
        head = card(page, number).locator(".message-header")
        sender = head.locator(".message-sender")
        sender.evaluate("(node, name) => { node.textContent = name }", name)
        head.locator("time").evaluate("node => { node.textContent = 'December 31, 2025, 04:11 AM' }")
        assert sender.evaluate("node => node.scrollWidth <= node.clientWidth")
        assert head.evaluate("node => node.scrollWidth <= node.clientWidth")
        expect(head.locator(".message-ref-badge")).to_be_visible()


def test_a_diagram_stands_above_its_source_and_follows_the_theme(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("```mermaid\ngraph TD;\n  A-->B;\n```")
    _, page = open_talk(person, open_page, "Draw it.")
    picture = body(page, 2).locator("img.diagram")
    expect(picture).to_be_visible()
    source = body(page, 2).locator("pre")
    expect(source).to_be_hidden()
    body(page, 2).get_by_text("Source").click()
    expect(source).to_have_text("graph TD;\n  A-->B;")
    light = picture.get_attribute("src")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(picture).not_to_have_attribute("src", str(light))


def test_diagrams_that_are_shown_no_longer_are_forgotten(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("```mermaid\ngraph TD;\n  A-->B;\n```")
    _, page = open_talk(person, open_page, "Draw it.")
    expect(page.locator("img.diagram")).to_be_visible()
    page.evaluate("""() => {
      const picture = document.querySelector('img.diagram');
      window.seen = new WeakRef(picture);
      picture.closest('.code-block').remove();
    }""")
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.enable")
    for _ in range(100):
        page.wait_for_timeout(100)
        devtools.send("HeapProfiler.collectGarbage")
        if page.evaluate("window.seen.deref() === undefined"):
            return
    raise AssertionError("the picture is still held")


def test_a_diagram_whose_frame_failed_is_drawn_once_that_is_wanted_again(
    person: Client, open_page: OpenPage, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page_problems.expect("mermaid")
    shared_model.scripts["main"] = saying("```mermaid\ngraph TD;\n  A-->B;\n```")
    talk = hold_talk(person, "Drawing", "Draw it.", "And again.")
    page = open_page(person, "/healthz")
    page.route(re.compile(r"/mermaid\.min\.js"), lambda route: route.abort())
    page.goto(talk.path)
    failures = page.locator(".diagram-failed")
    expect(failures).to_have_text([re.compile("could not be drawn")] * 2)
    expect(body(page, 2).locator("pre")).to_be_visible()
    page.unroute_all()
    failures.first.get_by_role("button", name="Try again").click()
    expect(body(page, 2).locator("img.diagram")).to_be_visible()
    # The frame is there for all others, too; what no frame can draw is not offered again.
    failures.get_by_role("button", name="Try again").click()
    expect(body(page, 4).locator("img.diagram")).to_be_visible()
    shared_model.scripts["main"] = saying("```mermaid\nthis is no diagram\n```")
    send(page, "Draw nonsense.")
    expect(body(page, 6).locator(".diagram-failed")).to_be_visible()
    expect(failures.get_by_role("button")).to_have_count(0)
    expect(page.locator("iframe.diagram-frame")).to_have_count(1)


def test_in_a_narrow_window_a_long_name_and_what_is_said_stand_on_neighbouring_lines(
    person: Client, open_page: OpenPage
) -> None:
    title = "The gardener of the southern slopes"
    assert person.post("/api/agents", {"title": title, "slug": "gardener", "system_prompt": "You dig."}).status < 300
    talk = hold_talk(person, "Roses", "@agent_gardener when are they cut?")
    page = open_page(person, talk.path, viewport=NARROW)
    header = card(page, 2).locator(".message-header")
    expect(header.locator(".message-sender")).to_have_text(title)
    one_line = card(page, 1).locator(".message-header").bounding_box()
    for pointed_at in (page.locator("#composer-input"), header):
        pointed_at.hover()
        there = header.bounding_box()
        assert one_line is not None
        assert there is not None
        assert there["height"] == one_line["height"]
    card(page, 2).get_by_role("button", name="Message actions").click()
    expect(page.get_by_role("menuitem", name="Pin")).to_be_visible()
