"""Exports of ChatGPT: its tree, its kinds of content, its pictures and its pieces."""

from __future__ import annotations

import json

from portability.importers.reading.imported import FailedItem, ImportedAttachment, ImportedDocument, ImportedToolCall
from sentences import say
from tests.portability.importers.exports import (
    at,
    chatgpt_conversation,
    chatgpt_node,
    chatgpt_talk,
    write_json,
    write_zip,
)


def by_id(conversation):
    return {message.source_id: message for message in conversation.messages}


def test_a_conversation_comes_with_its_title_times_model_and_texts(tmp_path, read):
    source, [talk] = read(write_json(tmp_path / "conversations.json", [chatgpt_talk(turns=2)]))

    assert source == "chatgpt"
    assert (talk.source_id, talk.title, talk.created_at, talk.updated_at) == ("talk-1", "Talk 1", at(0), at(60))
    assert [(message.sender, message.text) for message in talk.messages] == [
        ("user", "Question 1 of 1"),
        ("model", "Answer 1 of 1"),
        ("user", "Question 2 of 1"),
        ("model", "Answer 2 of 1"),
    ]
    assert [message.created_at for message in talk.messages] == [at(2), at(3), at(4), at(5)]
    assert [message.parent_id for message in talk.messages] == [None, "q1", "a1", "q2"]
    assert [message.model for message in talk.messages] == [None, "gpt-4o", None, "gpt-4o"]
    assert (talk.current_id, talk.archived, talk.pinned, talk.problems) == ("a2", False, False, ())


