"""Offering conversations: by what was typed of the friendly id, then of the title."""

from __future__ import annotations

from typing import Any

import pytest

from database.conversations import repository as conversations
from database.search.conversations import autocomplete_conversations

ANN, BEN = "ann@example.org", "ben@example.org"


def make(users_dir: str, title: str, friendly_id: str | None, *, email: str = ANN, domain: str = "assistant") -> str:
    own = {"users_dir": users_dir, "user_email": email}
    conversation_id = conversations.create_conversation(**own, domain=domain, title=title).conversation_id
    if friendly_id is not None:
        conversations.setConversationFriendlyId(
            **own, conversation_id=conversation_id, conversation_friendly_id=friendly_id
        )
    return conversation_id


def offered(users_dir: str, q: str, **asked: Any) -> list[str]:
    found = autocomplete_conversations(users_dir=users_dir, user_email=ANN, q=q, **asked)
    return [suggestion["friendly_id"] for suggestion in found]


def test_friendly_ids_that_begin_so_come_before_titles_newest_first(users_dir: str) -> None:
    make(users_dir, "React Hooks", "react_hooks_aaaa")
    make(users_dir, "Notes on react", "notes_react_bbbb")
    make(users_dir, "React Server", "react_server_cccc")
    assert offered(users_dir, "react") == ["react_server_cccc", "react_hooks_aaaa", "notes_react_bbbb"]


@pytest.mark.parametrize("q", ["@conversation_react_h", "conv_react_h", "CONVERSATION_React_H", "  react_h "])
def test_what_the_composer_puts_before_an_id_is_understood(users_dir: str, q: str) -> None:
    make(users_dir, "React Hooks", "react_hooks_aaaa")
    assert offered(users_dir, q) == ["react_hooks_aaaa"]


@pytest.mark.parametrize(
    ("title", "q"),
    [
        ("Größe der ÄPFEL", "äpf grö"),
        ("Оптимизация запросов", "ЗАПР"),
        ("What's the best approach?", "appr best"),
        ("Straße nach Rom", "straße"),
        ("机器学习 入门", "机器"),
    ],
)
def test_each_typed_word_begins_a_word_of_the_title_whatever_the_case(users_dir: str, title: str, q: str) -> None:
    make(users_dir, title, "some_thing_aaaa")
    make(users_dir, "Another", "another_bbbb")
    assert offered(users_dir, q) == ["some_thing_aaaa"]


def test_the_middle_of_a_word_is_no_match(users_dir: str) -> None:
    make(users_dir, "Preact", "preact_aaaa")
    assert offered(users_dir, "react") == []


@pytest.mark.parametrize("q", ["%", "_", "a%", "r_act", "100%", "\\", "'", '"', "\x00", "\ud800", "🙂", "x" * 10_000])
def test_signs_mean_themselves(users_dir: str, q: str) -> None:
    make(users_dir, "React", "react_aaaa")
    assert offered(users_dir, q) == []


def test_nothing_typed_means_the_newest(users_dir: str) -> None:
    for number in range(4):
        make(users_dir, "T", f"t_aaa{number}")
    assert offered(users_dir, "@conversation_", limit=2) == ["t_aaa3", "t_aaa2"]


def test_only_own_live_and_named_conversations_of_the_domain_are_offered(users_dir: str) -> None:
    make(users_dir, "React", "react_aaaa", email=BEN)
    make(users_dir, "React", None)
    deleted = make(users_dir, "React", "react_bbbb")
    conversations.delete_conversation(users_dir=users_dir, user_email=ANN, conversation_id=deleted)
    make(users_dir, "React", "react_cccc", domain="search")
    assert offered(users_dir, "react", domain="assistant") == []
    assert offered(users_dir, "react") == ["react_cccc"]


def test_a_conversation_is_offered_once_with_what_is_shown_of_it(users_dir: str) -> None:
    conversation_id = make(users_dir, "React", "react_aaaa")
    (found,) = autocomplete_conversations(users_dir=users_dir, user_email=ANN, q="react")
    assert found["conversation_id"] == conversation_id
    assert (found["title"], len(found["last_updated"])) == ("React", 19)


@pytest.mark.parametrize("count", [2, 40])
def test_it_takes_two_queries_however_many_there_are(users_dir: str, statements: Any, count: int) -> None:
    for number in range(count):
        make(users_dir, "React", f"x_{number:04d}")
    with statements() as seen:
        assert len(offered(users_dir, "react", limit=50)) == count
    assert len(seen) == 2
