"""A person finds what was said in any of their conversations, as soon as it is said; and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.conversations.repository import (
    create_conversation,
    create_temporary_conversation,
    delete_conversation,
    get_conversation,
    update_conversation,
)
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.history.editing import delete_message
from database.history.reading import list_messages
from database.search.index import folded, word_runs
from database.search.indexing import index_pending
from database.turns.identity import FinishedTurn
from search.messages import FoundMessages, search_messages
from search.query import SearchQuery, first_day, parse_query
from search.ranking import snippet
from tests.tiers import examples

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
TakeTurn = Callable[..., FinishedTurn]
SAID = {
    "Bread": [("The quick brown fox", "A naïve café owner"), ("深度学习很有趣", "ПРИВЕТ мир")],
    "Garden": [("fox and hound", "the owner of a brown fox"), ("Use snake_case, not foo-bar", "snake in the grass")],
}


def conversation(database: Database, owner: str = ANN) -> str:
    return create_conversation(database=database, user_email=owner, domain="assistant").conversation_id


@pytest.fixture(params=["indexed", "not indexed yet"])
def said(database: Database, take_turn: TakeTurn, request: pytest.FixtureRequest) -> dict[str, str]:
    """Conversation ids by title; all of SAID was said, once with a full index, once with an empty one."""
    ids = {title: conversation(database) for title in SAID}
    for title, turns in SAID.items():
        for text, answer in turns:
            take_turn(ANN, ids[title], text=text, answer=answer, title=title)
    if request.param == "indexed":
        index_pending(database=database)
    return ids


def search(database: Database, q: str | SearchQuery, *, owner: str = ANN, **more: Any) -> FoundMessages:
    query = parse_query(q) if isinstance(q, str) else q
    return search_messages(database=database, user_email=owner, query=query, **more)


def texts(found: FoundMessages) -> list[str]:
    return [hit.message.text for hit in found.messages]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("hound", {"fox and hound"}),
        ("FOX brown", {"The quick brown fox", "the owner of a brown fox"}),
        ("fox brown", {"The quick brown fox", "the owner of a brown fox"}),
        ('"quick brown"', {"The quick brown fox"}),
        ('"brown quick"', set()),
        ("hou", {"fox and hound"}),
        ('"hou"', set()),
        ("ow fox", set()),
        ("cafe", {"A naïve café owner"}),
        ("学习", {"深度学习很有趣"}),
        ("привет", {"ПРИВЕТ мир"}),
        ("fox -brown", {"fox and hound"}),
        ('fox -"quick brown"', {"fox and hound", "the owner of a brown fox"}),
        ("--snake_case", {"Use snake_case, not foo-bar"}),
        ("foo-bar", {"Use snake_case, not foo-bar"}),
        ("snake sender:model", {"snake in the grass"}),
        ("fox sender:USER", {"The quick brown fox", "fox and hound"}),
        ("fox before:2000", set()),
        ("hound after:2000-01", {"fox and hound"}),
        ("-fox -snake sender:user", {"深度学习很有趣"}),
    ],
)
def test_words_phrases_and_filters_choose(database: Database, said: dict[str, str], q: str, expected: set[str]) -> None:
    assert said
    assert set(texts(search(database, q))) == expected


def test_a_conversation_is_named_by_its_friendly_id_or_its_id(database: Database, said: dict[str, str]) -> None:
    row = get_conversation(database=database, user_email=ANN, conversation_id=said["Garden"])
    expected = {"fox and hound", "the owner of a brown fox"}
    for name in (row.conversation_friendly_id, f"@conversation_{row.conversation_friendly_id}"):
        assert set(texts(search(database, f"fox in:{name}"))) == expected
    by_id = replace(parse_query("fox"), conversation=said["Garden"])
    assert set(texts(search(database, by_id))) == expected
    unknown = search(database, "fox in:nothing_here_0000")
    assert (unknown.messages, len(unknown.warnings)) == ([], 1)


@pytest.mark.parametrize("q", ["", "  ", '"', "*", "🙂", "%", "()", "\x00", "\ud800", '""" *', "-", "zebra"])
def test_where_nothing_is_meant_nothing_is_found(database: Database, said: dict[str, str], q: str) -> None:
    assert said
    assert texts(search(database, q)) == []


