"""Readable ids that come right before and behind a misspelled one: those with the longest beginning in common."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, Table, bindparam, func, select

from database.engine.text import storable

from ..crud.base import HOLDING, one_of
from ..database import PKBDatabase, Prepared
from ..schema.operators import caseless, unindexed
from ..schema.tables import claims, contexts, entities, tags

_LONGEST = 200
_TITLE = 200
_LIMIT: BindParameter[int] = bindparam("limit")
_TYPED: BindParameter[str] = bindparam("typed")


def _around(table: Table, title: str) -> tuple[Prepared, Prepared]:
    name = table.c.friendly_id
    own = select(name, func.substr(table.c[title], 1, _TITLE)).where(table.c.user_email == bindparam("user"))
    if table is claims:
        own = own.where(one_of(unindexed(claims.c.status), HOLDING))
    before = own.where(caseless(name) < caseless(_TYPED)).order_by(caseless(name).desc())
    behind = own.where(caseless(name) >= caseless(_TYPED)).order_by(caseless(name))
    return Prepared(before.limit(_LIMIT)), Prepared(behind.limit(_LIMIT))


_AROUND = {
    "claim": _around(claims, "statement"),
    "context": _around(contexts, "name"),
    "entity": _around(entities, "name"),
    "tag": _around(tags, "name"),
}


def ids_around(db: PKBDatabase, user_email: str | None, typed: str, *, limit: int) -> list[dict[str, Any]]:
    """The user's `{kind, friendly_id, title}` around `typed` in the order of the ids, of each kind `limit` each way."""
    given: dict[str, Any] = {"user": user_email or "", "typed": storable(typed)[:_LONGEST], "limit": limit}
    with db.snapshot():
        return [
            {"kind": kind, "friendly_id": friendly_id, "title": title}
            for kind, both in _AROUND.items()
            for statement in both
            for friendly_id, title in db.rows(statement, **given)
        ]
