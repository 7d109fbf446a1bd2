"""Files of messages are found by what they are called, say and mean: by their owner alone, while a message has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any

import pytest
from sqlalchemy import func, select, update

from attachments.passages import LONGEST, cut, index_pending
from attachments.storage import Attachments
from database.accounts.users import create_user
from database.conversations.deletion import purge_bin
from database.conversations.repository import create_conversation, delete_conversation
from database.engine.database import Database
from database.history.editing import delete_message
from database.schema import attachments as attachment_rows
from database.schema import conversations, file_passages, passage_vectors
from database.search.passages import PASSAGES, progress_of
from database.turns.identity import FinishedTurn
from search.meaning import MessageVectors
from search.messages import Asking, Mode
from search.query import parse_query
from search.things.files import FoundFile, find_files, messages_with_files, reference_to, related_files
from tests.attachments.made_files import pdf_of, picture_of
from tests.search.thesaurus import Thesaurus

pytestmark = pytest.mark.contract
ANN, BOB = "ann@example.org", "bob@example.org"
TakeTurn = Callable[..., FinishedTurn]
Statements = Callable[[], AbstractContextManager[list[str]]]
TODAY = date(2026, 6, 20)


@pytest.fixture
def files(database: Database) -> Attachments:
    for email in (ANN, BOB):
        create_user(database=database, user_email=email, password="a long password")
    return Attachments(database=database)


@pytest.fixture
def vectors(database: Database) -> MessageVectors:
    model = Thesaurus()
    return MessageVectors(database=database, model=lambda: model)


@pytest.fixture
def send(files: Attachments, take_turn: TakeTurn) -> Callable[..., FinishedTurn]:
    """Has a person send files, `{name: content}`, in a new conversation, and indexes them."""

    def sent(contents: dict[str, bytes], *, email: str = ANN) -> FinishedTurn:
        conversation = create_conversation(
            database=files.database, user_email=email, domain="assistant"
        ).conversation_id
        ids = [stored(files, content, name, email).attachment_id for name, content in contents.items()]
        turn = take_turn(email, conversation, text="Look.", files=ids)
        index_pending(files)
        return turn

    return sent


def stored(files: Attachments, content: bytes, name: str, email: str = ANN) -> Any:
    with files.receiving() as path:
        path.write_bytes(content)
        return files.store(email, path, name=name)


def find(
    files: Attachments,
    q: str,
    *,
    email: str = ANN,
    mode: Mode = "words",
    vectors: MessageVectors | None = None,
    most: int = 20,
) -> list[FoundFile]:
    asking = Asking(text=q, today=TODAY, vectors=vectors) if vectors is not None else None
    return find_files(
        database=files.database, user_email=email, query=parse_query(q), most=most, mode=mode, asking=asking
    ).files


def names(found: Sequence[FoundFile]) -> list[str]:
    return [each.use.name for each in found]


def test_a_page_is_found_by_its_words_with_the_reference_to_it(files: Attachments, send: Any) -> None:
    turn = send(
        {"notes.txt": b"Nothing here.", "report.pdf": pdf_of(["The first page.", "A lighthouse stands there."])}
    )
    (found,) = find(files, "lightho")
    assert (found.use.name, found.use.number, found.use.message_index) == ("report.pdf", 2, 1)
    assert found.passage is not None
    assert found.passage.page == 2
    assert [found.snippet.text[slice(*place)] for place in found.snippet.ranges] == ["lighthouse"]
    reference = f"@conversation_{turn.conversation_friendly_id}_message_{found.use.message_short_hash}_file_2_pages_2-2"
    assert reference_to(found) == reference


def test_a_file_is_found_by_its_name_pictures_too(files: Attachments, send: Any) -> None:
    send({"Holiday in Kiel.png": picture_of(20, 10), "other.txt": b"Nothing."})
    (found,) = find(files, "kiel holi")
    assert (found.use.name, found.passage) == ("Holiday in Kiel.png", None)
    assert [found.snippet.text[slice(*place)] for place in found.snippet.ranges] == ["Holiday", "Kiel"]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("Müller", ["Müller Bericht.txt"]),
        ("muller", ["Müller Bericht.txt"]),
        ("BERICHT mül", ["Müller Bericht.txt"]),
        ("Größe", ["Größe.txt"]),
        ("grosse", ["Größe.txt"]),
        ("grösse", ["Größe.txt"]),
        ("日本", ["旅行日本.txt"]),
        ("other.txt", ["Other.txt"]),
        ("日本語", []),
    ],
)
def test_names_are_found_without_their_diacritics_and_in_scripts_without_spaces(
    files: Attachments, send: Any, q: str, expected: list[str]
) -> None:
    named = ("Müller Bericht.txt", "Größe.txt", "旅行日本.txt", "本を読む日.txt", "Other.txt")
    send({name: f"Text {number}".encode() for number, name in enumerate(named)})
    assert names(find(files, q)) == expected
    here = find(files, "text")[0].use.conversation_id
    own: dict[str, Any] = {"database": files.database, "user_email": ANN, "conversation_id": here}
    assert len(messages_with_files(**own, q=q, limit=5)) == len(expected)


def test_words_narrow_down_and_filters_count(files: Attachments, send: Any) -> None:
    turn = send({"a.txt": b"rye flour and water"})
    send({"b.txt": b"rye flour and yeast"})
    assert sorted(names(find(files, "rye flour"))) == ["a.txt", "b.txt"]
    assert names(find(files, "rye -yeast")) == ["a.txt"]
    assert names(find(files, f"rye in:{turn.conversation_friendly_id}")) == ["a.txt"]
    assert names(find(files, "rye sender:model")) == []
    assert names(find(files, "rye before:2001-01-01")) == []
    assert find(files, f"in:{turn.conversation_friendly_id}") == []


@pytest.mark.parametrize("has_same_prefix", [False, True])
def test_nobody_finds_the_files_of_others(
    files: Attachments, send: Any, vectors: MessageVectors, monkeypatch: pytest.MonkeyPatch, has_same_prefix: bool
) -> None:
    if has_same_prefix:
        monkeypatch.setattr("database.search.index.term_prefix", lambda _email: "0another")
    send({"a.txt": b"The automobile needs oil."}, email=ANN)
    vectors.files.embed_pending()
    assert names(find(files, "automobile")) == ["a.txt"]
    for mode in ("words", "meaning", "auto"):
        assert find(files, "automobile", email=BOB, mode=mode, vectors=vectors) == []


def test_a_file_is_found_by_what_it_means(files: Attachments, send: Any, vectors: MessageVectors) -> None:
    send({"garage.pdf": pdf_of(["The fruit is green.", "My automobile rattles when it is cold."])})
    assert vectors.files.embed_pending() == 2
    assert progress_of(database=files.database, user_email=ANN) == (2, 2)
    assert find(files, "vehicle") == []
    (found,) = find(files, "What was wrong with the vehicle?", mode="auto", vectors=vectors)
    assert found.passage is not None
    assert (found.use.name, found.passage.page) == ("garage.pdf", 2)
    asking = Asking(text="What was wrong with the vehicle?", today=TODAY, vectors=vectors)
    own: dict[str, Any] = {"database": files.database, "user_email": ANN, "asking": asking, "most": 3}
    assert names(related_files(**own, without=())) == ["garage.pdf"]
    assert related_files(**own, without=[found.use.message_id]) == []


def test_a_short_question_finds_files_by_the_words_that_count(
    files: Attachments, send: Any, vectors: MessageVectors
) -> None:
    send({"a.txt": b"My bread is in the oven.", "b.txt": b"What about the garden?"})
    model = vectors.model()
    assert isinstance(model, Thesaurus)
    model.phase = "none"
    for q in ("What about bread?", "and the bread"):
        assert find(files, q) == []
        assert names(find(files, q, mode="auto", vectors=vectors)) == ["a.txt"]


def test_a_long_text_is_found_in_all_of_its_passages(files: Attachments, send: Any) -> None:
    lines = [f"Line {number} speaks of {'a walrus' if number in (7, 900) else 'nothing'}." for number in range(1, 1001)]
    send({"long.txt": "\n".join(lines).encode()})
    found = find(files, "walrus")
    places = sorted((each.passage.line_start, each.passage.line_end) for each in found if each.passage is not None)
    assert [any(first <= line <= last for first, last in places) for line in (7, 900)] == [True, True]
    with files.database.reading() as connection:
        texts = connection.execute(select(file_passages.c.text).order_by(file_passages.c.number)).scalars().all()
    assert "\n".join(texts) == "\n".join(lines)
    assert max(map(len, texts)) <= LONGEST


def test_passages_keep_to_their_pages_and_know_their_lines() -> None:
    page = "\n\nfirst\n" + "word " * 1_000 + "\nlast\n"
    passages = list(cut(["", page, "  \n ", "end"], counted=True))
    assert [each.page for each in passages] == [2, 2, 4]
    assert (passages[0].line_start, passages[1].line_end) == (3, 5)
    assert next(cut(["x"], counted=False)).page is None


def test_what_is_deleted_is_found_no_more_and_leaves_no_row(
    files: Attachments, send: Any, vectors: MessageVectors
) -> None:
    turn = send({"a.txt": b"A lighthouse."})
    vectors.files.embed_pending()
    own: dict[str, Any] = {"database": files.database, "user_email": ANN}
    conversation_id = find(files, "lighthouse")[0].use.conversation_id
    delete_message(**own, conversation_id=conversation_id, message_id=turn.user_message_id, index=None)
    assert find(files, "lighthouse") == []
    delete_conversation(**own, conversation_id=conversation_id)
    past = update(conversations).values(deleted_at="2000-01-01T00:00:00+00:00")
    old = update(attachment_rows).values(created_at="2000-01-01T00:00:00+00:00")
    for change in (past, old):
        files.database.write(lambda connection, change=change: connection.execute(change).rowcount)
    purge_bin(database=files.database)
    assert files.sweep() == 1
    with files.database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(file_passages)).scalar() == 0
        assert connection.execute(select(func.count()).select_from(passage_vectors)).scalar() == 0
        expression = '"lighthouse"' if connection.dialect.name == "sqlite" else "'lighthouse'"
        assert list(PASSAGES.newest(connection, expression, most=5)) == []


def test_indexing_that_was_interrupted_goes_on_where_it_was(
    files: Attachments, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(f"Line {number} of a very long text, which is cut into passages." for number in range(12_000))
    stored(files, text.encode(), "long.txt")
    calls = list[int]()
    from attachments import passages

    def failing(*arguments: Any, first: int, **more: Any) -> bool:
        calls.append(first)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return passages_store(*arguments, first=first, **more)

    passages_store = passages.add_passages
    monkeypatch.setattr(passages, "add_passages", failing)
    with pytest.raises(KeyboardInterrupt):
        index_pending(files)
    assert index_pending(files) == 1
    assert calls[:4] == [0, 64, 128, 128]
    assert index_pending(files) == 0
    with files.database.reading() as connection:
        numbers = connection.execute(select(file_passages.c.number).order_by(file_passages.c.number)).scalars().all()
        texts = connection.execute(select(file_passages.c.text).order_by(file_passages.c.number)).scalars().all()
    assert list(numbers) == list(range(len(numbers)))
    assert "\n".join(texts) == text


def test_a_search_asks_for_as_much_however_many_files_there_are(
    files: Attachments, send: Any, vectors: MessageVectors, statements: Statements
) -> None:
    def count(q: str) -> int:
        with statements() as seen:
            assert find(files, q, mode="auto", vectors=vectors)
        return len(seen)

    send({"0.txt": b"My automobile rattles. The number is 0."})
    vectors.files.embed_pending()
    few = count("rattles"), count("What was wrong with the car?")
    for number in range(1, 12):
        send({f"{number}.txt": f"My automobile rattles. The number is {number}.".encode()})
    vectors.files.embed_pending()
    assert (count("rattles"), count("What was wrong with the car?")) == few
    assert max(few) <= 12


def test_who_has_no_files_is_asked_one_question(
    files: Attachments, send: Any, vectors: MessageVectors, statements: Statements
) -> None:
    send({"a.txt": b"My automobile rattles."})
    with statements() as seen:
        asking = Asking(text="the car that rattles", today=date(2026, 3, 1), vectors=vectors)
        query = parse_query(asking.text)
        found = find_files(
            database=files.database, user_email="bob@example.org", query=query, most=5, mode="auto", asking=asking
        )
    assert (found.files, len(seen), asking._known) == ([], 1, [])


def test_messages_of_a_conversation_are_offered_by_what_their_files_say(files: Attachments, send: Any) -> None:
    turn = send({"a.txt": b"A lighthouse in the north."})
    send({"b.txt": b"A lighthouse in the south."})
    here = find(files, "north")[0].use.conversation_id
    found = messages_with_files(
        database=files.database, user_email=ANN, conversation_id=here, q="north lightho", limit=5
    )
    assert [row.message_id for row in found] == [turn.user_message_id]


def test_one_content_under_two_names_is_indexed_once(files: Attachments, send: Any) -> None:
    send({"a.txt": b"A lighthouse.", "b.txt": b"A lighthouse."})
    with files.database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(file_passages)).scalar() == 1
    assert names(find(files, "lighthouse")) == ["a.txt"]