def test_answers_made_again_and_edited_questions_are_branches_of_one_tree(tmp_path, read_one):
    conversation = chatgpt_conversation(
        chatgpt_node("root", None),
        chatgpt_node("system", "root", "system", ""),
        chatgpt_node("q", "system", "user", "Why?", seconds=9),
        # The times of ChatGPT are not always in order.
        chatgpt_node("a", "q", "assistant", "Because.", seconds=1),
        chatgpt_node("again", "q", "assistant", "Since.", metadata={"model_slug": "gpt-5"}),
        chatgpt_node("edited", "system", "user", "Why not?"),
        chatgpt_node("other", "edited", "assistant", "Hm."),
        current="again",
        is_archived=True,
        is_starred=True,
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    parents = {message.source_id: message.parent_id for message in found.messages}
    assert parents == {"q": None, "a": "q", "again": "q", "edited": None, "other": "edited"}
    assert (found.current_id, found.archived, found.pinned) == ("again", True, True)
    assert by_id(found)["again"].model == "gpt-5"
    assert (by_id(found)["q"].created_at, by_id(found)["a"].created_at) == (at(9), at(1))


def test_thoughts_calls_results_and_text_are_one_answer(tmp_path, read_one):
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Wind", "content": "It blows."}]}
    output = {"content_type": "execution_output", "text": "42"}
    conversation = chatgpt_conversation(
        chatgpt_node("q", None, "user", "How much?"),
        chatgpt_node("t", "q", "assistant", content=thoughts, seconds=1),
        chatgpt_node("r", "t", "assistant", content={"content_type": "reasoning_recap", "content": "Thought for 2s"}),
        chatgpt_node("c", "r", "assistant", recipient="python", content={"content_type": "code", "text": "6 * 7"}),
        chatgpt_node("o", "c", "tool", name="python", content=output),
        chatgpt_node(
            "s", "o", "assistant", recipient="web.search", content={"content_type": "code", "text": '{"q": 1}'}
        ),
        chatgpt_node(
            "e",
            "s",
            "tool",
            name="web.search",
            content={"content_type": "system_error", "name": "Timeout", "text": "Too slow"},
        ),
        chatgpt_node("a", "e", "assistant", "It is 42."),
        chatgpt_node("q2", "a", "user", "Thanks"),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert [message.source_id for message in found.messages] == ["q", "t", "q2"]
    answer = by_id(found)["t"]
    assert (answer.text, answer.created_at) == ("It is 42.", at(1))
    assert answer.thoughts == "**Wind**\nIt blows.\n\nThought for 2s"
    assert answer.tool_calls == (
        ImportedToolCall("python", {"input": "6 * 7"}, "42"),
        ImportedToolCall("web.search", {"q": 1}, "Too slow", failed=True),
    )
    assert by_id(found)["q2"].parent_id == "t"


def test_what_chatgpt_does_not_show_is_no_message(tmp_path, read):
    hidden = {"is_visually_hidden_from_conversation": True}
    about = {"content_type": "user_editable_context", "user_profile": "I sail.", "user_instructions": "Be brief."}
    conversation = chatgpt_conversation(
        chatgpt_node("root", None),
        chatgpt_node("context", "root", "user", content=about, metadata=hidden),
        chatgpt_node("system", "context", "system", "You are ChatGPT", metadata=hidden),
        chatgpt_node("q", "system", "user", "Hello"),
        chatgpt_node("plan", "q", "assistant", "I will greet.", channel="commentary"),
        chatgpt_node("nothing", "plan", "assistant", ""),
        chatgpt_node(
            "a", "nothing", "assistant", "Hi", content={"content_type": "code", "language": "sh", "text": "echo hi"}
        ),
    )
    found = read(write_json(tmp_path / "conversations.json", [conversation]))[1][0]

    assert [(message.source_id, message.parent_id) for message in found.messages] == [("q", None), ("plan", "q")]
    assert (found.messages[1].thoughts, found.messages[1].text) == ("I will greet.", "```sh\necho hi\n```")
    assert found.current_id == "plan"


def about_the_person(conversation_id, seconds, told=None, **content):
    said = {"content_type": "user_editable_context", **content}
    nodes = [
        chatgpt_node("context", None, "user", content=said, seconds=seconds, metadata=told or {}),
        chatgpt_node("q", "context", "user", "Hello"),
    ]
    return chatgpt_conversation(*nodes, conversation_id=conversation_id)


def test_what_chatgpt_was_told_and_remembered_is_a_document_to_learn_from(tmp_path, read):
    shown = "The user provided the following information about themselves:\n```I sail.```"
    told = {"user_context_message_data": {"about_model_message": "Be brief."}}
    conversations = [
        about_the_person("c-1", 20, user_profile=shown, user_instructions="Answer: ```Be brief.```", told=told),
        about_the_person("c-2", 10, user_profile="I row.", user_instructions="Be long."),
        about_the_person("c-3", 5, content_type="model_editable_context", model_set_context="1. Has a sloop."),
        about_the_person("c-4", 30, user_profile=3, user_instructions=["x"]),
    ]
    *talks, document = read(write_json(tmp_path / "conversations.json", conversations))[1]

    assert [len(talk.messages) for talk in talks] == [1, 1, 1, 1]
    parts = [
        ("What ChatGPT remembered", "1. Has a sloop."),
        ("About me", "I sail."),
        ("How ChatGPT was to answer", "Be brief."),
    ]
    text = "\n\n".join(f"**{heading}**\n\n{said}" for heading, said in parts)
    assert document == ImportedDocument("memories", "", "What ChatGPT remembered.md", text, to_learn_from=True)


def canvas(node_id, parent, name, arguments):
    content = {"content_type": "code", "language": "json", "text": json.dumps(arguments)}
    return chatgpt_node(node_id, parent, "assistant", content=content, recipient=f"canmore.{name}")


def rewriting(pattern, replacement):
    return {"updates": [{"pattern": pattern, "multiple": False, "replacement": replacement}]}


def test_texts_of_the_canvas_are_files_of_their_messages(tmp_path, read_one):
    conversation = chatgpt_conversation(
        chatgpt_node("q", None, "user", "A list"),
        canvas("c", "q", "create_textdoc", {"name": "Rig/list", "type": "document", "content": "# Rig"}),
        chatgpt_node("r", "c", "tool", "Created", name="canmore.create_textdoc"),
        chatgpt_node("a", "r", "assistant", "Done."),
        chatgpt_node("q2", "a", "user", "Longer"),
        canvas("u", "q2", "update_textdoc", rewriting(".*", "# Rig\n\nMast")),
        chatgpt_node("a2", "u", "assistant", "Longer now."),
        chatgpt_node("q3", "a2", "user", "And a program"),
        canvas("p", "q3", "create_textdoc", {"name": "tide", "type": "code/python", "content": "print(1)"}),
        canvas("v", "p", "update_textdoc", rewriting("1", "2")),
        canvas("w", "v", "update_textdoc", {"updates": "x"}),
        canvas("x", "w", "create_textdoc", ["no object"]),
    )
    found = by_id(read_one(write_json(tmp_path / "conversations.json", [conversation])))

    assert found["c"].attachments == (ImportedAttachment("Rig-list.md", "text/plain", "# Rig"),)
    assert found["c"].tool_calls[0].arguments["content"] == "# Rig"
    assert found["u"].attachments == (ImportedAttachment("Rig-list.md", "text/plain", "# Rig\n\nMast"),)
    assert found["p"].attachments == (ImportedAttachment("tide.py", "text/plain", "print(1)"),)


def test_kinds_and_channels_that_are_no_words_are_kinds_that_nobody_knows(tmp_path, read_one):
    conversation = chatgpt_conversation(
        chatgpt_node("q", None, "user", content={"content_type": ["text"], "parts": ["Hello"]}),
        chatgpt_node("a", "q", "assistant", "Hi", channel={"final": True}),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))
    assert [message.text for message in found.messages] == ["Hello", "Hi"]


def test_pictures_and_uploads_name_the_files_of_the_zip(tmp_path, read_one):
    picture = {
        "content_type": "image_asset_pointer",
        "asset_pointer": "file-service://file-Ab1",
        "width": 2,
        "height": 1,
    }
    drawn = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_00ff#p_0", "metadata": {}}
    voice = {"content_type": "audio_transcription", "text": "and this one", "direction": "in"}
    upload = {"id": "file-Cd2", "name": "chart.pdf", "mimeType": "application/pdf", "size": 3}
    conversation = chatgpt_conversation(
        chatgpt_node(
            "q",
            None,
            "user",
            content={"content_type": "multimodal_text", "parts": [picture, "What is this?", voice]},
            metadata={"attachments": [upload]},
        ),
        chatgpt_node("d", "q", "tool", name="dalle", content={"content_type": "multimodal_text", "parts": [drawn]}),
        chatgpt_node("a", "d", "assistant", "A boat."),
    )
    members = {
        "conversations.json": [conversation],
        "file-Ab1-photo.png": b"png",
        "dalle/file_00ff-1.webp": b"webp",
        "file-Cd2-chart.pdf": b"pdf",
    }
    found = read_one(write_zip(tmp_path / "export.zip", members))

    question, answer = found.messages
    assert question.text == "What is this?\nand this one"
    assert question.attachments == (
        ImportedAttachment("chart.pdf", "application/pdf", member="file-Cd2-chart.pdf"),
        ImportedAttachment("file-Ab1-photo.png", "image/*", member="file-Ab1-photo.png"),
    )
    assert answer.attachments == (ImportedAttachment("file_00ff-1.webp", "image/*", member="dalle/file_00ff-1.webp"),)
    assert answer.text == "A boat."


def test_a_picture_that_is_not_in_the_file_is_named_without_a_member(tmp_path, read_one):
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Zz9"}
    content = {"content_type": "multimodal_text", "parts": [picture]}
    conversation = chatgpt_conversation(chatgpt_node("q", None, "user", content=content))

    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))
    assert found.messages[0].attachments == (ImportedAttachment("file-Zz9", "image/*"),)