@examples(80)
@given(
    q=st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(["fox", "-", '"', "sender:", "in:", "before:", "2026-13", "2026", "owner", "NOT", "(", " "])
        ).map("".join),
    )
)
def test_any_text_is_a_query(database: Database, said: dict[str, str], q: str) -> None:
    everything = {text for turns in SAID.values() for turn in turns for text in turn}
    assert said
    for hit in search(database, q).messages:
        assert hit.message.text in everything
        assert all(0 <= begin < end <= len(hit.snippet.text) for begin, end in hit.snippet.ranges)


def test_a_hit_says_where_it_is_and_which_words_fit(database: Database, said: dict[str, str]) -> None:
    (hit,) = search(database, "naive own").messages
    assert (hit.conversation_title, hit.message.index, hit.message.sender) == ("Bread", 2, "model")
    assert hit.message.conversation_id == said["Bread"]
    assert hit.conversation_friendly_id.startswith("bread")
    assert [hit.snippet.text[slice(*place)] for place in hit.snippet.ranges] == ["naïve", "owner"]


def test_what_belongs_to_others_is_never_found(database: Database, said: dict[str, str], take_turn: TakeTurn) -> None:
    take_turn(BOB, conversation(database, BOB), text="a secret fox", answer="ok")
    index_pending(database=database)
    take_turn(BOB, conversation(database, BOB), text="another secret fox", answer="ok")
    assert not any("secret" in text for text in texts(search(database, "fox")))
    assert set(texts(search(database, "fox", owner=BOB))) == {"a secret fox", "another secret fox"}
    theirs = replace(parse_query("fox"), conversation=said["Bread"])
    assert texts(search(database, theirs, owner=BOB)) == []


def test_the_archive_is_searched_and_the_bin_is_not(database: Database, said: dict[str, str]) -> None:
    own = {"database": database, "user_email": ANN}
    update_conversation(**own, conversation_id=said["Bread"], changes={"archived": 1})
    assert "The quick brown fox" in texts(search(database, "fox"))
    delete_conversation(**own, conversation_id=said["Bread"])
    assert set(texts(search(database, "fox"))) == {"fox and hound", "the owner of a brown fox"}


