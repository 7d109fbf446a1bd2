"""Documents and passages of files in a store, without their files; and the names that their indexes had before."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert

from database.schema import documents, file_passages
from database.search.owned import DOCUMENTS, PASSAGES


def store_text(connection: Connection, number: int, email: str, text: str) -> None:
    """Store and index a document, whose title is the first line of `text`, and a passage that says all of it."""
    title, _, body = text.partition("\n")
    row: dict[str, Any] = {"document_id": number, "user_email": email, "path": f"{number}.md", "title": title}
    row |= {"version": "", "size": 0, "modified_ns": 0, "front_matter": {}, "headings": [], "chunked": 0, "text": body}
    connection.execute(insert(documents).values(row))
    DOCUMENTS.put(connection, email, [(number, text)])
    row = {"passage_id": number, "user_email": email, "sha256": str(number), "number": 0, "line_start": 1}
    connection.execute(insert(file_passages).values(row | {"line_end": 1, "text": text}))
    PASSAGES.put(connection, email, [(number, text)])


def give_former_names(connection: Connection) -> None:
    """Give what migration 45, and on PostgreSQL migration 46, has renamed its former name."""
    if connection.dialect.name == "postgresql":
        give_name_of_messages(connection)
    for new, old in (("document_terms", "documents_fts"), ("passage_terms", "passages_fts")):
        connection.exec_driver_sql(f"ALTER TABLE {new} RENAME TO {old}")
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"ALTER INDEX idx_{new}_words RENAME TO idx_{old}_words")
    connection.exec_driver_sql("DELETE FROM search_state WHERE name IN ('document_terms', 'passage_terms')")
    connection.exec_driver_sql("UPDATE search_state SET name = 'messages' WHERE name = 'message_terms'")


def give_name_of_messages(connection: Connection) -> None:
    """Give PostgreSQL's index of messages the name that it had before migration 46."""
    connection.exec_driver_sql("ALTER TABLE message_terms RENAME TO messages_fts")
    connection.exec_driver_sql("ALTER INDEX message_terms_pkey RENAME TO messages_fts_pkey")
    connection.exec_driver_sql("ALTER INDEX idx_message_terms_words RENAME TO idx_messages_fts_words")


def drop_indexes_of_waiting_work(connection: Connection) -> None:
    """Drop what migration 48 makes."""
    for index in ("idx_users_closing", "idx_imports_working", "idx_jobs_due"):
        connection.exec_driver_sql(f"DROP INDEX {index}")
