"""Completing a reference from its first letters, and the readable ids right before and behind a misspelled one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, CompoundSelect, Table, Text, and_, bindparam, func, literal_column, or_, select

from database.engine.text import storable

from ..constants import ContextDomain
from ..crud.base import HOLDING, begins, one_of, prefix_bounds
from ..crud.catalog import domain_counts
from ..crud.contexts import ContextCRUD
from ..database import PKBDatabase, Prepared
from ..schema.fulltext import Query, Search, all_of, any_of, beginning, fulltext_index, matches, word
from ..schema.operators import among, caseless, contains, in_order, newest_first, unindexed
from ..schema.tables import claim_domains, claims, context_domains_catalog, contexts, entities, tags
from ..search.fulltext import shortened
from ..search.query_words import all_words
from ..utils import name_key

Suggestion = dict[str, Any]

_LONGEST_PREFIX = 200
_MARK = re.compile(r"^[@#]+")
_NUMBER = re.compile(r"(?:claim_)?0*([1-9][0-9]{0,8})")
_ID = re.compile(r"[a-z0-9_-]*")
_MOST_WORDS = 8
_LOOKED_AT = 5
_READ_FOR_A_LETTER = 100
_SHOWN = ("friendly_id", "claim_id", "claim_number", "statement", "claim_type")
_COLUMNS = ("statement", "possible_questions", "friendly_id")

_CLAIMS = select(*(claims.c[name] for name in _SHOWN)).where(claims.c.user_email == bindparam("user"))
_HOLDING_CLAIMS = _CLAIMS.where(one_of(unindexed(claims.c.status), HOLDING))
_LIMIT: BindParameter[int] = bindparam("limit")
_NEWEST = Prepared(_HOLDING_CLAIMS.order_by(claims.c.updated_at.desc()).limit(_LIMIT))
_BY_NUMBER = Prepared(_HOLDING_CLAIMS.where(among(claims.c.claim_number, "numbers")).order_by(claims.c.claim_number))
_BY_ID = Prepared(
    _HOLDING_CLAIMS.where(begins(claims.c.friendly_id)).order_by(caseless(claims.c.friendly_id)).limit(_LIMIT)
)
_INDEX = fulltext_index("claims")
_BY_WORDS = Prepared(
    select(*(claims.c[name] for name in _SHOWN))
    .select_from(in_order(_INDEX, claims, claims.c.claim_rowid == _INDEX.c.rowid))
    .where(
        matches("claims"),
        unindexed(claims.c.user_email) == bindparam("user"),
        one_of(unindexed(claims.c.status), HOLDING),
    )
    .order_by(newest_first(_INDEX.c.rowid))
    .limit(_LIMIT)
)


def _domains_named() -> CompoundSelect[Any]:
    """(name, 1) of the user's own domains, and (name, 0) of those that claims name, however many claims there are."""
    own = select(context_domains_catalog.c.domain_name, literal_column("1"))
    own = own.where(context_domains_catalog.c.user_email == bindparam("user"))
    mine = claim_domains.c.user_email == bindparam("user")
    # From each name to the next one, by the index.
    known = select(func.min(claim_domains.c.domain).label("name")).where(mine).cte("known", recursive=True)
    following = select(func.min(claim_domains.c.domain)).where(mine, claim_domains.c.domain > known.c.name)
    known = known.union_all(select(following.scalar_subquery()).where(known.c.name.is_not(None)))
    return own.union_all(select(known.c.name, literal_column("0")).where(known.c.name.is_not(None)))


_DOMAINS_NAMED = Prepared(_domains_named())


def autocomplete(
    db: PKBDatabase, user_email: str | None, prefix: str, *, limit: int = 10
) -> dict[str, list[Suggestion]]:
    """At most `limit` of each kind that `prefix` may mean: `{memories, contexts, entities, tags, domains}`.

    First those whose readable id begins with it, then those with its words, the last of which may be a beginning; of
    memories, "#4" and "claim_4" also mean the numbers that begin so. An empty prefix means the newest memories and the
    first of each other kind. Any text is a prefix; the number of queries does not depend on what is stored.
    """
    typed = _MARK.sub("", storable(prefix).strip()[:_LONGEST_PREFIX]).lower()
    user = user_email or ""
    with db.snapshot():
        return {
            "memories": _memories(db, user, typed, limit),
            "contexts": _contexts(db, user, typed, limit),
            "entities": _groups(db, user, typed, limit, entities, "entity_id", "entity_type"),
            "tags": _groups(db, user, typed, limit, tags, "tag_id"),
            "domains": _domains(db, user, typed, limit),
        }


def _memories(db: PKBDatabase, user: str, typed: str, limit: int) -> list[Suggestion]:
    if not typed:
        return [_memory(row) for row in db.rows(_NEWEST, user=user, limit=limit)]
    rows = list(_by_number(db, user, typed))
    if _ID.fullmatch(typed):
        rows += db.rows(_BY_ID, user=user, limit=limit, **prefix_bounds(typed))
    if len(rows) < limit:
        rows += _by_words(db, user, typed, limit)
    found = {row[1]: _memory(row) for row in reversed(rows)}
    return [found[claim_id] for claim_id in dict.fromkeys(row[1] for row in rows)][:limit]


