"""One-time links by which a person sets a new password. Only a hash of each token is stored."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from database.engine.clock import iso_in, now_iso
from database.engine.database import Database
from database.engine.errors import ConflictError, PasswordLinkNotFoundError, UserNotFoundError
from database.schema import password_links, users
from sentences import say

from .audit import Actor, record_act
from .passwords import hash_password
from .secret_tokens import fingerprint, new_secret
from .users import UserRow, account_key, replace_password

LIFETIME_HOURS = 24

_c = password_links.c


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLink:
    """A new link. token: the secret, returned only here. expires_at: ISO 8601 in UTC."""

    token: str
    expires_at: str


def create_password_link(*, database: Database, user_email: str, by: Actor | None = None) -> PasswordLink:
    """A link that sets the password of `user_email` once, within `LIFETIME_HOURS`. It replaces an earlier link.

    by: the administrator who makes it. Raises UserNotFoundError (there is no such account), ConflictError (the account
    is disabled).
    """
    key = account_key(user_email)
    link = PasswordLink(token=new_secret(), expires_at=iso_in(hours=LIFETIME_HOURS))

    def job(connection: Connection) -> None:
        account = connection.execute(select(users.c.disabled_at).where(users.c.user_email == key)).first()
        if account is None:
            raise UserNotFoundError
        if account.disabled_at is not None:
            raise ConflictError(say("account_disabled"))
        moment = now_iso()
        connection.execute(delete(password_links).where((_c.user_email == key) | (_c.expires_at <= moment)))
        connection.execute(
            insert(password_links).values(
                user_email=key, token_hash=fingerprint(link.token), created_at=moment, expires_at=link.expires_at
            )
        )

        record_act(connection, by, "password_link_made", key)

    database.write(job)
    return link


def password_link_owner(*, database: Database, token: str) -> str:
    """The e-mail address of the account whose password the link sets.

    Raises PasswordLinkNotFoundError for an unknown, used, replaced or expired link, and for a disabled account.
    """
    with database.reading() as connection:
        return _owner(connection, token)


def redeem_password_link(*, database: Database, token: str, password: str, keep_tokens: bool = False) -> UserRow:
    """Set the password and consume the link; all sessions end, and all API tokens unless `keep_tokens`.

    Returns the account with that password. Raises PasswordLinkNotFoundError (as `password_link_owner`),
    InvalidChangeError (the password is too short or too long; the link can still be used).
    """
    # Checked before the expensive hashing, and again in the transaction, where one of two callers wins.
    password_link_owner(database=database, token=token)
    password_hash = hash_password(password)

    def job(connection: Connection) -> UserRow:
        return replace_password(connection, _owner(connection, token), password_hash, keep_tokens=keep_tokens).user

    return database.write(job)


def _owner(connection: Connection, token: str) -> str:
    query = (
        select(_c.user_email)
        .join(users, users.c.user_email == _c.user_email)
        .where(_c.token_hash == fingerprint(token), _c.expires_at > now_iso(), users.c.disabled_at.is_(None))
    )
    owner = connection.execute(query).scalar()
    if owner is None:
        raise PasswordLinkNotFoundError
    return str(owner)
