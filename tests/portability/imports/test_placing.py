"""Where the messages of a source stand here, whatever shape its tree has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portability.importers.imported import ImportedAttachment, ImportedToolCall
from portability.imports.placing import placed

from .conftest import BEGAN, conversation, message


def shape(one: Any) -> list[tuple[Any, ...]]:
    """(versions, chosen, branch, branch_of, chosen_branch) of each message."""
    return [
        ([v.source_id for v in m.versions], m.chosen, m.branch, m.branch_of, m.chosen_branch)
        for m in placed(one).conversation.messages
    ]


def test_answers_made_again_are_variants_and_what_follows_any_of_them_follows_the_message():
    one = conversation(
        "c",
        message("q1", None),
        message("a1", "q1", at=1),
        message("a2", "q1", at=2),
        message("q2", "a1", at=3),
        message("a3", "q2", at=4),
        current_id="a3",
    )
    assert shape(one) == [
        (["q1"], 0, None, None, None),
        (["a1", "a2"], 0, None, None, None),
        (["q2"], 0, None, None, None),
        (["a3"], 0, None, None, None),
    ]
    assert shape(replace(one, current_id="a2"))[1] == (["a1", "a2"], 1, None, None, None)


def test_questions_asked_again_begin_branches_and_the_one_on_the_path_is_chosen():
    one = conversation(
        "c",
        message("q1", None),
        message("a1", "q1", at=1),
        message("q2", "a1", at=2),
        message("q3", "a1", at=3),
        message("a2", "q2", at=4),
        message("a3", "q3", at=5),
        message("q4", "a3", at=6),
        message("q5", "a3", at=7),
        current_id="q4",
    )
    assert shape(one) == [
        (["q1"], 0, None, None, None),
        (["a1"], 0, None, None, None),
        (["q2"], 0, None, None, 2),
        (["a2"], 0, None, None, None),
        (["q3"], 0, "q3", "q2", None),
        (["a3"], 0, "q3", None, None),
        (["q4"], 0, "q3", None, 1),
        (["q5"], 0, "q5", "q4", None),
    ]


def test_a_question_beside_an_answer_comes_after_it():
    one = conversation("c", message("q1", None), message("a1", "q1", at=1), message("q2", "q1", at=2))
    assert [names for names, *_ in shape(one)] == [["q1"], ["a1"], ["q2"]]


def test_times_are_the_sources_and_a_message_without_one_has_its_parents():
    nameless = replace(message("a1", "q1"), created_at=None)
    made = placed(conversation("c", replace(message("q1", None), created_at=None), nameless)).conversation
    assert {m.shown.created_at for m in made.messages} == {"2025-03-01T12:00:00.000000Z"}
    assert (made.created_at, made.updated_at) == ("2025-03-01T12:00:00.000000Z", "2025-03-01T13:00:00.000000Z")
    assert BEGAN.tzinfo is not None


def test_circles_lost_parents_and_ids_given_twice_are_mended_and_reported():
    made = placed(
        conversation(
            "c",
            message("q1", "a1"),
            message("a1", "q1"),
            message("q2", "nowhere"),
            message("q2", None),
            message("a2", "a2"),
        )
    )
    ids = [v.source_id for m in made.conversation.messages for v in m.versions]
    assert sorted(ids) == ["a1", "a2", "q1", "q2"]
    assert len(made.problems) == 3


def test_thoughts_tool_calls_and_files_become_folded_parts():
    answer = message(
        "a1",
        "q1",
        thoughts="Hm.",
        tool_calls=(
            ImportedToolCall("search", {"q": "x"}, "found"),
            ImportedToolCall("run", "1 + 1", None, failed=True),
        ),
        attachments=(ImportedAttachment("a.txt", "text/plain", "the text"),),
        model="a-model",
    )
    shown = placed(conversation("c", message("q1", None), answer)).conversation.messages[1].shown
    assert [(part["id"], part["kind"]) for part in shown.parts] == [
        (1, "thinking"),
        (2, "tool_call"),
        (3, "tool_call"),
        (4, "file"),
    ]
    assert shown.parts[1]["arguments"] == {"q": "x"}
    assert shown.parts[1]["result"] == {"output": "found"}
    assert (shown.parts[2]["arguments"], shown.parts[2]["status"]) == ({"input": "1 + 1"}, "failed")
    assert shown.parts[3]["text"] == "the text"
    assert shown.config == {"model": "a-model", "tools": "search; run"}


def test_nul_characters_and_lone_surrogates_are_mended():
    made = placed(
        conversation("c\x00", message("q1", None, "a\x00b\ud800"), title="t\x00\udc00", workspace="w\x00")
    ).conversation
    assert (made.source_id, made.title, made.workspace) == ("c\ufffd", "t\ufffd\ufffd", "w\ufffd")
    assert made.messages[0].shown.text == "a\ufffdb\ufffd"


@pytest.mark.parametrize(("name", "kept"), [("react_perf_b4f2", True), ("A b", False), ("x" * 101, False), ("", False)])
def test_only_what_can_be_a_friendly_id_or_a_hash_is_kept(name, kept):
    made = placed(
        conversation(
            "c",
            message("q1", None, short_hash="ab12cd"),
            message("a1", "q1", short_hash="ab12cd"),
            message("q2", "a1", short_hash="123456"),
            friendly_id=name,
        )
    ).conversation
    assert made.friendly_id == (name if kept else None)
    assert [m.short_hash for m in made.messages] == ["ab12cd", None, None]


def test_a_title_is_made_of_the_first_question_where_the_source_has_none():
    made = placed(conversation("c", message("q1", None, "How do I cook rice well?"), title=" ")).conversation
    assert "rice" in made.title


_trees = st.lists(st.tuples(st.booleans(), st.integers(-1, 12), st.integers(0, 50)), max_size=12)


@given(_trees, st.integers(-1, 12))
def test_whatever_the_tree_every_message_is_there_once_and_after_what_it_names(tree, current):
    def name(number: int) -> str:
        return f"{'q' if 0 <= number < len(tree) and tree[number][0] else 'a'}{number}"

    messages = [
        message(name(number), None if parent < 0 else name(parent), at=at)
        for number, (_, parent, at) in enumerate(tree)
    ]
    one = replace(conversation("c", current_id=name(current)), messages=tuple(messages))
    made = placed(one).conversation.messages
    ids = [version.source_id for each in made for version in each.versions]
    assert sorted(ids) == sorted(each.source_id for each in messages)
    before: set[str | None] = {None}
    for each in made:
        assert {each.parent, each.branch_of} <= before
        assert each.branch in before or each.branch == each.key
        before.add(each.key)
