-- The schema of version 20, the first of this program's. Frozen: a later change is a file of its own.
-- Statements are separated by empty lines.

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

CREATE VIEW claims_searchable AS
SELECT claim_rowid, 'u' || lower(hex(user_email)) AS owner, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id FROM claims;

CREATE VIRTUAL TABLE claims_fts USING fts5(
    owner, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id,
    content='claims_searchable', content_rowid='claim_rowid', tokenize='porter unicode61 remove_diacritics 2', prefix='2 3');

CREATE TRIGGER claims_fts_insert AFTER INSERT ON claims
BEGIN
    INSERT INTO claims_fts(rowid, owner, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        VALUES (new.claim_rowid, 'u' || lower(hex(new.user_email)), new.statement, new.subject_text, new.predicate, new.object_text, new.context_domain, new.possible_questions, new.friendly_id);
END;

CREATE TRIGGER claims_fts_delete AFTER DELETE ON claims
BEGIN
    INSERT INTO claims_fts(claims_fts, rowid, owner, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        VALUES ('delete', old.claim_rowid, 'u' || lower(hex(old.user_email)), old.statement, old.subject_text, old.predicate, old.object_text, old.context_domain, old.possible_questions, old.friendly_id);
END;

CREATE TRIGGER claims_fts_update AFTER UPDATE OF user_email, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id ON claims
BEGIN
    INSERT INTO claims_fts(claims_fts, rowid, owner, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        VALUES ('delete', old.claim_rowid, 'u' || lower(hex(old.user_email)), old.statement, old.subject_text, old.predicate, old.object_text, old.context_domain, old.possible_questions, old.friendly_id);
    INSERT INTO claims_fts(rowid, owner, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        VALUES (new.claim_rowid, 'u' || lower(hex(new.user_email)), new.statement, new.subject_text, new.predicate, new.object_text, new.context_domain, new.possible_questions, new.friendly_id);
END;

CREATE VIEW notes_searchable AS
SELECT note_rowid, 'u' || lower(hex(user_email)) AS owner, title, body FROM notes;

CREATE VIRTUAL TABLE notes_fts USING fts5(
    owner, title, body,
    content='notes_searchable', content_rowid='note_rowid', tokenize='porter unicode61 remove_diacritics 2', prefix='2 3');

CREATE TRIGGER notes_fts_insert AFTER INSERT ON notes
BEGIN
    INSERT INTO notes_fts(rowid, owner, title, body)
        VALUES (new.note_rowid, 'u' || lower(hex(new.user_email)), new.title, new.body);
END;

CREATE TRIGGER notes_fts_delete AFTER DELETE ON notes
BEGIN
    INSERT INTO notes_fts(notes_fts, rowid, owner, title, body)
        VALUES ('delete', old.note_rowid, 'u' || lower(hex(old.user_email)), old.title, old.body);
END;

CREATE TRIGGER notes_fts_update AFTER UPDATE OF user_email, title, body ON notes
BEGIN
    INSERT INTO notes_fts(notes_fts, rowid, owner, title, body)
        VALUES ('delete', old.note_rowid, 'u' || lower(hex(old.user_email)), old.title, old.body);
    INSERT INTO notes_fts(rowid, owner, title, body)
        VALUES (new.note_rowid, 'u' || lower(hex(new.user_email)), new.title, new.body);
END;

CREATE TRIGGER claim_domains_insert AFTER INSERT ON claims
BEGIN
    INSERT INTO claim_domains SELECT new.claim_rowid, new.user_email, value FROM (SELECT DISTINCT value FROM json_each(new.context_domains) UNION SELECT new.context_domain);
END;

CREATE TRIGGER claim_domains_update AFTER UPDATE OF context_domain, context_domains, user_email ON claims
BEGIN
    DELETE FROM claim_domains WHERE claim_rowid = new.claim_rowid;
    INSERT INTO claim_domains SELECT new.claim_rowid, new.user_email, value FROM (SELECT DISTINCT value FROM json_each(new.context_domains) UNION SELECT new.context_domain);
END;

CREATE TRIGGER claim_vectors_stale AFTER UPDATE OF user_email, statement, possible_questions ON claims
WHEN new.user_email IS NOT old.user_email OR new.statement IS NOT old.statement OR new.possible_questions IS NOT old.possible_questions
BEGIN
    DELETE FROM claim_embeddings WHERE claim_rowid = new.claim_rowid;
END;

CREATE TRIGGER note_vectors_stale AFTER UPDATE OF user_email, title, body ON notes
WHEN new.user_email IS NOT old.user_email OR new.title IS NOT old.title OR new.body IS NOT old.body
BEGIN
    DELETE FROM note_embeddings WHERE note_rowid = new.note_rowid;
END;

CREATE TRIGGER tag_vectors_stale AFTER UPDATE OF name ON tags
WHEN new.name IS NOT old.name
BEGIN
    DELETE FROM tag_embeddings WHERE tag_id = new.tag_id;
END;
