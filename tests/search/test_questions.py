"""A question finds the messages that say or mean what it asks for, in whatever words; nobody else's ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import update

from database.conversations.repository import create_conversation, delete_conversation, update_conversation
from database.engine.database import Database
from database.history.editing import delete_message, edit_message, move_messages
from database.history.reading import list_messages
from database.schema import message_vectors, messages, unembedded_messages
from database.search.indexing import index_pending
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from language_models.errors import ModelUnavailableError
from search.embedding import windows
from search.meaning import MessageVectors
from search.messages import Asking, FoundMessages, search_messages
from search.query import parse_query
from search.things.conversations import conversations_meant
from tests.search.thesaurus import Thesaurus

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
TakeTurn = Callable[..., FinishedTurn]
TODAY = date(2026, 6, 20)


@pytest.fixture
def model() -> Thesaurus:
    return Thesaurus()


@pytest.fixture
def vectors(database: Database, model: Thesaurus) -> MessageVectors:
    return MessageVectors(database=database, model=lambda: model)


@pytest.fixture
def say(database: Database, take_turn: TakeTurn, vectors: MessageVectors) -> Callable[..., str]:
    """Say something in a conversation of its own, or in a given one; indexed and embedded. The conversation's id."""

    def said(*turns: tuple[str, str], owner: str = ANN, conversation_id: str | None = None) -> str:
        made = create_conversation(database=database, user_email=owner, domain="assistant").conversation_id
        here = conversation_id or made
        for text, answer in turns:
            take_turn(owner, here, text=text, answer=answer)
        index_pending(database=database)
        vectors.embed_pending()
        return here

    return said


@pytest.fixture
def ask(database: Database, vectors: MessageVectors) -> Callable[..., list[str]]:
    """The texts that a question finds, best first."""

    def asked(text: str, *, owner: str = ANN, **more: Any) -> list[str]:
        return [hit.message.text for hit in _found(database, vectors, text, owner=owner, **more).messages]

    return asked


def _found(database: Database, vectors: MessageVectors, text: str, *, owner: str = ANN, **more: Any) -> FoundMessages:
    asking = Asking(text=text, today=TODAY, vectors=vectors)
    more.setdefault("mode", "auto")
    return search_messages(database=database, user_email=owner, query=parse_query(text), asking=asking, **more)


def _rows(database: Database, table: Any) -> list[Any]:
    with database.reading() as connection:
        return list(connection.execute(table.select()))


def test_a_question_finds_what_means_the_same_in_other_words(say: Any, ask: Any) -> None:
    say(("My automobile rattles.", "Have it looked at."))
    say(("The loaf is too dark.", "Lower the heat."))
    assert ask("What was wrong with the car again?")[0] == "My automobile rattles."
    assert ask("What was wrong with the car again?", mode="words") == []


def test_other_forms_of_the_words_of_a_question_are_found_without_a_model(
    say: Any, database: Database, model: Thesaurus, vectors: MessageVectors
) -> None:
    model.phase = "none"
    say(("I pruned both apple trees.", "Good."), ("It rained.", "All day."))
    found = _found(database, vectors, "How do I prune an apple tree?")
    assert found.messages[0].message.text == "I pruned both apple trees."
    assert found.warnings == []
    begin, end = found.messages[0].snippet.ranges[0]
    assert found.messages[0].snippet.text[begin:end] == "pruned"


def test_an_answer_is_read_together_with_its_question(say: Any, ask: Any) -> None:
    say(("How long does the sourdough rest?", "Fourteen hours."), ("And the oven?", "230 degrees."))
    say(("How far is the moon?", "Twelve light seconds, roughly."))
    found = ask("When is the bread ready for baking?")
    assert set(found[:2]) == {"How long does the sourdough rest?", "Fourteen hours."}


def test_a_question_of_another_branch_is_read_with_what_comes_before_that_branch(
    say: Any, ask: Any, database: Database, vectors: MessageVectors
) -> None:
    here = say(("My automobile rattles.", "Have it looked at."), ("The loaf is too dark.", "Lower the heat."))
    own = {"database": database, "user_email": ANN, "conversation_id": here}
    (_, _, loaf, _) = list_messages(**own)
    turn = accept_turn(**own, text="What would that cost?", config={}, instead_of=loaf.message_id)
    ended = {"response_message_id": turn.response_message_id, "text": "Little.", "status": "complete"}
    finish_turn(**own, **ended, config={})
    index_pending(database=database)
    vectors.model().embedded.clear()  # type: ignore[union-attr]
    vectors.embed_pending()
    read = vectors.model().embedded  # type: ignore[union-attr]
    assert "Have it looked at.\nWhat would that cost?" in read
    assert "What would that cost?\nLittle." in read
    # A search counts the same neighbours in.
    assert ask("What does the car cost to repair?")[:2] == ["My automobile rattles.", "Have it looked at."]


