"""Short ids and threads in a real browser: links in what was said, and a panel over domains and conversations."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.activity.packages import install
from tests.browser.chromium import until_held
from tests.browser.history import hold_talk, messages
from tests.browser.screens import findings
from tests.browser.transcript import body, card, copied, keep_toasts, opened_id, send
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
# What stands in the transcript, in order: messages by their numbers, other activities by their short ids.
BETWEEN = """() => [...document.querySelectorAll('.transcript-cards > *')].map((node) =>
  node.getAttribute('message-index') ?? node.dataset.shortId)"""


def test_a_thread_stands_beside_the_conversation_and_its_ids_are_links(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Castle defence", "Shall we build a castle?")
    asked = messages(person, talk.conversation_id)[0]
    said = f"Spawn it. See #{asked['short_id']}, in #ff8801."
    assert list(person.send(talk.conversation_id, said, reply_to=asked["short_id"]))[-1].get("done")
    reply = messages(person, talk.conversation_id)[2]
    game = hold_talk(person, "The game")
    event = person.post(
        f"/api/conversations/{game.conversation_id}/activities",
        {
            "type": "system_event",
            "payload": {"type": "minigame_spawned", "description": "A castle stands."},
            "reply_to": reply["message_id"],
        },
    ).json()

    page = open_page(person, talk.path)
    expect(card(page, 3)).to_have_attribute("data-short-id", reply["short_id"])
    link = body(page, 3).locator(".reference-chip")
    expect(link).to_have_text([f"#{asked['short_id']}"])
    expect(body(page, 3)).to_contain_text("in #ff8801.")
    link.click()
    expect(card(page, 1)).to_be_focused()

    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    expect(rail.get_by_role("tab", name="Documents")).to_be_in_viewport(ratio=1)
    rail.get_by_role("tab", name="Threads").click()
    thread = rail.locator("details.thread")
    expect(thread.locator("summary")).to_contain_text("3 replies")
    thread.locator("summary").click()
    activities = thread.locator(".thread-activity")
    expect(activities).to_have_count(4)
    expect(activities.nth(0)).to_contain_text("Shall we build a castle?")
    expect(activities.nth(3)).to_contain_text("🔔 minigame_spawned")
    expect(activities.nth(3)).to_contain_text("A castle stands.")
    expect(activities.nth(3)).to_contain_text("in another conversation")
    expect(activities.nth(3)).to_have_attribute("data-short-id", event["short_id"])

    # What is posted meanwhile comes by itself; it may reply to an activity that is no message.
    person.post(
        f"/api/conversations/{talk.conversation_id}/activities",
        {"type": "chat_message", "payload": {"text": "Well done."}, "reply_to": event["id"]},
    )
    expect(activities).to_have_count(5)
    expect(activities.nth(4)).to_contain_text("Well done.")
    expect(thread.locator("summary")).to_contain_text("4 replies")
    replying = card(page, 5).get_by_role("button", name="Replying to")
    expect(replying).to_have_text(f"Replying to {event['heading']} (#{event['short_id']})")

    thread.get_by_label("Show", exact=True).select_option("system-monitoring")
    expect(activities).to_have_count(1)
    thread.get_by_label("Show", exact=True).select_option("general-discussion")
    expect(activities).to_have_count(4)
    thread.get_by_role("button", name=f"Reply to #{asked['short_id']}").click()
    expect(page.locator(".reply-chip")).to_contain_text(f"#{asked['short_id']}")

    thread.get_by_role("button", name="Rename thread").click()
    page.get_by_label("Title of the thread").fill("The castle")
    page.keyboard.press("Enter")
    expect(thread.locator(".thread-title")).to_have_text("The castle")
    with page.expect_download() as download:
        thread.get_by_role("button", name="Export as Markdown").click()
    assert "A castle stands." in download.value.path().read_text(encoding="utf-8")
    replying.click()
    expect(page).to_have_title(re.compile("The game"))


@pytest.mark.shows("activities", "thread")
def test_other_activities_stand_between_the_messages(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Castle defence", "Shall we build a castle?", "And then?")
    address = f"/api/conversations/{talk.conversation_id}/activities"
    event = {"type": "system_event", "payload": {"type": "minigame_spawned", "description": "A castle stands."}}
    first = person.post(address, event).json()
    page = open_page(person, talk.path)
    lines = page.locator(".activity-line")
    expect(lines).to_have_text([re.compile(r"^🔔 minigame_spawned.* A castle stands\.")])
    assert page.evaluate(BETWEEN) == ["1", "2", "3", "4", first["short_id"]]

    # What others post comes by itself; it stays in its place when more is said.
    change = {"type": "data_change", "payload": {"changes": [{"field": "towers", "old": "1", "new": "2"}]}}
    second = person.post(address, {**change, "reply_to": first["id"]}).json()
    expect(lines).to_have_count(2)
    expect(lines.first.get_by_role("button", name="1 reply")).to_be_visible()
    send(page, "Wonderful.")
    expect(card(page, 6)).to_have_attribute("data-status", "complete")
    assert page.evaluate(BETWEEN) == ["1", "2", "3", "4", first["short_id"], second["short_id"], "5", "6"]

    # A click opens what it holds, and what can be done with it.
    lines.nth(1).locator(".activity-summary").click()
    held = lines.nth(1).get_by_label("What the activity holds")
    expect(held).to_have_text("towers: 1 → 2")
    assert findings(page, "activities", shown=held) == []
    copy = lines.nth(1).get_by_role("button", name=f"#{second['short_id']}", exact=True)
    assert copied(page, copy.click) == f"#{second['short_id']}"
    lines.nth(1).get_by_role("button", name="Reply", exact=True).click()
    expect(page.locator(".reply-chip")).to_contain_text(f"{second['heading']} (#{second['short_id']})")
    lines.nth(1).get_by_role("button", name=f"reply to #{first['short_id']}").click()
    expect(lines.first.locator(".activity-summary")).to_be_focused()
    lines.nth(1).get_by_role("button", name="Open the thread").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    threaded = rail.locator("details.thread[open] .thread-activity")
    expect(threaded).to_have_count(2)
    assert findings(page, "thread", shown=threaded.first) == []

    # Hidden they stay hidden, until they are shown again.
    lines.first.locator(".activity-summary").click()
    lines.first.get_by_role("button", name="Hide activities").click()
    expect(lines).to_have_count(0)
    page.reload()
    expect(card(page, 6)).to_be_visible()
    switch = rail.get_by_label("Show activities between the messages")
    rail.get_by_role("tab", name="Threads").click()
    expect(switch).not_to_be_checked()
    expect(lines).to_have_count(0)
    switch.check()
    expect(lines).to_have_count(2)

    # "#" and a word find it; what is written is a link to its line.
    page.locator("#composer-input").fill("See #minigame")
    page.get_by_role("option").filter(has_text="minigame_spawned").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#composer-input")).to_have_value(f"See #{first['short_id']} ")
    page.keyboard.press("Enter")
    expect(card(page, 8)).to_have_attribute("data-status", "complete")
    body(page, 7).locator(".reference-chip").click()
    expect(lines.first.locator(".activity-summary")).to_be_focused()

    # In a conversation that begins on the page, too.
    page.get_by_role("button", name="New conversation", exact=True).click()
    expect(page.locator(".empty-state")).to_be_visible()
    send(page, "Hi")
    expect(card(page, 2)).to_have_attribute("data-status", "complete")
    person.post(f"/api/conversations/{opened_id(page)}/activities", event)
    expect(lines).to_have_count(1)


@pytest.mark.shows("choose-conversation")
def test_an_activity_is_moved_to_a_conversation_that_is_chosen(person: Client, open_page: OpenPage) -> None:
    game = hold_talk(person, "The game", "Build it.")
    talk = hold_talk(person, "Castle defence", "Shall we build a castle?")
    empty = person.create_conversation()
    person.put(f"/conversations/{empty}/title", {"title": "Nothing said yet"})
    address = f"/api/conversations/{talk.conversation_id}/activities"
    event = person.post(address, {"type": "system_event", "payload": {"description": "A castle stands."}}).json()
    reply = {"type": "chat_message", "payload": {"text": "Indeed."}, "reply_to": event["id"]}
    person.post(address, reply)
    page, other = open_page(person, talk.path), open_page(person, game.path)
    keep_toasts(page)
    line = page.locator(".activity-line")
    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    rail.get_by_role("tab", name="Threads").click()
    rail.locator("details.thread summary").click()
    expect(rail.locator(".thread-activity").first).not_to_contain_text("in another conversation")
    line.locator(".activity-summary").click()
    line.get_by_role("button", name="Move…").click()
    choice = page.get_by_role("dialog", name="Move to which conversation?")
    expect(choice.get_by_role("option", name="The game")).to_be_visible()
    assert choice.get_by_role("option", name="Castle defence").count() == 0
    expect(choice.get_by_role("option", name="Nothing said yet")).to_be_visible()
    assert findings(page, "choose-conversation", shown=choice) == []
    # While others are looked for, Enter takes none of those that are still shown.
    held: list[Route] = []
    page.route("**/conversations/autocomplete?*", lambda route: held.append(route), times=1)
    choice.get_by_role("combobox").fill("nothing is called so")
    until_held(page, held)
    page.keyboard.press("Enter")
    expect(choice.get_by_role("option")).not_to_have_count(0)
    held.pop().continue_()
    expect(choice.get_by_role("status")).to_have_text("No conversation is called so.")
    choice.get_by_role("combobox").fill("game")
    expect(choice.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    # It goes here and comes there, without a reload; the thread stays whole.
    expect(line).to_have_count(0)
    expect(other.locator(".activity-line")).to_contain_text("A castle stands.")
    expect(rail.locator(".thread-activity")).to_have_count(2)
    expect(rail.locator(".thread-activity").first).to_contain_text("in another conversation")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(line.locator(".activity-summary")).to_be_focused()
    assert opened_id(page) == game.conversation_id


def castle_session(person: Client, conversation_id: str) -> list[dict[str, Any]]:
    """A few moves of the example game, in one thread: what the server says of each."""
    posted: list[dict[str, Any]] = []
    for kind, payload in (
        ("chat_message", {"text": "Should we add tower upgrades?"}),
        ("game_action", {"type": "spawn_upgrade_ui", "location": {"x": 100, "y": 200}}),
        ("system_event", {"type": "upgrade_ui_spawned", "description": "Tower upgrade menu created"}),
    ):
        reply_to = {"reply_to": posted[-1]["id"]} if posted else {}
        body = {"recipe": "castle-defense-game", "type": kind, "payload": payload, **reply_to}
        posted.append(person.post(f"/api/conversations/{conversation_id}/activities", body).json())
    return posted


def test_activities_of_a_package_are_seen_with_and_without_it(
    start_server: Callable[..., LiveServer], open_page: OpenPage, tmp_path: Path
) -> None:
    packages = tmp_path / "packages" / "installed"
    packages.parent.mkdir()
    install("castle_defense", "data_pipeline", target=packages)
    server = start_server(PYTHONPATH=str(packages))
    person = server.sign_up()
    conversation_id = person.create_conversation()
    address = f"/api/conversations/{conversation_id}/activities"
    ingested = {"type": "data_ingestion", "payload": {"rows": 12000, "source": "orders.csv"}, "session_id": "run-1"}
    person.post(address, ingested)
    asked, *_ = castle_session(person, conversation_id)

    def look(*lines: str) -> Page:
        """A page that shows these lines, though the conversation has no message, and the thread of the game."""
        page = open_page(person, f"/interface/{conversation_id}")
        shown = page.locator(".activity-line .activity-text")
        expect(shown).to_have_text([re.compile(re.escape(line)) for line in lines])
        expect(page.locator(".empty-state")).to_have_count(0)
        page.locator(f".activity-line[data-short-id='{asked['short_id']}']").get_by_role(
            "button", name="replies"
        ).click()
        expect(page.locator("details.thread[open] .thread-activity")).to_have_count(3)
        return page

    def exported(page: Page) -> str:
        with page.expect_download() as download:
            page.locator("details.thread[open]").get_by_role("button", name="Export as Markdown").click()
        return download.value.path().read_text(encoding="utf-8")

    page = look(
        "📥 data_ingestion · You 12,000 rows orders.csv",
        "Should we add tower upgrades?",
        "🎮 spawn_upgrade_ui · You",
        "🔔 upgrade_ui_spawned · You Tower upgrade menu created",
    )
    assert r"🎮 spawn\_upgrade\_ui" in exported(page)
    page.close()

    server.stop()
    shutil.rmtree(packages)
    server.start()
    page = look("❓ data_ingestion", "❓ chat_message", "❓ game_action", "❓ system_event")
    page.locator(".activity-summary", has_text="game_action").click()
    expect(page.get_by_label("What the activity holds")).to_contain_text('"type": "spawn_upgrade_ui"')
    assert r"❓ game\_action" in exported(page)
