"""The composer in a real browser: commands, models and files, by keys alone where there are keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held, until_kept, until_ready
from tests.browser.history import hold_talk, messages
from tests.browser.transcript import keep_toasts, suggested
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

from .screens import findings
from .sidebar_page import SidebarPage

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
INPUT = "#composer-input"
PROBLEM = "#composer-problem"
TEXT_FILE = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Plan\n\n```js\n1 + 1\n```\n"}
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ['dragover', 'drop']) {
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
    if (kind === 'dragover') globalThis.dropShown = !document.querySelector('.drop-target').hidden;
  }
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  const input = document.getElementById('composer-input');
  input.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  input.setRangeText(text);
  input.dispatchEvent(new Event('input'));
}"""

# On how many lines "42 %" stands at most, as wide as the label may ever be.
_MOST_LINES_OF_PERCENT = """(label) => {
  const [text] = label.childNodes;
  const number = new Range();
  number.setStart(text, text.data.indexOf('42'));
  number.setEnd(text, text.data.indexOf('%') + 1);
  label.style.flex = 'none';
  const lines = [];
  for (let width = label.offsetWidth; width > 50; width -= 1) {
    label.style.width = `${width}px`;
    lines.push(number.getClientRects().length);
  }
  return Math.max(...lines);
}"""

# Counts what is done with a text as long as this: how often the box is measured, its draft is written, and it is read
# for references.
_COUNT_WORK = """(longest) => {
  const done = { measured: 0, written: 0, read: 0 };
  globalThis.workDone = done;
  new MutationObserver((changes) => { done.measured += changes.length; })
    .observe(document.getElementById('composer-input'), { attributeFilter: ['style'] });
  const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function counted(...args) {
    if (JSON.stringify(args).length >= longest) done.written += 1;
    return put.apply(this, args);
  };
  const { matchAll } = String.prototype;
  String.prototype.matchAll = function counted(...args) {
    if (this.length >= longest) done.read += 1;
    return matchAll.apply(this, args);
  };
}"""


def option(page: Page, text: str) -> Locator:
    return page.locator("#composer-suggestions [role=option]").filter(has_text=text)


def command(page: Page, text: str) -> None:
    """Types a command and carries it out, leaving what completes it. The one before stays until it is done."""
    page.focus(INPUT)
    expect(page.locator("#composer")).not_to_have_attribute("aria-busy", "true")
    page.keyboard.type(text)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")


def toast(page: Page, text: str) -> Locator:
    return page.locator(".toast-message", has_text=text)


def details(person: Client, conversation_id: str) -> dict[str, Any]:
    return person.get(f"/get_conversation_details/{conversation_id}").json()


def test_commands_are_offered_with_what_they_take_completed_and_carried_out(
    open_page: OpenPage, person: Client
) -> None:
    hold_talk(person, "Something else")
    talk = hold_talk(person, "Bread at home")
    conversation_id = talk.conversation_id
    page = open_page(person, talk.path)
    keep_toasts(page)
    expect(page.locator(".message-card")).not_to_have_count(0)
    page.focus(INPUT)
    page.keyboard.type("/")
    expect(option(page, "/export [format]")).to_contain_text("Save this conversation as a file")
    page.keyboard.type("st")
    page.keyboard.press("Enter")
    expect(option(page, "off")).to_be_visible()
    expect(page.locator(INPUT)).to_have_value("/stateless ")
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("/stateless on")
    page.keyboard.press("Enter")
    expect(toast(page, "is not kept")).to_be_visible()
    expect(page.locator(INPUT)).to_have_value("")
    assert details(person, conversation_id)["stateless"] is True

    command(page, "/export poem")
    expect(page.locator(PROBLEM)).to_contain_text("/export takes one of these: markdown, html, json, bundle.")
    expect(page.locator(INPUT)).to_have_value("/export poem")
    page.fill(INPUT, "")
    with page.expect_download() as saved:
        command(page, "/export markdown")
    assert saved.value.suggested_filename.endswith(".md")

    command(page, "/title")
    expect(page.locator(INPUT)).to_have_value("/title Bread at home")
    page.keyboard.type(" and away")
    page.keyboard.press("Enter")
    expect(page.locator("#conversation-title")).to_have_text("Bread at home and away")
    command(page, "/pin")
    expect(toast(page, "Pinned.")).to_be_visible()
    assert details(person, conversation_id)["pinned"] is True
    row = page.locator(f'#workspaces-container li[data-conversation-id="{conversation_id}"]')
    expect(row).to_have_count(1)
    command(page, "/archive")
    expect(row).to_have_count(0)
    toast(page, "Archived.").get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)
    command(page, "/help")
    expect(page.get_by_role("region", name="Commands")).to_contain_text("/export [format]")
    page.keyboard.press("Escape")

    command(page, "/fork")
    expect(page.locator("#conversation-title")).not_to_have_text("Bread at home and away")
    expect(page.locator(".message-card")).not_to_have_count(0)
    command(page, "/share")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    forked = page.url
    command(page, "/clear")
    expect(page).not_to_have_url(forked)
    expect(page.locator(".message-card")).to_have_count(0)


