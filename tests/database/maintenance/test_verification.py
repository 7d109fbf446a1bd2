"""Whatever is damaged in a store is found; what follows from the rest is made anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from database.connection import create_connection
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.reading import list_messages
from database.history.references import backlinks, store_report
from database.maintenance.findings import Finding, first_ones
from database.maintenance.invariants import (
    COUNTS,
    DOCUMENT_AND_FILE_INDEX,
    INDEX,
    REFERENCES,
    RUNNING,
    THREADS,
    VECTORS,
)
from database.maintenance.verification import repair_store, verify_file, verify_store
from database.search.indexing import index_pending
from database.search.owned import fill_pending
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn
from search.messages import search_conversation
from tests.database.owned_texts import store_text

ANN = "ann@example.org"

VECTOR = "INSERT INTO message_vectors (seq, user_email, codes)"
# Plain damage: (what is broken, by which statements, whether it can be made anew).
DAMAGES = [
    (COUNTS, ['UPDATE "UserToConversationId" SET message_count = 7'], True),
    (COUNTS, ['UPDATE "UserToConversationId" SET last_ordinal = 1'], True),
    (RUNNING, ["UPDATE \"UserToConversationId\" SET running_message_id = 'gone'"], True),
    (RUNNING, ["UPDATE messages SET status = 'streaming' WHERE ordinal = 4"], False),
    (THREADS, ["DELETE FROM threads"], True),
    (THREADS, ["UPDATE threads SET root_activity_id = 'gone'"], False),
    (REFERENCES, ["DELETE FROM message_references"], True),
    (REFERENCES, ["UPDATE message_references SET target_message_id = 'another'"], True),
    (
        "targets of references",
        [
            "UPDATE message_references SET target_conversation_id = 'x' || target_conversation_id",
            """UPDATE messages SET report = replace(report, '"conversation_id":"', '"conversation_id":"x')""",
        ],
        False,
    ),
    (INDEX, ["INSERT INTO messages_fts(messages_fts) VALUES ('delete-all')"], True),
    (INDEX, ["DELETE FROM messages_fts_docsize WHERE id = 1"], True),
    (INDEX, ["INSERT INTO messages_fts(rowid, owner, conversation, body) VALUES (1, 'u', 'c', 'extra words')"], True),
    (INDEX, ["UPDATE messages SET text = 'other words' WHERE ordinal = 1"], True),
    (INDEX, ["UPDATE search_state SET indexed_seq = 2"], True),
    (INDEX, ["DELETE FROM messages_fts_data WHERE id > 10"], True),
    (DOCUMENT_AND_FILE_INDEX, ["INSERT INTO document_terms(document_terms) VALUES ('delete-all')"], True),
    (DOCUMENT_AND_FILE_INDEX, ["DELETE FROM passage_terms_data"], True),
    (DOCUMENT_AND_FILE_INDEX, ["DELETE FROM document_terms_data WHERE id > 10"], True),
    (DOCUMENT_AND_FILE_INDEX, ["INSERT INTO passage_terms(rowid, owner, body) VALUES (7, 'u', 'extra')"], True),
    (DOCUMENT_AND_FILE_INDEX, ["UPDATE documents SET title = 'another'"], True),
    (
        "tables",
        [
            'DROP INDEX "idx_UserToConversationId_friendly_id"',
            "UPDATE \"UserToConversationId\" SET conversation_friendly_id = 'same'",
        ],
        False,
    ),
    ("friendly ids", ['UPDATE "UserToConversationId" SET conversation_friendly_id = conversation_id'], False),
    ("message hashes", ["UPDATE messages SET message_short_hash = '123456' WHERE ordinal = 1"], False),
    ("message hashes", ["UPDATE messages SET message_short_hash = 'abc' WHERE ordinal = 1"], False),
    ("order of messages", ["UPDATE messages SET ordinal = 9 WHERE ordinal = 4"], False),
    ("activities", ["DELETE FROM activities WHERE seq = 2"], False),
    ("activities", ["PRAGMA foreign_keys = OFF", "DELETE FROM messages WHERE seq = 2"], False),
    ("owners", ["UPDATE messages SET user_email = 'eve@example.org' WHERE seq = 2"], False),
    ("messages", ["UPDATE messages SET status = 'lost' WHERE seq = 2"], False),
    ("messages", ["UPDATE messages SET config = '{' WHERE seq = 2"], False),
    ("questions", ["UPDATE messages SET in_answer_to = 'gone' WHERE seq = 2"], False),
    ("replies", ["UPDATE activities SET reply_to_id = 'gone' WHERE seq = 2"], False),
    ("variants", ["UPDATE messages SET chosen_variant = 3 WHERE seq = 2"], False),
    (VECTORS, [f"{VECTOR} SELECT seq, 'eve@example.org', x'00' FROM messages WHERE seq = 2"], True),
    (
        VECTORS,
        [
            f"{VECTOR} SELECT seq, user_email, x'00' FROM messages WHERE seq = 2",
            "UPDATE messages SET deleted_at = created_at WHERE seq = 2",
        ],
        True,
    ),
    ("changes", ["DELETE FROM changes WHERE seq = 2"], False),
    ("links", ["PRAGMA foreign_keys = OFF", "DELETE FROM \"UserToConversationId\" WHERE title = 'Other'"], False),
]


@pytest.fixture
def lived_in(database: Database, take_turn: Callable[..., FinishedTurn]) -> Database:
    """A store with two conversations, a thread and a reference, all indexed."""
    first, other = (
        create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id for _ in range(2)
    )
    told = take_turn(ANN, first, text="The quick brown fox", answer="naïve ½ ㎏ 東京タワー")
    take_turn(ANN, first, text="And then?", reply_to=told.response_message_id)
    asking = take_turn(ANN, other, text="As said there", title="Other")
    target = {"conversation_id": first, "message_id": told.response_message_id}
    report = [{"ref": "@conversation_x_message_2", "kind": "message", "status": "resolved", "target": target}]
    store_report(database=database, user_email=ANN, message_id=asking.user_message_id, report=report)
    index_pending(database=database)
    database.write(lambda connection: store_text(connection, 1, ANN, "Fish\nA whale"))
    assert list(fill_pending(database=database)) == []
    return database


def damage(database: Database, statements: list[str]) -> None:
    connection = create_connection(database.folder / "users.db")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def wrong(database: Database) -> list[Finding]:
    return [finding for finding in verify_store(database=database) if not finding.fine]


def test_nothing_is_wrong_with_a_store_that_was_lived_in(lived_in: Database) -> None:
    accept_turn(
        database=lived_in,
        user_email=ANN,
        conversation_id=create_conversation(database=lived_in, user_email=ANN, domain="x").conversation_id,
        text="Still running",
        config={},
    )
    assert list(verify_store(database=lived_in)) == []


@pytest.mark.parametrize(("rule", "statements", "derived"), DAMAGES)
def test_damage_is_found_and_what_is_derived_made_anew(
    lived_in: Database, rule: str, statements: list[str], derived: bool
) -> None:
    damage(lived_in, statements)
    found = wrong(lived_in)
    assert (rule, derived) in {(finding.rule, finding.derived) for finding in found}
    assert list(
        repair_store(database=lived_in, rules={finding.rule for finding in found if finding.derived})
    ) or not any(finding.derived for finding in found)
    left = wrong(lived_in)
    assert [finding for finding in left if finding.derived] == []
    assert derived == (left == [])


def test_what_was_made_anew_works_again(lived_in: Database) -> None:
    damage(lived_in, ["DELETE FROM message_references", "INSERT INTO messages_fts(messages_fts) VALUES ('delete-all')"])
    own = {"database": lived_in, "user_email": ANN}
    told = [finding.rule for finding in wrong(lived_in)]
    assert list(repair_store(database=lived_in, rules=told)) == [
        "1 messages got the references of their reports.",
        "6 messages were indexed anew.",
    ]
    with lived_in.reading() as connection:
        first = connection.exec_driver_sql("SELECT conversation_id FROM messages WHERE seq = 1").scalar()
    assert [row.ordinal for row in search_conversation(**own, conversation_id=first, q="東京")] == [2]
    told_id = list_messages(**own, conversation_id=first)[1].message_id
    assert [link["preview"] for link in backlinks(**own, message_id=told_id)] == ["As said there"]


def test_a_reference_to_what_was_erased_is_told_and_not_wrong(lived_in: Database) -> None:
    damage(
        lived_in,
        [
            "UPDATE message_references SET target_message_id = 'erased'",
            "UPDATE messages SET report = replace(report, (SELECT message_id FROM messages WHERE seq = 2), 'erased')",
        ],
    )
    assert wrong(lived_in) == []
    assert [finding.what for finding in verify_store(database=lived_in)] == [
        "1 references lead to messages that were deleted for good."
    ]


def test_a_file_that_is_no_database_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "users.db").write_bytes(b"garbage" * 1_000)
    assert [finding.rule for finding in verify_file(tmp_path / "users.db")] == ["file"]


def test_of_many_findings_of_one_kind_a_hundred_are_told() -> None:
    told: list[Any] = list(first_ones(Finding(rule="x", what=str(number)) for number in range(1_000)))
    assert len(told) == 101
    assert told[-1].what == "900 more of the same."
