"""Secrets that are handed out once and verified later by their hash."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from database.engine.database import Database
from database.engine.statements import Prepared, Row, pipelined

_BYTES = 32
Asking = Callable[[Connection], Callable[[], object]]
"""Asks for something within a transaction; what is returned reads the answer within it."""


def new_secret(prefix: str = "") -> str:
    """256 random bits as URL-safe text, after `prefix`."""
    return prefix + secrets.token_urlsafe(_BYTES)


def derived_secret(key: str, seed: str) -> str:
    """256 bits as URL-safe text, reproducible from `key` and `seed`, not guessable from one of them."""
    digest = hmac.digest(key.encode(), seed.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def fingerprint(secret: str) -> str:
    """The hash stored in place of `secret`. A plain SHA-256 is enough for 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def found_owner(database: Database, query: Prepared, *, beside: Asking | None, **parameters: Any) -> Row | None:
    """What `query` finds of the owner of a secret, or None.

    beside: what a database server is asked for at the same time; the answer is read only where there is an owner.
    """
    with database.reading() as connection:
        if beside is None:
            return query.row(connection, **parameters)
        with pipelined(connection):
            ask, read = query.asked(connection, **parameters), beside(connection)
            rows = ask()
            if rows:
                read()
    return rows[0] if rows else None
