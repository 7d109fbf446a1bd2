"""Erasing everything that one user knows: rows, history, vectors, search indexes."""

from __future__ import annotations

from typing import Any

from database.compaction import merge_fulltext

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


def merge_search_indexes(db: PKBDatabase) -> None:
    """Merge the full-text indexes, so that no deleted word stays in them."""

    def run(statement: str, parameters: tuple[Any, ...]) -> int:
        with db.transaction():
            before = int(db.select("SELECT total_changes()")[0][0])
            db.execute(statement, parameters)
            return int(db.select("SELECT total_changes()")[0][0]) - before

    for index in _INDEXES:
        merge_fulltext(index, run)
