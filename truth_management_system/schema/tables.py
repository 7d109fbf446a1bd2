"""The tables of the knowledge base as they are today; `migrations` leads there from every earlier state.

Times are ISO 8601 text in UTC, ids are text, lists and further data are JSON text. Each row belongs to `user_email`;
the one user of a program without users is "". `claim_rowid` joins claims to their full-text index.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    Computed,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    func,
    literal_column,
    text,
)
from sqlalchemy.types import LargeBinary

from .operators import caseless, json_flag

metadata = MetaData()


class Vector(LargeBinary):
    """The bytes of a vector, handed over as they are."""

    def bind_processor(self, dialect: Any) -> None:
        """None: what is stored are bytes already."""

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        """None: what comes back are bytes already."""
        del coltype


def _text(name: str, *given: Any, **options: Any) -> Column[Any]:
    """A text that has to be there."""
    return Column(name, Text, *given, nullable=False, **options)


def _texts(names: str) -> list[Column[Any]]:
    """Texts that have to be there, and those whose name ends in "?", which may be NULL."""
    return [Column(name.rstrip("?"), Text, nullable=name.endswith("?")) for name in names.split()]


def _owner() -> Column[Any]:
    return _text("user_email", server_default=text("''"))


def _part_of(target: str, *, ondelete: str = "CASCADE") -> ForeignKey:
    return ForeignKey(target, ondelete=ondelete)


def _tie(name: str, *columns: Column[Any]) -> Table:
    """A table that ties rows of others together; all its columns are its key."""
    key = PrimaryKeyConstraint(*(column.name for column in columns))
    return Table(name, metadata, *columns, key, sqlite_with_rowid=False)


def _by_friendly_id(table: Table) -> None:
    """The indexes for readable ids: unique for each user, and found in any case."""
    owner, name = table.c.user_email, table.c.friendly_id
    Index(f"idx_{table.name}_friendly_id", owner, name, unique=True)
    Index(f"idx_{table.name}_friendly_id_nocase", owner, caseless(name))


claims = Table(
    "claims",
    metadata,
    Column("claim_rowid", Integer, primary_key=True),
    _text("claim_id", unique=True),
    _owner(),
    Column("claim_number", Integer, nullable=False),
    *_texts("friendly_id claim_type claim_types statement subject_text? predicate? object_text? context_domain"),
    _text("context_domains"),
    _text("status", server_default=text("'active'")),
    Column("confidence", Float),
    *_texts(
        "created_at updated_at valid_from valid_to? meta_json? retracted_at? possible_questions? source_activity_id?"
    ),
    Column("pinned", Integer, Computed(json_flag(literal_column("meta_json"), "pinned"), persisted=False)),
)
Index("idx_claims_user_claim_number", claims.c.user_email, claims.c.claim_number, unique=True)
_by_friendly_id(claims)
Index("idx_claims_user_email", claims.c.user_email, claims.c.updated_at)
Index("idx_claims_status", claims.c.user_email, claims.c.status, claims.c.updated_at)
Index("idx_claims_type", claims.c.user_email, claims.c.claim_type, claims.c.status, claims.c.updated_at)
Index("idx_claims_domain", claims.c.user_email, claims.c.context_domain, claims.c.status, claims.c.updated_at)
for name, columns, condition in (
    ("idx_claims_pinned", (claims.c.user_email, claims.c.updated_at), claims.c.pinned == literal_column("1")),
    ("idx_claims_source", (claims.c.user_email, claims.c.source_activity_id), claims.c.source_activity_id.is_not(None)),
):
    Index(name, *columns, sqlite_where=condition, postgresql_where=condition)

claim_numbers = Table(
    "claim_numbers",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("last_number", Integer, nullable=False),
)

claim_domains = Table(
    "claim_domains",
    metadata,
    Column("claim_rowid", Integer, _part_of("claims.claim_rowid"), nullable=False),
    *_texts("user_email domain"),
    PrimaryKeyConstraint("user_email", "domain", "claim_rowid"),
    sqlite_with_rowid=False,
)
Index("idx_claim_domains_claim", claim_domains.c.claim_rowid)

notes = Table(
    "notes",
    metadata,
    Column("note_rowid", Integer, primary_key=True),
    _text("note_id", unique=True),
    _owner(),
    *_texts("title? body context_domain? meta_json? created_at updated_at"),
)
Index("idx_notes_user_email", notes.c.user_email, notes.c.updated_at)

entities = Table(
    "entities",
    metadata,
    Column("entity_id", Text, primary_key=True),
    _owner(),
    *_texts("friendly_id entity_type name name_key meta_json? created_at updated_at"),
)
_by_friendly_id(entities)
Index("idx_entities_name", entities.c.user_email, entities.c.name_key, entities.c.entity_type, unique=True)

tags = Table(
    "tags",
    metadata,
    Column("tag_id", Text, primary_key=True),
    _owner(),
    *_texts("friendly_id name name_key"),
    Column("parent_tag_id", Text, _part_of("tags.tag_id", ondelete="SET NULL")),
    *_texts("meta_json? created_at updated_at"),
)
_by_friendly_id(tags)
Index("idx_tags_name", tags.c.user_email, tags.c.name_key)
Index(
    "idx_tags_name_parent",
    tags.c.user_email,
    tags.c.name_key,
    func.coalesce(tags.c.parent_tag_id, literal_column("''")),
    unique=True,
)
Index("idx_tags_parent", tags.c.parent_tag_id)

contexts = Table(
    "contexts",
    metadata,
    Column("context_id", Text, primary_key=True),
    _owner(),
    *_texts("friendly_id name name_key description?"),
    Column("parent_context_id", Text, _part_of("contexts.context_id", ondelete="SET NULL")),
    *_texts("meta_json? created_at updated_at"),
)
_by_friendly_id(contexts)
Index("idx_contexts_user_email", contexts.c.user_email, contexts.c.name_key)
Index("idx_contexts_parent", contexts.c.parent_context_id)

claim_tags = _tie(
    "claim_tags", _text("claim_id", _part_of("claims.claim_id")), _text("tag_id", _part_of("tags.tag_id"))
)
Index("idx_claim_tags_tag", claim_tags.c.tag_id, claim_tags.c.claim_id)

claim_entities = _tie(
    "claim_entities",
    _text("claim_id", _part_of("claims.claim_id")),
    _text("entity_id", _part_of("entities.entity_id")),
    _text("role", server_default=text("'mentioned'")),
)
Index("idx_claim_entities_entity", claim_entities.c.entity_id, claim_entities.c.claim_id)

context_claims = _tie(
    "context_claims",
    _text("context_id", _part_of("contexts.context_id")),
    _text("claim_id", _part_of("claims.claim_id")),
)
Index("idx_context_claims_claim", context_claims.c.claim_id, context_claims.c.context_id)

claim_links = Table(
    "claim_links",
    metadata,
    Column("link_id", Text, primary_key=True),
    _owner(),
    _text("from_claim_id", _part_of("claims.claim_id")),
    _text("to_claim_id", _part_of("claims.claim_id")),
    *_texts("link_type created_at"),
)
Index(
    "idx_claim_links_once",
    claim_links.c.from_claim_id,
    claim_links.c.to_claim_id,
    claim_links.c.link_type,
    unique=True,
)
Index("idx_claim_links_to", claim_links.c.to_claim_id, claim_links.c.link_type)

conflict_sets = Table(
    "conflict_sets",
    metadata,
    Column("conflict_set_id", Text, primary_key=True),
    _owner(),
    _text("status", server_default=text("'open'")),
    *_texts("resolution_notes? created_at updated_at"),
)
Index("idx_conflict_sets_user", conflict_sets.c.user_email, conflict_sets.c.status, conflict_sets.c.created_at)

conflict_set_members = _tie(
    "conflict_set_members",
    _text("conflict_set_id", _part_of("conflict_sets.conflict_set_id")),
    _text("claim_id", _part_of("claims.claim_id")),
)
Index("idx_conflict_set_members_claim", conflict_set_members.c.claim_id)

claim_embeddings = Table(
    "claim_embeddings",
    metadata,
    Column("embedding_seq", Integer, primary_key=True),
    Column("claim_rowid", Integer, _part_of("claims.claim_rowid"), nullable=False),
    *_texts("user_email model"),
    Column("vector", Vector, nullable=False),
    sqlite_autoincrement=True,
)
Index("idx_claim_embeddings_claim", claim_embeddings.c.claim_rowid, claim_embeddings.c.model, unique=True)
Index(
    "idx_claim_embeddings_user",
    claim_embeddings.c.user_email,
    claim_embeddings.c.model,
    claim_embeddings.c.embedding_seq,
)

tag_embeddings = Table(
    "tag_embeddings",
    metadata,
    _text("tag_id", _part_of("tags.tag_id")),
    _text("model"),
    Column("vector", Vector, nullable=False),
    PrimaryKeyConstraint("tag_id", "model"),
)

note_embeddings = Table(
    "note_embeddings",
    metadata,
    Column("embedding_seq", Integer, primary_key=True),
    Column("note_rowid", Integer, _part_of("notes.note_rowid"), nullable=False),
    *_texts("user_email model"),
    Column("vector", Vector, nullable=False),
    sqlite_autoincrement=True,
)
Index("idx_note_embeddings_note", note_embeddings.c.note_rowid, note_embeddings.c.model, unique=True)


def _catalog(name: str, column: str) -> Table:
    """A table of types or domains that users have added."""
    key = PrimaryKeyConstraint("user_email", column)
    return Table(name, metadata, _owner(), _text(column), _text("display_name"), _text("created_at"), key)


claim_types_catalog = _catalog("claim_types_catalog", "type_name")
context_domains_catalog = _catalog("context_domains_catalog", "domain_name")

aliases = Table(
    "aliases",
    metadata,
    _owner(),
    *_texts("alias kind thing_id"),
    PrimaryKeyConstraint("user_email", "alias", "kind", "thing_id"),
    sqlite_with_rowid=False,
)
Index("idx_aliases_thing", aliases.c.kind, aliases.c.thing_id)

plans = Table(
    "plans",
    metadata,
    Column("plan_id", Text, primary_key=True),
    _owner(),
    *_texts("kind payload created_at expires_at executed_at?"),
)
Index("idx_plans_user", plans.c.user_email, plans.c.created_at)

audit_log = Table(
    "audit_log",
    metadata,
    Column("audit_seq", Integer, primary_key=True),
    _text("audit_id", unique=True),
    _owner(),
    *_texts("action object_type object_id?"),
    _text("title", server_default=text("''")),
    *_texts("detail images created_at undone_by? delivered_at?"),
    sqlite_autoincrement=True,
)
Index("idx_audit_log_user", audit_log.c.user_email, audit_log.c.audit_seq)
Index(
    "idx_audit_log_undelivered",
    audit_log.c.audit_seq,
    sqlite_where=audit_log.c.delivered_at.is_(None),
    postgresql_where=audit_log.c.delivered_at.is_(None),
)

schema_version = Table(
    "schema_version", metadata, Column("version", Integer, primary_key=True), Column("applied_at", Text)
)