def test_a_second_enter_while_a_command_is_carried_out_does_nothing(open_page: OpenPage, person: Client) -> None:
    page = open_page(person, hold_talk(person, "Bread at home", "How long?").path)
    expect(page.locator(".message-card")).to_have_count(2)
    held: list[Route] = []
    # The first thing that /fork asks for.
    newest = re.compile(r"/list_messages_by_conversation/.*\?limit=2$")
    page.route(newest, lambda route: held.append(route))
    with page.expect_request(newest):
        command(page, "/fork")
    expect(page.locator(INPUT)).to_have_value("/fork")
    page.keyboard.press("Enter")
    asked = page.evaluate("() => fetch('/healthz').then(({ status }) => status)")  # behind what Enter would have asked
    assert asked == 200
    until_held(page, held)
    for route in held:
        route.continue_()
    expect(page.locator("#conversation-title")).not_to_have_text("Bread at home")
    expect(page.locator(INPUT)).to_have_value("")
    assert len(held) == 1
    assert len(person.get("/list_conversation_by_user/assistant").json()) == 2


def test_administrators_choose_among_models_that_are_not_downloaded_too(
    open_page: OpenPage, administrator: Client
) -> None:
    page = open_page(administrator)
    page.locator("#model-button").press("ArrowDown")
    expect(page.get_by_role("listbox", name="Models")).to_contain_text("qwen2.5-coder-0.5b-instruct")


