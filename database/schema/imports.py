"""Imports of history from elsewhere, what became of the things of their sources, and old names of conversations."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, Table, Text, text

from .base import metadata

WORKING = ("counting", "running", "undoing")
"""The states in which a process works on an import."""
IS_WORKED_ON = f"state IN ({', '.join(map(repr, WORKING))})"
"""The same as a condition that is written as that of the index, without which no planner takes the index."""

imports = Table(
    "imports",
    metadata,
    Column("import_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("file_size", BigInteger, nullable=False),
    # Absolute; an upload lies below the data folder, and is deleted when the import ends.
    Column("path", Text, nullable=False),
    Column("state", Text, nullable=False),
    # Whether the file was counted to its end, and what it holds as far as it was counted.
    Column("counted", Integer, nullable=False, server_default="0"),
    Column("conversations", Integer, nullable=False, server_default="0"),
    Column("messages", BigInteger, nullable=False, server_default="0"),
    # The first conversations of the file, to choose from: [{"id", "title", "messages"}].
    Column("titles", JSON, nullable=False),
    # What the person chose: {"conversations": [source ids] or null, "workspace_id", "domain"}.
    Column("choice", JSON, nullable=False),
    # How many items of the file are done, and how many messages were in them.
    Column("position", BigInteger, nullable=False, server_default="0"),
    Column("done", BigInteger, nullable=False, server_default="0"),
    Column("imported", Integer, nullable=False, server_default="0"),
    Column("updated", Integer, nullable=False, server_default="0"),
    Column("skipped", Integer, nullable=False, server_default="0"),
    Column("failed", Integer, nullable=False, server_default="0"),
    # The first failures, [{"item", "reason"}], and what an undo had to keep, likewise.
    Column("failures", JSON, nullable=False),
    Column("kept", JSON, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
    # How long it was worked on, in milliseconds.
    Column("worked_ms", BigInteger, nullable=False, server_default="0"),
    Column("owner", Text),
    Column("lease_until", Text),
    # How often it could not be stored, one time after the other, and when it is tried again; `error` says why.
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("next_try_at", Text),
    # Whether all that it changes is noted, so that it can be taken back: not of those that began before schema 40.
    Column("noted", Integer, nullable=False, server_default="0"),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index("idx_imports_user", "user_email", "created_at"),
    Index("idx_imports_working", "updated_at", sqlite_where=text(IS_WORKED_ON), postgresql_where=text(IS_WORKED_ON)),
)

imported_conversations = Table(
    "imported_conversations",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    # The import that brought the conversation.
    Column("import_id", Text, nullable=False),
    # The title and a digest of everything, as the source had them last.
    Column("title", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Index("idx_imported_conversations_import", "import_id"),
    sqlite_with_rowid=False,
)

imported_messages = Table(
    "imported_messages",
    metadata,
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("source_id", Text, primary_key=True),
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), nullable=False),
    # 1, or the number of the variant that it became.
    Column("number", Integer, nullable=False),
    # Of its text, as the source had it last.
    Column("digest", Text, nullable=False),
    # The import that brought it.
    Column("import_id", Text, nullable=False),
    Index("idx_imported_messages_message", "message_id"),
    Index("idx_imported_messages_import", "import_id"),
    sqlite_with_rowid=False,
)

# What an import changed beside the conversations and messages that it brought, until it is taken back.
imported_changes = Table(
    "imported_changes",
    metadata,
    Column("import_id", Text, primary_key=True),
    # What was changed ("message", "document", "agent", ...: see `database.imports.changes`), and which of them.
    Column("kind", Text, primary_key=True),
    Column("thing_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    # NULL for what belongs to no conversation.
    Column("conversation_id", Text, ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE")),
    # The values that were changed, by their names, {} for what was not there; and what they became.
    Column("former", JSON, nullable=False),
    Column("became", JSON, nullable=False),
    Index("idx_imported_changes_conversation", "conversation_id"),
    Index("idx_imported_changes_owner", "user_email"),
    sqlite_with_rowid=False,
)

# Conversations that an import is storing in several transactions, and that nobody sees before all is there.
filled_conversations = Table(
    "filled_conversations",
    metadata,
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("import_id", Text, nullable=False),
    Index("idx_filled_conversations_import", "import_id"),
)

# Names by which conversations were known where they came from, and that another conversation has here.
conversation_aliases = Table(
    "conversation_aliases",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("alias", Text, primary_key=True),
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    Index("idx_conversation_aliases_conversation", "conversation_id"),
    sqlite_with_rowid=False,
)
