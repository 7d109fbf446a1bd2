"""A whole knowledge base: as plain data, and as the tables that are copied into another kind of database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Table, bindparam, literal, select

from database.transfer.tables import StoreTables, in_order

from ..database import PKBDatabase, Prepared
from ..models import CLAIM_COLUMNS, CONFLICT_SET_COLUMNS, CONTEXT_COLUMNS, ENTITY_COLUMNS, NOTE_COLUMNS, TAG_COLUMNS
from ..schema import SCHEMA_VERSION, metadata, tables
from ..utils import now_iso
from .payload import EXPORT_VERSION

_LINK_COLUMNS = ("link_id", "from_claim_id", "to_claim_id", "link_type", "created_at")
_CATALOG_COLUMNS = ("kind", "name", "display_name", "created_at")


def _rows(table: Table, columns: Sequence[str], *order: str) -> tuple[Sequence[str], Prepared]:
    """The columns and the query for the user's rows of a table."""
    query = select(*(table.c[name] for name in columns)).where(table.c.user_email == bindparam("user"))
    return columns, Prepared(query.order_by(*(table.c[name] for name in order)))


def _ties(table: Table, columns: Sequence[str]) -> tuple[Sequence[str], Prepared]:
    """The columns and the query for what ties the user's claims to groups, in the order of the claims."""
    claims = tables.claims
    query = select(*(table.c[name] for name in columns)).join(claims, claims.c.claim_id == table.c.claim_id)
    others = (table.c[name] for name in columns if name != "claim_id")
    query = query.where(claims.c.user_email == bindparam("user"))
    return columns, Prepared(query.order_by(claims.c.claim_number, *others))


_CATEGORIES = (
    select(literal("type"), *tables.claim_types_catalog.c["type_name", "display_name", "created_at"])
    .where(tables.claim_types_catalog.c.user_email == bindparam("user"))
    .union_all(
        select(literal("domain"), *tables.context_domains_catalog.c["domain_name", "display_name", "created_at"]).where(
            tables.context_domains_catalog.c.user_email == bindparam("user")
        )
    )
)
_CATALOGS = Prepared(select(_CATEGORIES.subquery()))
_TABLES: dict[str, tuple[Sequence[str], Prepared]] = {
    "claims": _rows(tables.claims, CLAIM_COLUMNS, "claim_number"),
    "notes": _rows(tables.notes, NOTE_COLUMNS, "note_rowid"),
    "entities": _rows(tables.entities, ENTITY_COLUMNS, "created_at", "entity_id"),
    "tags": _rows(tables.tags, TAG_COLUMNS, "created_at", "tag_id"),
    "contexts": _rows(tables.contexts, CONTEXT_COLUMNS, "created_at", "context_id"),
    "claim_tags": _ties(tables.claim_tags, ("claim_id", "tag_id")),
    "claim_entities": _ties(tables.claim_entities, ("claim_id", "entity_id", "role")),
    "context_claims": _ties(tables.context_claims, ("context_id", "claim_id")),
    "claim_links": _rows(tables.claim_links, _LINK_COLUMNS, "created_at", "link_id"),
    "conflict_sets": _rows(tables.conflict_sets, CONFLICT_SET_COLUMNS, "created_at", "conflict_set_id"),
    "aliases": _rows(tables.aliases, ("kind", "alias", "thing_id"), "kind", "alias", "thing_id"),
    "conflict_set_members": _ties(tables.conflict_set_members, ("conflict_set_id", "claim_id")),
}


def export_data(db: PKBDatabase, user_email: str | None = None) -> dict[str, Any]:
    """Everything of one user's, of one moment, as JSON can hold it.

    `{"pkb_export_version", "schema_version", "user_email", "exported_at", "counts": {table: rows}, "data": {table:
    [row]}}`. The history of changes and what can be computed again (vectors, indexes) are not in it.
    """
    owner = user_email or ""
    with db.snapshot():
        data = {
            table: [dict(zip(columns, row, strict=True)) for row in db.rows(statement, user=owner)]
            for table, (columns, statement) in _TABLES.items()
        }
        rows = sorted(db.rows(_CATALOGS, user=owner))
    data["catalogs"] = [dict(zip(_CATALOG_COLUMNS, row, strict=True)) for row in rows]
    return {
        "pkb_export_version": EXPORT_VERSION,
        "schema_version": SCHEMA_VERSION,
        "user_email": owner,
        "exported_at": now_iso(),
        "counts": {table: len(rows) for table, rows in data.items()},
        "data": data,
    }


NOT_COPIED: Mapping[str, str] = {"schema_version": "each database was migrated by itself"}
"""Tables that are not copied, each with the reason. Indexes of words are kept by the databases themselves."""


def knowledge_tables(database: PKBDatabase) -> StoreTables:
    """The tables of a knowledge base, for `database.transfer`."""
    return StoreTables(name="memories", database=database.store, tables=in_order(metadata, without=NOT_COPIED))
