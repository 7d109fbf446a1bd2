"""Whatever a file holds: each of its conversations is read or reported, and nothing raises anything else."""

from __future__ import annotations

import copy
import io
import json
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portability.account_archive import FORMAT, MANIFEST, MEMORIES, SCHEMA
from portability.errors import BrokenImportError
from portability.importers.account_archive import MOST_LEVELS, MOST_WORKSPACES, ArchivedWorkspace, folders_of
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import FailedItem, ImportedConversation, ImportedDocument, ImportedWorkspace
from portability.importers.reading.json_stream import UnreadableItem, json_entries, json_items, parsed_json
from portability.importers.registry import importer_for, importer_named, importers
from sentences import said
from tests.portability.importers.exports import (
    NO_PARENT_OF_LIBRECHAT,
    chatgpt_conversation,
    chatgpt_node,
    chatgpt_talk,
    claude_conversation,
    claude_message,
    librechat_conversation,
    librechat_message,
    open_webui_chat,
    open_webui_message,
    write_json,
)
from tests.portability.importers.test_open_webui import REASONING, TOOL_CALL
from tests.tiers import examples

CHATGPT = [
    chatgpt_conversation(
        chatgpt_node("root", None),
        chatgpt_node("q", "root", "user", "Why?", metadata={"attachments": [{"id": "file-1", "name": "a.png"}]}),
        chatgpt_node("t", "q", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "Hm"}]}),
        chatgpt_node("c", "t", "assistant", recipient="python", content={"content_type": "code", "text": "1"}),
        chatgpt_node("o", "c", "tool", name="python", content={"content_type": "execution_output", "text": "1"}),
        chatgpt_node(
            "a",
            "o",
            "assistant",
            "So \u30101\u2020source\u3011",
            {"asset_pointer": "file-service://file-1"},
            metadata={
                "citations": [{"start_ix": 3, "end_ix": 13, "metadata": {"url": "https://a.example", "title": "A"}}],
                "content_references": [{"matched_text": "\ue200cite\ue201", "alt": "A"}],
            },
        ),
    ),
    chatgpt_talk(),
]
CLAUDE = [
    claude_conversation(
        claude_message("m1", "human", "Hi", attachments=[{"file_name": "a", "extracted_content": "b"}]),
        claude_message(
            "m2",
            "assistant",
            content=[
                {"type": "thinking", "thinking": "Hm"},
                {"type": "tool_use", "name": "x", "input": {"a": [1]}},
                {"type": "tool_result", "name": "x", "content": [{"type": "text", "text": "1"}]},
                {"type": "text", "text": "Ho", "citations": [{"url": "https://a.example", "title": "A"}]},
            ],
            parent="m1",
        ),
    )
]
OPEN_WEBUI = [
    open_webui_chat(
        open_webui_message("q", None, "user", "Hi", files=[{"name": "a", "file": {"data": {"content": "b"}}}]),
        open_webui_message("a", "q", "assistant", f"{REASONING}{TOOL_CALL}Ho", sources=[{"document": ["a"]}]),
        open_webui_message(
            "b", "q", "assistant", output=[{"type": "function_call", "call_id": "c", "arguments": "{}"}]
        ),
    )
]
LIBRECHAT = librechat_conversation(
    messagesTree=[
        librechat_message(
            "1",
            NO_PARENT_OF_LIBRECHAT,
            "Hi",
            is_user=True,
            children=[librechat_message("2", "1", "", is_user=False, content=[{"type": "text", "text": "Ho"}])],
        )
    ]
)
ZK_CHAT = {"s": {"messages": [{"role": "user", "content": "Hi", "references": ["a"]}], "created_at": "2024-01-01"}}
FILES = {"chatgpt": CHATGPT, "claude": CLAUDE, "open_webui": OPEN_WEBUI, "librechat": LIBRECHAT, "zk_chat": ZK_CHAT}

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.sampled_from([-1, 0, 1e18, -5.5, 1.7e308, 2**63 - 1]),
    st.text(max_size=8),
    st.sampled_from(
        ["\0", "root", "q", "a", "m1", "x" * 300, "9999-99-99", "0001-01-01T00:00:00-23:59", "user", "tool"]
    ),
    st.recursive(
        st.none() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
)


