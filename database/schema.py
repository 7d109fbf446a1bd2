"""The tables of `users.db` as they are today; `database.migrations` leads there from every earlier state.

Times are text (`database.clock.iso`), ids are text, flags are integers, structured values are JSON. `seq` is the one
order of everything
that happens: it only grows. A message is the activity of the same id and the same `seq`.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

# SQLite numbers rows by itself only in a column of exactly the type INTEGER.
Sequence = BigInteger().with_variant(Integer, "sqlite")

schema_version = Table(
    "schema_version", metadata, Column("version", Integer, primary_key=True), Column("applied_at", Text)
)

users = Table(
    "users",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("user_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, server_default=""),
    Column("password_hash", Text, nullable=False),
    Column("is_admin", Integer, nullable=False, server_default="0"),
    Column("detail", JSON, nullable=False),
    Column("preference", JSON, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("disabled_at", Text),
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_hash", Text, primary_key=True),
    Column("session_id", Text, nullable=False, unique=True),
    Column("user_email", Text, ForeignKey("users.user_email", ondelete="CASCADE"), nullable=False),
    Column("user_agent", Text, nullable=False, server_default=""),
    Column("address", Text, nullable=False, server_default=""),
    Column("created_at", Text, nullable=False),
    Column("last_seen_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Index("idx_sessions_user_email", "user_email"),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("token_hash", Text, primary_key=True),
    Column("token_id", Text, nullable=False, unique=True),
    Column("user_email", Text, ForeignKey("users.user_email", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("read_only", Integer, nullable=False, server_default="0"),
    Column("created_at", Text, nullable=False),
    Column("last_used_at", Text),
    Index("idx_api_tokens_user_email", "user_email"),
)

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("attempt_id", Sequence, primary_key=True, autoincrement=True),
    Column("subject", Text, nullable=False),
    Column("attempted_at", Text, nullable=False),
    Index("idx_login_attempts_subject", "subject", "attempted_at"),
)

conversations = Table(
    "UserToConversationId",
    metadata,
    Column("conversation_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("conversation_friendly_id", Text),
    Column("domain", Text, nullable=False, server_default="assistant"),
    Column("title", Text, nullable=False, server_default=""),
    Column("title_force_set", Integer, nullable=False, server_default="0"),
    Column("running_summary", Text, nullable=False, server_default=""),
    Column("summarised_ordinal", Integer, nullable=False, server_default="0"),
    Column("flag", Text, nullable=False, server_default="none"),
    Column("settings", JSON, nullable=False),
    Column("memory", JSON, nullable=False),
    Column("archived", Integer, nullable=False, server_default="0"),
    Column("stateless", Integer, nullable=False, server_default="0"),
    Column("message_count", Integer, nullable=False, server_default="0"),
    Column("last_ordinal", Integer, nullable=False, server_default="0"),
    Column("running_message_id", Text),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("deleted_at", Text),
    Column("expires_at", Text),
    Column("pinned_at", Text),
    # Set while a clone is being filled or a conversation erased, slice by slice: nobody sees it (deleted_at is set
    # too), nobody can restore it, and a start erases what a crash left.
    Column("incomplete_since", Text),
    Index("idx_UserToConversationId_email_doc", "user_email", "conversation_id", unique=True),
    Index("idx_UserToConversationId_friendly_id", "user_email", "conversation_friendly_id", unique=True),
    Index(
        "idx_UserToConversationId_deleted",
        "deleted_at",
        sqlite_where=text("deleted_at IS NOT NULL"),
        postgresql_where=text("deleted_at IS NOT NULL"),
    ),
    Index(
        "idx_UserToConversationId_temporary",
        "user_email",
        sqlite_where=text("expires_at IS NOT NULL"),
        postgresql_where=text("expires_at IS NOT NULL"),
    ),
    Index(
        "idx_UserToConversationId_list",
        "user_email",
        "domain",
        "deleted_at",
        "updated_at",
        "conversation_id",
        "archived",
    ),
)

conversation_workspaces = Table(
    "ConversationIdToWorkspaceId",
    metadata,
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("user_email", Text, nullable=False),
    Column("workspace_id", Text, nullable=False),
    Index("idx_ConversationIdToWorkspaceId_workspace", "user_email", "workspace_id"),
    sqlite_with_rowid=False,
)

workspaces = Table(
    "WorkspaceMetadata",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("workspace_id", Text, primary_key=True),
    Column("workspace_name", Text, nullable=False),
    Column("workspace_color", Text, nullable=False, server_default="primary"),
    Column("domain", Text, nullable=False),
    Column("expanded", Integer, nullable=False, server_default="1"),
    Column("parent_workspace_id", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index("idx_WorkspaceMetadata_domain", "user_email", "domain"),
)

threads = Table(
    "threads",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("root_activity_id", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False, server_default=""),
    Column("session_key", Text),
    Column("created_at", Text, nullable=False),
)

activities = Table(
    "activities",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("activity_id", Text, nullable=False, unique=True),
    Column("user_email", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("session_id", Text),
    Column("recipe", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("short_id", Text, nullable=False),
    Column("reply_to_id", Text),
    Column("thread_id", Text),
    Column("actor_type", Text, nullable=False),
    Column("actor_id", Text, nullable=False, server_default=""),
    Column("actor_name", Text, nullable=False, server_default=""),
    Column("payload", JSON, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("deleted_at", Text),
    UniqueConstraint("conversation_id", "short_id", name="uq_activities_short_id"),
    Index("idx_activities_thread", "user_email", "thread_id", "seq"),
    Index("idx_activities_reply", "reply_to_id"),
    sqlite_autoincrement=True,
)

messages = Table(
    "messages",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=False),
    Column("message_id", Text, nullable=False, unique=True),
    Column("user_email", Text, nullable=False),
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("ordinal", Integer, nullable=False),
    Column("sender", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="complete"),
    Column("message_short_hash", Text),
    Column("show_hide", Text, nullable=False, server_default="show"),
    Column("in_answer_to", Text),
    Column("config", JSON, nullable=False),
    Column("report", JSON, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("edited_at", Text),
    Column("deleted_at", Text),
    Column("chosen_variant", Integer),
    Column("pinned_at", Text),
    UniqueConstraint("conversation_id", "ordinal", name="uq_messages_ordinal"),
    UniqueConstraint("conversation_id", "message_short_hash", name="uq_messages_short_hash"),
    # Live messages in order: a 1-based message index is an offset into this index alone.
    Index(
        "idx_messages_live",
        "conversation_id",
        "ordinal",
        sqlite_where=text("deleted_at IS NULL"),
        postgresql_where=text("deleted_at IS NULL"),
    ),
    # What still lacks its hash: answers being written, and messages of before there were hashes.
    Index(
        "idx_messages_unhashed",
        "user_email",
        "conversation_id",
        sqlite_where=text("message_short_hash IS NULL"),
        postgresql_where=text("message_short_hash IS NULL"),
    ),
    Index(
        "idx_messages_pinned",
        "conversation_id",
        sqlite_where=text("pinned_at IS NOT NULL"),
        postgresql_where=text("pinned_at IS NOT NULL"),
    ),
    Index(
        "idx_messages_streaming",
        "status",
        sqlite_where=text("status = 'streaming'"),
        postgresql_where=text("status = 'streaming'"),
    ),
)

message_variants = Table(
    "message_variants",
    metadata,
    # Every version of an answer that was made again; the message itself holds the chosen one.
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("config", JSON, nullable=False),
    Column("created_at", Text, nullable=False),
    sqlite_with_rowid=False,
)

shares = Table(
    "shares",
    metadata,
    # Of the token, only its SHA-256 is kept.
    Column("token_hash", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("title", Text, nullable=False),
    Column("snapshot", JSON, nullable=False),
    Column("created_at", Text, nullable=False),
    Index("idx_shares_conversation", "user_email", "conversation_id"),
)

message_edits = Table(
    "message_edits",
    metadata,
    Column("edit_id", Sequence, primary_key=True, autoincrement=True),
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
    Column("replaced_at", Text, nullable=False),
    Index("idx_message_edits_message", "message_id"),
)

message_references = Table(
    "message_references",
    metadata,
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("ref", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("target_conversation_id", Text),
    Column("target_message_id", Text),
    Column("target_id", Text),
    Index("idx_message_references_message", "user_email", "target_message_id"),
    Index("idx_message_references_conversation", "user_email", "target_conversation_id"),
)

stream_events = Table(
    "stream_events",
    metadata,
    Column("message_id", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("event", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

search_state = Table(
    "search_state",
    metadata,
    Column("name", Text, primary_key=True),
    Column("indexed_seq", BigInteger, nullable=False, server_default="0"),
)
