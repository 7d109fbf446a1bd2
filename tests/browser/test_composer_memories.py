"""Memories in the composer, in a real browser: named, attached, switched off, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import hold_talk, messages
from tests.browser.screens import findings
from tests.browser.transcript import keep_toasts, suggested
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
INPUT = "#composer-input"
TEA = "I drink black tea in the morning."
MOST_ATTACHED = 50
# As from the Memories panel.
DROP = """(target, memories) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.setData('application/x-anaphora-memories', JSON.stringify(memories));
  target.dispatchEvent(new DragEvent('drop', { bubbles: true, dataTransfer }));
}"""


def add_claim(client: Client, statement: str, **fields: Any) -> dict[str, Any]:
    """A memory, made as other clients make it."""
    body = {"statement": statement, "claim_type": "preference", "context_domain": "personal", **fields}
    reply = client.post("/pkb/claims", body)
    assert reply.status == 201, reply.text
    claim: dict[str, Any] = reply.json()["claim"]
    return claim


def statements(client: Client) -> list[str]:
    """What the person knows."""
    listed = client.get("/pkb/claims").json()["claims"]
    return [claim["statement"] for claim in listed]


def write(page: Page, text: str) -> None:
    page.focus(INPUT)
    page.keyboard.type(text)


def option(page: Page, text: str) -> Locator:
    return page.get_by_role("option").filter(has_text=text)


def sent(page: Page, *, answers: int = 1) -> None:
    """Sends what is written, and waits for the whole answer. answers: how many there are then."""
    page.keyboard.press("Enter")
    given = page.locator(".message-card.from-assistant")
    expect(given).to_have_count(answers)
    expect(given.last).to_have_attribute("data-status", "complete")
    expect(page.locator("#send-button")).to_be_visible()


def test_at_offers_conversations_and_memories_in_groups(open_page: OpenPage, person: Client) -> None:
    hold_talk(person, "Morning tea plans")
    add_claim(person, TEA, tags=["tea"])
    page = open_page(person)
    write(page, "About @tea")
    expect(option(page, TEA)).to_be_visible()
    expect(page.locator(".listbox-heading")).to_have_text(["Conversations", "Memories", "Tags"])
    groups = page.get_by_role("listbox").get_by_role("group")
    for group in (groups.nth(0), groups.nth(1), groups.nth(2)):
        expect(group.get_by_role("option")).to_have_count(1)


def test_several_words_offer_a_memory_that_is_called_otherwise(open_page: OpenPage, person: Client) -> None:
    claim = add_claim(person, TEA)
    page = open_page(person)
    with page.expect_response("**/search?*kind=memory*"):
        write(page, "About @tea at dawn")
    expect(option(page, TEA)).to_be_visible()
    suggested(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value(f"About @{claim['friendly_id']} ")


def test_joined_groups_are_completed_shown_and_opened_like_one(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    add_claim(person, TEA, tags=["tea"])
    add_claim(person, "The tea shop closes at six.", tags=["tea"], context_domain="work")
    page = open_page(person)
    write(page, "Plan by @personal_domain&te")
    expect(option(page, "tea_tag")).to_be_visible()
    suggested(page)
    expect(page.locator(".listbox-heading")).to_have_text(["Tags"])
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("Plan by @personal_domain&tea_tag ")
    chip = page.locator("#composer-preview .reference-chip")
    expect(chip).to_have_count(1)
    expect(chip).to_contain_text("personal & tea")
    sent(page)
    ref = "@personal_domain&amp;tea_tag"
    assert f'source="referenced" type="preference" ref="{ref}">{TEA}' in shared_model.prompt(model="main")
    chip = page.locator(".from-user .message-body .reference-chip")
    expect(chip).to_have_count(1)
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text(TEA)
    expect(page.locator(".reference-card-about")).to_contain_text("Domain & Tag")
    chip.click()
    shown = page.locator("#memories li.memory")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text(TEA)
    expect(page.locator(".memories-chip")).to_contain_text("personal_domain & tea_tag")
    page.locator(".memories-chip").click()
    expect(shown).to_have_count(2)


def test_a_memory_named_in_a_message_reaches_the_model_and_shows_its_card(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    claim = add_claim(person, TEA)
    page = open_page(person)
    write(page, "Plan it by @black")
    option(page, TEA).click()
    expect(page.locator(INPUT)).to_have_value(f"Plan it by @{claim['friendly_id']} ")
    expect(page.locator("#composer-preview .reference-chip")).to_have_count(1)
    sent(page)
    assert f'source="referenced" type="preference" ref="@{claim["friendly_id"]}">{TEA}' in shared_model.prompt(
        model="main"
    )
    chip = page.locator(".from-user .message-body .reference-chip")
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text(TEA)
    expect(page.locator(".from-user .report-line", has_text="reference")).to_have_text("1 reference")
    chip.click()
    expect(page.locator("#memories")).to_be_visible()
    expect(page.locator("#memories")).to_contain_text(TEA)


def test_a_memory_is_found_by_its_number(open_page: OpenPage, person: Client) -> None:
    claim = add_claim(person, TEA)
    page = open_page(person)
    for typed in ("@claim_1", "@#1"):
        page.fill(INPUT, "")
        write(page, typed)
        expect(option(page, TEA)).to_be_visible()
        suggested(page)
        page.keyboard.press("Tab")
        expect(page.locator(INPUT)).to_have_value(f"@{claim['friendly_id']} ")


def test_use_now_attaches_a_memory_that_outlives_the_page_and_goes_with_the_message(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    claim = add_claim(person, TEA)
    page = open_page(person)
    write(page, "What shall I have? @black")
    expect(option(page, TEA)).to_be_visible()
    suggested(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator(INPUT)).to_have_value("What shall I have? ")
    chip = page.locator(".claim-chip")
    expect(chip).to_contain_text(f"@{claim['friendly_id']}")
    page.reload()
    expect(chip).to_have_count(1)
    page.focus(INPUT)
    sent(page)
    assert f'source="attached" type="preference">{TEA}' in shared_model.prompt(model="main")
    expect(chip).to_have_count(0)
    page.reload()
    expect(page.locator(".message-card")).to_have_count(2)
    expect(chip).to_have_count(0)


def test_a_memory_that_is_not_attached_once_more_or_is_one_too_many_is_told_of(
    open_page: OpenPage, person: Client
) -> None:
    claim = add_claim(person, TEA)
    page = open_page(person)
    keep_toasts(page)
    chips, told = page.locator(".claim-chip"), page.locator(".toast-message")
    for _ in range(2):
        write(page, "@black")
        expect(option(page, TEA)).to_be_visible()
        suggested(page)
        page.get_by_role("option").first.get_by_text("Use now").click()
        expect(page.locator(INPUT)).to_have_value("")
        expect(chips).to_have_count(1)
    expect(told).to_have_text([f"@{claim['friendly_id']} goes with your next message already."])
    dragged = [{"claim_id": f"c-{n}", "friendly_id": f"tea_{n}", "statement": TEA} for n in range(MOST_ATTACHED + 5)]
    page.locator(INPUT).evaluate(DROP, dragged)
    expect(chips).to_have_count(MOST_ATTACHED)
    expect(told).to_have_text([f"At most {MOST_ATTACHED} memories go with a message."])


def test_an_attached_memory_is_taken_away_by_mouse_or_key(open_page: OpenPage, person: Client) -> None:
    add_claim(person, TEA)
    add_claim(person, "I drink milk at night.")
    page = open_page(person)
    for query in ("@black", "@milk"):
        write(page, query)
        expect(option(page, query[1:])).to_be_visible()
        suggested(page)
        row = page.get_by_role("option").first
        row.get_by_text("Use now").click()
    chips = page.locator(".claim-chip")
    expect(chips).to_have_count(2)
    chips.first.get_by_role("button").last.click()
    expect(chips).to_have_count(1)
    expect(chips.get_by_role("button").last).to_be_focused()
    page.keyboard.press("Delete")
    expect(chips).to_have_count(0)
    expect(page.locator(INPUT)).to_be_focused()


def test_memories_that_are_switched_off_stay_out_also_after_a_reload(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    add_claim(person, TEA)
    page = open_page(person)
    switch = page.get_by_role("button", name="Use memories")
    expect(switch).to_have_attribute("aria-pressed", "true")
    write(page, "Which black tea in the morning?")
    sent(page)
    assert TEA in shared_model.prompt(model="main")
    switch.click()
    page.reload()
    expect(switch).to_have_attribute("aria-pressed", "false")
    write(page, "And which black tea in the morning now?")
    sent(page, answers=2)
    assert TEA not in shared_model.prompt(model="main")


def test_where_memories_cannot_be_searched_conversations_are_still_offered(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    hold_talk(person, "Morning tea plans")
    page = open_page(person)
    page_problems.expect("503")
    page.route("**/pkb/autocomplete*", lambda route: route.fulfill(status=503, body="{}"))
    write(page, "@tea")
    expect(option(page, "Morning tea plans")).to_be_visible()
    expect(page.locator(".suggestions-note")).to_contain_text("Memories could not be searched.")


def test_markup_in_a_memory_is_text_wherever_it_shows(open_page: OpenPage, person: Client) -> None:
    hostile = "<img src=x onerror=alert(1)> <b>tea</b> \"'</pkb_item>"
    add_claim(person, hostile, tags=["<i>tea</i>"])
    page = open_page(person)
    write(page, "@tea")
    expect(option(page, hostile)).to_be_visible()
    option(page, hostile).get_by_text("Use now").click()
    expect(page.locator(".claim-chip-statement")).to_have_text(hostile)
    expect(page.locator("main img[src=x], main b")).to_have_count(0)


def test_a_command_adds_a_memory_after_a_look_at_it(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    keep_toasts(page)
    write(page, f"/memory {TEA}")
    page.keyboard.press("Enter")
    card = page.get_by_role("form", name="New memory")
    expect(card.get_by_label("Statement")).to_have_value(TEA)
    expect(card.get_by_role("button", name="Remember")).to_be_focused()
    card.get_by_label("Domain").select_option("health")
    card.get_by_label("Tags").fill("tea, morning")
    page.keyboard.press("Enter")
    expect(page.locator(".toast-success")).to_contain_text("Remembered as @")
    expect(page.locator(INPUT)).to_have_value("")
    [claim] = person.get("/pkb/claims").json()["claims"]
    assert (claim["statement"], claim["context_domain"]) == (TEA, "health")
    assert {tag["name"] for tag in claim["tags"]} == {"tea", "morning"}
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast-message").last).to_contain_text("forgotten")
    assert statements(person) == []


def lose_the_answer(route: Route) -> None:
    """The server does it, and nobody hears."""
    route.fetch()
    route.abort()


def test_a_memory_that_nobody_heard_was_added_is_added_once(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page = open_page(person)
    keep_toasts(page)
    page_problems.expect("ERR_FAILED")
    page.route("**/pkb/claims", lose_the_answer)
    write(page, f"/memory {TEA}")
    page.keyboard.press("Enter")
    card = page.get_by_role("form", name="New memory")
    expect(card).to_be_visible()
    page.keyboard.press("Enter")
    expect(card.get_by_role("alert")).to_contain_text("It was not remembered.")
    expect(page.locator(INPUT)).to_have_value(f"/memory {TEA}")
    page.unroute("**/pkb/claims")
    card.get_by_role("button", name="Remember").click()
    expect(page.locator(".toast-success")).to_be_visible()
    assert statements(person) == [TEA]


def test_escape_leaves_a_command_as_it_was_written(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    write(page, f"/memory {TEA}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("form", name="New memory")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("form", name="New memory")).to_have_count(0)
    expect(page.locator(INPUT)).to_have_value(f"/memory {TEA}")
    expect(page.locator(INPUT)).to_be_focused()
    assert statements(person) == []


def test_commands_are_listed_and_a_misspelt_one_is_not_sent(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    write(page, "/")
    expect(page.get_by_role("option")).not_to_have_count(0)
    page.keyboard.type("help")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Commands")).to_contain_text("/memory [text]")
    page.keyboard.press("Escape")
    expect(page.locator(INPUT)).to_be_focused()
    page.keyboard.type("/memroy x")
    page.keyboard.press("Enter")
    expect(page.locator("#composer-problem")).to_contain_text("There is no command /memroy.")
    expect(page.locator(".message-card")).to_have_count(0)
    page.get_by_role("button", name="Send it as text").click()
    expect(page.locator(".message-card.from-user")).to_contain_text("/memroy x")


def test_what_is_to_be_remembered_is_proposed_under_the_answer_and_kept_when_accepted(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    write(page, "Remember this: I moved to Leipzig in May.")
    sent(page)
    card = page.locator(".message-card.from-assistant .memory-proposals")
    rows = card.get_by_role("checkbox")
    expect(rows.first).to_be_visible()
    expect(card).to_contain_text("I moved to Leipzig in May")
    assert statements(person) == []
    card.get_by_role("button", name="Remember").click()
    expect(card.get_by_role("status")).to_contain_text("Remembered")
    claims = person.get("/pkb/claims").json()["claims"]
    assert any("Leipzig" in claim["statement"] for claim in claims)
    conversation_id = person.get("/list_conversation_by_user/assistant").json()[0]["conversation_id"]
    ids = {message["message_id"] for message in messages(person, conversation_id)}
    assert {claim["source_activity_id"] for claim in claims} <= ids
    card.get_by_role("button", name="Undo").click()
    expect(card).to_have_count(0)
    assert statements(person) == []


def test_rules_propose_at_once_and_the_model_beside_them(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    fact = {"statement": "The bike is green.", "type": "fact", "domain": "personal", "tags": []}
    found = saying(json.dumps({"facts": [fact]}), pause_after=0)
    shared_model.scripts["cheap"] = lambda body: found if "facts" in json.dumps(body) else saying("A Short Title")
    talk = hold_talk(person, "Moving", "I moved to Leipzig in May. My bike is green.")
    page = open_page(person, talk.path)
    expect(page.locator(".message-card.from-assistant")).to_have_count(1)
    write(page, "/memory")
    page.keyboard.press("Enter")
    card = page.locator(".message-card.from-assistant .memory-proposals")
    expect(card).to_contain_text("The model is looking too")
    expect(card.get_by_role("checkbox").first).to_be_checked()
    expect(card).not_to_contain_text("The bike is green.")
    shared_model.release()
    # It may say again what rules have found already: who wants it takes it.
    expect(card.get_by_role("checkbox", name="The bike is green.")).not_to_be_checked()
    expect(card).not_to_contain_text("The model is looking too")
    card.get_by_role("checkbox", name="The bike is green.").check()
    card.get_by_role("button", name="Remember").click()
    expect(card.get_by_role("status")).to_contain_text("Remembered")
    assert {"I moved to Leipzig in May.", "The bike is green."} <= set(statements(person))
    card.get_by_role("button", name="Undo").click()
    expect(card).to_have_count(0)
    assert statements(person) == []


def test_a_conflict_that_the_form_showed_is_recorded(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    # The model takes its time: what rules say is enough to go on.
    shared_model.scripts["cheap"] = saying("{}", pause_after=0)
    person.post("/pkb/claims", {"statement": "I am allergic to peanuts"})
    page = open_page(person)
    keep_toasts(page)
    write(page, "/memory I'm not allergic to peanuts")
    page.keyboard.press("Enter")
    card = page.get_by_role("form", name="New memory")
    expect(card).to_contain_text("It says otherwise than")
    expect(card).to_contain_text("The model is looking at it too")
    expect(card.get_by_role("checkbox", name="Replace")).not_to_be_checked()
    card.get_by_role("button", name="Remember").click()
    expect(page.locator(".toast-success")).to_be_visible()
    (conflict,) = person.get("/pkb/conflicts").json()["conflicts"]
    assert len(conflict["members"]) == 2
    page.locator("#open-memories").click()
    page.get_by_role("tab", name="Conflicts (1)").click()
    expect(page.locator(".memories-side")).to_have_count(2)
    shared_model.release()


def test_memories_are_proposed_after_every_answer_for_who_wants_that(open_page: OpenPage, person: Client) -> None:
    page = open_page(person, "/interface/?panel=memories&tab=add")
    page.get_by_role("checkbox", name="Propose memories after every answer").check()
    page.locator("#close-memories").click()
    write(page, "I moved to Leipzig in May. Where is a good lake?")
    sent(page)
    card = page.locator(".message-card.from-assistant .memory-proposals")
    expect(card).to_contain_text("I moved to Leipzig in May")
    assert statements(person) == []


def test_a_message_is_remembered_by_its_menu_or_not_after_all(open_page: OpenPage, person: Client) -> None:
    talk = hold_talk(person, "Moving", "I moved to Leipzig in May.")
    page = open_page(person, talk.path)
    question = page.locator(".message-card.from-user")
    question.hover()
    question.get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Remember as memory").click()
    card = question.locator(".memory-proposals")
    expect(card.get_by_role("checkbox").first).to_be_visible()
    card.get_by_role("button", name="Dismiss").click()
    expect(card).to_have_count(0)
    assert statements(person) == []


@pytest.mark.shows("mentions-memories", "new-memory", "memory-proposals")
def test_nobody_is_kept_out(open_page: OpenPage, person: Client) -> None:
    add_claim(person, TEA, tags=["tea"])
    page = open_page(person)
    write(page, "@tea")
    option(page, TEA).get_by_text("Use now").click()
    write(page, "@tea")
    assert findings(page, "mentions-memories", shown=option(page, TEA), minor=True) == []
    page.keyboard.press("Escape")
    page.fill(INPUT, "/memory I like tea")
    page.keyboard.press("Enter")
    form = page.get_by_role("form", name="New memory")
    expect(form.get_by_role("status")).not_to_contain_text("Looking")
    assert findings(page, "new-memory", shown=form, minor=True) == []
    page.keyboard.press("Escape")
    page.fill(INPUT, "Remember this: I moved to Leipzig.")
    sent(page)
    proposal = page.locator(".memory-proposals").get_by_role("checkbox").first
    expect(proposal).to_be_visible()
    assert findings(page, "memory-proposals", shown=proposal, minor=True) == []
