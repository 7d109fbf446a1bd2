"""Exports of Claude: messages with and without parents, blocks of content, attachments, projects, memories."""

from __future__ import annotations

from portability.importers.reading.imported import (
    FailedItem,
    ImportedAttachment,
    ImportedDocument,
    ImportedToolCall,
    ImportedWorkspace,
)
from sentences import say
from tests.portability.importers.exports import (
    NO_PARENT_OF_CLAUDE,
    at,
    claude_conversation,
    claude_message,
    write_json,
    write_zip,
)


def test_messages_without_parents_follow_each_other(tmp_path, read):
    conversation = claude_conversation(
        claude_message("m1", "human", "Where?"), claude_message("m2", "assistant", "There.", seconds=5)
    )
    source, [found] = read(write_json(tmp_path / "conversations.json", [conversation]))

    assert source == "claude"
    assert (found.source_id, found.title, found.created_at, found.updated_at) == ("k-1", "Harbours", at(0), at(60))
    assert [(each.source_id, each.parent_id, each.sender, each.text, each.created_at) for each in found.messages] == [
        ("m1", None, "user", "Where?", at(0)),
        ("m2", "m1", "model", "There.", at(5)),
    ]
    assert found.current_id == "m2"


def test_messages_with_parents_are_a_tree_whose_leaf_is_told(tmp_path, read_one):
    conversation = claude_conversation(
        claude_message("m1", "human", "Where?", parent=NO_PARENT_OF_CLAUDE),
        claude_message("m2", "assistant", "There.", parent="m1"),
        claude_message("m3", "assistant", "Here.", parent="m1"),
        claude_message("m4", "human", "When?", parent=NO_PARENT_OF_CLAUDE),
        claude_message("m5", "assistant", "Now.", parent="lost"),
        current_leaf_message_uuid="m2",
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    parents = {each.source_id: each.parent_id for each in found.messages}
    assert parents == {"m1": None, "m2": "m1", "m3": "m1", "m4": None, "m5": None}
    assert found.current_id == "m2"
    assert found.problems == ("1 of its messages followed messages that are not in the file.",)


def test_messages_and_blocks_of_other_kinds_are_kept_and_empty_ones_are_reported(tmp_path, read_one):
    mystery = {"type": "mystery", "data": {"depth": 3}}
    conversation = claude_conversation(
        claude_message("s", "system", "Be brief."),
        claude_message("q", "human", content=[{"type": "text", "text": "Where?"}, mystery]),
        claude_message("a", "assistant", content=[{"type": "text", "text": "There."}, mystery]),
        claude_message("t", "system", "Sources follow."),
        claude_message("r", "human", "When?"),
        claude_message("b", "assistant", content=[mystery]),
        claude_message("c", "assistant", content=[{"type": "mystery"}]),
        claude_message("d", "critic"),
        claude_message("e", "assistant", content=[{"type": "token_budget", "remaining": 9}]),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert [(each.source_id, each.parent_id, each.sender, each.text) for each in found.messages] == [
        ("s", None, "model", ""),
        ("q", "s", "user", 'Where?\n\n```json\n{\n  "data": {\n    "depth": 3\n  }\n}\n```'),
        ("a", "q", "model", "There."),
        ("r", "a", "user", "When?"),
        ("b", "r", "model", ""),
    ]
    kept = ImportedToolCall("mystery", {"data": {"depth": 3}}, "")
    assert [each.tool_calls for each in found.messages] == [
        (ImportedToolCall("system", None, "Be brief."),),
        (),
        (kept, ImportedToolCall("system", None, "Sources follow.")),
        (),
        (kept,),
    ]
    assert found.problems == (say("import_kinds_unknown", count=2),)


def test_blocks_become_text_thoughts_and_tool_calls(tmp_path, read_one):
    blocks = [
        {"type": "thinking", "thinking": "Look it up.", "summaries": []},
        {"type": "text", "text": "I'll look.", "citations": []},
        {"type": "tool_use", "name": "web_search", "input": {"query": "tide"}},
        {"type": "tool_use", "name": "artifacts", "input": {"content": "# Tide"}},
        {"type": "tool_result", "name": "artifacts", "content": [{"type": "text", "text": "OK"}], "is_error": False},
        {"type": "tool_result", "name": "web_search", "content": "down", "is_error": True},
        {
            "type": "text",
            "text": "At six.",
            "citations": [{"uuid": "c", "details": {"type": "web_search_citation", "url": "https://tides.example"}}],
        },
    ]
    conversation = claude_conversation(
        claude_message("m1", "human", "When?"),
        claude_message("m2", "assistant", content=blocks, text="I'll look.\n\nThis block is not supported."),
        claude_message("m3", "human", text="Old", content=[]),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    _, answer, old = found.messages
    assert answer.thoughts == "Look it up."
    assert answer.text == "I'll look.\n\nAt six. ([https://tides.example](https://tides.example))"
    assert answer.tool_calls == (
        ImportedToolCall("web_search", {"query": "tide"}, "down", failed=True),
        ImportedToolCall("artifacts", {"content": "# Tide"}, "OK"),
    )
    assert old.text == "Old"


def test_a_result_belongs_to_the_call_that_it_names_and_tells_its_pages(tmp_path, read_one):
    page = {"type": "knowledge", "title": "Two", "url": "https://two.example", "text": "Second."}
    blocks = [
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "one"}},
        {"type": "tool_use", "id": "t2", "name": "web_search", "input": {"query": "two"}},
        {"type": "tool_result", "tool_use_id": "t2", "name": "web_search", "content": [page]},
        {"type": "tool_result", "tool_use_id": "t1", "name": "web_search", "content": [{"type": "text", "text": "No"}]},
    ]
    conversation = claude_conversation(claude_message("m1", "assistant", content=blocks))
    [answer] = read_one(write_json(tmp_path / "conversations.json", [conversation])).messages

    assert answer.tool_calls == (
        ImportedToolCall("web_search", {"query": "one"}, "No"),
        ImportedToolCall("web_search", {"query": "two"}, "Two https://two.example\nSecond."),
    )


def test_attachments_keep_the_text_that_claude_read_in_them(tmp_path, read_one):
    attachment = {"file_name": "log.txt", "file_type": "txt", "file_size": 5, "extracted_content": "calm\n"}
    message = claude_message("m1", "human", attachments=[attachment], files=[{"file_name": "boat.png"}])
    found = read_one(write_json(tmp_path / "conversations.json", [claude_conversation(message)]))

    assert found.messages[0].attachments == (
        ImportedAttachment("log.txt", "txt", text="calm\n"),
        ImportedAttachment("boat.png"),
    )


def test_projects_and_memories_of_the_zip_come_along(tmp_path, read):
    talk = claude_conversation(claude_message("m1", "human", "Hello"), project={"uuid": "p1"})
    project = {
        "uuid": "p1",
        "name": "Boat",
        "prompt_template": "Be brief.",
        "docs": [{"uuid": "d1", "filename": "rig.md", "content": "# Rig"}],
    }
    memories = [{"conversations_memory": "Sails.", "project_memories": {"p1": "A sloop."}, "account_uuid": "x"}]
    members = {
        "data/conversations.json": [talk],
        "data/projects/p1.json": project,
        "data/memories.json": memories,
        "data/users.json": [],
    }
    source, [found, *documents] = read(write_zip(tmp_path / "export.zip", members))
    remembered = "Sails.\n\n**Boat**\n\nA sloop."

    assert (source, found.workspace) == ("claude", "Boat")
    assert documents == [
        ImportedWorkspace("Boat"),
        ImportedDocument("p1/instructions", "Boat", "Instructions.md", "Be brief."),
        ImportedDocument("d1", "Boat", "rig.md", "# Rig"),
        ImportedDocument("memories", "", "What Claude remembered.md", remembered, to_learn_from=True),
    ]


def test_damaged_memories_and_projects_do_not_stop_conversations(tmp_path, read):
    members = {
        "conversations.json": [claude_conversation(claude_message("m1", "human", "Hello")), {"chat_messages": 3}],
        "projects.json": b"[{",
        "memories.json": b"{{",
    }
    _, [found, nameless, memories] = read(write_zip(tmp_path / "export.zip", members))

    assert found.messages[0].text == "Hello"
    assert nameless == FailedItem("conversation 2 of conversations.json", "It has no id, or no messages.")
    assert memories.item == "memories.json"


def by_id(conversation):
    return {message.source_id: message for message in conversation.messages}


def artifact(**said):
    return {"type": "tool_use", "name": "artifacts", "input": said}


def test_artifacts_and_files_that_claude_wrote_are_files_of_their_messages(tmp_path, read_one):
    made = artifact(id="a1", command="create", title="Tides", type="text/markdown", content="# Low\n\nNoon")
    program = artifact(
        id="a2", command="create", type="application/vnd.ant.code", language="python", content="print(1)"
    )
    changed = artifact(id="a1", command="update", old_str="Noon", new_str="Dusk")
    again = artifact(id="a1", command="update", old_str="Low", new_str="High")
    missing = artifact(id="a1", command="update", old_str="not there", new_str="x")
    unknown = artifact(id="a9", command="update", old_str="a", new_str="b")
    anew = artifact(id="a1", command="rewrite", content="# New")
    file = {"type": "tool_use", "name": "create_file", "input": {"path": "/mnt/outputs/log.csv", "file_text": "a,b"}}
    odd = {"type": "tool_use", "name": "artifacts", "input": ["x"]}
    conversation = claude_conversation(
        claude_message("q", "human", "Tides?", parent=NO_PARENT_OF_CLAUDE),
        claude_message("m1", "assistant", content=[made, program], parent="q"),
        claude_message("m2", "assistant", content=[changed, again, missing, unknown, odd], parent="m1"),
        claude_message("other", "assistant", content=[changed], parent="m1"),
        claude_message("m3", "assistant", content=[anew, file], parent="m2"),
    )
    found = by_id(read_one(write_json(tmp_path / "conversations.json", [conversation])))

    texts = {key: [(each.name, each.text) for each in message.attachments] for key, message in found.items()}
    assert texts == {
        "q": [],
        "m1": [("Tides.md", "# Low\n\nNoon"), ("a2.py", "print(1)")],
        "m2": [("Tides.md", "# High\n\nDusk")],
        "other": [("Tides.md", "# Low\n\nDusk")],
        "m3": [("Tides.md", "# New"), ("log.csv", "a,b")],
    }


def test_changes_of_a_large_artifact_do_not_become_much_more_than_the_file(tmp_path, read_one):
    content = "a" * 100_000 + "b"
    made = artifact(id="a1", command="create", title="Large", type="text/plain", content=content)
    swapped = [artifact(id="a1", command="update", old_str=old, new_str=new) for old, new in ("bc", "cb")]
    messages = [claude_message("m0", "assistant", content=[made])]
    messages += [claude_message(f"m{number}", "assistant", content=[swapped[number % 2]]) for number in range(1, 200)]
    found = read_one(write_json(tmp_path / "conversations.json", [claude_conversation(*messages)]))

    kept = sum(len(each.text) for message in found.messages for each in message.attachments)
    assert len(content) < kept < 5_000_000


def texts_of(conversation, key):
    return [(each.name, each.text) for each in by_id(conversation)[key].attachments]


def tool(name, **said):
    return {"type": "tool_use", "name": name, "input": said}


def test_a_file_that_claude_changes_by_its_path_is_shown_as_it_became(tmp_path, read_one):
    made = tool("create_file", path="/mnt/outputs/log.csv", file_text="a,b\na,c")
    changed = tool("str_replace", path="/mnt/outputs/log.csv", old_str="a,b", new_str="x,y")
    elsewhere = tool("str_replace", path="/mnt/outputs/other.csv", old_str="a", new_str="z")
    failed = [
        tool("str_replace", path="/mnt/outputs/log.csv", old_str="a", new_str="z"),
        {"type": "tool_result", "name": "str_replace", "content": "Found twice.", "is_error": True},
    ]
    conversation = claude_conversation(
        claude_message("m1", "assistant", content=[made]),
        claude_message("m2", "assistant", content=failed),
        claude_message("m3", "assistant", content=[changed, elsewhere]),
        claude_message("m4", "assistant", content=[made, changed]),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert [texts_of(found, key) for key in ("m1", "m2", "m3", "m4")] == [
        [("log.csv", "a,b\na,c")],
        [],
        [("log.csv", "x,y\na,c")],
        [("log.csv", "x,y\na,c")],
    ]


def test_a_change_that_deletes_the_whole_text_counts(tmp_path, read_one):
    made = artifact(id="a1", command="create", title="Tides", type="text/markdown", content="Noon")
    emptied = artifact(id="a1", command="update", old_str="Noon", new_str="")
    conversation = claude_conversation(
        claude_message("m1", "assistant", content=[made]),
        claude_message("m2", "assistant", content=[emptied]),
        claude_message("m3", "assistant", content=[artifact(id="a1", command="update", old_str="Noon", new_str="x")]),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert texts_of(found, "m2") == [("Tides.md", "")]
    assert all(message.source_id != "m3" or not message.attachments for message in found.messages)


def test_a_number_of_a_version_is_no_ending_of_a_name(tmp_path, read_one):
    made = [
        artifact(id=title, command="create", title=title, content="x") for title in ("Plan v1.2", "a.mp3", "Notes.txt")
    ]
    found = read_one(
        write_json(tmp_path / "c.json", [claude_conversation(claude_message("m", "assistant", content=made))])
    )

    assert [name for name, _ in texts_of(found, "m")] == ["Plan v1.2.txt", "a.mp3", "Notes.txt"]
