"""Stores of earlier versions become stores of today, with all that is in them."""

from __future__ import annotations

from pathlib import Path

from database.connection import close_store, create_connection, open_store
from database.conversations import create_conversation
from database.fulltext import index_pending
from database.messages import list_messages
from database.search import search_messages
from database.search_query import parse_query
from database.shares import read_share, share_conversation
from database.turns import accept_turn, finish_turn

OWN = {"user_email": "ada@example.org"}


def as_of_the_first_version(users_dir: Path) -> None:
    """Take away what the second version added."""
    connection = create_connection(users_dir / "users.db")
    for statement in (
        "DROP TABLE message_variants",
        "DROP TABLE shares",
        'ALTER TABLE "UserToConversationId" DROP COLUMN pinned_at',
        "DROP INDEX idx_messages_pinned",
        "DROP TABLE messages_words",
        'DROP INDEX "idx_UserToConversationId_temporary"',
        "ALTER TABLE messages DROP COLUMN chosen_variant",
        "ALTER TABLE messages DROP COLUMN pinned_at",
        "DELETE FROM schema_version WHERE version > 1",
    ):
        connection.execute(statement)
    connection.close()


def test_a_store_of_the_first_version_keeps_its_messages(tmp_path: Path) -> None:
    where = {"users_dir": str(tmp_path), **OWN}
    conversation_id = create_conversation(**where, domain="assistant").conversation_id
    accept_turn(**where, conversation_id=conversation_id, text="What is it?", config={})
    close_store(tmp_path)
    as_of_the_first_version(tmp_path)
    with open_store(tmp_path).reading() as connection:
        columns = {row[1] for row in connection.exec_driver_sql("PRAGMA table_info(messages)")}
        tables = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
        versions = [row[0] for row in connection.exec_driver_sql("SELECT version FROM schema_version")]
    assert {"chosen_variant", "pinned_at"} <= columns
    assert {"message_variants", "shares", "idx_shares_cascade", "idx_messages_pinned", "messages_words"} <= tables
    assert "idx_UserToConversationId_temporary" in tables
    assert versions == [1, 2, 3, 4, 5]
    texts = [row.text for row in list_messages(**where, conversation_id=conversation_id)]
    assert texts == ["What is it?", ""]
    close_store(tmp_path)


def test_what_was_indexed_by_the_first_version_is_found_by_the_beginnings_of_its_words(tmp_path: Path) -> None:
    where = {"users_dir": str(tmp_path), **OWN}
    conversation_id = create_conversation(**where, domain="assistant").conversation_id
    accepted = accept_turn(**where, conversation_id=conversation_id, text="Sourdough?", config={})
    done = {"conversation_id": conversation_id, "response_message_id": accepted.response_message_id}
    finish_turn(**where, **done, text="A sourish one.", status="complete", config={})
    assert index_pending(users_dir=str(tmp_path)) == 2
    close_store(tmp_path)
    as_of_the_first_version(tmp_path)
    found = search_messages(**where, query=parse_query("sour"))
    assert {hit.message.text for hit in found.messages} == {"Sourdough?", "A sourish one."}
    assert index_pending(users_dir=str(tmp_path)) == 0
    close_store(tmp_path)


def test_a_store_of_the_version_before_keeps_its_shares_and_finds_them_by_their_conversation(tmp_path: Path) -> None:
    where = {"users_dir": str(tmp_path), **OWN}
    conversation_id = create_conversation(**where, domain="assistant").conversation_id
    accepted = accept_turn(**where, conversation_id=conversation_id, text="Sourdough?", config={})
    done = {"conversation_id": conversation_id, "response_message_id": accepted.response_message_id}
    finish_turn(**where, **done, text="A sourish one.", status="complete", config={})
    made = share_conversation(**where, conversation_id=conversation_id, secret_key="the key")
    close_store(tmp_path)
    connection = create_connection(tmp_path / "users.db")
    connection.execute("DROP INDEX idx_shares_cascade")
    connection.execute("DELETE FROM schema_version WHERE version > 4")
    connection.close()
    assert made.token is not None
    assert read_share(users_dir=str(tmp_path), token=made.token).message_count == 2
    with open_store(tmp_path).reading() as reading:
        plan = reading.exec_driver_sql("EXPLAIN QUERY PLAN DELETE FROM shares WHERE conversation_id = 'x'").all()
    assert "idx_shares_cascade" in str(plan)
    close_store(tmp_path)
