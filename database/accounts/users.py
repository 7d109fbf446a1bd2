"""Accounts, their roles, and what users told about themselves. One administrator who can log in always stays."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, delete, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from database.agents.repository import store_global_agent
from database.changes import ADMINISTRATION, SETTINGS, record
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, LastAdministratorError, UserExistsError, UserNotFoundError
from database.engine.statements import Prepared
from database.engine.text import storable
from database.schema import api_tokens, conversations, is_open, password_links, sessions, users
from sentences import say

from .audit import Actor, record_act
from .passwords import hash_password, needs_new_hash, password_matches

Role = Literal["administrator", "member"]
ADMINISTRATOR: Role = "administrator"
MEMBER: Role = "member"

_c = users.c
# The address is part of conversation ids, which occur in URLs and folder names: no characters special in either.
_EMAIL = re.compile(r"[A-Za-z0-9_+~$!*'=&^-][A-Za-z0-9._+~$!*'=&^-]*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_LONGEST_EMAIL = 254
_SETTINGS = frozenset({"name", "detail", "preference", "language"})
_TOLD = Prepared(select(_c.name, _c.detail, _c.preference).where(_c.user_email == bindparam("owner")))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRow:
    """One account.

    detail: what its owner wrote about themselves. preference: how they want to be answered.
    language: of the pages; None for what the browser asks for. password_hash: of the password that was proved or stored
    when the row was made, "" for none: a session begins only while the account still has it.
    """

    user_email: str
    user_id: str
    name: str
    is_admin: bool
    detail: dict[str, Any]
    preference: dict[str, Any]
    created_at: str
    disabled_at: str | None
    language: str | None
    password_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAccess:
    """The result of a new password. sessions: how many were ended. tokens: how many API tokens were revoked.

    user: the account with that password.
    """

    user: UserRow
    sessions: int
    tokens: int


def normalise_email(email: str) -> str:
    """The stored form of an address: stripped, lower case."""
    return email.strip().lower()


def account_key(email: str) -> str:
    """The form of an address for looking up accounts; defined for any text."""
    return storable(normalise_email(email))


def create_user(
    *,
    database: Database,
    user_email: str,
    password: str,
    name: str = "",
    is_admin: bool = False,
    by: Actor | None = None,
) -> UserRow:
    """A new account. by: the administrator who makes it.

    Raises UserExistsError (the address has an account already), InvalidChangeError (the address or the password can't
    be one).
    """
    values = new_account(user_email, hash_password(password), name, is_admin=is_admin)

    def job(connection: Connection) -> UserRow:
        made = insert_account(connection, values)
        record_act(connection, by, "account_made", made.user_email, details={"is_admin": made.is_admin})
        return made

    return database.write(job)


def create_first_user(*, database: Database, user_email: str, password: str, name: str = "") -> UserRow:
    """The first account, an administrator; of concurrent callers one wins.

    Raises UserExistsError (there is an account already), InvalidChangeError (the address or the password can't be one).
    """
    values = new_account(user_email, hash_password(password), name, is_admin=True)

    def job(connection: Connection) -> UserRow:
        if _any_user(connection):
            raise UserExistsError("The first account exists already. Log in instead.")
        return insert_account(connection, values)

    return database.write(job)


def any_user_exists(*, database: Database) -> bool:
    """Whether there is an account."""
    with database.reading() as connection:
        return _any_user(connection)


def conversation_exists(*, database: Database) -> bool:
    """Whether anybody's conversation is stored, in the bin too: without an account, nobody can prove whose it is."""
    with database.reading() as connection:
        return bool(connection.execute(select(exists().select_from(conversations))).scalar_one())


def get_user(*, database: Database, user_email: str) -> UserRow:
    """The account of an address. Raises UserNotFoundError (there is none)."""
    with database.reading() as connection:
        return _stored(connection, account_key(user_email))


def has_password(*, database: Database, user_email: str) -> bool | None:
    """Whether the account of an address has a password, or people log in to it otherwise; None without an account."""
    with database.reading() as connection:
        found = connection.execute(select(_c.password_hash).where(_c.user_email == account_key(user_email))).scalar()
    return None if found is None else found != ""


def user_ids(*, database: Database, closed: bool = True) -> dict[str, str]:
    """The id of each account by its address. closed: of those that are being erased, too."""
    query = select(_c.user_email, _c.user_id)
    if not closed:
        query = query.where(_c.erasing_since.is_(None))
    with database.reading() as connection:
        return {row.user_email: row.user_id for row in connection.execute(query)}


def is_account_open(*, database: Database, user_email: str) -> bool:
    """Whether this address has an account that was not closed."""
    with database.reading() as connection:
        return bool(connection.execute(select(is_open(user_email))).scalar())


def set_disabled(*, database: Database, user_email: str, disabled: bool, by: Actor | None = None) -> None:
    """Disable an account, which ends its sessions and suspends its tokens, or enable it again; nothing where it is so.

    by: who does. Raises UserNotFoundError (there is no such account), LastAdministratorError (it is the only
    administrator who can log in).
    """
    key, moment = account_key(user_email), now_iso()

    def job(connection: Connection) -> None:
        theirs = (_c.user_email == key) & _c.erasing_since.is_(None)
        account = connection.execute(select(_c.disabled_at).where(theirs)).first()
        if account is None:
            raise UserNotFoundError
        if (account.disabled_at is not None) == disabled:
            return
        if disabled and is_only_administrator(connection, key):
            raise LastAdministratorError(say("only_administrator"))
        if disabled:
            void_links_of_administrator(connection, key)
            connection.execute(delete(password_links).where(password_links.c.user_email == key))
        # When it is enabled, too: a login that was under way when it was disabled has begun one since.
        connection.execute(delete(sessions).where(sessions.c.user_email == key))
        connection.execute(update(users).where(theirs).values(disabled_at=moment if disabled else None))
        record_act(connection, by, "account_disabled" if disabled else "account_enabled", key)

    database.write(job)


def disabled_among(*, database: Database, user_emails: Collection[str]) -> set[str]:
    """Those of these accounts that are disabled. user_emails: as they are stored."""
    if not user_emails:
        return set()
    theirs = (_c.user_email.in_(user_emails), _c.disabled_at.is_not(None))
    with database.reading() as connection:
        return set(connection.execute(select(_c.user_email).where(*theirs)).scalars())


def is_only_administrator(connection: Connection, key: str) -> bool:
    """Whether this account is the only administrator who can log in. key: an `account_key`.

    Ask in the transaction that takes that from the account: of two administrators who shut each other out at once, the
    second is then the only one.
    """
    active = select(_c.user_email).where(_c.is_admin == 1, _c.disabled_at.is_(None)).limit(2)
    return list(connection.execute(active).scalars()) == [key]


def void_links_of_administrator(connection: Connection, key: str) -> None:
    """Void all password links where this account is an administrator's, before it ceases to be one.

    Whoever made a link may still have it, and could log in as others with it. key: an `account_key`.
    """
    administers = exists().where(_c.user_email == key, _c.is_admin == 1)
    connection.execute(delete(password_links).where(administers))


def set_role(
    *, database: Database, user_email: str, role: Role, by: Actor, details: Mapping[str, str] | None = None
) -> bool:
    """Give an account a role; whether it had another one before. by: who does. details: for the audit log.

    Raises UserNotFoundError (there is no such account), LastAdministratorError (it is the only administrator who can
    log in).
    """
    key, is_admin = account_key(user_email), int(role == ADMINISTRATOR)

    def job(connection: Connection) -> bool:
        theirs = _c.user_email == key
        found = connection.execute(select(_c.is_admin).where(theirs, _c.erasing_since.is_(None))).scalar()
        if found is None:
            raise UserNotFoundError
        if found == is_admin:
            return False
        if not is_admin and is_only_administrator(connection, key):
            raise LastAdministratorError(say("only_administrator"))
        void_links_of_administrator(connection, key)
        connection.execute(update(users).where(theirs).values(is_admin=is_admin))
        record_act(connection, by, "role_changed", key, details={"role": role, **(details or {})})
        if not is_admin:  # no administrator any more, so that `record_act` does not tell their pages
            record(connection, ADMINISTRATION, "changed", user_email=key, ids=["role_changed"])
        return True

    return database.write(job)


def rename_user(*, database: Database, user_email: str, name: str) -> None:
    """Change what the user is called; "" for no name. Raises UserNotFoundError."""
    _update(database, account_key(user_email), {"name": storable(name.strip())})


def choose_language(*, database: Database, user_email: str, language: str | None) -> None:
    """Change the language of the account's pages; None for what the browser asks for. Raises UserNotFoundError."""
    _update(database, account_key(user_email), {"language": language})


def verify_password(*, database: Database, user_email: str, password: str) -> UserRow | None:
    """The account, if the password is right and it is not disabled; else None, after the same time in each case."""
    key = account_key(user_email)
    with database.reading() as connection:
        row = connection.execute(select(_c.password_hash, _c.disabled_at).where(_c.user_email == key)).first()
    if not password_matches(password, row.password_hash if row else None) or row is None or row.disabled_at is not None:
        return None
    known = row.password_hash
    if needs_new_hash(known):
        renewed = hash_password(password)
        if not _renew_hash(database, key, known, renewed):
            return verify_password(database=database, user_email=user_email, password=password)
        known = renewed
    return replace(get_user(database=database, user_email=key), password_hash=known)


def _renew_hash(database: Database, key: str, known: str, renewed: str) -> bool:
    """Store a stronger hash of the same password; False where another hash was stored meanwhile."""
    own = update(users).where(_c.user_email == key, _c.password_hash == known).values(password_hash=renewed)
    return database.write(lambda connection: connection.execute(own).rowcount == 1)


def set_password(
    *,
    database: Database,
    user_email: str,
    password: str,
    keep_tokens: bool = True,
    by: Actor | None = None,
    proved: UserRow | None = None,
) -> EndedAccess:
    """Change the password, end every session, and void the password link; without `keep_tokens`, revoke all tokens.

    by: the administrator who does, if it is not the person. proved: the account whose password the person has proved.
    Raises UserNotFoundError (there is no such account, or it has another password than was proved), InvalidChangeError
    (the password is too short or too long).
    """
    key, password_hash = account_key(user_email), hash_password(password)

    def job(connection: Connection) -> EndedAccess:
        if proved is not None:
            require_password(connection, proved.user_email, proved.password_hash)
        ended = replace_password(connection, key, password_hash, keep_tokens=keep_tokens)
        record_act(connection, by, "password_set", key)
        return ended

    return database.write(job)


def require_password(connection: Connection, key: str, password_hash: str) -> None:
    """Raises UserNotFoundError unless the account still has the password of this hash. key: an `account_key`."""
    theirs = select(_c.user_email).where(_c.user_email == key, _c.password_hash == password_hash)
    if connection.execute(theirs).first() is None:
        raise UserNotFoundError


def replace_password(connection: Connection, key: str, password_hash: str, *, keep_tokens: bool) -> EndedAccess:
    """`set_password` within a transaction. key: an `account_key`."""
    theirs = update(users).where(_c.user_email == key, _c.erasing_since.is_(None))
    changed = connection.execute(theirs.values(password_hash=password_hash))
    if changed.rowcount == 0:
        raise UserNotFoundError
    connection.execute(delete(password_links).where(password_links.c.user_email == key))
    ended = connection.execute(delete(sessions).where(sessions.c.user_email == key)).rowcount
    revoked = 0
    if not keep_tokens:
        revoked = connection.execute(delete(api_tokens).where(api_tokens.c.user_email == key)).rowcount
    return EndedAccess(user=_stored(connection, key), sessions=ended, tokens=revoked)


def get_user_detail(*, database: Database, user_email: str) -> dict[str, Any]:
    """What the user told us about themselves. Raises UserNotFoundError."""
    return get_user(database=database, user_email=user_email).detail


def get_user_preference(*, database: Database, user_email: str) -> dict[str, Any]:
    """How the user wants to be answered. Raises UserNotFoundError."""
    return get_user(database=database, user_email=user_email).preference


def modify_user_detail(*, database: Database, user_email: str, detail: Mapping[str, Any]) -> None:
    """Replace what the user told us about themselves. Raises UserNotFoundError."""
    _update(database, account_key(user_email), {"detail": dict(detail)})


def modify_user_preference(*, database: Database, user_email: str, preference: Mapping[str, Any]) -> None:
    """Replace how the user wants to be answered. Raises UserNotFoundError."""
    _update(database, account_key(user_email), {"preference": dict(preference)})


def told_to_models(*, database: Database, user_email: str) -> tuple[str, str, str]:
    """The user's name, what they told us about themselves, and how they want to be answered; "" for what is not known.

    Also "" where there is no such account, as in a store that a script made.
    """
    with database.reading() as connection:
        return asked_told_to_models(connection, user_email)()


def asked_told_to_models(connection: Connection, user_email: str) -> Callable[[], tuple[str, str, str]]:
    """Asks for what `told_to_models` gives; what is returned reads it, within the transaction."""
    rows = _TOLD.asked(connection, owner=account_key(user_email))

    def read() -> tuple[str, str, str]:
        name, detail, preference = next(iter(rows()), ("", {}, {}))
        return str(name), str(detail.get("text") or ""), str(preference.get("text") or "")

    return read


def checked_address(email: str) -> str:
    """The stored form of an address that an account can have. Raises InvalidChangeError."""
    key = normalise_email(email)
    if len(key) > _LONGEST_EMAIL or not _EMAIL.fullmatch(key):
        raise InvalidChangeError(say("no_email_address"))
    return key


def new_account(email: str, password_hash: str, name: str, *, is_admin: bool) -> dict[str, Any]:
    """The row of a new account. password_hash: "" for one without a password. Raises InvalidChangeError."""
    return {
        "user_email": checked_address(email),
        "user_id": str(uuid.uuid4()),
        "name": storable(name.strip()),
        "password_hash": password_hash,
        "is_admin": int(is_admin),
        "detail": {},
        "preference": {},
        "created_at": now_iso(),
        "disabled_at": None,
        "language": None,
    }


def insert_account(connection: Connection, values: dict[str, Any]) -> UserRow:
    """Store a `new_account` within a transaction. Raises UserExistsError."""
    try:
        with connection.begin_nested():
            connection.execute(insert(users).values(values))
    except IntegrityError as error:
        raise UserExistsError(say("account_exists")) from error
    store_global_agent(connection, user_email=values["user_email"])
    fields = {name: values[name] for name in UserRow.__dataclass_fields__}
    return UserRow(**fields | {"is_admin": bool(values["is_admin"])})


def _any_user(connection: Connection) -> bool:
    return connection.execute(select(_c.user_email).limit(1)).first() is not None


def _stored(connection: Connection, key: str) -> UserRow:
    columns = [_c[name] for name in UserRow.__dataclass_fields__]
    row = connection.execute(select(*columns).where(_c.user_email == key)).first()
    if row is None:
        raise UserNotFoundError
    fields = dict(row._mapping)
    return UserRow(**fields | {"is_admin": bool(fields["is_admin"])})


def _update(database: Database, user_email: str, values: dict[str, Any]) -> None:
    def job(connection: Connection) -> None:
        if connection.execute(update(users).where(_c.user_email == user_email).values(values)).rowcount == 0:
            raise UserNotFoundError
        record(connection, SETTINGS, "changed", user_email=user_email, ids=values.keys() & _SETTINGS)

    database.write(job)