def test_a_model_is_chosen_by_keys_for_a_conversation_and_answers_it_from_then_on(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    shared_model.scripts["cheap"] = saying("Small talk.")
    page = open_page(person)
    button = page.locator("#model-button")
    expect(button).to_contain_text("main")
    button.focus()
    page.keyboard.press("ArrowDown")
    models = page.get_by_role("listbox", name="Models")
    expect(models.get_by_role("option")).not_to_have_count(0)
    expect(models.get_by_role("option", selected=True)).to_contain_text("main model")
    page.keyboard.press("c")  # letters that come late would begin a new search
    expect(models.locator(".is-active")).to_contain_text("cheap")
    page.keyboard.press("Enter")
    expect(button).to_have_text("cheap")
    expect(button).to_be_focused()

    page.focus(INPUT)
    page.keyboard.type("Hello")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Small talk.")
    conversation_id = person.get("/list_conversation_by_user/assistant").json()[0]["conversation_id"]
    expect(page.locator("#send-button")).to_be_visible()
    settings = person.get(f"/get_conversation_settings/{conversation_id}").json()
    assert settings["model_overrides"] == {"main": "cheap"}

    page.reload()
    expect(button).to_have_text("cheap")
    command(page, "/model mai")
    expect(button).to_have_text("main")
    expect(page.locator(INPUT)).to_have_value("")  # it stays until the choice is saved
    command(page, "/model enormous")
    expect(page.locator(PROBLEM)).to_contain_text("No model is called “enormous”.")


def test_a_choice_that_could_not_be_saved_is_made_again_where_it_was_made(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    bread, soup = hold_talk(person, "Bread at home"), hold_talk(person, "Soup of the day")
    page = open_page(person, bread.path)
    expect(page.locator(".message-card")).not_to_have_count(0)
    held: list[Route] = []
    page.route("**/conversations/*/settings", lambda route: held.append(route), times=1)
    with page.expect_request("**/conversations/*/settings"):
        command(page, "/model cheap")
    until_held(page, held)
    SidebarPage(page).row("Soup of the day").click()
    expect(page.locator("#conversation-title")).to_have_text("Soup of the day")
    held[0].abort()
    failure = toast(page, "The model could not be chosen.")
    expect(page.locator("#model-button")).to_have_text("main")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        failure.get_by_role("button", name="Try again").click()
    chosen = {
        talk.friendly_id: details(person, talk.conversation_id)["conversation_settings"].get("model_overrides")
        for talk in (bread, soup)
    }
    assert chosen == {bread.friendly_id: {"main": "cheap"}, soup.friendly_id: None}


def test_a_new_conversation_whose_model_is_gone_is_answered_by_the_main_one(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    page.evaluate("localStorage.setItem('anaphora:new-conversation-model', 'embedded:was-here-once')")
    page.reload()
    expect(page.locator("#model-button.is-gone")).to_have_text("main")
    until_ready(page)
    page.fill(INPUT, "Hello")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    expect(page.locator(PROBLEM)).to_be_hidden()


def test_the_list_of_models_stays_where_it_was_scrolled_to_while_one_is_being_fetched(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person, empty_cache=True)
    known = person.get("/models").json()
    state = {"phase": "fetching", "progress": 0.1, "detail": ""}
    model = next(choice for choice in known["choices"] if choice["id"] == "main")
    many = [{**model, "id": f"openai:m{n}", "name": f"m{n}", "kind": "openai", "role": None} for n in range(40)]
    fetched = {**many[35], "state": state}
    page.route("**/models", lambda route: route.fulfill(json={**known, "choices": [model, *many[:35], fetched]}))
    page.reload()
    until_ready(page)
    page.locator("#model-button").press("ArrowDown")
    models = page.get_by_role("listbox", name="Models")
    expect(models).to_contain_text("being fetched: 10 %")
    models.evaluate("(list) => { list.scrollTop = 300; }")
    state["progress"] = 0.6
    expect(models).to_contain_text("being fetched: 60 %")
    assert abs(models.evaluate("(list) => list.scrollTop") - 300) <= 1
    expect(models.get_by_role("option", selected=True)).to_contain_text("main model")


def test_the_percent_sign_stays_beside_its_number_however_long_the_name_before_is(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person, empty_cache=True)
    models = person.get("/models").json()
    fetched = {"name": "Qwen2.5 14B Instruct", "phase": "fetching", "progress": 0.42, "detail": ""}
    page.route("**/models", lambda route: route.fulfill(json={**models, "main": fetched}))
    page.reload()
    label = page.locator(".model-status-text")
    expect(label).to_have_text("Fetching Qwen2.5 14B Instruct: 42 %")
    assert label.evaluate(_MOST_LINES_OF_PERCENT) == 1


def test_files_go_with_a_message_in_its_text_and_stay_with_the_draft(
    open_page: OpenPage, person: Client, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    page = open_page(person)
    page.set_input_files("#attach-files", [TEXT_FILE])
    chip = page.locator(".file-chip")
    expect(chip).to_contain_text("notes.md")
    page_problems.expect("415")
    page.set_input_files("#attach-files", [{"name": "cat.png", "mimeType": "image/png", "buffer": b"\x89PNG\x00\xff"}])
    expect(page.locator(PROBLEM)).to_contain_text("“cat.png” could not be uploaded.")
    page.get_by_role("button", name="Do not attach cat.png").click()
    expect(chip).to_have_count(1)
    page.evaluate(DROP, ["data.csv", "a,b\n1,2\n"])
    expect(chip).to_have_count(2)
    assert page.evaluate("globalThis.dropShown") is True
    chip.nth(1).get_by_role("button", name="data.csv", exact=True).click()
    expect(page.get_by_role("dialog").locator("pre")).to_have_text("a,b\n1,2\n")
    page.keyboard.press("Escape")
    keep_toasts(page)
    page.evaluate(PASTE, "long words " * 500)
    toast(page, "You pasted 5,500 characters.").get_by_role("button", name="Attach as a file").click()
    expect(chip).to_have_count(3)
    expect(page.locator(INPUT)).to_have_value("")
    page.reload()
    expect(chip).to_have_count(3)
    page.locator(".file-chip .icon-button").nth(2).focus()
    page.keyboard.press("Delete")
    expect(chip).to_have_count(2)

    page.focus(INPUT)
    page.keyboard.type("Read this")
    page_problems.expect("ERR_INTERNET_DISCONNECTED")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    waiting = page.get_by_role("list", name="Messages that are not sent yet").get_by_role("listitem")
    expect(waiting).to_contain_text("Not sent yet. The server cannot be reached.")
    waiting.get_by_role("button", name="Take back and edit").click()
    expect(waiting).to_have_count(0)
    expect(page.locator(INPUT)).to_have_value("Read this")
    expect(chip).to_have_count(2)
    page.keyboard.press("Enter")
    expect(waiting).to_contain_text("Not sent yet.")
    page.context.set_offline(False)
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Understood.")
    expect(waiting).to_have_count(0)
    expect(chip).to_have_count(0)
    prompt = shared_model.prompt(model="main")
    assert "Read this\n\nAttached file `notes.md`:\n\n````md\n# Plan\n\n```js\n1 + 1\n```\n````" in prompt
    assert "Attached file `data.csv`:\n\n```csv\na,b\n1,2\n```" in prompt

    # A pasted text that was sent is not offered as a file any more.
    page.focus(INPUT)
    keep_toasts(page)
    page.evaluate(PASTE, "more words " * 500)
    expect(toast(page, "You pasted 5,500 characters.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("")
    assert toast(page, "You pasted").count() == 0


def test_who_wants_so_breaks_lines_by_enter_and_sends_by_ctrl_enter(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    page.get_by_role("button", name="Options").focus()
    page.keyboard.press("Enter")
    page.get_by_role("checkbox", name="Enter sends").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Options")).to_be_focused()
    page.focus(INPUT)
    page.keyboard.type("One")
    page.keyboard.press("Enter")
    page.keyboard.type("Two")
    expect(page.locator(INPUT)).to_have_value("One\nTwo")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".message-card.from-user")).to_contain_text("Two")
    expect(page.locator(".message-card.from-assistant")).to_have_attribute("data-status", "complete")


@pytest.mark.shows("models", "options", "commands", "command-help", "file-preview")
def test_nothing_serious_is_found_in_what_the_composer_opens(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    page.set_input_files("#attach-files", [TEXT_FILE])
    expect(page.locator(".file-chip")).to_be_visible()
    page.locator("#model-button").click()
    expect(page.get_by_role("listbox", name="Models").get_by_role("option")).not_to_have_count(0)
    assert findings(page, "models", shown=page.get_by_role("listbox", name="Models")) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Options").click()
    assert findings(page, "options", shown=page.get_by_role("checkbox", name="Enter sends")) == []
    page.keyboard.press("Escape")
    page.focus(INPUT)
    page.keyboard.type("/")
    expect(option(page, "/help")).to_have_count(1)
    assert findings(page, "commands", shown=option(page, "/help")) == []
    command(page, "help")
    expect(page.get_by_role("region", name="Commands")).to_be_visible()
    assert findings(page, "command-help", shown=page.get_by_role("region", name="Commands")) == []
    page.keyboard.press("Escape")
    page.locator(".file-chip").get_by_role("button", name="notes.md", exact=True).click()
    assert findings(page, "file-preview", shown=page.get_by_role("dialog").locator("pre")) == []


def test_words_after_a_sign_are_sent_as_they_are_and_what_completion_replaced_comes_back(
    open_page: OpenPage, person: Client
) -> None:
    talk = hold_talk(person, "Anna about Tuesday", "Ask anna about tuesday")
    page = open_page(person, talk.path)
    expect(page.locator(".message-card")).to_have_count(2)
    page.focus(INPUT)
    page.keyboard.type("Ask @Anna about Tuesday")
    expect(option(page, "Anna about Tuesday").first).to_be_visible()
    suggested(page)
    expect(page.locator("#composer-suggestions [aria-selected=true]")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator(".message-card[message-index='3']")).to_contain_text("Ask @Anna about Tuesday")

    page.keyboard.type("Ask @Anna about")
    expect(page.locator(".listbox-heading").first).to_have_text("Conversations")
    expect(option(page, "Anna about Tuesday").first).to_be_visible()
    suggested(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value(f"Ask @conversation_{talk.friendly_id}_message_")
    page.keyboard.press("Control+z")
    expect(page.locator(INPUT)).to_have_value("Ask @Anna about")

    # A reference that is being typed is not said to lead nowhere; one that is left behind is.
    page.fill(INPUT, "")
    with page.expect_response("**/references/resolve?*"):
        page.keyboard.insert_text("See @conversation_no_such_talk_abcd")
    expect(page.locator("#composer-preview .reference-chip")).to_have_count(0)
    page.keyboard.type(" ")
    expect(page.locator("#composer-preview .reference-chip.unresolved")).to_have_count(1)

    # A whole reference needs no words about it.
    page.fill(INPUT, "")
    with page.expect_response("**/conversations/*/messages?*"):
        page.keyboard.insert_text(talk.reference(1))
    expect(page.locator("#composer-preview .reference-chip")).to_have_count(1)
    expect(page.locator("#composer-suggestions + .suggestions-note")).to_be_hidden()
    # Safari tells of the Enter that ends a composition afterwards, with this code.
    page.evaluate("""() => {
      const init = { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true };
      document.getElementById('composer-input').dispatchEvent(new KeyboardEvent('keydown', init));
    }""")
    expect(page.locator(INPUT)).to_have_value(talk.reference(1))


def test_a_space_after_what_was_chosen_is_the_one_that_came_with_it(open_page: OpenPage, person: Client) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    page.focus(INPUT)
    page.keyboard.type("See @conversation_growing")
    option(page, "Growing tomatoes").first.click()
    option(page, "How much water?").first.click()
    name = talk.reference(1)
    expect(page.locator(INPUT)).to_have_value(f"See {name} ")
    page.keyboard.type(" and  more")
    expect(page.locator(INPUT)).to_have_value(f"See {name} and  more")


def test_the_arrow_up_in_an_empty_box_changes_the_last_question(open_page: OpenPage, person: Client) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?", "Which pots?")
    page = open_page(person, talk.path)
    expect(page.locator(".message-card")).to_have_count(4)
    text = page.get_by_label("Text of the message")
    page.locator(INPUT).press("x")
    page.locator(INPUT).press("ArrowUp")
    expect(text).to_have_count(0)
    page.fill(INPUT, "")
    page.locator(INPUT).press("ArrowUp")
    expect(text).to_be_focused()
    expect(text).to_have_value("Which pots?")
    page.get_by_role("button", name="Cancel").click()
    # Who came from the box is there again.
    expect(page.locator(INPUT)).to_be_focused()
    # One click does it for each question, and for no answer.
    expect(page.get_by_role("button", name=re.compile("^Edit: #"))).to_have_count(2)
    page.get_by_role("button", name="Edit: #1", exact=True).click()
    expect(text).to_have_value("How much water?")


def test_the_arrow_up_goes_into_an_edit_that_a_reload_has_opened_again(open_page: OpenPage, person: Client) -> None:
    page = open_page(person, hold_talk(person, "Growing tomatoes", "How much water?").path)
    page.get_by_role("button", name="Edit: #1", exact=True).click()
    text = page.get_by_label("Text of the message")
    text.fill("How much warm water?")
    page.reload()
    expect(text).to_have_value("How much warm water?")
    page.locator(INPUT).press("ArrowUp")
    expect(text).to_be_focused()
    page.locator(INPUT).focus()
    page.get_by_role("button", name="Edit: #1", exact=True).click()
    expect(text).to_be_focused()
    expect(text).to_have_value("How much warm water?")


def test_escape_stops_no_answer_while_something_is_over_the_page(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Under", "stood.", pause_after=1)
    page = open_page(person)
    page.fill(INPUT, "How much water?")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Under")
    stop = page.get_by_role("button", name="Stop answering")
    stopped: list[str] = []
    page.on("request", lambda request: stopped.append(request.url) if "stop" in request.url else None)
    page.evaluate("document.getElementById('user-menu').showPopover()")
    page.locator(INPUT).press("Escape")
    expect(page.locator("#user-menu")).to_be_hidden()
    page.locator("#workspaces-container a[data-conversation-id]").hover()
    page.mouse.down()
    page.mouse.move(300, 500, steps=6)
    expect(page.locator("#vakata-dnd")).to_be_visible()
    page.locator(INPUT).press("Escape")
    page.mouse.move(900, 500)
    page.mouse.up()
    expect(stop).to_be_visible()
    assert stopped == []
    page.locator(INPUT).press("Escape")
    expect(stop).to_be_hidden()
    shared_model.release()


def test_enter_sends_a_whole_reference_also_where_messages_are_offered_that_quote_it(
    open_page: OpenPage, person: Client
) -> None:
    talk = hold_talk(person, "Growing tomatoes", "Which manure?")
    assert list(person.send(talk.conversation_id, f"As in {talk.reference(1)}."))[-1].get("done")
    page = open_page(person, talk.path)
    selected = page.locator("#composer-suggestions [aria-selected=true]")
    page.fill(INPUT, f"And {talk.reference(1)}")
    expect(option(page, "As in")).to_be_visible()
    expect(selected).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("")
    expect(page.locator(".message-card[message-index='6']")).to_have_attribute("data-status", "complete")
    assert messages(person, talk.conversation_id)[4]["text"] == f"And {talk.reference(1)}"

    # A word of six letters may be a name, and names no message here.
    page.fill(INPUT, f"And @conversation_{talk.friendly_id}_message_manure")
    expect(selected).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value(f"And {talk.reference(1)} ")


def test_escape_where_messages_are_offered_means_the_whole_conversation(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    talk = hold_talk(person, "Growing tomatoes", "How much watering?")
    page = open_page(person, talk.path)
    whole = f"See @conversation_{talk.friendly_id}"
    page.focus(INPUT)
    page.keyboard.type("See @conversation_growing")
    option(page, "Growing tomatoes").first.click()
    expect(option(page, "How much watering?").first).to_be_visible()
    expect(page.locator(".suggestions-keys")).to_contain_text("Esc for the whole conversation")
    page.keyboard.press("Escape")
    expect(page.locator(INPUT)).to_have_value(f"{whole} ")
    expect(page.locator("#composer-suggestions")).to_be_hidden()
    expect(page.locator("#composer-preview .reference-chip:not(.unresolved)")).to_have_text(
        re.compile("^Growing tomatoes")
    )
    # As a choice, it can be taken back; and a word that was searched for goes, too, with the space that follows kept.
    page.keyboard.press("Control+z")
    expect(page.locator(INPUT)).to_have_value(f"{whole}_message_")
    page.fill(INPUT, f"{whole}_message_watering and more")
    for _ in " and more":
        page.keyboard.press("ArrowLeft")
    expect(option(page, "How much watering?").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(INPUT)).to_have_value(f"{whole} and more")
    page.keyboard.press("Enter")
    sent = page.locator(".message-card[message-index='3']")
    expect(sent.locator(".reference-report summary")).to_contain_text("1 reference")
    expect(page.locator(".message-card[message-index='4']")).to_have_attribute("data-status", "complete")
    # A message that is named already stays.
    assert list(person.send(talk.conversation_id, f"As in {talk.reference(1)}."))[-1].get("done")
    page.fill(INPUT, f"See {talk.reference(1)}")
    expect(option(page, "As in")).to_be_visible()
    suggested(page)
    page.keyboard.press("Escape")
    expect(page.locator("#composer-suggestions")).to_be_hidden()
    expect(page.locator(INPUT)).to_have_value(f"See {talk.reference(1)}")
    # So does one that ends a sentence, and one of a conversation that there is not.
    for text in (f"See {talk.reference(1)},", "@conversation_secret_message_gießen"):
        page.fill(INPUT, "")
        page.fill(INPUT, text)
        expect(page.locator(".suggestions-note")).to_be_visible()
        expect(page.locator(".suggestions-note")).not_to_have_text("Searching…")
        page.keyboard.press("Escape")
        expect(page.locator(".suggestions")).to_be_hidden()
        expect(page.locator(INPUT)).to_have_value(text)


def test_a_letter_in_a_long_text_is_not_paid_for_by_the_whole_text(open_page: OpenPage, person: Client) -> None:
    page = open_page(person, own_clock=True)
    long = "See @some_name_tag and `this`. \n" * 6000
    page.clock.install()
    page.reload()
    until_ready(page)
    page.locator(INPUT).evaluate(
        "(input, text) => { input.value = text; input.dispatchEvent(new Event('input')); }", long
    )
    page.clock.pause_at(int(page.evaluate("Date.now()")) / 1000 + 60)
    page.evaluate(_COUNT_WORK, len(long))
    page.locator(INPUT).press("Control+End")
    for _ in range(20):
        page.keyboard.press("x")
    # What was typed first after a long pause is kept at once.
    assert page.evaluate("workDone") == {"measured": 0, "written": 1, "read": 0}
    page.clock.run_for(5000)
    assert page.evaluate("workDone.written") == 2
    assert page.evaluate("workDone.read") > 0
    until_kept(page, "x" * 20)
    page.keyboard.type(" and yes")
    page.reload()
    expect(page.locator(INPUT)).to_have_value(f"{long}{'x' * 20} and yes")
    # What grows less long is measured again.
    page.fill(INPUT, "short")
    assert page.locator(INPUT).evaluate("(input) => input.clientHeight") < 100


def test_what_an_input_method_composes_is_not_sent_half_done(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    field = page.locator(INPUT)
    field.focus()
    composing = page.context.new_cdp_session(page)
    composing.send("Input.imeSetComposition", {"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
    expect(field).to_have_value("にほん")
    composing.send("Input.insertText", {"text": "日本"})
    # Safari tells of the Enter that ended the composition when that is over.
    pressed = """(node, keyCode) => node.dispatchEvent(
      new KeyboardEvent('keydown', {key: 'Enter', keyCode, bubbles: true, cancelable: true}))"""
    assert field.evaluate(pressed, 229)
    expect(field).to_have_value("日本")
    expect(page.locator(".message-card")).to_have_count(0)
    assert not field.evaluate(pressed, 13)
    expect(page.locator(".message-card.from-user .message-body")).to_have_text("日本")
    expect(field).to_have_value("")


def test_what_is_typed_before_the_page_is_ready_stays(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    expect(page.locator(".empty-state")).to_be_visible()
    held: list[Route] = []
    page.route(re.compile(r"/main[^/]*\.js"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/main[^/]*\.js")):
        page.goto("/interface/", wait_until="commit")
    page.locator(INPUT).press_sequentially("How much water?")
    until_held(page, held)
    for route in held:
        route.continue_()
    expect(page.locator(".empty-state")).to_be_visible()
    expect(page.locator(INPUT)).to_have_value("How much water?")
    page.unroute_all()
    page.reload()
    expect(page.locator(".empty-state")).to_be_visible()
    expect(page.locator(INPUT)).to_have_value("How much water?")


@pytest.mark.shows("outbox")
def test_what_is_sent_during_an_answer_waits_for_its_end_also_over_a_reload(
    open_page: OpenPage, person: Client, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Under", "stood.", pause_after=1)
    page = open_page(person)
    waiting = page.locator("#outbox").get_by_role("listitem")

    def write(text: str) -> None:
        page.fill(INPUT, text)
        page.keyboard.press("Enter")

    write("How much water?")
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Under")
    for text in ("How much light?", "How much salt?", "How much wind?"):
        write(text)
    expect(waiting).to_have_count(3)
    expect(waiting.first).to_contain_text("Is sent when the answer is done.")
    assert findings(page, "outbox", shown=waiting.first) == []
    waiting.nth(2).get_by_role("button", name="Remove").click()
    waiting.nth(1).get_by_role("button", name="Take back and edit").click()
    expect(page.locator(INPUT)).to_have_value("How much salt?")
    expect(page.locator(INPUT)).to_be_focused()
    write("How much sea salt?")
    expect(waiting).to_have_text([re.compile("light"), re.compile("sea salt")])
    page.reload()
    expect(waiting).to_have_count(2)
    expect(page.locator(".message-card.from-assistant")).to_contain_text("Under")

    shared_model.release()
    answers = page.locator(".message-card.from-assistant[data-status='complete']")
    expect(answers).to_have_count(3)
    expect(waiting).to_have_count(0)
    expect(page.locator(".message-card.from-user .message-body")).to_have_text(
        ["How much water?", "How much light?", "How much sea salt?"]
    )


def test_a_message_is_taken_back_while_it_is_tried_again_and_is_not_sent_twice_where_the_server_had_it(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    cards = page.locator(".message-card")
    expect(cards).to_have_count(2)
    held: list[Route] = []
    sending = "**/send_message/**"
    page.route(sending, lambda route: held.append(route))
    waiting = page.locator("#outbox").get_by_role("listitem")

    def lose_the_first_try(text: str) -> None:
        """The second one is under way then."""
        page.fill(INPUT, text)
        page.keyboard.press("Enter")
        until_held(page, held)
        held.pop().abort()
        until_held(page, held)
        expect(waiting).to_contain_text("It is being tried again…")

    lose_the_first_try("How much salt?")
    held.pop()
    waiting.get_by_role("button", name="Remove").click()
    expect(waiting).to_have_count(0)
    expect(page.locator(PROBLEM)).to_contain_text("It was just being sent when you took it back.")

    lose_the_first_try("How much light?")
    held.pop().fetch()
    waiting.get_by_role("button", name="Take back and edit").click()
    expect(page.locator(INPUT)).to_have_value("How much light?")
    expect(page.locator(PROBLEM)).to_contain_text("It was just being sent when you took it back.")
    # What the server had shows up, and is not sent a second time.
    expect(cards).to_have_count(4)
    expect(cards.last).to_contain_text("Understood.")
    page.unroute(sending)
    page.keyboard.press("Enter")
    expect(page.locator("#outbox")).to_be_hidden()
    expect(page.locator(INPUT)).to_have_value("")
    expect(cards).to_have_count(4)
    questions = [each["text"] for each in messages(person, talk.conversation_id)][::2]
    assert questions == ["How much water?", "How much light?"]


def test_what_a_source_finds_late_is_offered_late(open_page: OpenPage, person: Client) -> None:
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    held: list[Route] = []
    page.route("**/conversations/autocomplete?*", lambda route: held.append(route))
    page.focus(INPUT)
    page.keyboard.type("As in @tomatoes")
    note = page.locator(".suggestions-note")
    expect(note).to_contain_text("Conversations could not be searched.")
    until_held(page, held)
    held[-1].continue_()
    expect(option(page, "Growing tomatoes").first).to_be_visible()
    expect(note).not_to_contain_text("could not be searched")


# The active row, how far the list is scrolled, and how far below its upper edge the given row stands.
_PLACE = """([list, text]) => {
    const row = [...list.querySelectorAll('[role=option]')].find((each) => each.textContent.includes(text));
    const top = Math.round(row.getBoundingClientRect().top - list.getBoundingClientRect().top);
    return [list.querySelector('.is-active .option-title').textContent, list.scrollTop > 0, top];
}"""


@pytest.mark.parametrize("moves", ["by keys", "by scrolling"])
def test_what_is_offered_late_leaves_the_active_row_and_what_is_in_view_where_they_are(
    open_page: OpenPage, person: Client, moves: str
) -> None:
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    held: list[Route] = []
    page.route("**/conversations/autocomplete?*", lambda route: held.append(route))
    memories = [{"friendly_id": f"tomatoes_{n:02}", "statement": f"Tomatoes of sort {n:02}."} for n in range(12)]
    page.route("**/pkb/autocomplete?*", lambda route: route.fulfill(json={"memories": memories}))
    page.focus(INPUT)
    page.keyboard.type("As in @tomatoes")
    note = page.locator(".suggestions-note")
    expect(note).to_contain_text("Conversations could not be searched.")
    suggestions = page.locator("#composer-suggestions")
    if moves == "by keys":
        for _ in range(9):
            page.keyboard.press("ArrowDown")
    else:
        suggestions.evaluate("(list) => { list.scrollTop = 200; }")
    looked_at = "Tomatoes of sort 09." if moves == "by keys" else "Tomatoes of sort 06."
    place = page.evaluate(_PLACE, [suggestions.element_handle(), looked_at])
    assert place[:2] == ["Tomatoes of sort 09." if moves == "by keys" else "Tomatoes of sort 00.", True]
    until_held(page, held)
    held[-1].continue_()
    expect(option(page, "Growing tomatoes").first).to_be_attached()
    expect(note).not_to_contain_text("could not be searched")
    *now, top = page.evaluate(_PLACE, [suggestions.element_handle(), looked_at])
    assert now == place[:2]
    assert abs(top - place[2]) <= 1  # browsers scroll by whole pixels
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value(f"As in @tomatoes_{'09' if moves == 'by keys' else '00'} ")


# All in one task: no timer of the page runs between two keys.
_PRESS = """(keys) => {
    const input = document.getElementById('composer-input');
    for (const key of keys) {
        if (key.length === 1) document.execCommand('insertText', false, key);
        else input.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    }
}"""


def test_a_row_that_was_chosen_by_arrows_is_taken_while_what_was_typed_since_is_searched(
    open_page: OpenPage, person: Client
) -> None:
    talk = hold_talk(person, "Anna about Tuesday", "Ask anna about tuesday")
    page = open_page(person, talk.path)
    expect(page.locator(".message-card")).to_have_count(2)
    page.focus(INPUT)
    asked = "**/conversations/autocomplete?*"
    for keys in (("o",), ("ArrowDown", "o"), ("o", "ArrowDown")):
        page.unroute(asked)
        page.fill(INPUT, "")
        page.keyboard.type("Ask @Anna ab")
        expect(page.locator(".listbox-heading").first).to_have_text("Conversations")
        expect(option(page, "Anna about Tuesday").first).to_be_visible()
        suggested(page)
        page.route(asked, lambda _: None)
        page.evaluate(_PRESS, [*keys, "Enter"])
        if "ArrowDown" in keys:
            expect(page.locator(INPUT)).to_have_value(f"Ask @conversation_{talk.friendly_id}_message_")
        else:
            expect(page.locator(".message-card")).to_have_count(4)
    expect(page.locator(".message-card")).to_have_count(4)
