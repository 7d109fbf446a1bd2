"""Offering conversations: by what was typed of the friendly id, then of the title."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from database import schema
from database.accounts.users import create_user
from database.changes import purge_changes, renew_epoch
from database.conversations import repository as conversations
from database.engine.database import Database
from database.maintenance.account_erasure import close_account, erase_account
from search.things import conversations as conversation_search
from search.things.conversations import autocomplete_conversations, conversations_spelled_like, titles_of
from tests.live_server import PASSWORD

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


def make(
    database: Database, title: str, friendly_id: str | None, *, email: str = ANN, domain: str = "assistant"
) -> str:
    own = {"database": database, "user_email": email}
    conversation_id = conversations.create_conversation(**own, domain=domain, title=title).conversation_id
    if friendly_id is not None:
        conversations.set_friendly_id(**own, conversation_id=conversation_id, conversation_friendly_id=friendly_id)
    return conversation_id


def offered(database: Database, q: str, **asked: Any) -> list[str]:
    found = autocomplete_conversations(database=database, user_email=ANN, q=q, **asked)
    return [suggestion["friendly_id"] for suggestion in found]


def test_friendly_ids_that_begin_so_come_before_titles_newest_first(database: Database) -> None:
    make(database, "React Hooks", "react_hooks_aaaa")
    make(database, "Notes on react", "notes_react_bbbb")
    make(database, "React Server", "react_server_cccc")
    assert offered(database, "react") == ["react_server_cccc", "react_hooks_aaaa", "notes_react_bbbb"]


@pytest.mark.parametrize("q", ["@conversation_react_h", "conv_react_h", "CONVERSATION_React_H", "  react_h "])
def test_what_the_composer_puts_before_an_id_is_understood(database: Database, q: str) -> None:
    make(database, "React Hooks", "react_hooks_aaaa")
    assert offered(database, q) == ["react_hooks_aaaa"]


@pytest.mark.parametrize(
    ("title", "q"),
    [
        ("Größe der ÄPFEL", "äpf grö"),
        ("Оптимизация запросов", "ЗАПР"),
        ("What's the best approach?", "appr best"),
        ("Straße nach Rom", "straße"),
        ("机器学习 入门", "机器"),
        ("Müller Projekt", "muller"),
        ("Café planning", "cafe"),
        ("Große Pläne", "grosse plane"),
        ("İstanbul trip", "istanbul"),
        ("旅行日本", "日本"),
        ("日本 2026", "2026日本"),
    ],
)
def test_each_typed_word_begins_a_word_of_the_title_whatever_the_case(database: Database, title: str, q: str) -> None:
    make(database, title, "some_thing_aaaa")
    make(database, "Another", "another_bbbb")
    assert offered(database, q) == ["some_thing_aaaa"]


def test_characters_without_spaces_stand_side_by_side(database: Database) -> None:
    make(database, "本を読む日", "reading_aaaa")
    assert offered(database, "日本") == []


def test_the_middle_of_a_word_is_no_match(database: Database) -> None:
    make(database, "Preact", "preact_aaaa")
    assert offered(database, "react") == []


@pytest.mark.parametrize("q", ["%", "_", "a%", "r_act", "100%", "\\", "'", '"', "\x00", "\ud800", "🙂", "x" * 10_000])
def test_signs_mean_themselves(database: Database, q: str) -> None:
    make(database, "React", "react_aaaa")
    assert offered(database, q) == []


def test_nothing_typed_means_the_newest(database: Database) -> None:
    for number in range(4):
        make(database, "T", f"t_aaa{number}")
    assert offered(database, "@conversation_", limit=2) == ["t_aaa3", "t_aaa2"]


def test_only_own_live_and_named_conversations_of_the_domain_are_offered(database: Database) -> None:
    make(database, "React", "react_aaaa", email=BEN)
    make(database, "React", None)
    deleted = make(database, "React", "react_bbbb")
    conversations.delete_conversation(database=database, user_email=ANN, conversation_id=deleted)
    make(database, "React", "react_cccc", domain="search")
    assert offered(database, "react", domain="assistant") == []
    assert offered(database, "react") == ["react_cccc"]


def test_a_conversation_is_offered_once_with_what_is_shown_of_it(database: Database) -> None:
    conversation_id = make(database, "React", "react_aaaa")
    (found,) = autocomplete_conversations(database=database, user_email=ANN, q="react")
    assert found["conversation_id"] == conversation_id
    assert (found["title"], len(found["last_updated"])) == ("React", 19)


@pytest.mark.parametrize("count", [2, 40])
def test_it_takes_few_queries_however_many_there_are(database: Database, statements: Any, count: int) -> None:
    for number in range(count):
        make(database, "React", f"x_{number:04d}")
    with statements() as at_first:
        assert len(offered(database, "react", limit=50)) == count
    with statements() as later:
        assert len(offered(database, "react", limit=50)) == count
    make(database, "React Native", "native_aaaa")
    with statements() as after_a_change:
        assert len(offered(database, "react", limit=50)) == count + 1
    assert (len(at_first), len(later), len(after_a_change)) == (4, 3, 6)


def test_titles_are_found_as_they_are_now(database: Database) -> None:
    own = {"database": database, "user_email": ANN}
    first, second = make(database, "React", "one_aaaa"), make(database, "Rust", "two_bbbb")
    assert offered(database, "react") == ["one_aaaa"]
    conversations.update_conversation(**own, conversation_id=second, changes={"title": "Reactive Rust"})
    assert offered(database, "react") == ["two_bbbb", "one_aaaa"]
    conversations.update_conversation(**own, conversation_id=first, changes={"title": "Angular"})
    assert offered(database, "react") == ["two_bbbb"]
    conversations.delete_conversation(**own, conversation_id=second)
    assert offered(database, "react") == []
    conversations.restore_conversation(**own, conversation_id=second)
    assert offered(database, "react") == ["two_bbbb"]
    make(database, "React", "ben_aaaa", email=BEN)
    make(database, "React", "three_cccc")
    assert offered(database, "react") == ["three_cccc", "two_bbbb"]


def test_titles_are_found_after_their_changes_were_purged_and_in_another_epoch(database: Database) -> None:
    make(database, "React", "one_aaaa")
    assert offered(database, "react") == ["one_aaaa"]
    make(database, "React Native", "two_bbbb")
    purge_changes(database=database, older_than_days=-1)
    assert offered(database, "react") == ["two_bbbb", "one_aaaa"]
    with database.writing(timeout=10) as connection:
        connection.execute(update(schema.conversations).values(title="Reactor"))
    assert offered(database, "reactor") == []  # no change was recorded: nothing of ours writes a title so
    renew_epoch(database=database)
    assert offered(database, "reactor") == ["two_bbbb", "one_aaaa"]


def test_titles_of_an_erased_account_are_not_those_of_one_that_is_made_again_under_its_address(
    database: Database,
) -> None:
    elsewhere = conversation_search.HeldTitles()  # of a process that does not hear of the erasure

    def found(word: str) -> list[str]:
        with database.reading() as connection:
            return elsewhere.titled(connection, ANN, [word]) or []

    create_user(database=database, user_email=ANN, password=PASSWORD)
    first = [make(database, "React", None) for _ in range(2)]
    assert sorted(found("react")) == sorted(first)
    close_account(database=database, user_email=ANN)
    erase_account(database=database, user_email=ANN)
    create_user(database=database, user_email=ANN, password=PASSWORD)
    again = [make(database, "React", None) for _ in range(3)]
    assert sorted(found("react")) == sorted(again)


def test_many_titles_are_looked_through_by_the_database(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    make(database, "Vue", "vue_aaaa")
    for number in range(4):
        make(database, "Réact" if number == 2 else "React", f"x_{number:04d}")
    expected = ["x_0003", "x_0002", "x_0001", "x_0000"]
    monkeypatch.setattr(conversation_search, "_MOST_LOOKED_UP", 3)
    assert offered(database, "react") == expected
    titles_of(database).forget(ANN)
    monkeypatch.setattr(conversation_search, "_MOST_TITLES", 3)
    assert offered(database, "react") == offered(database, "react", domain="assistant") == expected
    assert offered(database, "react", domain="search") == []
    assert offered(database, "日本") == []


def test_misspelled_ids_are_looked_up_by_their_longest_beginning_and_their_end(database: Database) -> None:
    for number in range(30):
        make(database, "Thought", f"deep_thought_k3{chr(97 + number % 26)}{number // 26}")
    make(database, "Renamed", "bread_starter_k3f9")
    make(database, "Other", "zebra_zzzz")
    make(database, "Of Ben", "deep_thought_k3xx", email=BEN)
    deleted = make(database, "Gone", "deep_thought_k3yy")
    conversations.delete_conversation(database=database, user_email=ANN, conversation_id=deleted)

    def like(typed: str, limit: int) -> list[str]:
        own = {"database": database, "user_email": ANN}
        return [each["friendly_id"] for each in conversations_spelled_like(**own, typed=typed, limit=limit)]

    assert like("deep_thought_k3m9", 1)[:2] == ["deep_thought_k3m0", "deep_thought_k3n0"]
    assert "bread_starter_k3f9" in like("xread_starter_k3f9", 1)
    assert len(like("deep_thought_k3", 100)) == 32
    assert like("a", 1) == ["bread_starter_k3f9"]
    assert len(like("\x00", 1)) == 1


def test_what_has_no_friendly_id_is_offered_where_it_is_asked_for(database: Database) -> None:
    make(database, "Tower plans", "tower_plans_ab12")
    empty = make(database, "Tower", None)
    make(database, "Tower", None, email=BEN)
    for typed in ("", "tow"):
        own = {"database": database, "user_email": ANN, "q": typed}
        assert [each["friendly_id"] for each in autocomplete_conversations(**own)] == ["tower_plans_ab12"]
        offered = autocomplete_conversations(**own, with_unnamed=True)
        assert {each["conversation_id"] for each in offered if not each["friendly_id"]} == {empty}
        assert len(offered) == 2