def test_a_message_that_is_moved_is_read_anew_with_what_comes_before_it_now(
    say: Any, database: Database, model: Thesaurus, vectors: MessageVectors
) -> None:
    here = say(("One?", "First."), ("Two?", "Second."))
    own = {"database": database, "user_email": ANN, "conversation_id": here}
    second = list_messages(**own)[2]
    move_messages(**own, message_ids=[second.message_id], direction="up")
    model.embedded.clear()
    vectors.embed_pending()
    assert {text for text in model.embedded if "\n" in text} == {"One?\nTwo?", "Two?\nFirst.", "First.\nSecond."}
    assert len(_rows(database, message_vectors)) == 4


def test_a_conversation_is_found_by_what_its_title_means(say: Any, database: Database, vectors: MessageVectors) -> None:
    here, other = say(("Hello there.", "Hello.")), say(("The loaf is too dark.", "Lower the heat."))
    update_conversation(database=database, user_email=ANN, conversation_id=here, changes={"title": "My automobile"})
    vectors.embed_pending()

    def meant(text: str, owner: str = ANN) -> list[str]:
        asking = Asking(text=text, today=TODAY, vectors=vectors)
        found = conversations_meant(database=database, user_email=owner, asking=asking, limit=5)
        return [each["conversation_id"] for each in found]

    assert meant("Where did we speak of the car?") == [here]
    assert meant("Where did we speak of bread?") == [other]
    assert meant("Where did we speak of the car?", BOB) == []
    update_conversation(database=database, user_email=ANN, conversation_id=here, changes={"title": "My dog"})
    vectors.embed_pending()
    assert meant("Where did we speak of the car?") == []


def test_keywords_that_find_enough_are_not_asked_by_meaning(say: Any, ask: Any, model: Thesaurus) -> None:
    say(*((f"The car number {number}", "Fine.") for number in range(6)))
    say(("My automobile", "Fine."))
    model.embedded.clear()
    assert len(ask("car number")) == 6
    assert model.embedded == []


def test_keywords_that_find_little_are_asked_by_meaning_too_and_what_says_them_comes_first(say: Any, ask: Any) -> None:
    say(("An attorney wrote to us.", "What does he want?"))
    say(("The lawyer and the vacation", "Noted."))
    assert ask("lawyer vacation")[0] == "The lawyer and the vacation"
    assert "An attorney wrote to us." in ask("lawyer vacation")


@pytest.mark.parametrize("question", ["What about bread?", "and the bread", "the breads", "bread?", "Was ist bread?"])
@pytest.mark.parametrize("phase", ["none", "ready"])
def test_a_short_question_is_found_by_the_words_that_count(
    say: Any, ask: Any, model: Thesaurus, question: str, phase: Any
) -> None:
    model.phase = phase
    say(("I baked a bread in the morning.", "Well done."), ("It rained.", "All day."))
    say(("My automobile rattles.", "What about the garage?"))
    assert "I baked a bread in the morning." in ask(question)[:2]
    assert "My automobile rattles." not in ask(question)
    assert ask(question, mode="words") == ([] if len(question) > 6 else ["I baked a bread in the morning."])


def test_of_keywords_that_find_little_enough_has_to_be_said(say: Any, ask: Any, model: Thesaurus) -> None:
    model.phase = "none"
    say(("The rye bread is dark.", "Lower the heat."), ("The zeppelin lands.", "At last."), ("本を読む。", "はい。"))
    say(*((f"Bread number {number}", "Fine.") for number in range(8)))
    assert ask("bread garage lantern") == []
    assert {"The rye bread is dark.", "The zeppelin lands."} <= set(ask("rye zeppelin"))
    assert ask("日本") == []


def test_quoted_words_are_meant_as_they_are(say: Any, ask: Any) -> None:
    say(("My automobile rattles.", "Have it looked at."))
    assert ask('"what is wrong with my car"') == []


def test_filters_hold_for_questions(say: Any, ask: Any, database: Database) -> None:
    here = say(("My automobile rattles.", "Which vehicle is it?"))
    say(("The vehicle is red.", "Lovely."))
    # An answer is read with its question.
    assert ask("What about the car please? sender:model") == ["Which vehicle is it?", "Lovely."]
    assert set(ask(f"What about the car please? in:{here}")) <= {"My automobile rattles.", "Which vehicle is it?"}
    assert "The vehicle is red." not in ask("What about the car please? -red")
    assert ask("What about the car please? before:2020") == []


