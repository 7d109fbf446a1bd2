"""Tables of the knowledge base, as portable SQL, and the order in which they came to be.

Times are ISO 8601 text in UTC, ids are text, lists and further data are JSON text. Each row belongs to `user_email`;
the one user of a program without users is "". `claim_rowid` joins claims to their full-text index.
"""

from __future__ import annotations

from .derived import DERIVED
from .tables import TABLES

SCHEMA_VERSION = 20
"""Numbers below 20 are those of an earlier implementation's files."""

FIRST_VERSION = 20

KEYS: dict[str, tuple[str, ...]] = {
    "claims": ("claim_id",),
    "notes": ("note_id",),
    "entities": ("entity_id",),
    "tags": ("tag_id",),
    "contexts": ("context_id",),
    "claim_tags": ("claim_id", "tag_id"),
    "claim_entities": ("claim_id", "entity_id", "role"),
    "context_claims": ("context_id", "claim_id"),
    "claim_links": ("link_id",),
    "conflict_sets": ("conflict_set_id",),
    "conflict_set_members": ("conflict_set_id", "claim_id"),
    "claim_types_catalog": ("user_email", "type_name"),
    "context_domains_catalog": ("user_email", "domain_name"),
}
"""Tables whose changes are recorded, and what names a row."""

DEPENDENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "claims": (
        ("claim_tags", "claim_id"),
        ("claim_entities", "claim_id"),
        ("context_claims", "claim_id"),
        ("conflict_set_members", "claim_id"),
        ("claim_links", "from_claim_id"),
        ("claim_links", "to_claim_id"),
    ),
    "entities": (("claim_entities", "entity_id"),),
    "tags": (("claim_tags", "tag_id"),),
    "contexts": (("context_claims", "context_id"),),
    "conflict_sets": (("conflict_set_members", "conflict_set_id"),),
}
"""Rows that go with a row: (table, column that names it)."""

MIGRATIONS: dict[int, list[str]] = {
    FIRST_VERSION: [*(statement.strip() for statement in TABLES.split(";") if statement.strip()), *DERIVED]
}
"""Statements that lead to a version from the one before, in order."""