def test_citations_become_links(tmp_path, read_one):
    reference = {
        "matched_text": "\ue200cite\ue202turn0search1\ue201",
        "type": "grouped_webpages",
        "alt": "([Tides](https://tides.example/1))",
    }
    old = {"start_ix": 26, "end_ix": 36, "metadata": {"title": "Moon", "url": "https://moon.example"}}
    text = "High at six \ue200cite\ue202turn0search1\ue201"
    conversation = chatgpt_conversation(
        chatgpt_node("a", None, "assistant", text, metadata={"content_references": [reference]}),
        chatgpt_node("b", "a", "user", "And why?"),
        chatgpt_node(
            "c", "b", "assistant", "It follows the moon, x. 12\u30103\u2020source\u3011", metadata={"citations": [old]}
        ),
        chatgpt_node("d", "c", "user", "Sure?"),
        chatgpt_node("e", "d", "assistant", "Yes\ue200cite\ue202turn9\ue201."),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    texts = [message.text for message in found.messages if message.sender == "model"]
    assert texts == [
        "High at six ([Tides](https://tides.example/1))",
        "It follows the moon, x. 12 ([Moon](https://moon.example))",
        "Yes.",
    ]


def test_each_of_several_citations_becomes_a_link(tmp_path, read_one):
    text = "Tides\u30101\u2020source\u3011 and moons\u30102\u2020source\u3011."
    cited = [
        {"start_ix": 5, "end_ix": 15, "metadata": {"title": "Tides", "url": "https://tides.example/a/long/path"}},
        {"start_ix": 25, "end_ix": 35, "metadata": {"title": "Moon", "url": "https://moon.example"}},
    ]
    several = {
        "matched_text": "\ue200cite\ue202turn0search1\ue202turn0search2\ue201",
        "type": "grouped_webpages",
        "alt": None,
        "items": [{"title": "A", "url": "https://a.example"}, {"title": "B", "url": "https://b.example"}],
    }
    conversation = chatgpt_conversation(
        chatgpt_node("a", None, "assistant", text, metadata={"citations": cited}),
        chatgpt_node("b", "a", "user", "And?"),
        chatgpt_node("c", "b", "assistant", f"So{several['matched_text']}", metadata={"content_references": [several]}),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert [message.text for message in found.messages if message.sender == "model"] == [
        "Tides ([Tides](https://tides.example/a/long/path)) and moons ([Moon](https://moon.example)).",
        "So ([A](https://a.example)) ([B](https://b.example))",
    ]


def test_marked_names_stay_words_of_their_sentences(tmp_path, read_one):
    mark = '\ue200entity\ue202["city","Lyon","in France"]\ue201'
    reference = {"matched_text": mark, "type": "entity", "alt": None}
    conversation = chatgpt_conversation(
        chatgpt_node("a", None, "assistant", f"To {mark} now."),
        chatgpt_node("b", "a", "user", "And?"),
        chatgpt_node("c", "b", "assistant", f"{mark}!", metadata={"content_references": [reference]}),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert [message.text for message in found.messages] == ["To Lyon now.", "And?", "Lyon!"]


def test_numbered_pieces_are_read_in_the_order_of_their_numbers(tmp_path, read):
    members = {f"conversations-{number:03}.json": [chatgpt_talk(number)] for number in (10, 2, 0)}
    source, items = read(write_zip(tmp_path / "export.zip", {"user.json": {}, **members}))

    assert source == "chatgpt"
    assert [item.source_id for item in items] == ["talk-0", "talk-2", "talk-10"]


def test_circles_and_missing_parents_are_cut_and_reported(tmp_path, read_one):
    conversation = chatgpt_conversation(
        chatgpt_node("a", "c", "user", "A"),
        chatgpt_node("b", "a", "assistant", "B"),
        chatgpt_node("c", "b", "user", "C"),
        chatgpt_node("d", "gone", "user", "D"),
        chatgpt_node("e", "e", "user", "E"),
    )
    found = read_one(write_json(tmp_path / "conversations.json", [conversation]))

    assert {message.text for message in found.messages} == set("ABCDE")
    assert sum(message.parent_id is None for message in found.messages) == 3
    assert found.problems == (
        "1 of its messages followed messages that are not in the file.",
        "2 of its messages followed each other in a circle, which was cut.",
    )


def test_one_bad_conversation_stops_nothing(tmp_path, read):
    content = [chatgpt_talk(1), {"title": "Empty", "mapping": {}}, "what?", {"id": {}}, chatgpt_talk(2)]
    _, items = read(write_json(tmp_path / "conversations.json", content))

    assert [getattr(item, "source_id", None) for item in items] == ["talk-1", None, None, None, "talk-2"]
    assert items[1:4] == [
        FailedItem("Empty", "It has no id, or no messages."),
        FailedItem("conversation 3 of conversations.json", "It is not a conversation."),
        FailedItem("conversation 4 of conversations.json", "It has no id, or no messages."),
    ]


def test_what_is_quoted_of_a_page_comes_with_its_title_and_address(tmp_path, read_one):
    quote = {
        "content_type": "tether_quote",
        "url": "https://a.test/x",
        "domain": "a.test",
        "text": "Ebb.",
        "title": "Sea",
    }
    page = {
        "content_type": "sonic_webpage",
        "url": "https://b.test",
        "title": "Wind",
        "text": "Calm.",
        "snippet": "Cal",
    }
    conversation = chatgpt_conversation(
        chatgpt_node("q", None, "user", "What do they say?"),
        chatgpt_node("t", "q", "tool", name="browser", content=quote),
        chatgpt_node("w", "t", "tool", name="web", content=page),
        chatgpt_node("u", "w", "user", content=quote),
    )
    found = by_id(read_one(write_json(tmp_path / "conversations.json", [conversation])))

    assert found["t"].tool_calls == (
        ImportedToolCall("browser", None, "Sea\n\nhttps://a.test/x\n\nEbb."),
        ImportedToolCall("web", None, "Wind\n\nhttps://b.test\n\nCalm.\n\nCal"),
    )
    assert found["u"].text == "Sea\n\nhttps://a.test/x\n\nEbb."


def test_of_a_kind_that_nobody_knows_everything_is_kept_and_what_is_empty_is_reported(tmp_path, read_one):
    widget = {"content_type": "super_widget", "text": "Look.", "cards": [{"title": "Kiel"}], "empty": None}
    chart = {"content_type": "chart", "rows": [1, 2]}
    part = {"content_type": "poll", "choices": ["yes", "no"]}
    conversation = chatgpt_conversation(
        chatgpt_node("q", None, "user", content={"content_type": "multimodal_text", "parts": ["Choose.", part]}),
        chatgpt_node("w", "q", "assistant", content=widget),
        chatgpt_node("c", "w", "assistant", content=chart),
        chatgpt_node("t", "c", "tool", name="plot", content=chart),
        chatgpt_node("u", "t", "user", content=chart),
        chatgpt_node("n", "u", "assistant", content={"content_type": "nothing_yet"}),
    )
    conversation = read_one(write_json(tmp_path / "conversations.json", [conversation]))
    found = by_id(conversation)

    assert found["q"].text.startswith("Choose.\n```json\n{")
    assert '"no"' in found["q"].text
    assert found["w"].text == "Look."
    assert found["w"].tool_calls == (
        ImportedToolCall("super_widget", {"cards": [{"title": "Kiel"}]}, ""),
        ImportedToolCall("chart", {"rows": [1, 2]}, ""),
        ImportedToolCall("plot", None, '{\n  "rows": [\n    1,\n    2\n  ]\n}'),
    )
    assert '"rows"' in found["u"].text
    assert conversation.problems == (say("import_kinds_unknown", count=1),)
