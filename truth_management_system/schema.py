"""Tables of the knowledge base, as portable SQL, and the order in which they came to be.

Times are ISO 8601 text in UTC, ids are text, lists and further data are JSON text. Each row belongs to `user_email`;
the one user of a program without users is "". `claim_rowid` joins claims to their full-text index.
"""

from __future__ import annotations

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

_TABLES = """
CREATE TABLE claims (
    claim_rowid INTEGER PRIMARY KEY,
    claim_id TEXT NOT NULL UNIQUE,
    user_email TEXT NOT NULL DEFAULT '',
    claim_number INTEGER NOT NULL,
    friendly_id TEXT NOT NULL,
    claim_type TEXT NOT NULL,
    claim_types TEXT NOT NULL,
    statement TEXT NOT NULL,
    subject_text TEXT,
    predicate TEXT,
    object_text TEXT,
    context_domain TEXT NOT NULL,
    context_domains TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active',
    confidence REAL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT,
    meta_json TEXT,
    retracted_at TEXT,
    possible_questions TEXT,
    source_activity_id TEXT,
    pinned INTEGER GENERATED ALWAYS AS
        (CASE WHEN json_valid(meta_json) THEN COALESCE(json_extract(meta_json, '$.pinned'), 0) ELSE 0 END) VIRTUAL
);
CREATE UNIQUE INDEX idx_claims_user_claim_number ON claims(user_email, claim_number);
CREATE UNIQUE INDEX idx_claims_friendly_id ON claims(user_email, friendly_id);
CREATE INDEX idx_claims_friendly_id_nocase ON claims(user_email, friendly_id COLLATE NOCASE);
CREATE INDEX idx_claims_user_email ON claims(user_email, updated_at);
CREATE INDEX idx_claims_status ON claims(user_email, status, updated_at);
CREATE INDEX idx_claims_type ON claims(user_email, claim_type, status, updated_at);
CREATE INDEX idx_claims_domain ON claims(user_email, context_domain, status, updated_at);
CREATE INDEX idx_claims_pinned ON claims(user_email, updated_at) WHERE pinned = 1;
CREATE INDEX idx_claims_source ON claims(user_email, source_activity_id) WHERE source_activity_id IS NOT NULL;

CREATE TABLE claim_numbers (
    user_email TEXT PRIMARY KEY,
    last_number INTEGER NOT NULL
);

CREATE TABLE claim_domains (
    claim_rowid INTEGER NOT NULL REFERENCES claims(claim_rowid) ON DELETE CASCADE,
    user_email TEXT NOT NULL,
    domain TEXT NOT NULL,
    PRIMARY KEY (user_email, domain, claim_rowid)
) WITHOUT ROWID;
CREATE INDEX idx_claim_domains_claim ON claim_domains(claim_rowid);

CREATE TABLE notes (
    note_rowid INTEGER PRIMARY KEY,
    note_id TEXT NOT NULL UNIQUE,
    user_email TEXT NOT NULL DEFAULT '',
    title TEXT,
    body TEXT NOT NULL,
    context_domain TEXT,
    meta_json TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_notes_user_email ON notes(user_email, updated_at);

CREATE TABLE entities (
    entity_id TEXT PRIMARY KEY,
    user_email TEXT NOT NULL DEFAULT '',
    friendly_id TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    meta_json TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX idx_entities_friendly_id ON entities(user_email, friendly_id);
CREATE INDEX idx_entities_friendly_id_nocase ON entities(user_email, friendly_id COLLATE NOCASE);
CREATE UNIQUE INDEX idx_entities_name ON entities(user_email, name_key, entity_type);

CREATE TABLE tags (
    tag_id TEXT PRIMARY KEY,
    user_email TEXT NOT NULL DEFAULT '',
    friendly_id TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    parent_tag_id TEXT REFERENCES tags(tag_id) ON DELETE SET NULL,
    meta_json TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX idx_tags_friendly_id ON tags(user_email, friendly_id);
CREATE INDEX idx_tags_friendly_id_nocase ON tags(user_email, friendly_id COLLATE NOCASE);
CREATE INDEX idx_tags_name ON tags(user_email, name_key);
CREATE UNIQUE INDEX idx_tags_name_parent ON tags(user_email, name_key, COALESCE(parent_tag_id, ''));
CREATE INDEX idx_tags_parent ON tags(parent_tag_id);

CREATE TABLE contexts (
    context_id TEXT PRIMARY KEY,
    user_email TEXT NOT NULL DEFAULT '',
    friendly_id TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    description TEXT,
    parent_context_id TEXT REFERENCES contexts(context_id) ON DELETE SET NULL,
    meta_json TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX idx_contexts_friendly_id ON contexts(user_email, friendly_id);
CREATE INDEX idx_contexts_friendly_id_nocase ON contexts(user_email, friendly_id COLLATE NOCASE);
CREATE INDEX idx_contexts_user_email ON contexts(user_email, name_key);
CREATE INDEX idx_contexts_parent ON contexts(parent_context_id);

CREATE TABLE claim_tags (
    claim_id TEXT NOT NULL REFERENCES claims(claim_id) ON DELETE CASCADE,
    tag_id TEXT NOT NULL REFERENCES tags(tag_id) ON DELETE CASCADE,
    PRIMARY KEY (claim_id, tag_id)
) WITHOUT ROWID;
CREATE INDEX idx_claim_tags_tag ON claim_tags(tag_id, claim_id);

CREATE TABLE claim_entities (
    claim_id TEXT NOT NULL REFERENCES claims(claim_id) ON DELETE CASCADE,
    entity_id TEXT NOT NULL REFERENCES entities(entity_id) ON DELETE CASCADE,
    role TEXT NOT NULL DEFAULT 'mentioned',
    PRIMARY KEY (claim_id, entity_id, role)
) WITHOUT ROWID;
CREATE INDEX idx_claim_entities_entity ON claim_entities(entity_id, claim_id);

CREATE TABLE context_claims (
    context_id TEXT NOT NULL REFERENCES contexts(context_id) ON DELETE CASCADE,
    claim_id TEXT NOT NULL REFERENCES claims(claim_id) ON DELETE CASCADE,
    PRIMARY KEY (context_id, claim_id)
) WITHOUT ROWID;
CREATE INDEX idx_context_claims_claim ON context_claims(claim_id, context_id);

CREATE TABLE claim_links (
    link_id TEXT PRIMARY KEY,
    user_email TEXT NOT NULL DEFAULT '',
    from_claim_id TEXT NOT NULL REFERENCES claims(claim_id) ON DELETE CASCADE,
    to_claim_id TEXT NOT NULL REFERENCES claims(claim_id) ON DELETE CASCADE,
    link_type TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX idx_claim_links_once ON claim_links(from_claim_id, to_claim_id, link_type);
CREATE INDEX idx_claim_links_to ON claim_links(to_claim_id, link_type);

CREATE TABLE conflict_sets (
    conflict_set_id TEXT PRIMARY KEY,
    user_email TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'open',
    resolution_notes TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_conflict_sets_user ON conflict_sets(user_email, status, created_at);

CREATE TABLE conflict_set_members (
    conflict_set_id TEXT NOT NULL REFERENCES conflict_sets(conflict_set_id) ON DELETE CASCADE,
    claim_id TEXT NOT NULL REFERENCES claims(claim_id) ON DELETE CASCADE,
    PRIMARY KEY (conflict_set_id, claim_id)
) WITHOUT ROWID;
CREATE INDEX idx_conflict_set_members_claim ON conflict_set_members(claim_id);

CREATE TABLE claim_embeddings (
    embedding_seq INTEGER PRIMARY KEY AUTOINCREMENT,
    claim_rowid INTEGER NOT NULL REFERENCES claims(claim_rowid) ON DELETE CASCADE,
    user_email TEXT NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE UNIQUE INDEX idx_claim_embeddings_claim ON claim_embeddings(claim_rowid, model);
CREATE INDEX idx_claim_embeddings_user ON claim_embeddings(user_email, model, embedding_seq);

CREATE TABLE tag_embeddings (
    tag_id TEXT NOT NULL REFERENCES tags(tag_id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (tag_id, model)
);

CREATE TABLE note_embeddings (
    embedding_seq INTEGER PRIMARY KEY AUTOINCREMENT,
    note_rowid INTEGER NOT NULL REFERENCES notes(note_rowid) ON DELETE CASCADE,
    user_email TEXT NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE UNIQUE INDEX idx_note_embeddings_note ON note_embeddings(note_rowid, model);

CREATE TABLE claim_types_catalog (
    user_email TEXT NOT NULL DEFAULT '',
    type_name TEXT NOT NULL,
    display_name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_email, type_name)
);

CREATE TABLE context_domains_catalog (
    user_email TEXT NOT NULL DEFAULT '',
    domain_name TEXT NOT NULL,
    display_name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_email, domain_name)
);

CREATE TABLE plans (
    plan_id TEXT PRIMARY KEY,
    user_email TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    executed_at TEXT
);
CREATE INDEX idx_plans_user ON plans(user_email, created_at);

CREATE TABLE audit_log (
    audit_seq INTEGER PRIMARY KEY AUTOINCREMENT,
    audit_id TEXT NOT NULL UNIQUE,
    user_email TEXT NOT NULL DEFAULT '',
    action TEXT NOT NULL,
    object_type TEXT NOT NULL,
    object_id TEXT,
    title TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL,
    images TEXT NOT NULL,
    created_at TEXT NOT NULL,
    undone_by TEXT,
    delivered_at TEXT
);
CREATE INDEX idx_audit_log_user ON audit_log(user_email, audit_seq);
CREATE INDEX idx_audit_log_undelivered ON audit_log(audit_seq) WHERE delivered_at IS NULL;
"""