def _memory(row: Sequence[Any]) -> Suggestion:
    return dict(zip(_SHOWN, row, strict=True))


def _by_number(db: PKBDatabase, user: str, typed: str) -> Sequence[Sequence[Any]]:
    match = _NUMBER.fullmatch(typed)
    if not match:
        return []
    number = int(match.group(1))
    numbers = [number, *range(10 * number, 10 * number + 10)]
    return db.rows(_BY_NUMBER, user=user, numbers=numbers)


def _by_words(db: PKBDatabase, user: str, typed: str, limit: int) -> Sequence[Sequence[Any]]:
    *whole, last = all_words(typed)[-_MOST_WORDS:] or [""]
    if not last:
        return []
    said = [word(each) for each in whole]
    if len(last) == 1 and typed[-1].isalnum():
        # So many words begin with one letter that it is quicker to read a few claims than to look them up.
        return [row for row in _newest_with(db, user, said, _READ_FOR_A_LETTER) if _has_begun(row, last)]
    said.append(_begun(last) if typed[-1].isalnum() else word(last))
    rows = _newest_with(db, user, said, _LOOKED_AT * limit)
    return sorted(rows, key=lambda row: not any(each.startswith(last) for each in all_words(row[3])))


def _newest_with(db: PKBDatabase, user: str, queries: Sequence[Query], count: int) -> Sequence[Sequence[Any]]:
    """The newest claims that match every one of `queries`; all match none."""
    if not queries:
        return db.rows(_NEWEST, user=user, limit=count)
    search = Search(query=all_of(queries), columns=_COLUMNS, owner=user)
    return db.rows(_BY_WORDS, user=user, search=search, limit=count)


def _has_begun(row: Sequence[Any], letter: str) -> bool:
    friendly_id, _, _, statement, _ = row
    return any(each.startswith(letter) for each in [*all_words(statement), *all_words(friendly_id)])


def _begun(text: str) -> Query:
    """A query for words that begin with `text`, also for those whose stems are shorter."""
    return any_of([beginning(text), *(word(stem) for stem in shortened(text))])


def _contexts(db: PKBDatabase, user: str, typed: str, limit: int) -> list[Suggestion]:
    found = _groups(db, user, typed, limit, contexts, "context_id")
    counts = ContextCRUD(db, user).claim_counts([context["context_id"] for context in found])
    return [context | {"claim_count": counts[context["context_id"]]} for context in found]


def _groups(
    db: PKBDatabase, user: str, typed: str, limit: int, table: Table, key: str, *further: str
) -> list[Suggestion]:
    columns = ("friendly_id", key, "name", *further)
    words = [f"_{word}" for word in name_key(typed.replace("_", " ")).split("_") if word]
    given = {f"word{place}": word for place, word in enumerate(words)}
    naming = _naming(table, columns, len(words) if words or not typed else None)
    rows = db.rows(naming, user=user, limit=limit, **prefix_bounds(typed), **given)
    return [dict(zip(columns, row, strict=True)) for row in rows]


@cache
def _naming(table: Table, columns: tuple[str, ...], words: int | None) -> Prepared:
    """Groups whose readable id begins with `:prefix`, those first, or whose name has words that begin so.

    words: how many; None: names are not looked at.
    """
    name = literal_column("'_'", Text) + table.c.name_key
    by_id = begins(table.c.friendly_id)
    fitting = by_id
    if words is not None:
        begun = (contains(name, bindparam(f"word{place}")) for place in range(words))
        fitting = or_(by_id, and_(literal_column("1 = 1"), *begun))
    query = select(*(table.c[column] for column in columns)).where(table.c.user_email == bindparam("user"))
    query = query.where(fitting).order_by(by_id.desc(), table.c.name_key)
    return Prepared(query.limit(bindparam("limit")))


def _domains(db: PKBDatabase, user: str, typed: str, limit: int) -> list[Suggestion]:
    named = db.rows(_DOMAINS_NAMED, user=user)
    listed = {*map(str, ContextDomain), *(name for name, is_listed in named if is_listed)}
    names = dict.fromkeys([*map(str, ContextDomain), *(name for name, _ in named)])
    sought = typed.replace(" ", "_")
    found = [name for name in names if f"{name}_domain".startswith(sought) or f"_{name}".find(f"_{sought}") >= 0]
    counts = domain_counts(db, user, found) if found else {}
    held = [name for name in found if name in listed or counts.get(name)]
    shown = sorted(held, key=lambda name: not name.startswith(sought))[:limit]
    return [{"friendly_id": f"{name}_domain", "name": name, "claim_count": counts.get(name, 0)} for name in shown]


_LONGEST = 200
_TITLE = 200
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