def test_a_bin_of_more_conversations_than_a_query_can_name_is_not_searched(
    database: Database, take_turn: TakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in ("sqlite", "postgresql"):
        monkeypatch.setattr(f"search.{engine}._BINS", 1)
    ids = [conversation(database) for _ in range(4)]
    for number, where in enumerate(ids):
        take_turn(ANN, where, text=f"apple {number}", answer="ok")
    index_pending(database=database)
    for where in ids[:3]:
        delete_conversation(database=database, user_email=ANN, conversation_id=where)
    assert texts(search(database, "apple")) == ["apple 3"]


def test_temporary_conversations_are_not_searched(
    database: Database, said: dict[str, str], take_turn: TakeTurn
) -> None:
    assert said
    temporary = create_temporary_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    take_turn(ANN, temporary, text="a passing hound", answer="ok")
    for _ in ("not indexed yet", "indexed"):
        assert texts(search(database, "hound")) == ["fox and hound"]
        within = search(database, replace(parse_query("hound"), conversation=temporary))
        assert (within.messages, len(within.warnings)) == ([], 1)
        index_pending(database=database)


def test_the_beginning_of_a_word_is_one_however_many_words_begin_so(
    database: Database, take_turn: TakeTurn, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    where = conversation(database)
    for number in range(5):
        take_turn(ANN, where, text=" ".join(f"sour{letter}{number}" for letter in "abcdefghijklmnopqr"), answer="ok")
        take_turn(BOB, conversation(database, BOB), text=f"sourdough{number}", answer="ok")
    index_pending(database=database)
    assert len(texts(search(database, "sour"))) == 5
    assert len(texts(search(database, "soura"))) == 5
    assert len(texts(search(database, '"sourb0" "sourc0" sourd'))) == 1
    assert texts(search(database, "sourdo")) == []
    with statements() as seen:
        search(database, "soura")
    assert len(seen) <= 9


def test_messages_of_one_conversation_are_numbered_among_its_live_ones(database: Database, take_turn: TakeTurn) -> None:
    own = {"database": database, "user_email": ANN}
    ids = [conversation(database), conversation(database)]
    for number in range(4):
        for conversation_id in ids:
            take_turn(ANN, conversation_id, text=f"apple {number}", answer="ok")
    second = list_messages(**own, conversation_id=ids[0])[2]
    delete_message(**own, conversation_id=ids[0], message_id=second.message_id, index=3)
    index_pending(database=database)
    found = {
        (hit.message.conversation_id, hit.message.text): hit.message.index for hit in search(database, "apple").messages
    }
    listed = {
        (row.conversation_id, row.text): row.index
        for conversation_id in ids
        for row in list_messages(**own, conversation_id=conversation_id)
        if row.sender == "user"
    }
    assert found == listed


def test_a_deleted_message_is_found_no_more(database: Database, said: dict[str, str]) -> None:
    own = {"database": database, "user_email": ANN, "conversation_id": said["Garden"]}
    first = list_messages(**own)[0]
    delete_message(**own, message_id=first.message_id, index=1)
    assert texts(search(database, "hound")) == []
    assert [hit.message.index for hit in search(database, "owner fox").messages] == [1]


def test_pages_follow_each_other_whatever_is_said_meanwhile(database: Database, take_turn: TakeTurn) -> None:
    where = conversation(database)
    for number in range(5):
        take_turn(ANN, where, text=f"apple {number}", answer="ok")
    index_pending(database=database)
    first = search(database, "apple", limit=2)
    take_turn(ANN, where, text="apple pie", answer="ok")
    second = search(database, "apple", limit=2, cursor=first.next)
    third = search(database, "apple", limit=2, cursor=second.next)
    assert [text for page in (first, second, third) for text in texts(page)] == [f"apple {n}" for n in (4, 3, 2, 1, 0)]
    assert third.next is None


def test_of_very_many_hits_the_last_page_says_that_there_are_more(
    database: Database, take_turn: TakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = conversation(database)
    for number in range(6):
        take_turn(ANN, where, text=f"apple {number}", answer="ok")
    index_pending(database=database)
    assert search(database, "apple").warnings == []
    for engine in ("sqlite", "postgresql"):
        monkeypatch.setattr(f"search.{engine}._READ", 4)
    few = search(database, "apple")
    assert (texts(few), len(few.warnings), few.next) == (["apple 5", "apple 4"], 1, None)


@pytest.mark.parametrize("cursor", ["x", "1", "1-", "-1-1", "١-١", "1-1 ", "9" * 40 + "-1"])
def test_a_foreign_cursor_is_refused(database: Database, cursor: str) -> None:
    with pytest.raises(InvalidChangeError):
        search(database, "fox", cursor=cursor)


def test_words_side_by_side_and_dense_texts_come_first(database: Database, take_turn: TakeTurn) -> None:
    where = conversation(database)
    filler = "and so on and on about other things, as it goes in long messages " * 5
    for text in (f"rye flour {filler}", "flour of rye", "rye flour!"):
        take_turn(ANN, where, text=text, answer="ok")
    index_pending(database=database)
    assert texts(search(database, "rye flour"))[0] == "rye flour!"


@pytest.mark.parametrize("q", ["fox", "fox brown -quick sender:user after:2020 in:x", "-fox"])
def test_the_number_of_queries_does_not_depend_on_what_is_found(
    database: Database, said: dict[str, str], statements: Callable[[], AbstractContextManager[list[str]]], q: str
) -> None:
    assert said
    with statements() as seen:
        search(database, q)
    assert len(seen) <= 9


def test_words_of_scripts_without_spaces_stand_together_where_they_were_typed_so() -> None:
    assert parse_query('日本 旅行 rye-flour "white 小麦粉"').written == "日本 旅行 rye flour white 小麦粉"
    assert word_runs("日本 旅行 Größe-a") == [("日", "本"), ("旅", "行"), ("große",), ("a",)]


def test_filters_are_read_and_what_is_none_is_taken_for_words() -> None:
    query = parse_query('rye sender:Model in:"@conversation_bread_k3f9" before:2026-03 after:2026-02-08 flo')
    assert query == SearchQuery(
        phrases=(("rye",), ("flo",)),
        beginning=True,
        sender="model",
        conversation="bread_k3f9",
        before="2026-03-01",
        after="2026-02-08",
    )
    odd = parse_query("sender:bob before:tomorrow")
    assert (odd.unread, odd.filters) == (("sender:bob", "before:tomorrow"), False)
    assert odd.phrases == (("sender", "bob"), ("before", "tomorrow"))
    assert (odd.text, parse_query('"a" b').beginning, parse_query('b "ab"').beginning) == (
        "sender bob before tomorrow",
        False,
        False,
    )


@pytest.mark.parametrize(
    ("text", "day"),
    [("2026", "2026-01-01"), ("2024-02-29", "2024-02-29"), ("2026-02-30", None), ("0000", None), ("26", None)],
)
def test_dates_are_days_months_or_years(text: str, day: str | None) -> None:
    assert first_day(text) == day


def test_a_snippet_of_a_long_text_lies_where_most_is_said() -> None:
    text = "rye " + "word " * 3_000 + "🙂 rye and FLÖUR " + "word " * 3_000
    found = snippet(text, [["rye"], ["flo"]], beginning=True)
    assert len(found.text) < 300
    assert [found.text[slice(*place)] for place in found.ranges] == ["rye", "FLÖUR"]
    assert (found.text[:2], found.text[-2:]) == ("… ", " …")


def test_all_words_that_a_snippet_shows_are_marked_and_none_behind_it() -> None:
    text = f"rye {'so ' * 200}rye bread of rye {'so ' * 100}bread rye"
    found = snippet(text, [["rye"], ["bread"]], beginning=False)
    assert [found.text[slice(*place)] for place in found.ranges] == ["rye", "bread", "rye"]


def test_a_snippet_is_one_line_and_whole_where_the_text_is_short() -> None:
    found = snippet("one\n\ttwo", [["two"]], beginning=False)
    assert (found.text, found.ranges) == ("one  two", [(5, 8)])
    assert snippet("", [], beginning=False) == ("", [])


@given(text=st.text(max_size=700), words=st.lists(st.text("abcß", min_size=1, max_size=3), min_size=1, max_size=3))
def test_ranges_always_lie_within_the_snippet(text: str, words: list[str]) -> None:
    phrases = [parse_query(word).phrases[0] for word in words]
    found = snippet(text, phrases, beginning=True)
    ends = [0, *(place for span in found.ranges for place in span), len(found.text)]
    assert ends == sorted(ends)


@pytest.mark.parametrize(("text", "q"), [("Η ΜΕΓΑΛΗ ΟΔΟΣ", "οδός"), ("so 𝐇𝐞𝐥𝐥𝐨 it is", "hello")])
def test_what_is_found_is_shown_whatever_letters_it_is_written_in(text: str, q: str) -> None:
    found = snippet(text, parse_query(q).phrases, beginning=False)
    assert [folded(found.text[slice(*place)]) for place in found.ranges] == [folded(q)]


@given(text=st.text(max_size=300))
def test_folding_folded_text_changes_nothing_and_parts_fold_to_as_many_characters_as_the_whole(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    assert sum(len(folded(character)) for character in text) == len(folded(text))


def test_what_was_not_read_of_a_long_tail_is_told(
    database: Database, take_turn: TakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = conversation(database)
    for text in ("a lonely fox", "wind", "rain"):
        take_turn(ANN, talk, text=text, answer="ok")
    for most, texts, warnings in ((6, ["a lonely fox"], 0), (4, [], 1)):
        monkeypatch.setattr("search.messages._TAIL", most + 1 if not warnings else most)
        found = search_messages(database=database, user_email=ANN, query=parse_query("fox"), limit=9)
        assert [each.message.text for each in found.messages] == texts
        assert len(found.warnings) == warnings