def test_a_time_in_the_question_counts(say: Any, ask: Any, database: Database) -> None:
    first = say(("The puppy weighs 20 kilos.", "Thanks."))
    second = say(("The puppy weighs 23 kilos.", "Thanks."))
    with_times = {first: "2026-02-10T08:00:00.000000+00:00", second: "2025-12-20T08:00:00.000000+00:00"}
    for conversation_id, time in with_times.items():
        said = update(messages).where(messages.c.conversation_id == conversation_id).values(created_at=time)
        database.write(lambda connection, said=said: connection.execute(said).rowcount)
    assert ask("What did the dog weigh in February?")[0] == "The puppy weighs 20 kilos."
    assert ask("What did the dog weigh around Christmas?")[0] == "The puppy weighs 23 kilos."


def test_nobody_finds_what_others_said(say: Any, ask: Any) -> None:
    say(("My automobile rattles.", "Have it looked at."), owner=BOB)
    say(("The loaf is dark.", "Lower the heat."))
    assert not any("automobile" in text for text in ask("What was wrong with the car again?"))
    assert ask("What was wrong with the car again?", owner=BOB)[0] == "My automobile rattles."


def test_what_is_deleted_is_not_found_and_its_vectors_are_gone(say: Any, ask: Any, database: Database) -> None:
    here = say(("My automobile rattles.", "Have it looked at."), ("Thanks", "Welcome"))
    own = {"database": database, "user_email": ANN, "conversation_id": here}
    first, second, *_ = list_messages(**own, after=0, limit=10)
    delete_message(**own, message_id=first.message_id, index=None)
    assert not any("automobile" in text for text in ask("What was wrong with the car again?"))
    # The answer was read with it, so its vector goes too, and is made anew.
    assert {first.seq, second.seq}.isdisjoint(row.seq for row in _rows(database, message_vectors))
    assert [row.seq for row in _rows(database, unembedded_messages)] == [second.seq]
    delete_conversation(**own)
    assert ask("What was wrong with the car again?") == []


@pytest.mark.parametrize("waits_for_vectors", [False, True])
def test_the_last_message_of_an_older_conversation_can_be_deleted(
    say: Any, take_turn: TakeTurn, database: Database, waits_for_vectors: bool
) -> None:
    here = say(("My automobile rattles.", "Have it looked at."))
    if waits_for_vectors:
        other = create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
        take_turn(ANN, other, text="Thanks", answer="Welcome")
        index_pending(database=database)
    queue = _rows(database, unembedded_messages)
    assert len(queue) == 2 * waits_for_vectors
    own = {"database": database, "user_email": ANN, "conversation_id": here}
    last = list_messages(**own, after=0, limit=10)[-1]
    delete_message(**own, message_id=last.message_id, index=None)
    assert last.seq not in {row.seq for row in _rows(database, message_vectors)}
    assert _rows(database, unembedded_messages) == queue


