"""A search by a regular expression finds what reading every message would find, and reads few of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.editing import delete_message, edit_message
from database.search import vocabulary
from database.search.index import PREFIX_LENGTH, term_prefix
from database.search.indexing import index_pending
from database.turns.identity import FinishedTurn
from search.patterns import Deadline, FoundMatches, find_pattern
from tests.tiers import examples

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
TakeTurn = Callable[..., FinishedTurn]
ASCII = ["tomato", "tomatoes", "Potato", "snake_case", "automaton", "x86", "2026", "-", ".", "(", "\n", "' ", "tom"]
OTHERS = [
    *("süße", "Überraschung", "naïve", "u\N{COMBINING DIAERESIS}ber", "straße", "ПРИВЕТ", "Σίσυφος", "ΟΔΟΣ", "ΟΔΟΣΑ"),
    *(
        "番茄",
        "番茄汤",
        "がある",
        "カ\u3099",
        "ﾊﾝｶｸ",
        "한국어",
        "각하",
        "ไทย",
    ),
    *("हिन्दी", "क़लम", "ﬁne", "½cup", "K", "ſoap", "İstanbul", "e\N{COMBINING DOT BELOW}\N{COMBINING ACUTE ACCENT}t"),
    *("👍🏽", "ab" * 400, "😀tomato", "x\N{COMBINING LONG STROKE OVERLAY}y"),
]


def _texts(random: Random, fragments: list[str], count: int) -> list[str]:
    joints = [" ", " ", "", "", "  ", ", "]
    made = (
        "".join(random.choice(fragments) + random.choice(joints) for _ in range(random.randint(1, 6)))
        for _ in range(count)
    )
    return [text if text.strip() else "tom" for text in made]


TEXTS = {ANN: _texts(Random(1), ASCII, 40), BOB: _texts(Random(2), ASCII + OTHERS, 120)}


def say(database: Database, take_turn: TakeTurn, owner: str, texts: list[str]) -> str:
    """A conversation of the owner in which these are said, two by two; its id."""
    name = create_conversation(database=database, user_email=owner, domain="assistant").conversation_id
    for text, answer in zip(texts[::2], texts[1::2], strict=True):
        take_turn(owner, name, text=text, answer=answer)
    return name


def find(database: Database, pattern: str, *, owner: str = ANN) -> FoundMatches:
    return find_pattern(
        pattern, database=database, user_email=owner, titles=False, limit=1_000, deadline=Deadline(seconds=3_600)
    )


@st.composite
def patterns(draw: st.DrawFn, texts: list[str], *, borders: bool) -> str:
    """Patterns made of pieces of `texts`, so that many match: literals, gaps, choices, repeats, borders, any case."""
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from(texts))
        begin = draw(st.integers(0, len(text) - 1))
        piece = re2.escape(text[begin : begin + draw(st.integers(1, 12))])
        edges = ["", r"\b", "^", "$", r"\B"] if borders else ["", "^", "$"]
        around = draw(st.sampled_from(["{}", "{}", "(?:{})", "(?:{})+", "(?:{})?", "(?i:{})", "(?:{}|zz)"]))
        pieces.append(draw(st.sampled_from(edges)) + around.format(piece) + draw(st.sampled_from(edges)))
    joint = draw(st.sampled_from(["", ".*", r"\s+", r"\s*", "[a-z]?", "(?s:.*)"]))
    return draw(st.sampled_from(["", "", "(?i)"])) + joint.join(pieces)


@pytest.mark.parametrize("owner", [ANN, BOB])
def test_what_reading_every_message_finds_is_found(database: Database, take_turn: TakeTurn, owner: str) -> None:
    for someone, texts in TEXTS.items():
        say(database, take_turn, someone, texts)
    index_pending(database=database)

    # The index knows more letters than `\b` of RE2 does: beside them, it has other borders.
    @examples(200)
    @given(patterns(TEXTS[owner], borders=owner == ANN))
    def check(pattern: str) -> None:
        if len(pattern) > 200:
            return
        expression = re2.compile(f"(?m){pattern}")
        expected = {place for place, text in enumerate(TEXTS[owner], start=1) if expression.search(text)}
        found = find(database, pattern, owner=owner)
        assert {match.index for match in found.matches} == expected
        assert not found.is_partial

    check()


def test_the_index_is_asked_once_and_a_part_of_a_word_that_nobody_says_reads_no_message(
    database: Database, take_turn: TakeTurn, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    say(database, take_turn, ANN, TEXTS[ANN])
    index_pending(database=database)
    for pattern, is_said in (("qtomato", False), ("qnake_case", False), ("utomat", True), (r"(?i)UTOMATON\b", True)):
        with statements() as seen:
            found = find(database, pattern)
        assert bool(found.matches) == is_said
        assert sum("SELECT messages.seq, messages.text" in statement for statement in seen) == is_said
        assert sum("messages_fts MATCH" in statement or "words @@" in statement for statement in seen) == is_said


def test_messages_that_are_not_indexed_yet_are_found_however_many_they_are(
    database: Database, take_turn: TakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.patterns._TAIL", 3)
    say(database, take_turn, ANN, [f"a sword, number {number}" for number in range(10)])
    found = find(database, "sword")
    assert [match.index for match in found.matches] == list(range(10, 0, -1))
    assert not found.is_partial


def test_words_that_no_message_says_any_more_are_forgotten(database: Database, take_turn: TakeTurn) -> None:
    def said() -> list[str]:
        with database.reading() as connection:
            return sorted(vocabulary.words_with(connection, term_prefix(ANN), "ord", at_end=False, most=100) or [])

    long = "wordy" * 200
    first = say(database, take_turn, ANN, [f"fjord {long}", "a sword"])
    say(database, take_turn, BOB, ["one word and a sword", "no"])
    index_pending(database=database)
    beginning = long[: vocabulary.LONGEST_TERM - PREFIX_LENGTH]
    assert said() == ["fjord", "sword", beginning]  # another one's word is none of Ann's
    own = {"database": database, "user_email": ANN, "conversation_id": first}
    turn = take_turn(ANN, first, text="a cord", answer="no")
    index_pending(database=database)
    assert "cord" in said()
    edit_message(**own, message_id=turn.user_message_id, index=None, text="a chord")
    index_pending(database=database)
    assert said() == ["chord", "fjord", "sword", beginning]
    delete_message(**own, message_id=turn.user_message_id, index=None)
    index_pending(database=database)
    assert "chord" not in said()


def test_a_part_that_many_words_hold_is_looked_for_in_all_messages(
    database: Database, take_turn: TakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(database, take_turn, ANN, TEXTS[ANN])
    index_pending(database=database)
    with database.reading() as connection:
        assert vocabulary.words_with(connection, term_prefix(ANN), "oma", at_end=False, most=2) is None
    monkeypatch.setattr("search.patterns._MOST_WORDS", 2)
    expected = [place for place, text in enumerate(TEXTS[ANN], start=1) if "oma" in text]
    assert sorted(match.index or 0 for match in find(database, "oma").matches) == expected
