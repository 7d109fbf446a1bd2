"""Friendly ids: one for each conversation, whoever else asks at the same moment; hashes for old messages."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from conversation_reference_utils import generate_conversation_friendly_id, unique_message_short_hash
from database import schema
from database.conversations import friendly_ids
from database.conversations import repository as conversations
from database.conversations.conversation import conversation_version
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.history import reading
from database.turns.turns import accept_turn

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"
ROOT = Path(__file__).parents[3]

_WORKER = """
import sys
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation
from database.turns.turns import accept_turn, finish_turn

users_dir, count = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(count):
    own = {"database": open_store(users_dir), "user_email": "ann@example.org"}
    own["conversation_id"] = create_conversation(**own, domain="assistant").conversation_id
    turn = accept_turn(**own, text="Hello", config={})
    done = finish_turn(**own, response_message_id=turn.response_message_id, text="Hi", status="complete", config={},
                       title="One and the same")
    print(done.conversation_friendly_id, flush=True)
close_store(users_dir)
"""


def make(database: Database, *, user_email: str = ANN, **values: Any) -> str:
    return conversations.create_conversation(
        database=database, user_email=user_email, **{"domain": "assistant", **values}
    ).conversation_id


def forget(database: Database, *, ids: bool = True, hashes: bool = True) -> None:
    """Take away what conversations and messages of before there were identifiers lack."""

    def job(connection: Any) -> None:
        if ids:
            connection.execute(update(schema.conversations).values(conversation_friendly_id=None))
        if hashes:
            connection.execute(update(schema.messages).values(message_short_hash=None))

    database.write(job)


def backfill(database: Database) -> int:
    return friendly_ids.backfill_friendly_ids(database=database, user_email=ANN, domain="assistant")


def friendly_id(database: Database, conversation_id: str) -> str | None:
    return conversations.get_conversation(
        database=database, user_email=ANN, conversation_id=conversation_id
    ).conversation_friendly_id


def stored_hashes(database: Database, conversation_id: str) -> list[str | None]:
    query = select(schema.messages.c.message_short_hash).where(schema.messages.c.conversation_id == conversation_id)
    with database.reading() as connection:
        return list(connection.execute(query.order_by(schema.messages.c.ordinal)).scalars())


def test_candidates_are_the_plain_id_then_five_salted_ones_then_longer_ones() -> None:
    title, created_at = "Debugging", "2026-02-08T10:00:00"
    candidates = list(islice(friendly_ids.friendly_id_candidates(title, created_at, "c1"), 9))
    assert candidates[0] == generate_conversation_friendly_id(title, created_at)
    assert candidates[1] == generate_conversation_friendly_id(title, created_at, salt="c11")
    assert [len(candidate.removeprefix("debugging_")) for candidate in candidates] == [4] * 6 + [6] * 3
    assert len(set(candidates)) == 9


def test_a_conversation_keeps_its_friendly_id_when_it_is_renamed(database: Database) -> None:
    own = {"database": database, "user_email": ANN, "conversation_id": make(database, title="Learning Python")}
    first = friendly_ids.ensure_friendly_id(**own)
    conversations.update_conversation(**own, changes={"title": "Cooking"})
    assert first.startswith("learning_python_")
    assert friendly_ids.ensure_friendly_id(**own) == first


def test_a_new_friendly_id_makes_cached_copies_stale(database: Database) -> None:
    own = {"database": database, "user_email": ANN, "conversation_id": make(database)}
    before = conversation_version(**own)
    friendly_ids.ensure_friendly_id(**own)
    assert conversation_version(**own) != before


@pytest.mark.parametrize("taken", [1, 3, 7])
def test_when_candidates_are_taken_the_next_free_one_is_given(database: Database, taken: int) -> None:
    own = {"database": database, "user_email": ANN}
    row = conversations.get_conversation(**own, conversation_id=make(database, title="Debugging"))
    candidates = friendly_ids.friendly_id_candidates(row.title, row.created_at, row.conversation_id)
    for candidate in islice(candidates, taken):
        conversations.set_friendly_id(**own, conversation_id=make(database), conversation_friendly_id=candidate)
    assert friendly_ids.ensure_friendly_id(**own, conversation_id=row.conversation_id) == next(candidates)


def test_nobody_names_somebody_elses_conversation(database: Database) -> None:
    conversation_id = make(database)
    for wrong in (conversation_id, "missing"):
        with pytest.raises(ConversationNotFoundError):
            friendly_ids.ensure_friendly_id(database=database, user_email=BEN, conversation_id=wrong)
        with pytest.raises(ConversationNotFoundError):
            database.write(
                lambda connection, wrong=wrong: friendly_ids.assign_friendly_id(
                    connection, user_email=BEN, conversation_id=wrong, title="", created_at=""
                )
            )
    assert friendly_id(database, conversation_id) is None


@pytest.mark.live
def test_two_processes_that_name_200_conversations_of_one_title_never_give_an_id_twice(database: Database) -> None:
    command = [sys.executable, "-c", _WORKER, database.folder, "100"]
    workers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    given = [line for worker in workers for line in worker.communicate(timeout=120)[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert len(given) == len(set(given)) == 200


def test_ids_of_one_title_and_one_moment_are_all_different(database: Database, take_turn: Any) -> None:
    own = [make(database, title="Debugging") for _ in range(30)]
    for conversation_id in own:
        take_turn(ANN, conversation_id)
    forget(database)
    same = update(schema.conversations).values(created_at="2026-02-08T10:00:00.000000Z", title="Debugging")
    database.write(lambda connection: connection.execute(same).rowcount)
    assert backfill(database) == 30
    assert len({friendly_id(database, conversation_id) for conversation_id in own}) == 30


def test_the_backfill_names_100_old_conversations_in_one_transaction(
    database: Database, take_turn: Any, statements: Any
) -> None:
    own = [make(database) for _ in range(100)]
    for conversation_id in own:
        take_turn(ANN, conversation_id)
    forget(database, hashes=False)
    with statements() as seen:
        assert backfill(database) == 100
    assert sum(statement.startswith("UPDATE") for statement in seen) == 1
    assert len(seen) <= 6
    assert all(friendly_id(database, conversation_id) for conversation_id in own)


def test_the_backfill_gives_no_id_that_is_taken_in_another_domain_or_in_the_bin(
    database: Database, take_turn: Any
) -> None:
    where = {"database": database, "user_email": ANN}
    old, elsewhere, binned = make(database), make(database, domain="search"), make(database)
    take_turn(ANN, old)
    forget(database, hashes=False)
    row = conversations.get_conversation(**where, conversation_id=old)
    candidates = friendly_ids.friendly_id_candidates(row.title, row.created_at, old)
    for other in (elsewhere, binned):
        conversations.set_friendly_id(**where, conversation_id=other, conversation_friendly_id=next(candidates))
    conversations.delete_conversation(**where, conversation_id=binned)
    assert backfill(database) == 1
    assert friendly_id(database, old) == next(candidates)


def test_a_backfill_with_nothing_to_do_is_one_query_and_writes_nothing(
    database: Database, take_turn: Any, statements: Any
) -> None:
    take_turn(ANN, make(database))
    make(database)
    with statements() as seen:
        assert backfill(database) == 0
    assert len(seen) == 1
    assert seen[0].startswith("SELECT")


def test_empty_running_deleted_and_foreign_conversations_are_not_named(database: Database, take_turn: Any) -> None:
    empty, running, deleted = make(database), make(database), make(database)
    other_domain, foreign = make(database, domain="search"), make(database, user_email=BEN)
    take_turn(ANN, deleted)
    take_turn(ANN, other_domain)
    take_turn(BEN, foreign)
    take_turn(ANN, running)
    accept_turn(database=database, user_email=ANN, conversation_id=running, text="And?", config={})
    conversations.delete_conversation(database=database, user_email=ANN, conversation_id=deleted)
    forget(database)
    assert backfill(database) == 0
    query = select(schema.conversations.c.conversation_friendly_id)
    with database.reading() as connection:
        assert set(connection.execute(query).scalars()) == {None}
    assert friendly_id(database, empty) is None


def test_old_messages_get_hashes_that_are_theirs_alone_and_stay(database: Database, take_turn: Any) -> None:
    conversation_id = make(database)
    for _ in range(3):
        take_turn(ANN, conversation_id, text="yes", answer="yes")
    forget(database)
    assert backfill(database) == 1
    first = stored_hashes(database, conversation_id)
    assert len(set(first)) == 6
    assert not any(value is None or value.isdigit() for value in first)
    assert first[0] == unique_message_short_hash(friendly_id(database, conversation_id) or "", "yes", ())
    assert backfill(database) == 0
    assert stored_hashes(database, conversation_id) == first


def test_messages_without_hash_are_found_in_conversations_that_have_an_id(database: Database, take_turn: Any) -> None:
    conversation_id = make(database)
    take_turn(ANN, conversation_id)
    take_turn(ANN, conversation_id, text="yes")
    given = stored_hashes(database, conversation_id)
    one = update(schema.messages).where(schema.messages.c.ordinal == 3).values(message_short_hash=None)
    database.write(lambda connection: connection.execute(one).rowcount)
    assert backfill(database) == 0
    assert stored_hashes(database, conversation_id) == given


def test_many_old_messages_are_hashed_slice_by_slice(
    database: Database, take_turn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = make(database)
    for _ in range(6):
        take_turn(ANN, conversation_id, text="yes", answer="no")
    forget(database)
    monkeypatch.setattr(friendly_ids, "_MESSAGES_AT_ONCE", 5)
    monkeypatch.setattr(friendly_ids, "_SLICES_WAITED_FOR", 2)
    backfill(database)
    assert stored_hashes(database, conversation_id).count(None) == 2
    friendly_ids.backfill_friendly_ids(database=database, user_email=ANN, domain="assistant", all_messages=True)
    hashes = stored_hashes(database, conversation_id)
    assert len(set(hashes)) == 12
    assert None not in hashes


@pytest.mark.parametrize("window", [{}, {"limit": 2}, {"around": 3}])
def test_messages_of_old_have_their_hashes_wherever_they_are_read_first(
    window: dict[str, int], database: Database, take_turn: Any
) -> None:
    conversation_id = make(database)
    own = {"database": database, "user_email": ANN, "conversation_id": conversation_id}
    for _ in range(2):
        take_turn(ANN, conversation_id)
    forget(database)
    listed = reading.list_messages(**own, **window)
    assert all(row.message_short_hash for row in listed)
    assert {
        row.message_id: row.message_short_hash for row in reading.messages_between(**own, start=1, end=4)
    }.items() >= {row.message_id: row.message_short_hash for row in listed}.items()
    assert len({row.message_short_hash for row in reading.list_messages(**own)}) == 4
