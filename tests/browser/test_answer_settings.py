"""How a conversation is answered, presets of that, and the prompt library, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import until_held
from tests.browser.transcript import keep_toasts
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

from .screens import findings

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
INPUT = "#composer-input"


@pytest.mark.shows("answer-settings")
def test_a_new_conversation_is_answered_by_its_own_settings_and_another_one_by_a_preset_of_them(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    shared_model.scripts["cheap"] = saying("Aye.")
    page = open_page(person)
    page.click("#options-button")
    page.get_by_role("button", name="Settings of this conversation…").click()
    dialog = page.get_by_role("dialog", name="Settings of this conversation")
    dialog.get_by_label("System prompt").fill("Talk like a pirate.")
    dialog.get_by_label("Temperature").fill("7")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("a number from 0 to 2")
    dialog.get_by_label("Temperature").fill("0.5")
    dialog.get_by_label("Longest answer").fill("300")
    dialog.get_by_label("Model", exact=True).select_option(label="cheap")
    dialog.get_by_role("button", name="Save as a preset…").click()
    page.get_by_label("Name of the preset").fill("Pirate")
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Preset", exact=True).locator("option:checked")).to_have_text("Pirate")
    assert findings(page, "answer-settings") == []
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    page.fill(INPUT, "Hello")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Aye.")
    # The model is asked for titles, too, maybe one of a conversation of the test before.
    asked = shared_model.requests_to("cheap")
    [request] = [each for each in asked if each["messages"][0]["content"].startswith("Talk like a pirate.\n")]
    assert (request["temperature"], request["max_tokens"]) == (0.5, 300)
    assert shared_model.requests_to("main") == []

    other = person.create_conversation()
    allowed = {"allowed_tools": ["time__convert_time", "time__now"], "agents_allowed_tools": {"gone": ["time__now"]}}
    person.request("PATCH", f"/conversations/{other}/settings", allowed)
    page.goto(f"/interface/{other}")
    run_command(page, "/settings")
    dialog.get_by_label("Preset", exact=True).select_option(label="Pirate")
    expect(dialog.get_by_label("System prompt")).to_have_value("Talk like a pirate.")
    expect(dialog.get_by_label("Model", exact=True).locator("option:checked")).to_have_text("cheap")
    dialog.get_by_label("System prompt").fill("Talk like a sailor.")
    dialog.get_by_label("Change documents at once").check()
    consent = dialog.get_by_role("group", name="Allowed without asking").get_by_role("checkbox")
    expect(consent).to_have_count(3)
    dialog.get_by_role("checkbox", name="time__now", exact=True).uncheck()
    dialog.get_by_role("checkbox", name="time__now, called by an agent that is deleted").uncheck()
    assert findings(page, "answer-settings") == []
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Throw away what you changed?").get_by_role("button", name="Cancel").click()
    with page.expect_response("**/conversations/*/settings"):
        dialog.get_by_role("button", name="Save", exact=True).click()
    settings = person.get(f"/get_conversation_settings/{other}").json()
    kept = {"system_prompt": "Talk like a sailor.", "temperature": 0.5, "answer_tokens": 300}
    kept |= {"model_overrides": {"main": "cheap"}}
    assert settings == kept | {"allow_writing": True, "allowed_tools": ["time__convert_time"]}
    listed = person.get("/list_conversation_by_user/assistant").json()
    first = next(each for each in listed if each["conversation_id"] != other)
    assert first["conversation_settings"]["system_prompt"] == "Talk like a pirate."


@pytest.mark.shows("prompt-library")
def test_a_prompt_is_written_once_and_used_by_its_name_with_its_fields_filled(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    page.fill(INPUT, "/prompts")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    library = page.get_by_role("dialog", name="Prompt library")
    library.get_by_label("Name").fill("Translate")
    library.get_by_label("Text").fill("Translate into {{language}}: {{text}}")
    library.get_by_role("button", name="Add prompt").click()
    expect(library.get_by_role("button", name="/translate", exact=True)).to_be_visible()
    assert findings(page, "prompt-library") == []
    library.get_by_role("button", name="Close").click()

    page.focus(INPUT)
    page.keyboard.type("/tr")
    expect(page.locator("#composer-suggestions [role=option]", has_text="/translate")).to_be_visible()
    page.keyboard.press("Enter")
    fields = page.get_by_role("dialog", name="/translate")
    fields.get_by_label("language").fill("Finnish")
    page.keyboard.press("Tab")
    page.keyboard.type("Good morning")
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("Translate into Finnish: Good morning")
    expect(page.locator(INPUT)).to_be_focused()
    page.fill(INPUT, "/translate")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(fields).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(INPUT)).to_have_value("/translate")


def run_command(page: Page, command: str) -> None:
    page.wait_for_selector("#composer:not([aria-busy])", state="attached")  # it may have been loaded anew
    page.fill(INPUT, command)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")


def test_what_is_typed_into_a_prompt_stays_until_it_is_saved_or_thrown_away(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    library = page.get_by_role("dialog", name="Prompt library")
    name, text = library.get_by_label("Name"), library.get_by_label("Text")
    throw_away = library.get_by_role("button", name="Throw away")
    run_command(page, "/prompts")
    expect(throw_away).to_be_hidden()
    name.fill("letter")
    text.fill("Dear {{name}},\nthank you.")
    page.keyboard.press("Escape")
    expect(library).to_have_count(0)
    page.reload()
    run_command(page, "/prompts")
    expect(text).to_have_value("Dear {{name}},\nthank you.")
    library.get_by_role("button", name="Add prompt").click()
    expect(text).to_have_value("")

    library.get_by_role("button", name="Edit /letter").click()
    text.fill("Dear {{name}},\nthank you very much.")
    page.reload()
    run_command(page, "/prompts")
    expect(library.get_by_role("button", name="Save prompt")).to_be_visible()
    expect(text).to_have_value("Dear {{name}},\nthank you very much.")
    throw_away.click()
    expect(throw_away).to_be_hidden()
    library.get_by_role("button", name="Edit /letter").click()
    expect(text).to_have_value("Dear {{name}},\nthank you.")
    page.keyboard.press("Escape")

    run_command(page, "/letter")
    field = page.get_by_role("dialog", name="/letter").get_by_label("name")
    field.fill("Grace")
    page.keyboard.press("Escape")
    run_command(page, "/letter")
    expect(field).to_have_value("Grace")
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("Dear Grace,\nthank you.")
    run_command(page, "/letter")
    expect(field).to_have_value("")


def test_settings_that_are_not_saved_and_those_of_a_conversation_to_come_outlive_a_reload(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    page = open_page(person)
    dialog = page.get_by_role("dialog", name="Settings of this conversation")
    prompt = dialog.get_by_label("System prompt")
    run_command(page, "/settings")
    prompt.fill("Talk like a pirate.")
    page.reload()
    run_command(page, "/settings")
    expect(prompt).to_have_value("Talk like a pirate.")
    expect(dialog.get_by_role("status")).to_contain_text("is here again")
    keep_toasts(page)
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("are saved")

    # There is no conversation yet that the server could keep them for.
    page.reload()
    run_command(page, "/settings")
    expect(prompt).to_have_value("Talk like a pirate.")
    expect(dialog.get_by_role("status")).to_have_count(0)
    page.keyboard.press("Escape")
    page.fill(INPUT, "Hello")
    with page.expect_response("**/conversations/*/settings"):
        page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    (request,) = shared_model.requests_to("main")
    assert request["messages"][0]["content"].startswith("Talk like a pirate.\n")
    (conversation,) = person.get("/list_conversation_by_user/assistant").json()
    assert conversation["conversation_settings"]["system_prompt"] == "Talk like a pirate."
    page.get_by_role("button", name="New conversation").first.click()
    run_command(page, "/settings")
    expect(prompt).to_have_value("")


def test_a_model_that_is_chosen_after_the_settings_of_a_conversation_to_come_is_its_model(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    dialog = page.get_by_role("dialog", name="Settings of this conversation")
    run_command(page, "/settings")
    dialog.get_by_label("System prompt").fill("Talk like a pirate.")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    run_command(page, "/model cheap")
    expect(page.locator("#model-button")).to_have_text("cheap")
    told: list[Any] = []
    page.on("request", lambda request: told.append(request.post_data_json) if request.method == "PATCH" else None)
    page.fill(INPUT, "Hello")
    page.keyboard.press("Enter")
    until_held(page, told, times=2)
    # Whichever of them the server has last.
    assert {each["model_overrides"]["main"] for each in told} == {"cheap"}
    assert "Talk like a pirate." in [each.get("system_prompt") for each in told]
