"""Where the messages of a source stand here, whatever shape its tree has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.imports.arriving import ArrivingMessage
from database.imports.standing import Standing
from database.messages.branch_tree import BranchTree, Fork
from portability.importers.reading.imported import ImportedAttachment, ImportedMessage, ImportedToolCall
from portability.imports.placing import placed
from sentences import say

from .conftest import BEGAN, conversation, message


def shape(one: Any) -> list[tuple[Any, ...]]:
    """(versions, chosen, branch, branch_of, chosen_branch) of each message."""
    return [
        ([v.source_id for v in m.versions], m.chosen, m.branch, m.branch_of, m.chosen_branch)
        for m in placed(one).conversation.messages
    ]


def keys(one: Any) -> list[tuple[Any, ...]]:
    """(versions, chosen, branch, branch_of, chosen_branch) of each message, an apostrophe behind what is repeated."""
    return [
        ([_named(v.source_id) for v in m.versions], m.chosen, _named(m.branch), m.branch_of, m.chosen_branch)
        for m in placed(one).conversation.messages
    ]


def _named(source_id: str | None) -> str | None:
    own, is_repeated, _ = (source_id or "").partition("\x1f")
    return None if source_id is None else f"{own}'" if is_repeated else own


AGAIN = (
    message("q1", None),
    message("a1", "q1", at=1),
    message("a2", "q1", at=2),
    message("q2", "a1", at=3),
    message("a3", "q2", at=4),
)


def test_answers_made_again_are_variants_and_what_follows_the_shown_one_follows_the_message():
    assert shape(conversation("c", *AGAIN, current_id="a3")) == [
        (["q1"], 0, None, None, None),
        (["a1", "a2"], 0, None, None, None),
        (["q2"], 0, None, None, None),
        (["a3"], 0, None, None, None),
    ]


def test_what_follows_another_variant_is_a_branch_that_repeats_the_question_and_that_answer():
    expected = [
        (["q1"], 0, None, None, 1),
        (["a1", "a2"], 1, None, None, None),
        (["q1'"], 0, "q1'", "q1", None),
        (["a1'"], 0, "q1'", None, None),
        (["q2"], 0, "q1'", None, None),
        (["a3"], 0, "q1'", None, None),
    ]
    assert keys(conversation("c", *AGAIN, current_id="a2")) == expected
    more = (message("q3", "a2", at=5), message("a4", "q3", at=6))
    both = keys(conversation("c", *AGAIN, *more, current_id="a4"))
    behind = [(["q3"], 0, None, None, None), (["a4"], 0, None, None, None)]
    assert both == [*expected[:2], *behind, *expected[2:]]


def test_an_answer_made_again_behind_another_answer_is_repeated_from_the_question_on():
    one = conversation(
        "c",
        message("q1", None),
        message("a0", "q1", at=1),
        message("a1", "a0", at=2),
        message("a2", "a0", at=3),
        message("q2", "a1", at=4),
        current_id="a2",
    )
    assert [names for names, *_ in keys(one)] == [["q1"], ["a0"], ["a1", "a2"], ["q1'"], ["a0'"], ["a1'"], ["q2"]]


def test_what_stands_behind_a_variant_here_stays_and_the_path_of_the_source_is_the_branch():
    standing = Standing(followed={"q2": frozenset({"a1", "a2"}), "a3": frozenset({"q2"})})
    made = placed(conversation("c", *AGAIN, current_id="a2"), standing=lambda _: standing).conversation.messages
    assert [([_named(v.source_id) for v in m.versions], m.chosen, m.chosen_branch) for m in made] == [
        (["q1"], 0, 2),
        (["a1", "a2"], 0, None),
        (["q2"], 0, None),
        (["a3"], 0, None),
        (["q1'"], 0, None),
        (["a2'"], 0, None),
    ]


@pytest.mark.parametrize("text", ["x" * 2_000_000, "short"])
def test_what_is_repeated_has_a_limit_and_is_reported_beyond(text):
    answers = [message(f"a{number}", "q0", at=number) for number in range(1, 40)]
    after = [message(f"q{number}", f"a{number}", at=50 + number) for number in range(1, 40)]
    made = placed(conversation("c", message("q0", None, text), *answers, *after))
    stored = sum(len(version.text) for each in made.conversation.messages for version in each.versions)
    assert stored < 4 * len(text) + 1_100_000
    assert made.problems == (() if text == "short" else (say("import_paths_mixed"),))
    ids = {version.source_id for each in made.conversation.messages for version in each.versions}
    assert {each.source_id for each in (*answers, *after)} <= ids


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "more",
    [
        {"tool_calls": (ImportedToolCall("search", {"query": LONG}),)},
        {"tool_calls": (ImportedToolCall("search", LONG),)},
        {"tool_calls": (ImportedToolCall("search", {"queries": [{LONG: index} for index in range(2)]}),)},
        {"tool_calls": (ImportedToolCall("search", list(range(10_000))),)},
        {"tool_calls": (ImportedToolCall(LONG),)},
        {"tool_calls": (ImportedToolCall("search", None, LONG),)},
        {"thoughts": LONG},
        {"attachments": (ImportedAttachment("a.txt", text=LONG),)},
        {"attachments": (ImportedAttachment(LONG),)},
    ],
)
def test_parts_count_for_the_limit_of_what_is_repeated(more):
    begun = [message("q0", None), message("a0", "q0", at=1, **more)]
    answers = [message(f"a{number}", "a0", at=1 + number) for number in range(1, 300)]
    after = [message(f"q{number}", f"a{number}", at=500 + number) for number in range(1, 300)]
    made = placed(conversation("c", *begun, *answers, *after))
    versions = [version for each in made.conversation.messages for version in each.versions]
    stored = sum(len(version.text) + len(orjson.dumps(version.parts)) for version in versions)
    assert stored < 2_000_000
    assert made.problems == (say("import_paths_mixed"),)


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


def test_a_question_beside_an_answer_begins_a_branch_that_repeats_the_question_above():
    one = conversation("c", message("q1", None), message("a1", "q1", at=1), message("q2", "q1", at=2))
    assert [(names, chosen) for names, *_, chosen in keys(one)] == [
        (["q1"], 2),
        (["a1"], None),
        (["q1'"], None),
        (["q2"], None),
    ]


def test_what_no_question_stands_above_follows_in_one_path_and_is_reported():
    one = conversation("c", message("a1", None), message("a2", None, at=1), message("q1", "a1", at=2), current_id="a2")
    made = placed(one)
    assert [names for names, *_ in keys(one)] == [["a1", "a2"], ["q1"]]
    assert made.problems == (say("import_paths_mixed"),)


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


def _told(tree: Sequence[tuple[bool, int, int]]) -> list[ImportedMessage]:
    """A message for each (whether it is a question, the number of its parent, its time)."""

    def name(number: int) -> str:
        return f"{'q' if 0 <= number < len(tree) and tree[number][0] else 'a'}{number}"

    return [
        message(name(number), None if parent < 0 else name(parent), at=at)
        for number, (_, parent, at) in enumerate(tree)
    ]


_trees = st.lists(st.tuples(st.booleans(), st.integers(-1, 12), st.integers(0, 50)), max_size=12)


@given(_trees, st.integers(-1, 12))
def test_whatever_the_tree_every_message_is_there_and_after_what_it_names(tree, current):
    messages = _told(tree)
    current_id = messages[current].source_id if 0 <= current < len(messages) else f"a{current}"
    made = placed(replace(conversation("c", current_id=current_id), messages=tuple(messages))).conversation.messages
    ids = [version.source_id for each in made for version in each.versions]
    assert len(ids) == len(set(ids))
    assert sorted(each for each in ids if "\x1f" not in each) == sorted(each.source_id for each in messages)
    before: set[str | None] = {None}
    for each in made:
        assert {each.parent, each.branch_of} <= before
        assert each.branch in before or each.branch == each.key
        assert each.branch_of is None or each.sender == "user"
        before.add(each.key)


_grown = st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(0, 50)), min_size=1, max_size=12)


@given(_grown, st.integers(0, 11))
def test_each_path_reads_as_it_does_in_the_source(grown, current):
    tree = [
        (True, -1, 0),
        *((is_question, at % number, time) for number, (is_question, at, time) in enumerate(grown, 1)),
    ]
    messages = _told(tree)
    current_id = messages[current % len(messages)].source_id
    whole = placed(replace(conversation("c", current_id=current_id), messages=tuple(messages)))
    made = {each.key: each for each in whole.conversation.messages}
    parents = {each.source_id: each.parent_id for each in messages}

    def in_source(name: str | None) -> list[str]:
        return [] if name is None else [*in_source(parents[name]), name]

    def here(key: str | None) -> list[str]:
        return [] if key is None else [*here(made[key].parent), _plain(made[key].shown.source_id)]

    paths = {(*here(each.parent), _plain(v.source_id)) for each in made.values() for v in each.versions}
    assert whole.problems == ()
    assert paths == {tuple(in_source(each.source_id)) for each in messages}
    assert _transcript(list(made.values()))[: len(in_source(current_id))] == in_source(current_id)


def _plain(source_id: str) -> str:
    return source_id.partition("\x1f")[0]


def _transcript(made: Sequence[ArrivingMessage]) -> list[str]:
    """The messages on the active path, as they are shown."""
    places = list(enumerate(made, 1))
    forks = [
        Fork(m.key, at, m.branch, m.branch_of, m.chosen_branch) for at, m in places if m.branch_of or m.chosen_branch
    ]
    path = BranchTree(forks).path()
    return [_plain(m.shown.source_id) for at, m in places if any(each.holds(m.branch, at) for each in path)]
