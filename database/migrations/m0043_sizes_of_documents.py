"""How much room the documents of a person take, without a look at their texts.

The statement is literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the index; a new store has it already."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS idx_documents_size ON documents (user_email, size)")
