"""API tokens: stored with a name and a hash; the token itself is shown once."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, true, update

from database.engine.clock import iso, now, now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import InvalidChangeError, TokenNotFoundError, UserNotFoundError
from database.engine.statements import Prepared
from database.engine.text import storable
from database.schema import api_tokens, users
from sentences import say

from .audit import Actor, record_act
from .secret_tokens import Asking, fingerprint, found_owner, new_secret

# People, and scanners for leaked secrets, recognise a token by this prefix.
TOKEN_PREFIX = "anaphora_"
_LONGEST_NAME = 100
_USED_EVERY = timedelta(minutes=1)

_c = api_tokens.c
# Executed for each request with a token.
_OWNER = Prepared(
    select(_c.user_email, _c.token_id, _c.name, _c.read_only, _c.last_used_at)
    .join_from(api_tokens, users, users.c.user_email == _c.user_email)
    .where(_c.token_hash == bindparam("fingerprint"), users.c.disabled_at.is_(None))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One API token as its owner sees it. Times are ISO 8601 in UTC; `last_used_at` is None before the first use."""

    token_id: str
    name: str
    read_only: bool
    created_at: str
    last_used_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOwner:
    """The owner of a token, and what they call it. `read_only`: it permits no changes."""

    user_email: str
    token_id: str
    name: str
    read_only: bool


def create_token(
    *, database: Database, user_email: str, name: str, read_only: bool = False, by: Actor | None = None
) -> tuple[TokenRow, str]:
    """A new token and its secret, which is returned only here. by: who makes it, if it is not the person.

    Raises InvalidChangeError (the name is empty or longer than 100 characters), UserNotFoundError (there is no such
    account).
    """
    label = storable(name.strip())
    if not 0 < len(label) <= _LONGEST_NAME:
        raise InvalidChangeError(say("token_name_length", most=_LONGEST_NAME))
    secret = new_secret(TOKEN_PREFIX)
    row = TokenRow(token_id=str(uuid.uuid4()), name=label, read_only=read_only, created_at=now_iso(), last_used_at=None)

    def job(connection: Connection) -> None:
        if connection.execute(select(users.c.user_email).where(users.c.user_email == user_email)).first() is None:
            raise UserNotFoundError
        connection.execute(
            insert(api_tokens).values(
                token_hash=fingerprint(secret),
                token_id=row.token_id,
                user_email=user_email,
                name=row.name,
                read_only=int(read_only),
                created_at=row.created_at,
            )
        )
        record_act(connection, by, "token_made", user_email, details={"name": row.name, "read_only": read_only})

    database.write(job)
    return row, secret


def find_token(*, database: Database, token: str, beside: Asking | None = None) -> TokenOwner | None:
    """The owner of the token; None for an unknown or revoked token, or a disabled account.

    Records the last use at most once a minute, in the background. beside: see `found_owner`.
    """
    token_hash, moment = fingerprint(token), now()
    row = found_owner(database, _OWNER, beside=beside, fingerprint=token_hash)
    if row is None:
        return None
    user_email, token_id, name, read_only, last_used_at = row
    if last_used_at is None or last_used_at < iso(moment - _USED_EVERY):
        used = update(api_tokens).where(_c.token_hash == token_hash).values(last_used_at=iso(moment))
        database.submit(lambda connection: connection.execute(used).rowcount, urgency=Urgency.INDEX)
    return TokenOwner(user_email=user_email, token_id=token_id, name=name, read_only=bool(read_only))


def owners_of_tokens(*, database: Database, tokens: Collection[str]) -> dict[str, str]:
    """The owner of each of these tokens that is valid, by the token; as `find_token`, but it is no use of them."""
    by_hash = {fingerprint(token): token for token in tokens}
    valid = (
        select(_c.token_hash, _c.user_email)
        .join_from(api_tokens, users, users.c.user_email == _c.user_email)
        .where(_c.token_hash.in_(by_hash), users.c.disabled_at.is_(None))
    )
    with database.reading() as connection:
        return {by_hash[token_hash]: user_email for token_hash, user_email in connection.execute(valid)}


def list_tokens(*, database: Database, user_email: str) -> list[TokenRow]:
    """The user's tokens, oldest first."""
    query = (
        select(_c.token_id, _c.name, _c.read_only, _c.created_at, _c.last_used_at)
        .where(_c.user_email == user_email)
        .order_by(_c.created_at, _c.token_id)
    )
    with database.reading() as connection:
        return [TokenRow(**row._asdict() | {"read_only": bool(row.read_only)}) for row in connection.execute(query)]


def revoke_token(*, database: Database, user_email: str, token_id: str, by: Actor | None = None) -> None:
    """Revoke a token of the user. by: who does, if it is not the person.

    Raises TokenNotFoundError (missing or somebody else's).
    """
    if not _revoke(database, user_email, _c.token_id == token_id, by=by):
        raise TokenNotFoundError


def revoke_all_tokens(*, database: Database, user_email: str, by: Actor) -> int:
    """Revoke all tokens of the user; how many. by: who does."""
    return _revoke(database, user_email, true(), by=by)


def _revoke(database: Database, user_email: str, which: ColumnElement[bool], *, by: Actor | None) -> int:
    def job(connection: Connection) -> int:
        own = delete(api_tokens).where(_c.user_email == user_email, which).returning(_c.name)
        names = sorted(connection.execute(own).scalars())
        for name in names:
            record_act(connection, by, "token_revoked", user_email, details={"name": name})
        return len(names)

    return database.write(job)
