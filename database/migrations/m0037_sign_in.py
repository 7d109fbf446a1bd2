"""Who people are at an OpenID provider, and invitations to make an account.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS sign_in_identities (
        issuer {text} NOT NULL,
        subject {text} NOT NULL,
        user_email {text} NOT NULL REFERENCES users (user_email) ON DELETE CASCADE,
        created_at {text} NOT NULL,
        PRIMARY KEY (issuer, subject)
    );
    CREATE INDEX IF NOT EXISTS idx_sign_in_identities_owner ON sign_in_identities (user_email);
    CREATE TABLE IF NOT EXISTS invitations (
        invitation_id {text} NOT NULL PRIMARY KEY,
        token_hash {text} NOT NULL UNIQUE,
        user_email {text} REFERENCES users (user_email) ON DELETE CASCADE,
        invited_email {text},
        role {text} NOT NULL,
        uses_left BIGINT NOT NULL,
        created_at {text} NOT NULL,
        expires_at {text} NOT NULL
    );
    CREATE INDEX IF NOT EXISTS idx_invitations_owner ON invitations (user_email)
"""
_TEXT = {"sqlite": "TEXT", "postgresql": 'TEXT COLLATE "C"'}


def upgrade(connection: Connection) -> None:
    """Create the tables and their indexes; a new store has them already."""
    for statement in _STATEMENTS.format(text=_TEXT[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
