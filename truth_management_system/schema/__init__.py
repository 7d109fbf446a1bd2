"""The tables of the knowledge base, how they came to be, and what each database writes in its own way.

`tables` is what statements are made of; `migrations` brings a store there; `operators` and `fulltext` are what
SQLAlchemy has no portable words for, and `sqlite` and `postgresql` render them.
"""

from __future__ import annotations

from . import postgresql as postgresql
from . import sqlite as sqlite
from .migrations import FIRST_VERSION, SCHEMA_VERSION, statements
from .tables import metadata

__all__ = ["ALIASED", "DEPENDENTS", "FIRST_VERSION", "KEYS", "SCHEMA_VERSION", "metadata", "statements"]

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
    "aliases": ("user_email", "alias", "kind", "thing_id"),
}
"""Tables whose changes are recorded, and the columns that name a row."""

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
"""Rows that are deleted with a row: (table, column that names it)."""

ALIASED: dict[str, str] = {"claims": "claim", "entities": "entity", "tags": "tag", "contexts": "context"}
"""Tables of things with readable ids, each with the `kind` by which `aliases` names its rows.

An alias is deleted with the thing that it leads to.
"""
