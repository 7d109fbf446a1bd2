"""A conversation of any length is stored in transactions of bounded size, and is seen when it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from database.conversations.deletion import erase_incomplete
from database.conversations.repository import delete_conversation, get_conversations_for_user, restore_conversation
from database.engine.database import Database
from database.history.reading import list_messages
from database.imports import batches
from database.imports.repository import change_state, get_import
from database.maintenance.verification import verify_store
from database.schema import conversations, filled_conversations, message_variants, messages
from database.search.index import waiting_behind
from portability.imports.runner import ImportRunner

from .conftest import ADA, conversation, message

AT_ONCE = 20
EVE = "eve@example.org"
pytestmark = pytest.mark.contract


def said(turns: int) -> Iterator[Any]:
    """Questions and answers, one of them made again; beside the third question another one was asked, and followed."""
    for number in range(turns):
        yield message(f"q{number}", f"a{number - 1}" if number else None, at=2 * number)
        yield message(f"a{number}", f"q{number}", at=2 * number + 1)
    yield message("a1b", "q1", "Made again.", at=500)
    for number in range(15):
        yield message(f"qb{number}", f"ab{number - 1}" if number else "a1", at=600 + 2 * number)
        yield message(f"ab{number}", f"qb{number}", at=601 + 2 * number)


def long(turns: int = 30, **more: Any) -> Any:
    return conversation("long", *said(turns), **{"current_id": "ab14", **more})


@pytest.fixture
def sizes(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages and variants each transaction added, from now on."""
    monkeypatch.setattr(batches, "MOST_AT_ONCE", AT_ONCE)
    write, added = Database.write, list[int]()

    def rows(store: Database) -> int:
        with store.reading() as connection:
            tables = (messages, message_variants)
            return sum(connection.execute(select(func.count()).select_from(each)).scalar_one() for each in tables)

    def counted(store: Database, *args: Any, **more: Any) -> Any:
        before = rows(store)
        result = write(store, *args, **more)
        added.append(rows(store) - before)
        return result

    monkeypatch.setattr(Database, "write", counted)
    return added


def seen(database: Database, user_email: str) -> list[Any]:
    """What a person sees of their only conversation, by places instead of ids."""
    (row,) = get_conversations_for_user(database=database, user_email=user_email)
    with database.reading() as connection:
        query = select(messages).where(messages.c.conversation_id == row.conversation_id).order_by(messages.c.ordinal)
        rows = connection.execute(query).all()
        last = connection.execute(
            select(conversations.c.last_ordinal, conversations.c.branch_id).where(
                conversations.c.conversation_id == row.conversation_id
            )
        ).one()
    places = {each.message_id: each.ordinal for each in rows} | {None: None}
    head = (row.title, row.message_count, row.updated_at, last.last_ordinal, places[last.branch_id])
    fields = ("in_answer_to", "branch_id", "branch_of")
    return [
        head,
        *(
            (
                *(each.text, each.sender, each.other_branch, each.chosen_branch, each.chosen_variant),
                *(places[getattr(each, name)] for name in fields),
            )
            for each in rows
        ),
    ]


def is_sound(database: Database) -> bool:
    if database.backend.name == "SQLite":
        assert [found for found in verify_store(database) if not found.fine] == []
    return True


def test_no_transaction_stores_more_messages_than_its_bound_and_the_conversation_is_the_same(
    database, imported, sizes, monkeypatch
):
    which = imported(long())
    # A variant has a row of its own beside that of its message.
    assert max(sizes) <= AT_ONCE + 2
    assert (which.state, which.imported, which.done) == ("done", 1, 91)
    with database.reading() as connection:
        assert waiting_behind(connection) is None  # found at once

    monkeypatch.setattr(batches, "MOST_AT_ONCE", 1_000)
    imported(long(), user_email=EVE)
    assert seen(database, ADA) == seen(database, EVE)
    assert is_sound(database)
    assert imported(long()).skipped == 1


def test_a_conversation_grows_in_bounded_transactions_too(database, imported, sizes, monkeypatch):
    imported(conversation("long", *list(said(30))[:10]))
    sizes.clear()
    which = imported(long())
    assert max(sizes) <= AT_ONCE + 2
    assert (which.state, which.imported, which.updated) == ("done", 0, 1)

    monkeypatch.setattr(batches, "MOST_AT_ONCE", 1_000)
    imported(conversation("long", *list(said(30))[:10]), user_email=EVE)
    imported(long(), user_email=EVE)
    assert seen(database, ADA) == seen(database, EVE)
    assert is_sound(database)