_SEARCHED = ("statement", "subject_text", "predicate", "object_text", "context_domain", "possible_questions")
CLAIM_SEARCH_COLUMNS = (*_SEARCHED, "friendly_id")
NOTE_SEARCH_COLUMNS = ("title", "body")


def _fulltext(table: str, rowid: str, columns: tuple[str, ...]) -> list[str]:
    """A full-text index over `columns` of `table`, kept by triggers; `owner` holds one token for the row's user."""
    index, shown = f"{table}_fts", ", ".join(columns)
    owner = "'u' || lower(hex({row}user_email))"
    new = ", ".join(f"new.{column}" for column in columns)
    old = ", ".join(f"old.{column}" for column in columns)
    insert = f"INSERT INTO {index}(rowid, owner, {shown}) VALUES (new.{rowid}, {owner.format(row='new.')}, {new});"
    delete = (
        f"INSERT INTO {index}({index}, rowid, owner, {shown}) "
        f"VALUES ('delete', old.{rowid}, {owner.format(row='old.')}, {old});"
    )
    options = (
        f"content='{table}_searchable', content_rowid='{rowid}', "
        "tokenize='porter unicode61 remove_diacritics 2', prefix='2 3'"
    )
    return [
        f"CREATE VIEW {table}_searchable AS SELECT {rowid}, {owner.format(row='')} AS owner, {shown} FROM {table}",
        f"CREATE VIRTUAL TABLE {index} USING fts5(owner, {shown}, {options})",
        f"CREATE TRIGGER {index}_insert AFTER INSERT ON {table} BEGIN {insert} END",
        f"CREATE TRIGGER {index}_delete AFTER DELETE ON {table} BEGIN {delete} END",
        f"CREATE TRIGGER {index}_update AFTER UPDATE OF user_email, {shown} ON {table} BEGIN {delete} {insert} END",
    ]


