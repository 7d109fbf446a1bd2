"""Erasing everything that one user knows: rows, history, vectors, search indexes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from database.maintenance.compaction import merge_fulltext

from .database import PKBDatabase
from .search.vector_cache import forget_vectors
from .search.vector_file import remove_files

_ROWS_AT_ONCE = 200
# Claims and notes first: what hangs on them goes with them.
_TABLES = (
    ("claims", "claim_rowid"),
    ("notes", "note_rowid"),
    ("entities", "entity_id"),
    ("tags", "tag_id"),
    ("contexts", "context_id"),
    ("conflict_sets", "conflict_set_id"),
    ("claim_links", "link_id"),
    ("plans", "plan_id"),
    ("audit_log", "audit_seq"),
    ("claim_types_catalog", "rowid"),
    ("context_domains_catalog", "rowid"),
    ("claim_numbers", "rowid"),
)
_INDEXES = ("claims_fts", "notes_fts")


def erase_user(db: PKBDatabase, user_email: str) -> None:
    """Erase all that `user_email` has in the knowledge base, in short transactions. Safe to run again."""
    for table, key in _TABLES:
        some = f"SELECT {key} FROM {table} WHERE user_email = ? LIMIT {_ROWS_AT_ONCE}"
        while db.execute(f"DELETE FROM {table} WHERE {key} IN ({some})", [user_email]).rowcount:
            pass
    forget_vectors(db, user_email)
    remove_files(db, user_email)


def retracted_before(db: PKBDatabase, moment: str, *, user_email: str | None = None) -> Sequence[str]:
    """Some ids of claims that were retracted before `moment` (ISO 8601): the user's, or anybody's for None."""
    owner, values = ("user_email = ?", [user_email]) if user_email is not None else ("1", [])
    sql = (
        f"SELECT claim_id FROM claims WHERE {owner} AND status = 'retracted' AND retracted_at < ? LIMIT {_ROWS_AT_ONCE}"
    )
    return [claim_id for (claim_id,) in db.select(sql, [*values, moment])]


def changes_of(db: PKBDatabase, claim_ids: Sequence[str]) -> Sequence[str]:
    """The ids of the changes whose subject is one of these claims."""
    sql = "SELECT audit_id FROM audit_log WHERE object_id IN (SELECT value FROM json_each(?))"
    return [audit_id for (audit_id,) in db.select(sql, [json.dumps(list(claim_ids))])]


def erase_claims(db: PKBDatabase, claim_ids: Sequence[str]) -> None:
    """Erase claims for good. Of the changes that made them what they were, only time and kind are kept."""
    ids = json.dumps(list(claim_ids))
    among = "IN (SELECT value FROM json_each(?))"
    with db.transaction():
        db.execute(f"DELETE FROM claims WHERE claim_id {among}", [ids])
        db.execute(f"UPDATE audit_log SET title = '', detail = '{{}}', images = '[]' WHERE object_id {among}", [ids])


def changes_before(db: PKBDatabase, moment: str, *, user_email: str | None = None) -> Sequence[str]:
    """Some ids of changes that were made before `moment` and still know what was there before them."""
    owner, values = _owner(user_email)
    sql = f"SELECT audit_id FROM audit_log WHERE {owner} AND created_at < ? AND images <> '[]' LIMIT {_ROWS_AT_ONCE}"
    return [audit_id for (audit_id,) in db.select(sql, [*values, moment])]


def forget_former_texts(db: PKBDatabase, audit_ids: Sequence[str]) -> None:
    """Forget what was there before these changes; they can't be undone any more. A claim's have its text of today."""
    today = "SELECT substr(statement, 1, 200) FROM claims WHERE claim_id = object_id"
    db.execute(
        f"UPDATE audit_log SET images = '[]', detail = '{{}}', title = COALESCE(({today}), title) "
        "WHERE audit_id IN (SELECT value FROM json_each(?))",
        [json.dumps(list(audit_ids))],
    )


def _owner(user_email: str | None) -> tuple[str, list[str]]:
    return ("user_email = ?", [user_email]) if user_email is not None else ("1", [])


def merge_search_indexes(db: PKBDatabase) -> None:
    """Merge the full-text indexes, so that no deleted word stays in them."""

    def run(statement: str, parameters: tuple[Any, ...]) -> int:
        with db.transaction():
            before = int(db.select("SELECT total_changes()")[0][0])
            db.execute(statement, parameters)
            return int(db.select("SELECT total_changes()")[0][0]) - before

    for index in _INDEXES:
        merge_fulltext(index, run)
