-- Frozen: the tables as they were at schema version 16, with which an empty PostgreSQL database begins.
-- Texts compare by code point, as in SQLite, whatever the database's own collation is.

CREATE SCHEMA IF NOT EXISTS anaphora;

CREATE TABLE "UserToConversationId" (
    conversation_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    conversation_friendly_id TEXT COLLATE "C",
    domain TEXT COLLATE "C" DEFAULT 'assistant' NOT NULL,
    title TEXT COLLATE "C" DEFAULT '' NOT NULL,
    title_force_set BIGINT DEFAULT '0' NOT NULL,
    running_summary TEXT COLLATE "C" DEFAULT '' NOT NULL,
    summarised_ordinal BIGINT DEFAULT '0' NOT NULL,
    flag TEXT COLLATE "C" DEFAULT 'none' NOT NULL,
    settings JSON NOT NULL,
    memory JSON NOT NULL,
    archived BIGINT DEFAULT '0' NOT NULL,
    stateless BIGINT DEFAULT '0' NOT NULL,
    message_count BIGINT DEFAULT '0' NOT NULL,
    last_ordinal BIGINT DEFAULT '0' NOT NULL,
    running_message_id TEXT COLLATE "C",
    version BIGINT DEFAULT '1' NOT NULL,
    deleted_at TEXT COLLATE "C",
    expires_at TEXT COLLATE "C",
    pinned_at TEXT COLLATE "C",
    incomplete_since TEXT COLLATE "C",
    PRIMARY KEY (conversation_id)
);

CREATE INDEX "idx_UserToConversationId_deleted" ON "UserToConversationId" (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE UNIQUE INDEX "idx_UserToConversationId_email_doc" ON "UserToConversationId" (user_email, conversation_id);
CREATE UNIQUE INDEX "idx_UserToConversationId_friendly_id" ON "UserToConversationId" (user_email, conversation_friendly_id);
CREATE INDEX "idx_UserToConversationId_list" ON "UserToConversationId" (user_email, domain, deleted_at, updated_at, conversation_id, archived);
CREATE INDEX "idx_UserToConversationId_temporary" ON "UserToConversationId" (user_email) WHERE expires_at IS NOT NULL;
CREATE INDEX "idx_UserToConversationId_title" ON "UserToConversationId" (user_email, title) WHERE deleted_at IS NULL;

CREATE TABLE "WorkspaceMetadata" (
    user_email TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    workspace_name TEXT COLLATE "C" NOT NULL,
    workspace_color TEXT COLLATE "C" DEFAULT 'primary' NOT NULL,
    domain TEXT COLLATE "C" NOT NULL,
    expanded BIGINT DEFAULT '1' NOT NULL,
    parent_workspace_id TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_email, workspace_id)
);

CREATE INDEX "idx_WorkspaceMetadata_domain" ON "WorkspaceMetadata" (user_email, domain);

CREATE TABLE activities (
    seq BIGSERIAL NOT NULL,
    activity_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C",
    recipe TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    short_id TEXT COLLATE "C" NOT NULL,
    reply_to_id TEXT COLLATE "C",
    thread_id TEXT COLLATE "C",
    actor_type TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C" DEFAULT '' NOT NULL,
    actor_name TEXT COLLATE "C" DEFAULT '' NOT NULL,
    payload JSON NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    deleted_at TEXT COLLATE "C",
    PRIMARY KEY (seq),
    CONSTRAINT uq_activities_short_id UNIQUE (conversation_id, short_id),
    UNIQUE (activity_id)
);

CREATE INDEX idx_activities_reply ON activities (reply_to_id);
CREATE INDEX idx_activities_thread ON activities (user_email, thread_id, seq);

CREATE TABLE changes (
    user_email TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    change TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C",
    fields JSON NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_email, seq)
);

CREATE TABLE jobs (
    job_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    state JSON NOT NULL,
    done BIGINT NOT NULL,
    total BIGINT,
    attempts BIGINT NOT NULL,
    error TEXT COLLATE "C" NOT NULL,
    due_at TEXT COLLATE "C",
    owner TEXT COLLATE "C",
    lease_until TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (job_id)
);

CREATE INDEX idx_jobs_user ON jobs (user_email);

CREATE TABLE login_attempts (
    attempt_id BIGSERIAL NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    attempted_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (attempt_id)
);

CREATE INDEX idx_login_attempts_subject ON login_attempts (subject, attempted_at);

