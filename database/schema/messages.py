"""What was said, what became of it, and what it refers to."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from .base import Sequence, metadata

# In the words of `idx_activities_no_messages` and `idx_activities_recipe`: SQLite uses a partial index only where they
# are the same.
IS_NO_MESSAGE = text("(activities.type <> 'chat_message' OR activities.recipe <> 'general-discussion')")

# Likewise, of the index `idx_message_parts_files`.
IS_FILE = text("message_parts.kind IN ('file', 'image')")

threads = Table(
    "threads",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("root_activity_id", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False, server_default=""),
    Column("session_key", Text),
    Column("created_at", Text, nullable=False),
    Column("made_title", Text),
    # The threads that wait for a title by the cheap model.
    Index(
        "idx_threads_untitled",
        "created_at",
        sqlite_where=text("made_title IS NULL AND title = ''"),
        postgresql_where=text("made_title IS NULL AND title = ''"),
    ),
    Index(
        "idx_threads_session",
        "user_email",
        "session_key",
        unique=True,
        sqlite_where=text("session_key IS NOT NULL"),
        postgresql_where=text("session_key IS NOT NULL"),
    ),
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
    Index("idx_activities_short_id", "user_email", "short_id"),
    # The few activities of a conversation that are in threads, and those that are no messages.
    Index(
        "idx_activities_in_threads",
        "conversation_id",
        "thread_id",
        sqlite_where=text("thread_id IS NOT NULL"),
        postgresql_where=text("thread_id IS NOT NULL"),
    ),
    Index(
        "idx_activities_no_messages",
        "conversation_id",
        "seq",
        sqlite_where=text("type <> 'chat_message' OR recipe <> 'general-discussion'"),
        postgresql_where=text("type <> 'chat_message' OR recipe <> 'general-discussion'"),
    ),
    # Those of a recipe, in all conversations of a person.
    Index(
        "idx_activities_recipe",
        "user_email",
        "recipe",
        "seq",
        sqlite_where=text("type <> 'chat_message' OR recipe <> 'general-discussion'"),
        postgresql_where=text("type <> 'chat_message' OR recipe <> 'general-discussion'"),
    ),
    sqlite_autoincrement=True,
)

# The short ids that activities had in conversations that they were moved from: what was written there means them still.
former_short_ids = Table(
    "former_short_ids",
    metadata,
    Column("conversation_id", Text, primary_key=True),
    Column("short_id", Text, primary_key=True),
    Column("activity_id", Text, nullable=False),
    Column("user_email", Text, nullable=False),
    Index("idx_former_short_ids_activity", "activity_id"),
    Index("idx_former_short_ids_owner", "user_email", "short_id"),
    sqlite_with_rowid=False,
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
    # By which a client knows a message that it sends; of the person's messages alone.
    Column("client_message_id", Text),
    # Whether any version of the message has rows in message_parts.
    Column("has_parts", Integer, nullable=False, server_default="0"),
    # Whether any version of the message has rows in document_references.
    Column("has_documents", Integer, nullable=False, server_default="0"),
    # Of a running answer: which process writes it, and until when that process is taken to be alive.
    Column("owner", Text),
    Column("lease_until", Text),
    # The branch that the message lies in, named by the question that begins it; NULL: the first one.
    Column("branch_id", Text),
    # Of a question that was asked in the place of another: the first one that stood there.
    Column("branch_of", Text),
    # Of a question that others were asked in the place of: which of them is chosen, itself being 1.
    Column("chosen_branch", Integer),
    # 1 for a message beside the active path.
    Column("other_branch", Integer),
    # Of a question that an agent asked: which one, and its title at that time, which stays when the agent is gone.
    Column("source_agent_id", Text, ForeignKey("agents.agent_id", ondelete="SET NULL")),
    Column("source_agent_title", Text),
    UniqueConstraint("conversation_id", "ordinal", name="uq_messages_ordinal"),
    UniqueConstraint("conversation_id", "message_short_hash", name="uq_messages_short_hash"),
    # Live messages in order: a 1-based message index is an offset into this index alone.
    Index(
        "idx_messages_live",
        "conversation_id",
        "ordinal",
        sqlite_where=text("deleted_at IS NULL AND other_branch IS NULL"),
        postgresql_where=text("deleted_at IS NULL AND other_branch IS NULL"),
    ),
    Index(
        "idx_messages_branch_of",
        "conversation_id",
        "branch_of",
        sqlite_where=text("branch_of IS NOT NULL"),
        postgresql_where=text("branch_of IS NOT NULL"),
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
        "idx_messages_client",
        "user_email",
        "client_message_id",
        unique=True,
        sqlite_where=text("client_message_id IS NOT NULL"),
        postgresql_where=text("client_message_id IS NOT NULL"),
    ),
    Index(
        "idx_messages_source_agent",
        "source_agent_id",
        sqlite_where=text("source_agent_id IS NOT NULL"),
        postgresql_where=text("source_agent_id IS NOT NULL"),
    ),
    Index(
        "idx_messages_streaming",
        "status",
        "user_email",
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
    # By which a client knows the request that began this attempt.
    Column("client_message_id", Text),
    sqlite_with_rowid=False,
)

message_parts = Table(
    "message_parts",
    metadata,
    # What a message has beside its words. version: 1, or the number of the variant that the part belongs to.
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("part_id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    # How many characters of the message's text come before the part.
    Column("at", Integer, nullable=False),
    Column("data", JSON, nullable=False),
    # Of a file: which of `attachments` it is, as `data` says too.
    Column("attachment_id", Text),
    Index(
        "idx_message_parts_attachment",
        "attachment_id",
        sqlite_where=text("attachment_id IS NOT NULL"),
        postgresql_where=text("attachment_id IS NOT NULL"),
    ),
    Index(
        "idx_message_parts_files",
        "message_id",
        sqlite_where=text("kind IN ('file', 'image')"),
        postgresql_where=text("kind IN ('file', 'image')"),
    ),
    sqlite_with_rowid=False,
)

# The documents of the owner's vault that a message names or rests on. version: as in message_parts.
document_references = Table(
    "document_references",
    metadata,
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("user_email", Text, nullable=False),
    # With its brackets, as it was written; for a path that a tool returned, the file name without extension.
    Column("wikilink", Text, nullable=False),
    # NULL for a link that leads nowhere.
    Column("relative_path", Text),
    # "direct": a link in the text; "search": a tool returned the document.
    Column("reference_type", Text, nullable=False),
    Column("summary", Text),
    Column("context_snippet", Text),
    Column("anchor", Text),
    Column("via_tool", Text),
    Column("ambiguous", Integer, nullable=False, server_default="0"),
    # 0 for a document that a search found and that was neither read nor cited.
    Column("used", Integer, nullable=False, server_default="1"),
    Index("idx_document_references_path", "user_email", "relative_path"),
    sqlite_with_rowid=False,
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

# What a message means, in the model that `search_state` names ("vectors:<model>"): of a long one several vectors.
message_vectors = Table(
    "message_vectors",
    metadata,
    Column("vector_id", Sequence, primary_key=True, autoincrement=True),
    Column("seq", BigInteger, ForeignKey("messages.seq", ondelete="CASCADE"), nullable=False),
    Column("user_email", Text, nullable=False),
    Column("codes", LargeBinary, nullable=False),
    Index("idx_message_vectors_message", "seq"),
    Index("idx_message_vectors_user_email", "user_email"),
    sqlite_autoincrement=True,
)

# Messages whose vectors are to be made, or made anew.
unembedded_messages = Table(
    "unembedded_messages",
    metadata,
    Column("seq", Sequence, ForeignKey("messages.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False),
)

# The terms of the full-text index, each once: words, as it cuts them, behind the prefix of their owner; of those of
# LONGEST_TERM characters and more the beginning. `doubted`: 1 where a message that said the word was taken out of the
# index, until the index was asked.
message_words = Table(
    "message_words",
    metadata,
    Column("word", Text, primary_key=True),
    Column("doubted", Integer, nullable=False, server_default="0"),
    Index(
        "idx_message_words_doubted",
        "doubted",
        sqlite_where=text("doubted = 1"),
        postgresql_where=text("doubted = 1"),
    ),
    sqlite_with_rowid=False,
)