def test_a_message_that_is_deleted_while_it_is_embedded_gets_no_vectors(
    database: Database, take_turn: TakeTurn, vectors: MessageVectors, model: Thesaurus, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    take_turn(ANN, here, text="My automobile rattles.", answer="Have it looked at.")
    index_pending(database=database)
    own = {"database": database, "user_email": ANN, "conversation_id": here}
    first, last = list_messages(**own, after=0, limit=10)
    embed = model.embed

    def delete_meanwhile(texts: Sequence[str]) -> NDArray[np.float32]:
        monkeypatch.undo()
        delete_message(**own, message_id=last.message_id, index=None)
        return embed(texts)

    monkeypatch.setattr(model, "embed", delete_meanwhile)
    vectors.embed_pending()
    assert {row.seq for row in _rows(database, message_vectors)} == {first.seq}
    assert _rows(database, unembedded_messages) == []


def test_archived_conversations_are_found(say: Any, ask: Any, database: Database) -> None:
    here = say(("My automobile rattles.", "Have it looked at."))
    update_conversation(database=database, user_email=ANN, conversation_id=here, changes={"archived": 1})
    assert ask("What was wrong with the car again?")[0] == "My automobile rattles."


def test_an_edited_message_is_found_by_what_it_means_now(
    say: Any, ask: Any, database: Database, vectors: MessageVectors
) -> None:
    here = say(("My automobile rattles.", "Have it looked at."))
    own = {"database": database, "user_email": ANN, "conversation_id": here}
    (message, *_) = list_messages(**own, after=0, limit=10)
    edit_message(**own, message_id=message.message_id, index=None, text="My physician is ill.")
    assert vectors.embed_pending() == 2
    assert ask("How is the doctor doing now?")[0] == "My physician is ill."


def test_what_was_said_just_now_is_found_before_it_is_indexed(
    database: Database, take_turn: TakeTurn, ask: Any, say: Any
) -> None:
    here = say(("Hello", "Hi"))
    take_turn(ANN, here, text="The tyres were replaced.", answer="Good.")
    assert ask("When did we replace the tyre?")[0] == "The tyres were replaced."


def test_a_model_that_fails_leaves_the_words_and_says_so(
    say: Any, database: Database, vectors: MessageVectors, model: Thesaurus, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(("I pruned both apple trees.", "Good."))

    def fail(_texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelUnavailableError("Gone.", model="thesaurus")

    monkeypatch.setattr(model, "embed", fail)
    found = _found(database, vectors, "How do I prune an apple tree?")
    assert found.messages[0].message.text == "I pruned both apple trees."
    assert found.warnings == ["Messages were searched by their words alone: the embedding model did not answer."]


def test_a_model_that_fails_at_its_first_measurement_leaves_the_words_and_says_so(
    say: Any, database: Database, vectors: MessageVectors, model: Thesaurus
) -> None:
    say(("I pruned both apple trees.", "Good."))
    model.refuses = "orchestra"  # of the sentences by which a model is measured
    found = _found(database, vectors, "How do I prune an apple tree?")
    assert found.messages[0].message.text == "I pruned both apple trees."
    assert found.warnings == ["Messages were searched by their words alone: the embedding model did not answer."]


def test_pages_follow_each_other_without_gaps(say: Any, database: Database, vectors: MessageVectors) -> None:
    say(*((f"The vehicle of neighbour {number}", "Noted.") for number in range(9)))
    whole = [hit.message.seq for hit in _found(database, vectors, "What about their car again?", limit=100).messages]
    paged, cursor = list[int](), None
    while True:
        page = _found(database, vectors, "What about their car again?", limit=4, cursor=cursor)
        paged += [hit.message.seq for hit in page.messages]
        cursor = page.next
        if cursor is None:
            break
    assert paged == whole
    assert len(whole) >= 9


def test_the_newest_messages_get_their_vectors_first(
    database: Database, take_turn: TakeTurn, vectors: MessageVectors, model: Thesaurus
) -> None:
    here = create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    for number in range(20):
        take_turn(ANN, here, text=f"Question {number}", answer=f"Answer {number}")
    index_pending(database=database)
    assert vectors.embed_pending(budget_seconds=0) == 16
    seqs = sorted(row.seq for row in _rows(database, message_vectors))
    rows = list_messages(database=database, user_email=ANN, conversation_id=here, after=0, limit=100)
    assert seqs == sorted(row.seq for row in rows)[-16:]
    assert vectors.embed_pending() == 24
    assert vectors.embed_pending() == 0


def test_another_model_makes_all_vectors_anew(say: Any, database: Database, vectors: MessageVectors) -> None:
    say(("My automobile rattles.", "Have it looked at."))
    other = Thesaurus("other")
    switched = MessageVectors(database=database, model=lambda: other)
    assert switched.embed_pending() == 2
    assert len(_rows(database, message_vectors)) == 2
    found = _found(database, vectors, "What was wrong with the car again?", mode="meaning")
    assert found.messages == []


def test_a_text_that_the_model_refuses_holds_nothing_up(
    say: Any, database: Database, model: Thesaurus, vectors: MessageVectors
) -> None:
    model.refuses = "poison"
    say(("Some poison for the model", "I see."), ("My automobile rattles.", "Have it looked at."))
    assert _rows(database, unembedded_messages) == []
    # The answer behind it is embedded alone.
    assert len(_rows(database, message_vectors)) == 3


def test_a_long_message_is_embedded_in_windows_and_found_by_its_middle(say: Any, ask: Any, database: Database) -> None:
    filler = "Nothing of note happened on that day. " * 40
    say((f"{filler}\n\nThen the puppy ate the remote.\n\n{filler}", "Oh no."))
    assert "remote" in ask("What has the dog eaten back then?")[0]
    assert len(_rows(database, message_vectors)) > 3


@pytest.mark.parametrize(
    "text", ["", "   ", "short", "word " * 1_000, "x" * 5_000, "Ein Satz. " * 300, "深度学习" * 800]
)
def test_windows_hold_the_text_in_order(text: str) -> None:
    pieces = windows(text)
    assert len(pieces) <= 8
    assert all(0 < len(piece) <= 900 for piece in pieces)
    assert "".join(text.split()).startswith("".join("".join(pieces).split()))