def places(value, path=()):
    """The path of each value inside of a JSON."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def replaced(value, path, other):
    if not path:
        return other
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other
    return changed


def check(item):
    """The item can be stored: all of its texts are such, its ids are there once, and its tree is sound."""
    if isinstance(item, FailedItem):
        assert item.reason.endswith(".")
        return
    if isinstance(item, ImportedDocument | ImportedWorkspace):
        return
    assert isinstance(item, ImportedConversation)
    ids = [message.source_id for message in item.messages]
    assert len(set(ids)) == len(ids)
    seen = set()
    for message in item.messages:
        assert message.parent_id is None or message.parent_id in seen
        seen.add(message.source_id)
        for text in (message.text, message.thoughts, message.source_id, item.title):
            assert "\0" not in text
            text.encode()
        json.dumps([call.arguments for call in message.tool_calls], allow_nan=False).encode()
    assert item.current_id is None or item.current_id in seen


def check_all(items):
    for item in items:
        check(item)


@pytest.mark.parametrize("source", FILES)
@examples(80)
@given(data=st.data())
def test_a_value_of_any_type_anywhere_is_read_or_reported(source, data, tmp_path_factory):
    value = FILES[source]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(value))))
        value = replaced(value, path, data.draw(ODD))
    file = write_json(tmp_path_factory.getbasetemp() / f"{source}.json", value)

    with ImportFile(file) as opened:
        importer = importer_named(source)
        importer.recognises(opened)
        check_all(importer.conversations(opened))


@pytest.mark.parametrize("source", FILES)
def test_a_file_that_breaks_off_gives_what_came_before(source, tmp_path):
    content = json.dumps(FILES[source])
    path = tmp_path / "cut.json"
    for length in range(0, len(content), 97):
        path.write_text(content[:length], encoding="utf-8")
        with ImportFile(path) as opened:
            items = importer_named(source).conversations(opened)
            importer_named(source).recognises(opened)
            try:
                found = list(items)
            except BrokenImportError:
                continue
            check_all(found)
            assert isinstance(found[-1], FailedItem)
            assert found[-1].item == "cut.json"


MANY = pytest.mark.parametrize(
    ("source", "value"),
    [
        ("chatgpt", [{**CHATGPT[0], "id": str(number), "conversation_id": str(number)} for number in range(3)]),
        ("claude", [{**CLAUDE[0], "uuid": str(number)} for number in range(3)]),
        ("open_webui", [{**OPEN_WEBUI[0], "id": str(number)} for number in range(3)]),
        ("librechat", [{**LIBRECHAT, "conversationId": str(number)} for number in range(3)]),
        ("zk_chat", {str(number): ZK_CHAT["s"] for number in range(3)}),
    ],
)


def named(source, tmp_path):
    return tmp_path / ("chat_sessions.json" if source == "zk_chat" else "conversations.json")


@MANY
@pytest.mark.parametrize("whole", [1, 2])
def test_of_a_file_that_was_cut_off_the_whole_conversations_come_in_and_the_report_says_so(
    source, value, whole, tmp_path, read
):
    content = json.dumps(value)
    size = len(json.dumps(value[:whole] if isinstance(value, list) else dict([*value.items()][:whole])))
    path = named(source, tmp_path)
    path.write_text(content[: size + 30], encoding="utf-8")

    recognised, [*conversations, failure] = read(path)
    assert (recognised, [type(each) for each in conversations]) == (source, [ImportedConversation] * whole)
    assert failure.item == path.name
    assert failure.reason.startswith(f"The file ends in the middle, at byte {size + 30:,}: its end was cut off.")
    before = "1 conversation before that place was" if whole == 1 else "2 conversations before that place were"
    assert failure.reason.endswith(f"{before} read.")


@MANY
def test_what_failed_before_the_end_of_a_cut_file_does_not_count_as_read(source, value, tmp_path, read):
    deep = json.loads("[" * 300 + "]" * 300)
    items = [*value.items()] if isinstance(value, dict) else value
    several = [items[0], ("deep", deep) if isinstance(value, dict) else deep, items[1]]
    content = json.dumps(dict(several) if isinstance(value, dict) else several)
    path = named(source, tmp_path)
    path.write_text(content[:-1] + ', "x', encoding="utf-8")

    *found, failure = read(path)[1]
    assert [type(each) for each in found] == [ImportedConversation, FailedItem, ImportedConversation]
    assert failure.reason.endswith("2 conversations before that place were read.")


@MANY
def test_a_file_that_is_damaged_in_the_middle_is_not_cut_off(source, value, tmp_path):
    size = len(json.dumps(value[:1] if isinstance(value, list) else dict([*value.items()][:1])))
    content = json.dumps(value)
    path = named(source, tmp_path)
    path.write_text(f"{content[:size]} }}]{content[size:]}", encoding="utf-8")

    found = list[object]()
    with ImportFile(path) as opened, pytest.raises(BrokenImportError) as broken:
        found.extend(importer_named(source).conversations(opened))
    assert not found or [type(each) for each in found] == [ImportedConversation]
    assert broken.value.message.startswith("The JSON can't be read beyond byte ")


def test_of_a_damaged_file_the_error_says_what_was_read_before(tmp_path):
    value = [{**CHATGPT[0], "id": str(number), "conversation_id": str(number)} for number in range(3)]
    path = tmp_path / "conversations.json"
    filling = " " * 200_000
    path.write_text(f"{json.dumps(value[:2])[:-1]},{filling}}} {json.dumps(value[2])}]", encoding="utf-8")

    found = list[object]()
    with ImportFile(path) as opened, pytest.raises(BrokenImportError, match=r"2 conversations before that place were"):
        found.extend(importer_named("chatgpt").conversations(opened))
    assert [type(each) for each in found] == [ImportedConversation] * 2


def test_a_member_that_was_cut_off_leaves_the_projects_of_its_zip(tmp_path, read):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE)[:-1] + ', {"uuid": "x", "na')
        archive.writestr("projects.json", json.dumps([{"uuid": "p", "name": "Garden", "docs": []}]))
    found = read(path)[1]
    assert [type(each) for each in found] == [*[ImportedConversation] * len(CLAUDE), FailedItem, ImportedWorkspace]
    assert found[len(CLAUDE)].item == "conversations.json"


def test_a_zip_that_was_cut_off_says_what_to_do(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(
        BrokenImportError, match=r"^export\.zip is a damaged ZIP file, or a part of one\. Download or copy"
    ):
        ImportFile(path)


@pytest.mark.parametrize("source", ["chatgpt", "claude", "open_webui"])
def test_a_conversation_that_is_too_deep_is_reported_and_the_others_come_in(source, tmp_path, read):
    first = FILES[source][0]
    deep = json.dumps(first)[:-1] + ', "more": ' + "[" * 300 + "]" * 300 + "}"
    path = tmp_path / "conversations.json"
    path.write_text(f"[{json.dumps(first)}, {deep}, {json.dumps(first)}]", encoding="utf-8")

    found = read(path)[1]
    assert [type(each) for each in found] == [ImportedConversation, FailedItem, ImportedConversation]
    assert found[1].item == "conversation 2 of conversations.json"
    assert found[1].reason == "It is nested more than 200 levels deep."


def test_nul_and_lone_surrogates_are_mended(tmp_path, read_one):
    talk = json.dumps([chatgpt_talk()]).replace("Question 1 of 1", "a\\u0000b\\ud800c").replace("Talk 1", "T\\udfff")
    path = tmp_path / "conversations.json"
    path.write_text(talk, encoding="utf-8")

    found = read_one(path)
    check(found)
    assert (found.title, found.messages[0].text) == ("T\ufffd", "a\ufffdb\ufffdc")


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_json_is_mended_wherever_it_is_cut(chunk):
    text = r'["\\ud800", "\ud83d\ude00 \ud83d", "\\\ude00", "\n\"", 1e400, 123456789012345678901234567890]'
    content = b"\xef\xbb\xbf" + text.encode().replace(b"\\n", b"\\n\xff\xc3\xa9")

    def items():
        stream = io.BytesIO(content)
        stream.read = lambda size=-1, read=stream.read: read(min(size, chunk))
        return list(json_items(stream))

    assert items()[:4] == ["\\ud800", "\U0001f600 \ufffd", "\\\ufffd", '\n\ufffd\u00e9"']
    assert items()[5] == 123456789012345678901234567890


def test_a_file_of_a_form_that_is_not_known_says_what_was_expected(tmp_path):
    path = write_json(tmp_path / "notes.json", {"a": 1})
    with ImportFile(path) as file, pytest.raises(BrokenImportError) as raised:
        importer_for(file)

    assert raised.value.message.startswith("notes.json is not a file that can be imported. Choose one of these. ")
    assert all(f"{each.title}: {each.expects}" in raised.value.message for each in importers())
    codes = [each["code"] for each in said(raised.value.message)]
    assert codes == ["import_form_unknown", *(f"import_expects_{each.source}" for each in importers())]


@pytest.mark.parametrize("source", ["chatgpt", "claude", "open_webui"])
def test_a_conversation_of_millions_of_empty_values_is_reported_and_the_others_come_in(
    source, tmp_path, read, monkeypatch
):
    monkeypatch.setattr("portability.importers.reading.json_stream.MOST_VALUES", 100_000)
    first = json.dumps(FILES[source][0])
    path = tmp_path / "conversations.json"
    path.write_text(f'[{first}, {first[:-1]}, "more": [{"[]," * 400_000}0]}}, {first}]', encoding="utf-8")

    found = read(path)[1]
    assert [type(each) for each in found] == [ImportedConversation, FailedItem, ImportedConversation]
    assert found[1].reason == "It has more than 100,000 values."


HUGE = {"deep": "[" * 300 + "]" * 300, "long": json.dumps("x" * 200_000)}


@pytest.mark.parametrize(
    ("huge", "chunk"), [("deep", 7), ("deep", 64), ("deep", 9_000), ("long", 500), ("long", 9_000)]
)
def test_an_entry_of_an_object_that_is_refused_is_one_failure_and_the_others_are_read(huge, chunk):
    before = ", ".join(f'"b{number}": [{number}, "]}},"]' for number in range(20))
    content = f'{{{before}, "no, {{": {{"a": {HUGE[huge]}}} , "c": {{"x": "}}"}}, "d": {HUGE[huge]}, "e": 5}}'.encode()

    def found():
        stream = io.BytesIO(content)
        stream.read = lambda size=-1, read=stream.read: read(min(size, chunk) if size >= 0 else chunk)
        return list(json_entries(stream, largest=100_000, deepest=50))

    reason = "It is nested more than 50 levels deep." if huge == "deep" else "It has more than 100,000 bytes."
    assert found()[:20] == [(f"b{number}", [number, "]},"]) for number in range(20)]
    assert found()[20:] == [UnreadableItem(reason), ("c", {"x": "}"}), UnreadableItem(reason), ("e", 5)]


@pytest.mark.parametrize(
    ("read", "content", "rest"), [(json_items, "[[[]], 1]", [1]), (json_entries, '{"a": [[]]}', [])]
)
def test_the_first_of_all_is_refused_where_it_is_too_deep(read, content, rest):
    items = list(read(io.BytesIO(content.encode()), deepest=2))
    assert items == [UnreadableItem("It is nested more than 2 levels deep."), *rest]
    with pytest.raises(BrokenImportError, match="doesn't end"):
        list(read(io.BytesIO(content[:-2].replace("]", "").encode()), deepest=2))


def test_a_file_that_is_one_value_too_large_is_reported_and_the_files_behind_it_come_in(tmp_path, read):
    path = tmp_path / "talks.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", json.dumps(LIBRECHAT))
        archive.writestr("b.json", json.dumps(LIBRECHAT)[:-1] + ', "more": ' + "[" * 60_000 + "]" * 60_000 + "}")
    _, [first, failed] = read(path)

    assert isinstance(first, ImportedConversation)
    assert failed == FailedItem("conversation 1 of b.json", "It is nested more than 50000 levels deep.")


def test_a_session_of_zk_chat_that_is_too_deep_is_reported_and_the_others_come_in(tmp_path, read):
    path = tmp_path / "chat_sessions.json"
    session = json.dumps(ZK_CHAT["s"])
    deep = "[" * 300 + "]" * 300
    path.write_text(f'{{"a": {session}, "b": {{"messages": {deep}}}, "c": {session}}}', encoding="utf-8")
    _, [first, failed, last] = read(path)

    assert (first.source_id, last.source_id) == ("a", "c")
    assert failed == FailedItem("session 2", "It is nested more than 200 levels deep.")


def test_json_that_is_parsed_whole_is_counted_before(monkeypatch):
    assert parsed_json(b'[",[{", 1, [], {}]', most_values=8) == [",[{", 1, [], {}]
    assert parsed_json(b'"' + b"[," * 50 + b'\\"[["', most_values=1) == "[," * 50 + '"[['
    with pytest.raises(BrokenImportError, match=r"^It has more than 1,000 values\.$"):
        parsed_json(b"[" + b"[]," * 1_000 + b"0]", most_values=1_000)
    with pytest.raises(BrokenImportError, match=r"^This is no JSON\.$"):
        parsed_json(b"[" * 5_000)


@pytest.mark.parametrize(
    ("source", "members"),
    [
        ("first_implementation", {"c/c-messages.json": "", "c/c.index": "x"}),
        ("account", {MANIFEST: json.dumps({"format": FORMAT, "schema": SCHEMA}), MEMORIES: ""}),
    ],
)
def test_members_of_millions_of_empty_values_are_reported(source, members, tmp_path, read):
    hostile = "[" + "[]," * 5_000_000 + "0]"
    path = tmp_path / "hostile.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content or hostile)
    tracemalloc.start()
    try:
        found = read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found[0] == source
    assert len(found[1]) == 1
    assert "has more than" in found[1][0].reason
    assert peak < 80 * 2**20  # parsed it would take more than 300 MB


def test_folders_one_in_another_without_end_cost_no_more_than_they_are():
    def archived(name, parent):
        return ArchivedWorkspace(workspace_id=name, workspace_name=name, domain="assistant", parent_workspace_id=parent)

    chain = [archived(f"w{number}", f"w{number - 1}") for number in range(MOST_WORKSPACES)]
    for listed in (chain, chain[::-1]):
        paths = folders_of(listed)
        assert [folder.name for folder in paths["w2"]] == ["w0", "w1", "w2"]
        assert {len(paths[f"w{number}"]) for number in range(MOST_LEVELS, MOST_WORKSPACES)} == {MOST_LEVELS}
        assert len({id(path) for path in paths.values()}) == MOST_LEVELS, "the deeper ones share the last"
    circle = folders_of([archived("a", "c"), archived("b", "a"), archived("c", "b"), archived("self", "self")])
    assert {name: [folder.name for folder in path] for name, path in circle.items()} == {
        "a": ["b", "c", "a"],
        "b": ["b"],
        "c": ["b", "c"],
        "self": ["self"],
    }
