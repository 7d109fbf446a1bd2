"""The roles of accounts: administrators and members. One administrator who can log in always stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlalchemy import Connection, select, update

from database.engine.database import Database
from database.engine.errors import LastAdministratorError, UserNotFoundError
from database.schema import users
from sentences import say

from .audit import Actor, record_act
from .users import account_key, is_only_administrator, void_links_of_administrator

Role = Literal["administrator", "member"]
ADMINISTRATOR: Role = "administrator"
MEMBER: Role = "member"

_c = users.c


def set_role(
    *, database: Database, user_email: str, role: Role, by: Actor, details: Mapping[str, str] | None = None
) -> bool:
    """Give an account a role; whether it had another one before. by: who does. details: for the audit log.

    Raises:
        UserNotFoundError: there is no such account.
        LastAdministratorError: it is the only administrator who can log in.
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
        return True

    return database.write(job)
