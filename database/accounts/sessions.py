"""Sessions of logged-in users. The browser holds the token; the store holds its hash."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, true, update
from typing_extensions import TypedDict

from database.engine.clock import iso, iso_in, now, now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import SessionNotFoundError
from database.engine.statements import Prepared
from database.engine.text import storable
from database.schema import sessions, users

from .audit import Actor, record_act
from .secret_tokens import Asking, fingerprint, found_owner, new_secret
from .users import require_password

LIFETIME_DAYS = 30
_SEEN_EVERY = timedelta(minutes=1)
_LONGEST_TEXT = 300

_c = sessions.c
_OWNER = Prepared(
    select(_c.user_email, _c.last_seen_at)
    .join_from(sessions, users, users.c.user_email == _c.user_email)
    .where(
        _c.session_hash == bindparam("fingerprint"), _c.expires_at > bindparam("moment"), users.c.disabled_at.is_(None)
    )
)


class Session(TypedDict):
    """One session as its owner sees it. `current`: the session of this request. Times are ISO 8601 in UTC."""

    session_id: str
    user_agent: str
    address: str
    created_at: str
    last_seen_at: str
    expires_at: str
    current: bool


def create_session(
    *, database: Database, user_email: str, password_hash: str | None = None, user_agent: str = "", address: str = ""
) -> str:
    """Begin a session of `LIFETIME_DAYS`; its token, returned only here.

    Expired sessions of the user are deleted. password_hash: of the password that the person has proved, if they have.
    Raises UserNotFoundError (the account has another password now, whose setting has ended all sessions).
    """
    token, moment = new_secret(), now_iso()

    def job(connection: Connection) -> None:
        if password_hash is not None:
            require_password(connection, user_email, password_hash)
        connection.execute(delete(sessions).where(_c.user_email == user_email, _c.expires_at <= moment))
        connection.execute(
            insert(sessions).values(
                session_hash=fingerprint(token),
                session_id=str(uuid.uuid4()),
                user_email=user_email,
                user_agent=storable(user_agent[:_LONGEST_TEXT]),
                address=storable(address[:_LONGEST_TEXT]),
                created_at=moment,
                last_seen_at=moment,
                expires_at=iso_in(days=LIFETIME_DAYS),
            )
        )

    database.write(job)
    return token


def find_session(*, database: Database, token: str, beside: Asking | None = None) -> str | None:
    """The e-mail address of the session's user; None for an unknown, ended or expired one, or a disabled account.

    Records the last use at most once a minute, in the background. beside: see `found_owner`.
    """
    session_hash, moment = fingerprint(token), now()
    row = found_owner(database, _OWNER, beside=beside, fingerprint=session_hash, moment=iso(moment))
    if row is None:
        return None
    user_email, last_seen_at = row
    if last_seen_at < iso(moment - _SEEN_EVERY):
        seen = update(sessions).where(_c.session_hash == session_hash).values(last_seen_at=iso(moment))
        database.submit(lambda connection: connection.execute(seen).rowcount, urgency=Urgency.INDEX)
    return str(user_email)


def owners_of_sessions(*, database: Database, tokens: Collection[str]) -> dict[str, str]:
    """The owner of each of these sessions that is valid, by its token; as `find_session`, but it is no use of them."""
    by_hash = {fingerprint(token): token for token in tokens}
    valid = (
        select(_c.session_hash, _c.user_email)
        .join_from(sessions, users, users.c.user_email == _c.user_email)
        .where(_c.session_hash.in_(by_hash), _c.expires_at > now_iso(), users.c.disabled_at.is_(None))
    )
    with database.reading() as connection:
        return {by_hash[session_hash]: user_email for session_hash, user_email in connection.execute(valid)}


def list_sessions(*, database: Database, user_email: str, current_token: str | None = None) -> list[Session]:
    """The user's sessions that have not expired, most recently used first."""
    current = fingerprint(current_token) if current_token else None
    query = (
        select(sessions)
        .where(_c.user_email == user_email, _c.expires_at > now_iso())
        .order_by(_c.last_seen_at.desc(), _c.session_id)
    )
    with database.reading() as connection:
        return [
            Session(
                session_id=row.session_id,
                user_agent=row.user_agent,
                address=row.address,
                created_at=row.created_at,
                last_seen_at=row.last_seen_at,
                expires_at=row.expires_at,
                current=row.session_hash == current,
            )
            for row in connection.execute(query)
        ]


def revoke_session(*, database: Database, user_email: str, session_id: str, by: Actor | None = None) -> None:
    """End one session of the user. by: who does, if it is not the person.

    Raises SessionNotFoundError (missing or somebody else's).
    """
    if not _revoke(database, user_email, _c.session_id == session_id, by=by):
        raise SessionNotFoundError


def revoke_all_sessions(
    *, database: Database, user_email: str, except_token: str | None = None, by: Actor | None = None
) -> int:
    """End all sessions of the user except that of `except_token`; how many. by: who does, if it is not the person."""
    which = true() if except_token is None else _c.session_hash != fingerprint(except_token)
    return _revoke(database, user_email, which, by=by)


def _revoke(database: Database, user_email: str, which: ColumnElement[bool], *, by: Actor | None) -> int:
    def job(connection: Connection) -> int:
        count = connection.execute(delete(sessions).where(_c.user_email == user_email, which)).rowcount
        if count:
            record_act(connection, by, "sessions_ended", user_email)
        return count

    return database.write(job)


def end_session(*, database: Database, token: str) -> None:
    """Log out: end the session of this token, if there is one."""
    gone = delete(sessions).where(_c.session_hash == fingerprint(token))
    database.write(lambda connection: connection.execute(gone).rowcount)
