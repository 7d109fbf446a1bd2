"""Conversations, and the workspaces that hold them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, Table, Text, text

from .base import metadata

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
    # The branch that the active path ends in, where the next turn is added.
    Column("branch_id", Text),
    # Whether any of its messages ever had rows in document_references.
    Column("has_documents", Integer, nullable=False, server_default="0"),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("deleted_at", Text),
    Column("expires_at", Text),
    Column("pinned_at", Text),
    # Set while a clone is being filled or a conversation erased, slice by slice: nobody sees it (deleted_at is set
    # too), nobody can restore it, and a start erases what a crash left.
    Column("incomplete_since", Text),
    # The agent that answers here instead of a model alone.
    Column("agent_id", Text, ForeignKey("agents.agent_id", ondelete="SET NULL")),
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
    Index(
        "idx_UserToConversationId_agent",
        "agent_id",
        sqlite_where=text("agent_id IS NOT NULL"),
        postgresql_where=text("agent_id IS NOT NULL"),
    ),
    Index(
        "idx_UserToConversationId_title",
        "user_email",
        "title",
        sqlite_where=text("deleted_at IS NULL"),
        postgresql_where=text("deleted_at IS NULL"),
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

conversation_tags = Table(
    "conversation_tags",
    metadata,
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("tag", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Index("idx_conversation_tags_tag", "user_email", "tag", "conversation_id"),
    sqlite_with_rowid=False,
)

shares = Table(
    "shares",
    metadata,
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("user_email", Text, nullable=False),
    # Of the token, only its SHA-256 is kept.
    Column("token_hash", Text, nullable=False, unique=True),
    Column("seed", Text, nullable=False),
    Column("snapshot_id", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("message_count", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Index("idx_shares_user", "user_email"),
)

share_pages = Table(
    "share_pages",
    metadata,
    Column("snapshot_id", Text, primary_key=True),
    # The number of the page's first message, from 1; 0: the page names the files that were chosen.
    Column("first_message", Integer, primary_key=True),
    Column(
        "conversation_id",
        Text,
        ForeignKey("UserToConversationId.conversation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("messages", JSON, nullable=False),
    Index("idx_share_pages_cascade", "conversation_id"),
)
