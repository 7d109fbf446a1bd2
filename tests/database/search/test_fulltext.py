"""Messages are found at once, by any words, and only by their owner; the index follows edits and deletes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from database.conversations.repository import create_conversation, delete_conversation
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.history.editing import delete_message, edit_message
from database.history.reading import list_messages
from database.schema import messages
from database.search import index as fulltext_index
from database.search.indexing import index_pending
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from search.messages import search_conversation
from tests.tiers import examples

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
SAID = [
    "The quick brown fox",
    "A naïve café owner",
    "深度学习很有趣",
    "Use snake_case, not foo-bar",
    "ПРИВЕТ мир",
    "हिन्दी में लिखो",
    "𝐇𝐞𝐥𝐥𝐨 from Anaphora™",
    "Η ΜΕΓΑΛΗ ΟΔΟΣ",
]


@pytest.fixture
def own(database: Database) -> dict[str, str]:
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


@pytest.fixture(params=["indexed", "not indexed yet"])
def said(own: dict[str, str], take_turn: Callable[..., FinishedTurn], request: pytest.FixtureRequest) -> dict[str, str]:
    """A conversation in which all of SAID was said, once with a full index, once with an empty one."""
    for text in SAID:
        take_turn(ANN, own["conversation_id"], text=text, answer="ok")
    if request.param == "indexed":
        assert index_pending(database=own["database"]) == 2 * len(SAID)
    return own


def found(own: dict[str, str], q: str, limit: int = 20) -> list[str]:
    return [row.text for row in search_conversation(**own, q=q, limit=limit)]


@pytest.mark.parametrize(
    ("q", "place"),
    [
        ("brown fox", 0),
        ("FOX quick", 0),
        ("bro", 0),
        ("quick bro", 0),
        ("naive cafe", 1),
        ("CAFÉ", 1),
        ("学习", 2),
        ("snake_case", 3),
        ("foo-ba", 3),
        ("привет", 4),
        ("हिन्दी", 5),
        ("hello", 6),
        ("anaphoratm", 6),
        ("Οδός", 7),
    ],
)
def test_words_are_found_without_regard_to_case_and_accents(said: dict[str, str], q: str, place: int) -> None:
    assert found(said, q) == [SAID[place]]


@pytest.mark.parametrize("q", ["fox owner", "rown", "习学", "bar-foo", "bro quick", "zebra", "f"])
def test_what_was_not_said_is_not_found(said: dict[str, str], q: str) -> None:
    assert found(said, q) == []


@pytest.mark.parametrize("q", ["", "  ", '"', "*", "🙂", "%", "_", "()", "\x00", "\ud800", "'; --", '""" *'])
def test_a_query_without_words_finds_nothing(said: dict[str, str], q: str) -> None:
    assert found(said, q) == []


@pytest.mark.parametrize(
    "q", ["AND", "fox OR", "NEAR(", "body:fox", 'fox" OR "a', "x " * 5_000, "y" * 10_240, "fox* AND"]
)
def test_operators_and_long_texts_are_only_words(said: dict[str, str], q: str) -> None:
    assert found(said, q) == []


@examples(60)
@given(q=st.text(max_size=60))
def test_any_text_is_a_query(said: dict[str, str], q: str) -> None:
    assert set(found(said, q)) <= {*SAID, "ok"}


def test_the_best_come_first_then_the_newest(own: dict[str, str], take_turn: Callable[..., FinishedTurn]) -> None:
    filler = "and so on and on about other things, as it goes in long messages " * 5
    for text in (f"cats {filler}?", "cats and cats and cats", f"cats {filler}!", "one cats"):
        take_turn(ANN, own["conversation_id"], text=text, answer="ok")
    index_pending(database=own["database"])
    assert found(own, "cats") == ["cats and cats and cats", "one cats", f"cats {filler}!", f"cats {filler}?"]
    assert found(own, "cats", limit=1) == ["cats and cats and cats"]


def test_indexed_and_unindexed_messages_are_found_together(
    own: dict[str, str], take_turn: Callable[..., FinishedTurn]
) -> None:
    take_turn(ANN, own["conversation_id"], text="old apple", answer="ok")
    index_pending(database=own["database"])
    take_turn(ANN, own["conversation_id"], text="new apple", answer="ok")
    assert sorted(found(own, "apple")) == ["new apple", "old apple"]