CREATE TABLE purge_clock (
    id BIGINT NOT NULL,
    last_run_at TEXT COLLATE "C" NOT NULL,
    trusted_from TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE schema_version (
    version BIGINT NOT NULL,
    applied_at TEXT COLLATE "C",
    PRIMARY KEY (version)
);

CREATE TABLE search_state (
    name TEXT COLLATE "C" NOT NULL,
    indexed_seq BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE stream_events (
    message_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    event BYTEA NOT NULL,
    PRIMARY KEY (message_id, seq)
);

CREATE TABLE threads (
    thread_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    root_activity_id TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" DEFAULT '' NOT NULL,
    session_key TEXT COLLATE "C",
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (thread_id),
    UNIQUE (root_activity_id)
);

CREATE TABLE users (
    user_email TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" DEFAULT '' NOT NULL,
    password_hash TEXT COLLATE "C" NOT NULL,
    is_admin BIGINT DEFAULT '0' NOT NULL,
    detail JSON NOT NULL,
    preference JSON NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    disabled_at TEXT COLLATE "C",
    erasing_since TEXT COLLATE "C",
    PRIMARY KEY (user_email),
    UNIQUE (user_id)
);

CREATE TABLE "ConversationIdToWorkspaceId" (
    conversation_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE
);

CREATE INDEX "idx_ConversationIdToWorkspaceId_workspace" ON "ConversationIdToWorkspaceId" (user_email, workspace_id);

CREATE TABLE api_tokens (
    token_hash TEXT COLLATE "C" NOT NULL,
    token_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    read_only BIGINT DEFAULT '0' NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    last_used_at TEXT COLLATE "C",
    PRIMARY KEY (token_hash),
    UNIQUE (token_id),
    FOREIGN KEY(user_email) REFERENCES users (user_email) ON DELETE CASCADE
);

CREATE INDEX idx_api_tokens_user_email ON api_tokens (user_email);

CREATE TABLE messages (
    seq BIGINT NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL,
    sender TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" DEFAULT 'complete' NOT NULL,
    message_short_hash TEXT COLLATE "C",
    show_hide TEXT COLLATE "C" DEFAULT 'show' NOT NULL,
    in_answer_to TEXT COLLATE "C",
    config JSON NOT NULL,
    report JSON NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    edited_at TEXT COLLATE "C",
    deleted_at TEXT COLLATE "C",
    chosen_variant BIGINT,
    pinned_at TEXT COLLATE "C",
    client_message_id TEXT COLLATE "C",
    has_parts BIGINT DEFAULT '0' NOT NULL,
    owner TEXT COLLATE "C",
    lease_until TEXT COLLATE "C",
    PRIMARY KEY (seq),
    CONSTRAINT uq_messages_ordinal UNIQUE (conversation_id, ordinal),
    CONSTRAINT uq_messages_short_hash UNIQUE (conversation_id, message_short_hash),
    UNIQUE (message_id),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX idx_messages_client ON messages (user_email, client_message_id) WHERE client_message_id IS NOT NULL;
CREATE INDEX idx_messages_live ON messages (conversation_id, ordinal) WHERE deleted_at IS NULL;
CREATE INDEX idx_messages_pinned ON messages (conversation_id) WHERE pinned_at IS NOT NULL;
CREATE INDEX idx_messages_streaming ON messages (status) WHERE status = 'streaming';
CREATE INDEX idx_messages_unhashed ON messages (user_email, conversation_id) WHERE message_short_hash IS NULL;

CREATE TABLE password_links (
    user_email TEXT COLLATE "C" NOT NULL,
    token_hash TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    expires_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_email),
    FOREIGN KEY(user_email) REFERENCES users (user_email) ON DELETE CASCADE,
    UNIQUE (token_hash)
);

CREATE TABLE sessions (
    session_hash TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    user_agent TEXT COLLATE "C" DEFAULT '' NOT NULL,
    address TEXT COLLATE "C" DEFAULT '' NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    last_seen_at TEXT COLLATE "C" NOT NULL,
    expires_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session_hash),
    UNIQUE (session_id),
    FOREIGN KEY(user_email) REFERENCES users (user_email) ON DELETE CASCADE
);

CREATE INDEX idx_sessions_user_email ON sessions (user_email);

CREATE TABLE share_pages (
    snapshot_id TEXT COLLATE "C" NOT NULL,
    first_message BIGINT NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    messages JSON NOT NULL,
    PRIMARY KEY (snapshot_id, first_message),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE
);

CREATE INDEX idx_share_pages_cascade ON share_pages (conversation_id);

CREATE TABLE shares (
    conversation_id TEXT COLLATE "C" NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    token_hash TEXT COLLATE "C" NOT NULL,
    seed TEXT COLLATE "C" NOT NULL,
    snapshot_id TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    message_count BIGINT NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
    UNIQUE (token_hash)
);

CREATE INDEX idx_shares_user ON shares (user_email);

CREATE TABLE message_edits (
    edit_id BIGSERIAL NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    replaced_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (edit_id),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
);

CREATE INDEX idx_message_edits_message ON message_edits (message_id);

CREATE TABLE message_parts (
    message_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    part_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    data JSON NOT NULL,
    PRIMARY KEY (message_id, version, part_id),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
);

CREATE TABLE message_references (
    message_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    target_conversation_id TEXT COLLATE "C",
    target_message_id TEXT COLLATE "C",
    target_id TEXT COLLATE "C",
    PRIMARY KEY (message_id, position),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
);

CREATE INDEX idx_message_references_conversation ON message_references (user_email, target_conversation_id);
CREATE INDEX idx_message_references_message ON message_references (user_email, target_message_id);

CREATE TABLE message_variants (
    message_id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    config JSON NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    client_message_id TEXT COLLATE "C",
    PRIMARY KEY (message_id, number),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
);

CREATE TABLE message_vectors (
    vector_id BIGSERIAL NOT NULL,
    seq BIGINT NOT NULL,
    user_email TEXT COLLATE "C" NOT NULL,
    codes BYTEA NOT NULL,
    PRIMARY KEY (vector_id),
    FOREIGN KEY(seq) REFERENCES messages (seq) ON DELETE CASCADE
);

CREATE INDEX idx_message_vectors_message ON message_vectors (seq);
CREATE INDEX idx_message_vectors_user_email ON message_vectors (user_email);

CREATE TABLE unembedded_messages (
    seq BIGINT NOT NULL,
    PRIMARY KEY (seq),
    FOREIGN KEY(seq) REFERENCES messages (seq) ON DELETE CASCADE
);

-- The full-text index over messages: database/search/postgresql.py.
CREATE TABLE messages_fts (
    seq BIGINT NOT NULL,
    length BIGINT NOT NULL,
    words TSVECTOR NOT NULL,
    PRIMARY KEY (seq)
);

CREATE INDEX idx_messages_fts_words ON messages_fts USING gin (words);

INSERT INTO search_state (name, indexed_seq) VALUES ('messages', 0);