def test_a_long_conversation_in_the_bin_does_not_grow(database, imported, sizes):
    imported(conversation("long", *list(said(30))[:10]))
    (row,) = get_conversations_for_user(database=database, user_email=ADA)
    own = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    delete_conversation(**own)
    sizes.clear()
    which = imported(long())
    assert (which.state, which.updated, which.skipped, which.failed) == ("done", 0, 1, 1)
    assert max(sizes) == 0
    restore_conversation(**own)
    assert len(list_messages(**own)) == 10


class KilledError(BaseException):
    """Nothing that the program does comes after it."""


def die_in_the_third_slice(monkeypatch: pytest.MonkeyPatch, what: type[BaseException]) -> None:
    add, slices = batches._add, list[int]()

    def dies(*args: Any) -> None:
        slices.append(1)
        if len(slices) == 3:
            raise what
        add(*args)

    monkeypatch.setattr(batches, "_add", dies)


def test_a_conversation_whose_process_died_half_way_is_not_seen_and_comes_in_whole(
    database, runner, source, added, sizes, monkeypatch, tmp_path
):
    source.items = [conversation("short"), long()]
    which = added()
    with monkeypatch.context() as dying:
        die_in_the_third_slice(dying, KilledError)
        dying.setattr(batches, "erase", lambda *_: None)
        with pytest.raises(KilledError):
            runner.run_due()
    assert get_conversations_for_user(database=database, user_email=ADA) == []

    runner.close()  # as a server that starts does for the one before
    assert erase_incomplete(database=database) == 1
    another = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0)
    another.run_until_idle()
    another.close()
    which = get_import(database=database, user_email=ADA, import_id=which.import_id)
    assert (which.state, which.imported) == ("done", 2)
    rows = {row.title: row for row in get_conversations_for_user(database=database, user_email=ADA)}
    assert set(rows) == {"About short", "About long"}
    with database.reading() as connection:
        here = messages.c.conversation_id == rows["About long"].conversation_id
        assert connection.execute(select(func.count()).where(here)).scalar_one() == 90
    assert is_sound(database)


@pytest.mark.contract
def test_a_server_that_starts_leaves_alone_what_a_command_is_storing(
    database, source, added, sizes, monkeypatch, tmp_path
):
    source.items = [long()]
    which = added()
    command = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0, process="command")
    add, erased = batches._add, list[int]()

    def beside_a_server(*args: Any) -> None:
        erased.append(1)
        if len(erased) == 2:
            monkeypatch.setattr(batches._Slices, "write", then_a_server_starts)
        add(*args)

    write = batches._Slices.write

    def then_a_server_starts(*args: Any) -> Any:
        assert erase_incomplete(database=database) == 0
        return write(*args)

    monkeypatch.setattr(batches, "_add", beside_a_server)
    command.run_until_idle()
    command.close()
    assert get_import(database=database, user_email=ADA, import_id=which.import_id).imported == 1
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == 1


def test_what_a_command_left_half_stored_is_erased_by_who_goes_on_with_its_import(
    database, runner, source, added, sizes, monkeypatch, tmp_path
):
    source.items = [long()]
    which = added()
    with monkeypatch.context() as dying:
        die_in_the_third_slice(dying, KilledError)
        dying.setattr(batches, "erase", lambda *_: None)
        with pytest.raises(KilledError):
            runner.run_due()
    assert erase_incomplete(database=database) == 0  # its lease is held: it may be alive
    runner.close()
    another = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0)
    another.run_until_idle()
    another.close()
    assert get_import(database=database, user_email=ADA, import_id=which.import_id).imported == 1
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(conversations)).scalar_one() == 1
        assert connection.execute(select(func.count()).select_from(messages)).scalar_one() == 90
        assert connection.execute(select(func.count()).select_from(filled_conversations)).scalar_one() == 0


def test_an_import_that_is_paused_within_a_conversation_leaves_nothing_of_it(
    database, runner, source, added, sizes, monkeypatch
):
    source.items = [long()]
    which = added()
    own = {"database": database, "user_email": ADA, "import_id": which.import_id}
    write, slices = batches._Slices.write, list[int]()

    def paused_before_the_third(*args: Any) -> Any:
        slices.append(1)
        if len(slices) == 3:
            change_state(**own, state="paused", among=["running"])
        return write(*args)

    monkeypatch.setattr(batches._Slices, "write", paused_before_the_third)
    runner.run_until_idle()
    assert (get_import(**own).state, get_import(**own).position) == ("paused", 0)
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(conversations)).scalar_one() == 0

    change_state(**own, state="running", among=["paused"])
    runner.run_until_idle()
    assert get_import(**own).imported == 1
    (row,) = get_conversations_for_user(database=database, user_email=ADA)
    shown = list_messages(database=database, user_email=ADA, conversation_id=row.conversation_id)
    assert [each.text for each in shown][-1] == "ab14"
