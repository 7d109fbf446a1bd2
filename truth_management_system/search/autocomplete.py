"""What a person may mean who has typed the beginning of a reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from database.engine.text import storable

from ..constants import ClaimStatus, ContextDomain
from ..crud.base import marks
from ..crud.contexts import ContextCRUD
from ..database import PKBDatabase
from ..utils import name_key
from .query_words import all_words
from .searched_table import indexed_expression, shortened

Suggestion = dict[str, Any]

_LONGEST_PREFIX = 200
_MARK = re.compile(r"^[@#]+")
_NUMBER = re.compile(r"(?:claim_)?0*([1-9][0-9]{0,8})")
_ID = re.compile(r"[a-z0-9_-]*")
_MOST_WORDS = 8
_LOOKED_AT = 5
_READ_FOR_A_LETTER = 100
_CLAIM = "friendly_id, claim_id, claim_number, statement, claim_type"
_COLUMNS = ("statement", "possible_questions", "friendly_id")
_HOLDING = ClaimStatus.default_search_statuses()


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
            "entities": _groups(db, user, typed, limit, "entities", "entity_id", "entity_type"),
            "tags": _groups(db, user, typed, limit, "tags", "tag_id"),
            "domains": _domains(db, user, typed, limit),
        }


def _memories(db: PKBDatabase, user: str, typed: str, limit: int) -> list[Suggestion]:
    if not typed:
        return [_memory(row) for row in _newest(db, user, limit)]
    rows = [*_by_number(db, user, typed), *_by_id(db, user, typed, limit)]
    if len(rows) < limit:
        rows += _by_words(db, user, typed, limit)
    found = {row[1]: _memory(row) for row in reversed(rows)}
    return [found[claim_id] for claim_id in dict.fromkeys(row[1] for row in rows)][:limit]


def _memory(row: Sequence[Any]) -> Suggestion:
    return dict(zip(("friendly_id", "claim_id", "claim_number", "statement", "claim_type"), row, strict=True))


def _newest(db: PKBDatabase, user: str, limit: int) -> Sequence[Sequence[Any]]:
    sql = (
        f"SELECT {_CLAIM} FROM claims WHERE user_email = ? AND +status IN ({marks(_HOLDING)}) "
        "ORDER BY updated_at DESC LIMIT ?"
    )
    return db.select(sql, [user, *_HOLDING, limit])


def _by_number(db: PKBDatabase, user: str, typed: str) -> Sequence[Sequence[Any]]:
    match = _NUMBER.fullmatch(typed)
    if not match:
        return []
    number = int(match.group(1))
    numbers = [number, *range(10 * number, 10 * number + 10)]
    sql = (
        f"SELECT {_CLAIM} FROM claims WHERE user_email = ? AND claim_number IN ({marks(numbers)}) "
        f"AND +status IN ({marks(_HOLDING)}) ORDER BY claim_number"
    )
    return db.select(sql, [user, *numbers, *_HOLDING])


def _by_id(db: PKBDatabase, user: str, typed: str, limit: int) -> Sequence[Sequence[Any]]:
    if not _ID.fullmatch(typed):
        return []
    # A range, not LIKE: "_" means itself, and the index that knows no case answers it in order.
    sql = (
        f"SELECT {_CLAIM} FROM claims WHERE user_email = ? AND friendly_id COLLATE NOCASE >= ? "
        f"AND friendly_id COLLATE NOCASE < ? AND +status IN ({marks(_HOLDING)}) "
        "ORDER BY friendly_id COLLATE NOCASE LIMIT ?"
    )
    return db.select(sql, [user, typed, _after(typed), *_HOLDING, limit])


def _by_words(db: PKBDatabase, user: str, typed: str, limit: int) -> Sequence[Sequence[Any]]:
    *whole, last = all_words(typed)[-_MOST_WORDS:] or [""]
    if not last:
        return []
    said = [f'"{word}"' for word in whole]
    if len(last) == 1 and typed[-1].isalnum():
        # So many words begin with one letter that it is quicker to read a few claims than to look them up.
        return [row for row in _newest_with(db, user, said, _READ_FOR_A_LETTER) if _has_begun(row, last)]
    said.append(_begun(last) if typed[-1].isalnum() else f'"{last}"')
    rows = _newest_with(db, user, said, _LOOKED_AT * limit)
    return sorted(rows, key=lambda row: not any(word.startswith(last) for word in all_words(row[3])))


def _newest_with(db: PKBDatabase, user: str, expressions: Sequence[str], count: int) -> Sequence[Sequence[Any]]:
    """The newest claims that match every one of `expressions`; all match none."""
    if not expressions:
        return _newest(db, user, count)
    sql = (
        f"SELECT {', '.join(f'claims.{column}' for column in _CLAIM.split(', '))} FROM claims_fts "
        "CROSS JOIN claims ON claims.claim_rowid = claims_fts.rowid WHERE claims_fts MATCH ? "
        f"AND claims.user_email = ? AND claims.status IN ({marks(_HOLDING)}) ORDER BY claims_fts.rowid DESC LIMIT ?"
    )
    expression = indexed_expression(" AND ".join(expressions), columns=_COLUMNS, owner=user)
    return db.select(sql, [expression, user, *_HOLDING, count])


def _has_begun(row: Sequence[Any], letter: str) -> bool:
    friendly_id, _, _, statement, _ = row
    return any(word.startswith(letter) for word in [*all_words(statement), *all_words(friendly_id)])


def _begun(word: str) -> str:
    """An expression for words that begin with `word`, also for those whose stems are shorter."""
    either = [f'"{word}" *', *(f'"{stem}"' for stem in shortened(word))]
    return f"({' OR '.join(either)})"


def _contexts(db: PKBDatabase, user: str, typed: str, limit: int) -> list[Suggestion]:
    found = _groups(db, user, typed, limit, "contexts", "context_id")
    counts = ContextCRUD(db, user).claim_counts([context["context_id"] for context in found])
    return [context | {"claim_count": counts[context["context_id"]]} for context in found]


def _groups(
    db: PKBDatabase, user: str, typed: str, limit: int, table: str, key: str, *further: str
) -> list[Suggestion]:
    columns = ("friendly_id", key, "name", *further)
    by_id = "(friendly_id COLLATE NOCASE >= ? AND friendly_id COLLATE NOCASE < ?)"
    words = [f"_{word}" for word in name_key(typed.replace("_", " ")).split("_") if word]
    by_words = " AND ".join("instr('_' || name_key, ?) > 0" for _ in words) or "1 = 1"
    sql = (
        f"SELECT {', '.join(columns)} FROM {table} WHERE user_email = ? AND ({by_id} OR ({by_words})) "
        f"ORDER BY {by_id} DESC, name_key LIMIT ?"
    )
    bounds = [typed, _after(typed)]
    rows = db.select(sql, [user, *bounds, *words, *bounds, limit])
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _domains(db: PKBDatabase, user: str, typed: str, limit: int) -> list[Suggestion]:
    own = db.select("SELECT domain_name FROM context_domains_catalog WHERE user_email = ?", [user])
    names = dict.fromkeys([*map(str, ContextDomain), *(name for (name,) in own)])
    sought = typed.replace(" ", "_")
    found = [name for name in names if f"{name}_domain".startswith(sought) or f"_{name}".find(f"_{sought}") >= 0]
    found = sorted(found, key=lambda name: not name.startswith(sought))[:limit]
    counts = _domain_counts(db, user, found) if found else {}
    return [{"friendly_id": f"{name}_domain", "name": name, "claim_count": counts.get(name, 0)} for name in found]


def _domain_counts(db: PKBDatabase, user: str, names: Sequence[str]) -> dict[str, int]:
    """Active and contested claims of each; since most are, the others are counted and taken away."""
    others = [status.value for status in ClaimStatus if status not in _HOLDING]
    sql = (
        "SELECT domain, SUM(number) FROM ("
        f"SELECT domain, COUNT(*) AS number FROM claim_domains WHERE user_email = ? AND domain IN ({marks(names)}) "
        "GROUP BY domain UNION ALL SELECT domain, -COUNT(*) FROM claims CROSS JOIN claim_domains "
        f"WHERE claims.user_email = ? AND claims.status IN ({marks(others)}) "
        "AND claim_domains.claim_rowid = claims.claim_rowid GROUP BY domain) GROUP BY domain"
    )
    return {domain: int(number) for domain, number in db.select(sql, [user, *names, user, *others])}


def _after(prefix: str) -> str:
    """What comes right behind everything that begins with `prefix`."""
    return f"{prefix}\U0010ffff"
