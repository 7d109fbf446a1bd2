"""The list of accounts, by address, in pages that stay consistent while accounts come and go."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import closing
from functools import cache
from itertools import islice

from sqlalchemy import Connection, Integer, Text, bindparam, func, select
from typing_extensions import TypedDict

from database.conversations.titles import has_words
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.engine.statements import Prepared
from database.schema import api_tokens, sessions, users
from database.search.index import folded_name
from sentences import say

_c = users.c
_SEEN = (
    select(func.max(sessions.c.last_seen_at)).where(sessions.c.user_email == _c.user_email).correlate(users)
).scalar_subquery()
_USED = (
    select(func.max(api_tokens.c.last_used_at)).where(api_tokens.c.user_email == _c.user_email).correlate(users)
).scalar_subquery()


class Account(TypedDict):
    """One account, as an administrator sees it.

    `last_seen_at`: when one of its sessions or API tokens was last used, as far as there are any; else None.
    """

    user_email: str
    name: str
    is_admin: bool
    created_at: str
    disabled_at: str | None
    last_seen_at: str | None


def list_accounts(
    *, database: Database, limit: int, cursor: str | None = None, q: str = ""
) -> tuple[list[Account], str | None]:
    """The open accounts by address, at most `limit`, and the cursor of the next page (None after the last).

    cursor: of the previous page. q: only those with each of these words in the address or the name, whatever the case
    and the diacritics; for that, the names are read from the cursor on until the page is full. Two queries.
    Raises InvalidChangeError for an unknown cursor.
    """
    after, words = "" if cursor is None else _decoded(cursor), folded_name(q).split()
    with database.reading() as connection:
        emails = _addresses(connection, after, words, limit + 1)
        shown = emails[:limit]
        accounts = _accounts(connection, shown)
    return accounts, _encoded(shown[-1]) if len(emails) > len(shown) else None


def _addresses(connection: Connection, after: str, words: list[str], most: int) -> list[str]:
    if not words:
        return [email for email, _ in _names(limited=True).rows(connection, after=after, at_most=most)]
    with closing(_names(limited=False).some(connection, after=after)) as rows:
        return list(islice((email for email, name in rows if has_words(f"{email}\n{name}", words)), most))


@cache
def _names(*, limited: bool) -> Prepared:
    query = select(_c.user_email, _c.name).where(_c.erasing_since.is_(None))
    query = query.where(_c.user_email > bindparam("after", type_=Text)).order_by(_c.user_email)
    return Prepared(query.limit(bindparam("at_most", type_=Integer)) if limited else query)


def _accounts(connection: Connection, emails: list[str]) -> list[Account]:
    columns = (
        _c.user_email,
        _c.name,
        _c.is_admin,
        _c.created_at,
        _c.disabled_at,
        _SEEN.label("seen"),
        _USED.label("used"),
    )
    query = select(*columns).where(_c.user_email.in_(emails)).order_by(_c.user_email)
    return [
        Account(
            user_email=row.user_email,
            name=row.name,
            is_admin=bool(row.is_admin),
            created_at=row.created_at,
            disabled_at=row.disabled_at,
            last_seen_at=max(filter(None, (row.seen, row.used)), default=None),
        )
        for row in connection.execute(query)
    ]


def _encoded(email: str) -> str:
    """The cursor of the page behind this account."""
    return urlsafe_b64encode(email.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> str:
    try:
        email = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidChangeError(say("list_page_gone")) from error
    if not email or "\0" in email or _encoded(email) != cursor:
        raise InvalidChangeError(say("list_page_gone"))
    return email
