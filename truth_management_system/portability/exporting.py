"""A whole knowledge base as plain data."""

from __future__ import annotations

from typing import Any

from database.engine.clock import now_iso

from ..database import PKBDatabase
from ..models import (
    CLAIM_COLUMNS,
    CONFLICT_SET_COLUMNS,
    CONTEXT_COLUMNS,
    ENTITY_COLUMNS,
    NOTE_COLUMNS,
    TAG_COLUMNS,
)
from ..schema import SCHEMA_VERSION
from .payload import EXPORT_VERSION

_ROWS: dict[str, tuple[tuple[str, ...], str]] = {
    "claims": (CLAIM_COLUMNS, "claims WHERE user_email = ? ORDER BY claim_number"),
    "notes": (NOTE_COLUMNS, "notes WHERE user_email = ? ORDER BY note_rowid"),
    "entities": (ENTITY_COLUMNS, "entities WHERE user_email = ? ORDER BY created_at, entity_id"),
    "tags": (TAG_COLUMNS, "tags WHERE user_email = ? ORDER BY created_at, tag_id"),
    "contexts": (CONTEXT_COLUMNS, "contexts WHERE user_email = ? ORDER BY created_at, context_id"),
    "claim_tags": (
        ("claim_id", "tag_id"),
        "claim_tags JOIN claims USING (claim_id) WHERE user_email = ? ORDER BY claim_number, tag_id",
    ),
    "claim_entities": (
        ("claim_id", "entity_id", "role"),
        "claim_entities JOIN claims USING (claim_id) WHERE user_email = ? ORDER BY claim_number, entity_id, role",
    ),
    "context_claims": (
        ("context_id", "claim_id"),
        "context_claims JOIN claims USING (claim_id) WHERE user_email = ? ORDER BY claim_number, context_id",
    ),
    "claim_links": (
        ("link_id", "from_claim_id", "to_claim_id", "link_type", "created_at"),
        "claim_links WHERE user_email = ? ORDER BY created_at, link_id",
    ),
    "conflict_sets": (CONFLICT_SET_COLUMNS, "conflict_sets WHERE user_email = ? ORDER BY created_at, conflict_set_id"),
    "conflict_set_members": (
        ("conflict_set_id", "claim_id"),
        "conflict_set_members JOIN conflict_sets USING (conflict_set_id) WHERE user_email = ? ORDER BY 1, 2",
    ),
}
_CATALOGS = (
    "SELECT 'type', type_name, display_name, created_at FROM claim_types_catalog WHERE user_email = ? "
    "UNION ALL SELECT 'domain', domain_name, display_name, created_at FROM context_domains_catalog "
    "WHERE user_email = ? ORDER BY 1, 2"
)


def export_data(db: PKBDatabase, user_email: str | None = None) -> dict[str, Any]:
    """Everything of one user's, of one moment, as JSON can hold it.

    `{"pkb_export_version", "schema_version", "user_email", "exported_at", "counts": {table: rows}, "data": {table:
    [row]}}`. The history of changes and what can be computed again (vectors, indexes) are not in it.
    """
    owner = user_email or ""
    with db.snapshot():
        data = {table: _read(db, owner, columns, source) for table, (columns, source) in _ROWS.items()}
        rows = db.select(_CATALOGS, [owner, owner])
    data["catalogs"] = [dict(zip(("kind", "name", "display_name", "created_at"), row, strict=True)) for row in rows]
    return {
        "pkb_export_version": EXPORT_VERSION,
        "schema_version": SCHEMA_VERSION,
        "user_email": owner,
        "exported_at": now_iso(),
        "counts": {table: len(rows) for table, rows in data.items()},
        "data": data,
    }


def _read(db: PKBDatabase, owner: str, columns: tuple[str, ...], source: str) -> list[dict[str, Any]]:
    rows = db.select(f"SELECT {', '.join(columns)} FROM {source}", [owner])
    return [dict(zip(columns, row, strict=True)) for row in rows]
