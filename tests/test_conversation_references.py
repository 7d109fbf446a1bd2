"""Identifiers of conversations and messages, and the grammar of references."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation_reference_utils import (
    _BASE36,
    CONV_RANGE_PATTERN,
    CONV_REF_PATTERN,
    CONV_WHOLE_PATTERN,
    RANGE_LIMIT,
    STOPWORDS,
    _extract_meaningful_words,
    _to_base36,
    canonical_reference,
    classify_conversation_reference,
    generate_conversation_friendly_id,
    generate_message_short_hash,
    joined_groups,
    parse_file_reference,
    parse_references,
    partition,
    read_reference,
    unique_message_short_hash,
)

BORN = "2026-02-08T10:00:00"
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "reference_cases.json").read_text())
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # lone surrogates included
MARKDOWN = st.lists(
    st.sampled_from(
        [
            "@foo_bar",
            "@a_tag",
            "&b_tag",
            "@mem:a1",
            "#42",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            "\r\n",
            "\n\n",
            " ",
            "> ",
            "- ",
            "\\",
            "(",
            "é",
            "x",
        ]
    ),
    max_size=30,
).map("".join)


class TestBase36:
    def test_the_letter_a_is_zero_and_the_first_digit_is_the_most_significant(self) -> None:
        assert _BASE36 == "abcdefghijklmnopqrstuvwxyz0123456789"
        assert _to_base36(0, 4) == "aaaa"
        assert _to_base36(35, 1) == "9"
        assert _to_base36(36, 2) == "ba"

    def test_numbers_too_large_for_the_length_wrap_around(self) -> None:
        assert _to_base36(36**2 + 36, 2) == "ba"

    @pytest.mark.parametrize(("num", "length"), [(-1, 4), (5, 0), (5, -2)])
    def test_a_negative_number_or_no_length_is_refused(self, num: int, length: int) -> None:
        with pytest.raises(ValueError, match="base 36 needs"):
            _to_base36(num, length)

    @given(st.integers(min_value=0), st.integers(min_value=1, max_value=12))
    def test_the_result_has_exactly_the_length_asked_for_and_stands_for_the_number(self, num: int, length: int) -> None:
        digits = _to_base36(num, length)
        assert len(digits) == length
        value = 0
        for digit in digits:
            value = value * 36 + _BASE36.index(digit)
        assert value == num % 36**length


class TestMeaningfulWords:
    def test_stopwords_include_the_contractions(self) -> None:
        assert len(STOPWORDS) >= 80
        assert {"the", "how", "to", "whats", "dont", "she'll"} <= STOPWORDS

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("How to learn Python", ["learn", "python"]),
            ("What's the best approach?", ["best", "approach"]),
            ("What\u2019s the best approach?", ["best", "approach"]),
            ("Whats the best approach", ["best", "approach"]),
            ("Bob's notes", ["bobs", "notes"]),
            ("she'll learn shell well", ["learn", "shell", "well"]),
            ("x y C++ 42", ["42"]),
            ("snake_case, kebab-case", ["snake", "case", "kebab"]),
            ("it is what it is", []),
            ("", []),
        ],
    )
    def test_they_say_what_the_text_is_about(self, text: str, words: list[str]) -> None:
        assert _extract_meaningful_words(text) == words

    def test_no_more_come_than_asked_for(self) -> None:
        assert _extract_meaningful_words("alpha beta gamma delta", max_words=2) == ["alpha", "beta"]

    @pytest.mark.parametrize(
        "title", ["如何学习 Python", "Оптимизация базы данных", "تحسين الأداء", "Ελληνικά", "안녕하세요"]
    )
    def test_every_script_gives_words(self, title: str) -> None:
        assert _extract_meaningful_words(title)

    def test_a_word_is_cut_at_24_characters(self) -> None:
        assert _extract_meaningful_words("x" * 100) == ["x" * 24]

    @given(ANY_TEXT)
    def test_they_are_lowercase_letters_and_digits_and_no_stopwords(self, text: str) -> None:
        for word in _extract_meaningful_words(text):
            assert re.fullmatch(r"[a-z0-9]{2,24}", word)
            assert word not in STOPWORDS or len(word) == 24


class TestFriendlyIds:
    def test_the_golden_vector_holds(self) -> None:
        assert generate_conversation_friendly_id("React Performance Optimization", BORN) == "react_performance_p44e"

    @pytest.mark.parametrize(
        ("title", "beginning"),
        [
            ("How to learn Python", "learn_python_"),
            ("What's the best approach?", "best_approach_"),
            ("Debugging", "debugging_"),
            ("", "chat_"),
            ("Secret message", "secret_message_"),
        ],
    )
    def test_it_begins_with_the_words_of_the_title(self, title: str, beginning: str) -> None:
        friendly_id = generate_conversation_friendly_id(title, BORN)
        assert friendly_id.startswith(beginning)
        assert len(friendly_id) == len(beginning) + 4

    def test_the_time_of_birth_tells_equal_titles_apart(self) -> None:
        ids = {generate_conversation_friendly_id("Debugging", f"{BORN}.{second}") for second in range(50)}
        assert len(ids) == 50

    def test_a_salt_changes_the_hash_and_never_the_words(self) -> None:
        plain = generate_conversation_friendly_id("Debugging Python", BORN)
        salted = generate_conversation_friendly_id("Debugging Python", BORN, salt="other words 1")
        assert salted != plain
        assert salted.startswith("debugging_python_")
        assert salted.rpartition("_")[2] == _to_base36(
            mmh3.hash(b"Debugging Python" + BORN.encode() + b"other words 1", signed=False), 4
        )

    def test_the_hash_grows_when_asked(self) -> None:
        longer = generate_conversation_friendly_id("Debugging", BORN, hash_length=6)
        shorter = generate_conversation_friendly_id("Debugging", BORN)
        assert re.fullmatch(r"debugging_[a-z0-9]{6}", longer)
        assert longer.endswith(shorter.removeprefix("debugging_"))

    @given(ANY_TEXT)
    def test_any_title_gives_a_well_formed_id(self, title: str) -> None:
        assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)?_[a-z0-9]{4}", generate_conversation_friendly_id(title, BORN))


class TestMessageHashes:
    def test_the_golden_vector_holds(self) -> None:
        assert generate_message_short_hash("react_perf_b4f2", "Hello") == "5a3fp7"

    @given(ANY_TEXT)
    def test_any_text_has_one(self, text: str) -> None:
        assert re.fullmatch(r"[a-z0-9]{6}", generate_message_short_hash("react_perf_b4f2", text))

    def test_one_text_has_another_hash_in_another_conversation(self) -> None:
        assert generate_message_short_hash("a_b4f2", "yes") != generate_message_short_hash("b_b4f2", "yes")

    def test_a_free_hash_is_the_plain_one(self) -> None:
        assert unique_message_short_hash("react_perf_b4f2", "Hello", set()) == "5a3fp7"

    def test_equal_messages_get_hashes_of_their_own(self) -> None:
        taken: list[str] = []
        for _ in range(3):
            taken.append(unique_message_short_hash("a_b4f2", "yes", taken))
        plain, salted = generate_message_short_hash("a_b4f2", "yes"), generate_message_short_hash("a_b4f2", "yes1")
        assert taken[:2] == [plain, salted]
        assert len(set(taken)) == 3

    def test_a_text_that_was_said_very_often_costs_no_growing_number_of_attempts(self) -> None:
        class Counted(set[str]):
            asked = 0

            def __contains__(self, short_hash: object) -> bool:
                self.asked += 1
                return super().__contains__(short_hash)

        taken = Counted()
        for _ in range(2_000):
            taken.add(unique_message_short_hash("a_b4f2", "yes", taken))
        assert len(taken) == 2_000
        taken.asked = 0
        taken.add(unique_message_short_hash("a_b4f2", "yes", taken))
        assert taken.asked < 50
        one_by_one = (generate_message_short_hash("a_b4f2", f"yes{salt}") for salt in range(1, 2_010))
        assert len(taken - {generate_message_short_hash("a_b4f2", "yes"), *one_by_one}) == 0

    def test_no_hash_is_all_digits(self) -> None:
        text = next(t for t in map(str, range(1_000_000)) if generate_message_short_hash("a_b4f2", t).isdigit())
        assert not unique_message_short_hash("a_b4f2", text, set()).isdigit()

    def test_the_reference_to_copy_is_the_canonical_one(self) -> None:
        assert canonical_reference("react_perf_b4f2", "5a3fp7") == "@conversation_react_perf_b4f2_message_5a3fp7"
        assert canonical_reference("react_perf_b4f2", 5) == "@conversation_react_perf_b4f2_message_5"


def test_lone_surrogates_do_not_bring_the_interpreter_down() -> None:
    # In a process of its own: the hash function crashes on such text rather than raise.
    program = (
        "from conversation_reference_utils import *\n"
        "print(generate_message_short_hash('a_b4f2', '\\ud800'), generate_conversation_friendly_id('\\ud800', ''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"[a-z0-9]{6} chat_[a-z0-9]{4}\n", done.stdout)


class TestPatterns:
    @pytest.mark.parametrize(
        ("name", "groups"),
        [
            ("conversation_react_optimization_b4f2_message_5", ("react_optimization_b4f2", "5")),
            ("conversation_react_optimization_b4f2_message_a3f2b1", ("react_optimization_b4f2", "a3f2b1")),
            ("conv_react_optimization_b4f2_msg_5", ("react_optimization_b4f2", "5")),
            ("conv_react_b4f2_message_5", ("react_b4f2", "5")),
            ("conversation_message_passing_b4f2_message_3", ("message_passing_b4f2", "3")),
            ("conversation_a_message_b_message_3", ("a_message_b", "3")),
        ],
    )
    def test_the_last_message_marker_separates(self, name: str, groups: tuple[str, str]) -> None:
        match = CONV_REF_PATTERN.match(name)
        assert match is not None
        assert match.groups() == groups

    @pytest.mark.parametrize(
        "name",
        [
            "react_optimization_b4f2",
            "conversation_react_optimization_b4f2",
            "conversation__message_5",
            "conversation_a_b4f2_message_-1",
            "conversation_a_b4f2_messages_3-7",
            "my_conversation_a_b4f2_message_5",
            "prefer_morning_a3f2",
        ],
    )
    def test_what_names_no_message_does_not_match(self, name: str) -> None:
        assert CONV_REF_PATTERN.match(name) is None

    def test_ranges_and_whole_conversations_have_patterns_of_their_own(self) -> None:
        span = CONV_RANGE_PATTERN.match("conv_a_b4f2_msgs_3-7")
        whole = CONV_WHOLE_PATTERN.match("conversation_a_b4f2")
        assert span is not None
        assert span.groups() == ("a_b4f2", "3", "7")
        assert whole is not None
        assert whole.groups() == ("a_b4f2",)


class TestClassification:
    @pytest.mark.parametrize("ref", ["conversation_a_b4f2_message_5", "@conv_a_b4f2_msg_5", "@CONV_A_B4F2_Msg_5"])
    def test_a_message_by_its_index(self, ref: str) -> None:
        found = classify_conversation_reference(ref)
        assert found is not None
        assert (found.ref, found.kind, found.conv_fid, found.identifier) == (ref, "message", "a_b4f2", "5")
        assert (found.start, found.end) == (5, 5)

    def test_a_message_by_its_hash_in_any_case(self) -> None:
        found = classify_conversation_reference("Conversation_A_B4F2_Message_A3F2B1")
        assert found is not None
        assert (found.kind, found.conv_fid, found.identifier, found.start) == ("message", "a_b4f2", "a3f2b1", None)

    def test_six_digits_are_an_index_that_may_be_a_hash(self) -> None:
        found = classify_conversation_reference("conversation_a_b4f2_message_123456")
        assert found is not None
        assert (found.kind, found.identifier, found.start) == ("message", "123456", 123456)

    @pytest.mark.parametrize(
        ("digits", "index"),
        [("0", 0), ("7", 7), ("9" * 18, 10**18 - 1), ("9" * 19, 10**18), ("9" * 9000, 10**18)],
    )
    def test_any_number_of_digits_is_an_index(self, digits: str, index: int) -> None:
        found = classify_conversation_reference(f"conversation_a_b4f2_message_{digits}")
        assert found is not None
        assert (found.kind, found.identifier, found.start) == ("message", digits, index)

    @pytest.mark.parametrize("identifier", ["message_02", "message_007", "messages_03-7"])
    def test_an_index_has_no_leading_zero(self, identifier: str) -> None:
        found = classify_conversation_reference(f"conversation_a_b4f2_{identifier}")
        assert found is not None
        assert (found.kind, found.conv_fid) == ("malformed", "")
        assert found.problem == "The number of a message has no leading zero."

    def test_six_digits_with_a_leading_zero_are_a_hash_and_no_index(self) -> None:
        found = classify_conversation_reference("conversation_a_b4f2_message_000002")
        assert found is not None
        assert (found.kind, found.identifier, found.start) == ("message", "000002", None)

    def test_a_range(self) -> None:
        found = classify_conversation_reference("@conversation_a_b4f2_messages_3-7")
        assert found is not None
        assert (found.kind, found.conv_fid, found.identifier) == ("range", "a_b4f2", "3-7")
        assert (found.start, found.end) == (3, 7)

    def test_a_range_holds_a_hundred_messages_and_no_more(self) -> None:
        most = classify_conversation_reference(f"conv_a_b4f2_msgs_1-{RANGE_LIMIT}")
        more = classify_conversation_reference(f"conv_a_b4f2_msgs_1-{RANGE_LIMIT + 1}")
        assert most is not None
        assert most.kind == "range"
        assert more is not None
        assert (more.kind, more.problem) == ("malformed", "A range holds at most 100 messages.")

    def test_a_whole_conversation(self) -> None:
        found = classify_conversation_reference("@conversation_React_b4f2")
        assert found is not None
        assert (found.kind, found.conv_fid, found.identifier) == ("conversation", "react_b4f2", "")

    @pytest.mark.parametrize(
        "fid", ["secret_message_p44e", "secret_message_p44e12", "message_p44e", "unread_messages_p44e", "a_msg_1234"]
    )
    def test_a_title_that_holds_the_word_can_always_be_looked_up_whole(self, fid: str) -> None:
        found = classify_conversation_reference(f"@conversation_{fid}")
        assert found is not None
        assert found.whole_candidate == fid
        assert found.kind in {"conversation", "message"}

    def test_a_missing_conversation_with_the_word_in_its_title_is_missing_and_not_malformed(self) -> None:
        found = classify_conversation_reference("@conversation_secret_message_p44e")
        assert found is not None
        assert (found.kind, found.conv_fid) == ("conversation", "secret_message_p44e")

    @pytest.mark.parametrize(
        ("ref", "problem"),
        [
            ("conversation_a_b4f2_message_-1", "A message is named by its number or its hash of six characters."),
            ("conversation_a_b4f2_message_abc", "A message is named by its number or its hash of six characters."),
            ("conversation_a_b4f2_message_a3f2b1c", "A message is named by its number or its hash of six characters."),
            ("conversation_a_b4f2_message_", "A message is named by its number or its hash of six characters."),
            ("conversation_a_b4f2_messages_3", "A message is named by its number or its hash of six characters."),
            ("conversation_message_5", "A message is named by its number or its hash of six characters."),
            ("conversation__message_5", "A message is named by its number or its hash of six characters."),
            ("conversation_a__message_5", "This is no conversation's id."),
            ("conversation_a-b_messages_3-7", "This is no conversation's id."),
            ("conversation_a_b4f2_messages_7-3", "The range is reversed."),
        ],
    )
    def test_what_is_shaped_like_a_message_but_names_none_is_malformed(self, ref: str, problem: str) -> None:
        found = classify_conversation_reference(ref)
        assert found is not None
        assert (found.kind, found.problem, found.conv_fid) == ("malformed", problem, "")

    @pytest.mark.parametrize(
        "ref",
        [
            "prefer_morning_a3f2",
            "claim_42",
            "conversation",
            "conversation_",
            "conversation_my-notes",
            "conversations_a_message_5",
            "",
        ],
    )
    def test_the_rest_is_the_knowledge_bases(self, ref: str) -> None:
        assert classify_conversation_reference(ref) is None

    @given(st.from_regex(r"\A(conversation|conv)_[a-z0-9_-]*_(messages?|msgs?)_[a-z0-9-]*\Z"))
    def test_nothing_shaped_like_a_message_ever_reaches_the_knowledge_base(self, ref: str) -> None:
        assert partition([ref])[1] == []

    @given(ANY_TEXT)
    def test_any_text_can_be_classified(self, text: str) -> None:
        found = classify_conversation_reference(f"conversation_{text}")
        assert found is None or found.kind in {"message", "range", "conversation", "malformed"}


def test_partition_divides_conversations_from_knowledge_and_keeps_the_order() -> None:
    conversation_refs, pkb_ids = partition(
        [
            "prefer_morning_a3f2",
            "conversation_react_optimization_b4f2_message_5",
            "Conv_React_b4f2_Msg_A3F2B1",
            "health_goals_context",
            "conversation_a_b4f2_messages_3-7",
            "conversation_a_b4f2",
            "conversation_a_b4f2_message_-1",
            "conversation_my-notes",
        ]
    )
    assert conversation_refs == [
        ("conversation_react_optimization_b4f2_message_5", "react_optimization_b4f2", "5"),
        ("Conv_React_b4f2_Msg_A3F2B1", "react_b4f2", "a3f2b1"),
        ("conversation_a_b4f2_messages_3-7", "a_b4f2", "3-7"),
        ("conversation_a_b4f2", "a_b4f2", ""),
        ("conversation_a_b4f2_message_-1", "", ""),
    ]
    assert pkb_ids == ["prefer_morning_a3f2", "health_goals_context", "conversation_my-notes"]


MAY_BE_COLOUR = re.compile(r"#[0-9a-fA-F]{6,}")


class TestParsing:
    @pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
    def test_the_cases_shared_with_the_browser(self, case: dict[str, Any]) -> None:
        parsed = parse_references(case["text"])
        assert list(parsed.friendly_ids) == case["friendlyIds"]
        assert list(parsed.claim_ids) == case["claimIds"]
        assert parsed.clean_text == case["cleanText"]
        assert [case["text"][start:end] for start, end in parsed.spans] == [written for written, _ in case["found"]]

    def test_ten_thousand_references_are_all_found(self) -> None:
        names = [f"name_{number}" for number in range(10_000)]
        assert parse_references(" ".join(f"`@code` @{name}" for name in names)).friendly_ids == tuple(names)

    @pytest.mark.parametrize(
        "text",
        [
            "@a_tag" + "&a_tag" * 100_000,
            "@a_tag&" + "a" * 200_000,
            "@a" + "-_" * 100_000 + "x",
            "@mem:" + "-" * 200_000,
            "` `` " * 40_000,
            " ".join("`" * length for length in range(1, 600)),
            "\\" * 200_000,
            "> " * 100_000,
            "```\n@a" * 40_000,
        ],
        ids=[
            "joins",
            "a joined name",
            "hyphens",
            "empty id",
            "backticks",
            "runs of every length",
            "backslashes",
            "quotations",
            "fences",
        ],
    )
    def test_hostile_texts_are_read_to_their_end(self, text: str) -> None:
        assert len(parse_references(f"{text} @last_one").spans) <= 2

    @pytest.mark.parametrize(
        ("ref", "names"),
        [
            ("#99", (("claim_99",), ())),
            ("#A1B2C3", (("#a1b2c3",), ())),
            ("health_domain&fitness_tag", (("health_domain&fitness_tag",), ())),
            ("@memory:abc-1", ((), ("abc-1",))),
            ("@my_plan", (("my_plan",), ())),
            ("my_plan", (("my_plan",), ())),
            ("[[Plan #2]]", (("[[Plan #2]]",), ())),
            ("No. 5", (("No. 5",), ())),
            ("@my_plan and more", (("my_plan and more",), ())),
            ("@", (("",), ())),
        ],
    )
    def test_a_reference_alone_is_read_as_in_a_message(self, ref: str, names: tuple[Any, Any]) -> None:
        read = read_reference(ref)
        assert (read.friendly_ids, read.claim_ids) == names

    @pytest.mark.parametrize("name", ["a_tag", "a_tag&b", "b&a_tag", "a_tag&", "&a_tag", "&".join(["a_tag"] * 5), ""])
    def test_what_joins_no_groups(self, name: str) -> None:
        assert joined_groups(name) == ()

    def test_a_file_and_its_pages_have_any_number(self) -> None:
        found = parse_file_reference(f"@conv_a_b4f2_msg_1_file_{'9' * 5_000}_pages_12345678901-{'9' * 5_000}")
        assert found is not None
        assert found.number > 99_999
        assert found.pages is not None
        assert found.pages[0] == 12_345_678_901

    @given(MARKDOWN)
    def test_the_spans_are_in_order_apart_and_what_is_left_is_the_clean_text(self, text: str) -> None:
        parsed = parse_references(text)
        edges = [edge for span in parsed.spans for edge in span]
        assert edges == sorted(edges)
        left = text
        for start, end in reversed(parsed.spans):
            if not MAY_BE_COLOUR.fullmatch(text[start:end]):
                left = left[:start] + left[end:]
        assert parsed.clean_text.split() == left.split()

    @given(MARKDOWN)
    def test_what_is_fenced_holds_no_reference(self, text: str) -> None:
        assert parse_references(f"`````\n{text.replace('```', '')}\n`````").spans == ()

    @given(ANY_TEXT)
    def test_any_text_can_be_parsed(self, text: str) -> None:
        assert (
            "reference_to_find" in parse_references(f"{text}\n\n@reference_to_find").friendly_ids
            or "`" in text
            or "~" in text
        )