def test_an_edit_is_found_by_its_new_words_alone(said: dict[str, str]) -> None:
    message = list_messages(**said)[0]
    edit_message(**said, message_id=message.message_id, index=1, text="The slow green turtle")
    index_pending(database=said["database"])
    assert found(said, "turtle") == ["The slow green turtle"]
    assert found(said, "fox") == []


def test_a_deleted_message_is_found_no_more(said: dict[str, str]) -> None:
    delete_message(**said, message_id=list_messages(**said)[0].message_id, index=1)
    assert found(said, "fox") == []
    index_pending(database=said["database"])
    assert found(said, "fox") == []
    check_index(said)


def test_forgotten_messages_leave_no_word_behind(said: dict[str, str]) -> None:
    seqs = [row.seq for row in list_messages(**said)]
    index_pending(database=said["database"])
    store = said["database"]
    store.write(lambda connection: fulltext_index.forget(connection, seqs))
    with store.reading() as connection:
        hits = fulltext_index.newest_hits(
            connection, user_email=ANN, conversation_id=said["conversation_id"], phrases=[["fox"]], limit=9
        )
    assert hits == []
    check_index(said)


def test_an_answer_being_written_waits_and_is_found_when_it_ends(own: dict[str, str]) -> None:
    accepted = accept_turn(**own, text="a question", config={})
    assert index_pending(database=own["database"]) == 1
    finish_turn(
        **own,
        response_message_id=accepted.response_message_id,
        text="the reply",
        status="complete",
        config={},
        title="Talk",
    )
    assert found(own, "reply") == ["the reply"]
    assert index_pending(database=own["database"]) == 1
    assert found(own, "reply") == ["the reply"]
    assert index_pending(database=own["database"]) == 0


def test_an_old_answer_that_is_made_again_keeps_nothing_else_from_being_indexed(
    own: dict[str, str], take_turn: Callable[..., FinishedTurn]
) -> None:
    old = take_turn(ANN, own["conversation_id"], text="the old one")
    index_pending(database=own["database"])
    again = update(messages).where(messages.c.message_id == old.response_message_id).values(status="streaming")
    own["database"].write(lambda connection: connection.execute(again).rowcount)
    other = create_conversation(database=own["database"], user_email=ANN, domain="assistant").conversation_id
    take_turn(ANN, other, text="the new one")
    assert index_pending(database=own["database"]) == 2


def test_indexing_goes_in_slices(own: dict[str, str], take_turn: Callable[..., FinishedTurn]) -> None:
    for number in range(5):
        take_turn(ANN, own["conversation_id"], text=f"word{number}", answer="ok")
    assert index_pending(database=own["database"], slice_ms=0) == 10
    assert found(own, "word3") == ["word3"]
    assert index_pending(database=own["database"]) == 0


def test_other_conversations_are_not_searched(said: dict[str, str], take_turn: Callable[..., FinishedTurn]) -> None:
    for user_email in (ANN, BOB):
        room = create_conversation(database=said["database"], user_email=user_email, domain="assistant")
        take_turn(user_email, room.conversation_id, text="Another fox", answer="ok")
    index_pending(database=said["database"])
    assert found(said, "fox") == [SAID[0]]


def test_foreign_missing_and_binned_conversations_are_not_searched(said: dict[str, str]) -> None:
    for who in (said | {"user_email": BOB}, said | {"conversation_id": "nobody_1"}):
        with pytest.raises(ConversationNotFoundError):
            found(who, "fox")
    delete_conversation(**said)
    with pytest.raises(ConversationNotFoundError):
        found(said, "fox")


def check_index(own: dict[str, str]) -> None:
    """Raise unless SQLite's full-text table is sound in itself."""
    if own["database"].backend.file is None:
        return
    own["database"].write(
        lambda connection: connection.exec_driver_sql(
            "INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')"
        ).close()
    )


@pytest.mark.parametrize(
    ("beginning", "wanted"),
    [("anap", ["anaphoratm"]), ("snak", ["snake"]), ("приве", ["привет"]), ("zzzz", None), ("hundre", None)],
)
def test_an_open_beginning_stands_for_the_few_words_that_begin_so(
    own: dict[str, str], take_turn: Callable[..., FinishedTurn], beginning: str, wanted: list[str] | None
) -> None:
    for text in [*SAID, " ".join(f"hundred{number}" for number in range(100))]:
        take_turn(ANN, own["conversation_id"], text=text, answer="ok")
    index_pending(database=own["database"])
    with own["database"].reading() as connection:
        assert fulltext_index.completions(connection, ANN, beginning) == wanted
    assert len(found(own, beginning)) == (beginning != "zzzz")
