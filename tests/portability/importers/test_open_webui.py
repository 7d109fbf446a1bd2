"""Exports of Open WebUI: its tree, the list of outputs, and blocks of HTML in the text of answers."""

from __future__ import annotations

import time
from base64 import b64encode

import pytest

from portability.importers.reading.imported import ImportedAttachment, ImportedToolCall
from sentences import say
from tests.portability.importers.exports import NOON, open_webui_chat, open_webui_message, write_json

REASONING = (
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n'
    "&gt; First line\n> Second line\n</details>\n"
)
TOOL_CALL = (
    '<details type="tool_calls" done="true" id="call_1" name="weather" '
    'arguments="&quot;{\\&quot;city\\&quot;: \\&quot;Kiel\\&quot;}&quot;" result="&quot;Rain&quot;" files="">\n'
    "<summary>Tool Executed</summary>\n</details>\n"
)


def answer(read_one, tmp_path, **fields):
    chat = open_webui_chat(
        open_webui_message("q", None, "user", "Tell me"),
        open_webui_message("a", "q", "assistant", seconds=2, model="llama3", **fields),
    )
    return read_one(write_json(tmp_path / "chats.json", [chat])).messages[1]


def test_a_chat_comes_with_its_tree_and_its_state(tmp_path, read):
    chat = open_webui_chat(
        open_webui_message("q", None, "user", "Which knot?"),
        open_webui_message("a", "q", "assistant", "A bowline.", model="llama3", seconds=1),
        open_webui_message("b", "q", "assistant", "A reef knot.", model="qwen", seconds=1),
        open_webui_message("s", None, "system", "Be brief."),
        current="a",
        archived=True,
        pinned=True,
    )
    source, [found] = read(write_json(tmp_path / "chats.json", [chat]))

    assert source == "open_webui"
    assert (found.source_id, found.title, found.archived, found.pinned) == ("w-1", "Knots", True, True)
    assert [each.timestamp() - int(NOON) for each in (found.created_at, found.updated_at)] == [0, 60]
    assert [(each.source_id, each.parent_id, each.model, each.text) for each in found.messages] == [
        ("q", None, None, "Which knot?"),
        ("a", "q", "llama3", "A bowline."),
        ("b", "q", "qwen", "A reef knot."),
        ("s", None, None, ""),
    ]
    assert found.messages[-1].tool_calls == (ImportedToolCall("system", None, "Be brief."),)
    assert found.current_id == "a"
    assert [each.created_at.timestamp() - int(NOON) for each in found.messages] == [0, 1, 1, 0]


def test_messages_of_other_roles_are_folded_into_the_answer_before_and_empty_ones_are_reported(tmp_path, read_one):
    chat = open_webui_chat(
        open_webui_message("q", None, "user", "Wind?"),
        open_webui_message("a", "q", "assistant", "I look.", output=[{"type": "function_call", "name": "weather"}]),
        open_webui_message("t", "a", "tool", "Calm"),
        open_webui_message("s", "t", "system", "Be brief."),
        open_webui_message("n", "s", "narrator"),
        open_webui_message("u", "n", "user", "Thanks"),
        open_webui_message("x", "u", "critic", "Too long."),
    )
    found = read_one(write_json(tmp_path / "chats.json", [chat]))

    assert [(each.source_id, each.parent_id, each.sender, each.text) for each in found.messages] == [
        ("q", None, "user", "Wind?"),
        ("a", "q", "model", "I look."),
        ("u", "a", "user", "Thanks"),
        ("x", "u", "model", ""),
    ]
    assert found.messages[1].tool_calls == (
        ImportedToolCall("weather", None, "Calm"),
        ImportedToolCall("system", None, "Be brief."),
    )
    assert found.messages[3].tool_calls == (ImportedToolCall("critic", None, "Too long."),)
    assert found.problems == (say("import_kinds_unknown", count=1),)


def test_parts_and_outputs_of_kinds_that_nobody_knows_are_kept(tmp_path, read_one):
    chat = open_webui_chat(
        open_webui_message("q", None, "user", [{"type": "text", "text": "Choose."}, {"type": "poll", "of": ["yes"]}]),
        open_webui_message(
            "a",
            "q",
            "assistant",
            output=[
                {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "tide"}},
                {"type": "function_call_output", "call_id": "lost", "output": "Ebb"},
            ],
        ),
        open_webui_message("n", "a", "assistant", output=[{"type": "mystery", "id": "m"}]),
    )
    found = read_one(write_json(tmp_path / "chats.json", [chat]))

    assert found.messages[0].text.startswith("Choose.\n```json\n{")
    assert '"yes"' in found.messages[0].text
    assert found.messages[1].tool_calls == (
        ImportedToolCall("web_search_call", {"action": {"query": "tide"}}, ""),
        ImportedToolCall("tool", None, "Ebb"),
    )
    assert len(found.messages) == 2
    assert found.problems == (say("import_kinds_unknown", count=1),)


