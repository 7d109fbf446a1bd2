"""Who may come in, and what belongs to a person rather than to a conversation."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ColumnElement, ForeignKey, Index, Integer, Table, Text, exists, text

from .base import Sequence, metadata

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
    # Set once the account is closed, until everything of it is erased.
    Column("erasing_since", Text),
    # Of the pages; none: what the browser asks for.
    Column("language", Text),
    Index(
        "idx_users_closing",
        "erasing_since",
        sqlite_where=text("erasing_since IS NOT NULL"),
        postgresql_where=text("erasing_since IS NOT NULL"),
    ),
)


def is_closed(user_email: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether the account of this address was closed and waits for its erasure: no work begins for it any more."""
    return exists().where(users.c.user_email == user_email, users.c.erasing_since.is_not(None))


def is_shut(user_email: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether the account of this address is closed, or disabled until an administrator lets it in again."""
    is_out = users.c.erasing_since.is_not(None) | users.c.disabled_at.is_not(None)
    return exists().where(users.c.user_email == user_email, is_out)


def is_open(user_email: str) -> ColumnElement[bool]:
    """Whether this address has an account that was not closed.

    What is stored beside requests and turns asks this within its transaction: its erasure does not wait for it.
    """
    return exists().where(users.c.user_email == user_email, users.c.erasing_since.is_(None))


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

password_links = Table(
    "password_links",
    metadata,
    # One link an account: a newer one replaces it.
    Column("user_email", Text, ForeignKey("users.user_email", ondelete="CASCADE"), primary_key=True),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
)

sign_in_identities = Table(
    "sign_in_identities",
    metadata,
    # Who a person is at an OpenID provider: the provider, and what it calls them for ever.
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("user_email", Text, ForeignKey("users.user_email", ondelete="CASCADE"), nullable=False),
    Column("created_at", Text, nullable=False),
    Index("idx_sign_in_identities_owner", "user_email"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("invitation_id", Text, primary_key=True),
    Column("token_hash", Text, nullable=False, unique=True),
    # The administrator who made it; none: the command line.
    Column("user_email", Text, ForeignKey("users.user_email", ondelete="CASCADE")),
    # Whom it is for; none: whoever has the link.
    Column("invited_email", Text),
    # "administrator" or "member".
    Column("role", Text, nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Index("idx_invitations_owner", "user_email"),
)

library = Table(
    "library",
    metadata,
    Column("item_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    # "preset" or "prompt": `database.library`.
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("content", JSON, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index("idx_library_name", "user_email", "kind", "name", unique=True),
)

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("attempt_id", Sequence, primary_key=True, autoincrement=True),
    Column("subject", Text, nullable=False),
    Column("attempted_at", Text, nullable=False),
    Index("idx_login_attempts_subject", "subject", "attempted_at"),
)

# What an account may use instead of what the settings give everybody; a NULL is as the settings say.
quotas = Table(
    "quotas",
    metadata,
    Column("user_email", Text, ForeignKey("users.user_email", ondelete="CASCADE"), primary_key=True),
    Column("messages_a_day", BigInteger),
    Column("tokens_a_day", BigInteger),
    Column("tokens_a_month", BigInteger),
    Column("file_megabytes", BigInteger),
)

# What a person has used on a day (UTC, "2026-02-08"), counted in the transactions that accept messages and end answers.
usage_days = Table(
    "usage_days",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("messages", BigInteger, nullable=False, server_default="0"),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

# What administrators did. Rows are added and, after the days of ANAPHORA_AUDIT_DAYS, deleted; never changed.
audit_log = Table(
    "audit_log",
    metadata,
    Column("audit_id", Sequence, primary_key=True, autoincrement=True),
    Column("at", Text, nullable=False),
    # "" for whoever may use the command line of the server.
    Column("actor_email", Text, nullable=False),
    # "page", "token" or "command line".
    Column("door", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("act", Text, nullable=False),
    # The account, or the name of another thing, that the act was done to.
    Column("subject", Text, nullable=False),
    Column("details", JSON, nullable=False),
    Index("idx_audit_log_at", "at"),
    Index("idx_audit_log_subject", "subject", "audit_id"),
    Index("idx_audit_log_act", "act", "audit_id"),
    sqlite_autoincrement=True,
)