_DOMAINS = "INSERT INTO claim_domains SELECT new.claim_rowid, new.user_email, value FROM {distinct};"
_DISTINCT = "(SELECT DISTINCT value FROM json_each(new.context_domains) UNION SELECT new.context_domain)"
_DOMAIN_TRIGGERS = [
    "CREATE TRIGGER claim_domains_insert AFTER INSERT ON claims BEGIN " + _DOMAINS.format(distinct=_DISTINCT) + " END",
    "CREATE TRIGGER claim_domains_update AFTER UPDATE OF context_domain, context_domains, user_email ON claims BEGIN "
    "DELETE FROM claim_domains WHERE claim_rowid = new.claim_rowid; " + _DOMAINS.format(distinct=_DISTINCT) + " END",
]


def _stale_vectors(table: str, rowid: str, columns: tuple[str, ...]) -> str:
    """A trigger that forgets the vectors of a row when the text that they stand for changes."""
    changed = " OR ".join(f"new.{column} IS NOT old.{column}" for column in columns)
    return (
        f"CREATE TRIGGER {table}_vectors_stale AFTER UPDATE OF {', '.join(columns)} ON {table}s WHEN {changed} "
        f"BEGIN DELETE FROM {table}_embeddings WHERE {rowid} = new.{rowid}; END"
    )


def _initial() -> list[str]:
    tables = [statement.strip() for statement in _TABLES.split(";") if statement.strip()]
    return [
        *tables,
        *_fulltext("claims", "claim_rowid", CLAIM_SEARCH_COLUMNS),
        *_fulltext("notes", "note_rowid", NOTE_SEARCH_COLUMNS),
        *_DOMAIN_TRIGGERS,
        _stale_vectors("claim", "claim_rowid", ("user_email", "statement", "possible_questions")),
        _stale_vectors("note", "note_rowid", ("user_email", "title", "body")),
        _stale_vectors("tag", "tag_id", ("name",)),
    ]


MIGRATIONS: dict[int, list[str]] = {FIRST_VERSION: _initial()}
"""Statements that lead to a version from the one before, in order."""