def test_outputs_come_before_the_blocks_in_the_text(tmp_path, read_one):
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Kiel"}'},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "Rain"}]},
        {"type": "open_webui:code_interpreter", "code": "1+1", "output": {"stdout": "2"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains."}]},
    ]
    found = answer(read_one, tmp_path, output=output, content=f"{REASONING}{TOOL_CALL}It rains.")

    assert (found.text, found.thoughts) == ("It rains.", "Hm.")
    assert found.tool_calls == (
        ImportedToolCall("weather", {"city": "Kiel"}, "Rain"),
        ImportedToolCall("code_interpreter", {"code": "1+1"}, '{\n  "stdout": "2"\n}'),
    )


def test_blocks_in_the_text_become_thoughts_and_calls(tmp_path, read_one):
    opening = '<details type="code_interpreter" done="true" output="&quot;2&quot;">'
    code = f"{opening}\n<summary>Analyzed</summary>\n1+1\n</details>\n"
    found = answer(
        read_one, tmp_path, content=f"{REASONING}{TOOL_CALL}It rains.\n{code}Bye.\n<details>\nmine\n</details>"
    )

    assert found.thoughts == "First line\nSecond line"
    assert found.text == "It rains.\n\nBye.\n<details>\nmine\n</details>"
    assert found.tool_calls == (
        ImportedToolCall("weather", {"city": "Kiel"}, "Rain"),
        ImportedToolCall("code_interpreter", {"input": "1+1"}, "2"),
    )


def test_a_block_that_never_ends_stays_text(tmp_path, read_one):
    assert answer(read_one, tmp_path, content='<details type="reasoning"> Hm').text == '<details type="reasoning"> Hm'


@pytest.mark.parametrize(
    "quoted",
    [
        f"Write this:\n\n```html\n{REASONING}```\n\nDone.",
        f"Write this:\n\n~~~\n{REASONING}{TOOL_CALL}~~~\n",
        'Write `<details type="reasoning">` and `</details>` around it.',
        'Then `x` <details type="reasoning">Hm</details>',
    ],
)
def test_a_block_that_is_only_quoted_stays_text(tmp_path, read_one, quoted):
    found = answer(read_one, tmp_path, content=quoted)
    assert (found.text, found.thoughts, found.tool_calls) == (quoted.strip(), "", ())


def test_a_block_behind_quoted_ones_is_read_whatever_stands_in_the_thoughts(tmp_path, read_one):
    odd = REASONING.replace("First line", "An odd ` and\n> ```")
    found = answer(read_one, tmp_path, content=f"{odd}{TOOL_CALL}An odd `.\n```\n{REASONING}```\n{TOOL_CALL}Bye.")

    assert found.thoughts == "An odd ` and\n```\nSecond line"
    assert len(found.tool_calls) == 2
    assert found.text == f"An odd `.\n```\n{REASONING}```\n\nBye."


def test_many_quoted_blocks_take_no_longer_than_their_text(tmp_path, read_one):
    hostile = f"```\n{REASONING}```\n" * 20_000
    began = time.thread_time()
    assert answer(read_one, tmp_path, content=hostile).text == hostile.strip()
    assert time.thread_time() - began < 20


@pytest.mark.parametrize(("error", "said"), [({"content": "No model."}, "No model."), (True, ""), ("Broken", "Broken")])
def test_what_went_wrong_is_said_behind_the_answer(tmp_path, read_one, error, said):
    assert answer(read_one, tmp_path, content="It", error=error).text == f"It\n\n{said}".strip()
    if said:
        assert answer(read_one, tmp_path, content="", error=error).text == said


def test_sources_and_files_come_along(tmp_path, read_one):
    file = {
        "type": "file",
        "name": "log.txt",
        "file": {"data": {"content": "calm"}, "meta": {"content_type": "text/plain"}},
    }
    found = answer(
        read_one,
        tmp_path,
        content="See log.",
        sources=[{"source": {"name": "log.txt"}, "document": ["calm", "sea"], "metadata": []}],
        files=[file, {"type": "image", "url": "/api/v1/files/1"}],
    )

    assert found.tool_calls == (ImportedToolCall("sources", {"source": "log.txt"}, "calm\n\nsea"),)
    assert found.attachments == (
        ImportedAttachment("log.txt", "text/plain", text="calm"),
        ImportedAttachment("image", "image/*"),
    )


def test_pictures_that_stand_in_the_file_come_along(tmp_path, read_one):
    url = f"data:image/png;base64,{b64encode(b'a picture').decode()}"
    asked = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    files = [{"type": "image", "url": url}, {"type": "image", "url": "data:image/png;base64,a"}]
    chat = open_webui_chat(
        open_webui_message("q", None, "user", "And this?", files=files),
        open_webui_message("r", "q", "user", asked),
    )
    question, again = read_one(write_json(tmp_path / "chats.json", [chat])).messages

    picture = ImportedAttachment("image.png", "image/png", content=b"a picture")
    assert question.attachments == (picture, ImportedAttachment("image", "image/*"))
    assert (again.text, again.attachments) == ("What is this?", (picture,))


def test_missing_and_cyclic_parents_are_cut(tmp_path, read_one):
    chat = open_webui_chat(
        open_webui_message("q", "gone", "user", "One"),
        open_webui_message("x", "y", "user", "Two"),
        open_webui_message("y", "x", "assistant", "Three"),
        open_webui_message("p", "q", "user", [{"type": "text", "text": "Four"}, {"type": "image_url"}]),
    )
    found = read_one(write_json(tmp_path / "chats.json", [chat]))

    assert {each.text for each in found.messages} == {"One", "Two", "Three", "Four"}
    assert len(found.problems) == 2


def test_a_chat_of_the_first_versions_is_a_list(tmp_path, read_one):
    chat = {
        "id": "w-1",
        "title": "Old",
        "chat": {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]},
    }
    found = read_one(write_json(tmp_path / "chats.json", [chat]))

    assert [(each.sender, each.text) for each in found.messages] == [("user", "Hi"), ("model", "Ho")]
    assert found.messages[1].parent_id == found.messages[0].source_id == "message~1"
