"""Erasing what users know: rows, history, vectors, search indexes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Table, bindparam, delete, func, literal, literal_column, select, update

from database.maintenance.compaction import merge_fulltext

from ..constants import ClaimStatus
from ..database import PKBDatabase, Prepared
from ..schema import metadata
from ..schema.operators import among
from ..schema.sqlite import TOTAL_CHANGES
from ..schema.tables import aliases, audit_log, claims
from ..search.vector_cache import forget_vectors, remove_files

_ROWS_AT_ONCE: ColumnElement[int] = literal_column("200")
# Claims and notes first: what hangs on them goes with them.
_SLICED = (
    ("claims", "claim_rowid"),
    ("notes", "note_rowid"),
    ("entities", "entity_id"),
    ("tags", "tag_id"),
    ("contexts", "context_id"),
    ("conflict_sets", "conflict_set_id"),
    ("claim_links", "link_id"),
    ("plans", "plan_id"),
    ("audit_log", "audit_seq"),
)
_SMALL = ("aliases", "claim_types_catalog", "context_domains_catalog", "claim_numbers")
_INDEXES = ("claims_fts", "notes_fts")


def erase_user(db: PKBDatabase, user_email: str) -> None:
    """Erase all that `user_email` has in the knowledge base, in short transactions. Safe to run again."""
    for table, key in _SLICED:
        while db.run(_erasing(table, key), user=user_email):
            pass
    for table in _SMALL:
        db.run(_erasing(table, None), user=user_email)
    forget_vectors(db, user_email)
    remove_files(db, user_email)


@cache
def _erasing(name: str, key: str | None) -> Prepared:
    """Delete some rows of `:user`'s, and return their keys; without a key, all rows."""
    table = metadata.tables[name]
    of_user = table.c.user_email == bindparam("user")
    if key is None:
        return Prepared(delete(table).where(of_user))
    some = select(table.c[key]).where(of_user).limit(_ROWS_AT_ONCE)
    return Prepared(delete(table).where(table.c[key].in_(some)).returning(table.c[key]))


def retracted_before(db: PKBDatabase, moment: str, *, user_email: str | None = None) -> Sequence[str]:
    """Some ids of claims that were retracted before `moment` (ISO 8601): the user's, or anybody's for None."""
    return _ids(db, _retracted(user_email is None), moment=moment, user=user_email)


def changes_before(db: PKBDatabase, moment: str, *, user_email: str | None = None) -> Sequence[str]:
    """Some ids of changes that were made before `moment` and still know what was there before them."""
    return _ids(db, _old_changes(user_email is None), moment=moment, user=user_email)


def changes_of(db: PKBDatabase, claim_ids: Sequence[str]) -> Sequence[str]:
    """The ids of the changes whose subject is one of these claims."""
    return _ids(db, _CHANGES_OF, ids=claim_ids)


def erase_claims(db: PKBDatabase, claim_ids: Sequence[str]) -> None:
    """Erase claims for good. Of the changes that made them what they were, only time and kind are kept."""
    ids = claim_ids
    with db.transaction():
        db.run(_ERASE_CLAIMS, ids=ids)
        db.run(_ERASE_ALIASES, ids=ids)
        db.run(_FORGET_CHANGES, ids=ids)


def forget_former_texts(db: PKBDatabase, audit_ids: Sequence[str]) -> None:
    """Forget what was there before these changes; they can't be undone any more. A claim's have its text of today."""
    db.run(_FORGET_FORMER, ids=audit_ids)


def _ids(db: PKBDatabase, statement: Prepared, **given: Any) -> list[str]:
    return [identity for (identity,) in db.rows(statement, **given)]


def _of_user(table: Table, everybody: bool) -> list[ColumnElement[bool]]:
    return [] if everybody else [table.c.user_email == bindparam("user")]


@cache
def _retracted(everybody: bool) -> Prepared:
    is_retracted = claims.c.status == literal(ClaimStatus.RETRACTED.value)
    query = select(claims.c.claim_id).where(is_retracted, claims.c.retracted_at < bindparam("moment"))
    return Prepared(query.where(*_of_user(claims, everybody)).limit(_ROWS_AT_ONCE))


@cache
def _old_changes(everybody: bool) -> Prepared:
    is_kept = audit_log.c.images != literal_column("'[]'")
    query = select(audit_log.c.audit_id).where(audit_log.c.created_at < bindparam("moment"), is_kept)
    return Prepared(query.where(*_of_user(audit_log, everybody)).limit(_ROWS_AT_ONCE))


_NOTHING_KEPT = {"detail": literal("{}"), "images": literal("[]")}
_TODAY = (
    select(func.substr(claims.c.statement, 1, 200)).where(claims.c.claim_id == audit_log.c.object_id).scalar_subquery()
)
_CHANGES_OF = Prepared(select(audit_log.c.audit_id).where(among(audit_log.c.object_id, "ids")))
_ERASE_CLAIMS = Prepared(delete(claims).where(among(claims.c.claim_id, "ids")))
_ERASE_ALIASES = Prepared(delete(aliases).where(aliases.c.kind == literal("claim"), among(aliases.c.thing_id, "ids")))
_FORGET_CHANGES = Prepared(
    update(audit_log).where(among(audit_log.c.object_id, "ids")).values(title=literal(""), **_NOTHING_KEPT)
)
_FORGET_FORMER = Prepared(
    update(audit_log)
    .where(among(audit_log.c.audit_id, "ids"))
    .values(title=func.coalesce(_TODAY, audit_log.c.title), **_NOTHING_KEPT)
)


def merge_search_indexes(db: PKBDatabase) -> None:
    """Merge the full-text indexes, so that no deleted word stays in them. PostgreSQL does so by itself."""
    if db.is_postgresql:
        return

    def run(statement: str, parameters: tuple[Any, ...]) -> int:
        with db.transaction():
            before = int(db.fetchall(TOTAL_CHANGES)[0]["total_changes()"])
            db.execute(statement, parameters)
            return int(db.fetchall(TOTAL_CHANGES)[0]["total_changes()"]) - before

    for index in _INDEXES:
        merge_fulltext(index, run)
