-- The schema of version 5 on SQLite, in which a new store begins. It never changes: later versions come by migrations.

CREATE TABLE users (
    user_email TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT DEFAULT '' NOT NULL,
    password_hash TEXT NOT NULL,
    is_admin INTEGER DEFAULT '0' NOT NULL,
    detail JSON NOT NULL,
    preference JSON NOT NULL,
    created_at TEXT NOT NULL,
    disabled_at TEXT,
    PRIMARY KEY (user_email),
    UNIQUE (user_id)
);

CREATE TABLE login_attempts (
    attempt_id INTEGER NOT NULL,
    subject TEXT NOT NULL,
    attempted_at TEXT NOT NULL,
    PRIMARY KEY (attempt_id)
);

CREATE TABLE "UserToConversationId" (
    conversation_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    conversation_friendly_id TEXT,
    domain TEXT DEFAULT 'assistant' NOT NULL,
    title TEXT DEFAULT '' NOT NULL,
    title_force_set INTEGER DEFAULT '0' NOT NULL,
    running_summary TEXT DEFAULT '' NOT NULL,
    summarised_ordinal INTEGER DEFAULT '0' NOT NULL,
    flag TEXT DEFAULT 'none' NOT NULL,
    settings JSON NOT NULL,
    memory JSON NOT NULL,
    archived INTEGER DEFAULT '0' NOT NULL,
    stateless INTEGER DEFAULT '0' NOT NULL,
    message_count INTEGER DEFAULT '0' NOT NULL,
    last_ordinal INTEGER DEFAULT '0' NOT NULL,
    running_message_id TEXT,
    version INTEGER DEFAULT '1' NOT NULL,
    deleted_at TEXT,
    expires_at TEXT,
    pinned_at TEXT,
    incomplete_since TEXT,
    PRIMARY KEY (conversation_id)
);

CREATE TABLE "WorkspaceMetadata" (
    user_email TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    workspace_name TEXT NOT NULL,
    workspace_color TEXT DEFAULT 'primary' NOT NULL,
    domain TEXT NOT NULL,
    expanded INTEGER DEFAULT '1' NOT NULL,
    parent_workspace_id TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (user_email, workspace_id)
);

CREATE TABLE threads (
    thread_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    root_activity_id TEXT NOT NULL,
    title TEXT DEFAULT '' NOT NULL,
    session_key TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (thread_id),
    UNIQUE (root_activity_id)
);

CREATE TABLE activities (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    activity_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    session_id TEXT,
    recipe TEXT NOT NULL,
    type TEXT NOT NULL,
    short_id TEXT NOT NULL,
    reply_to_id TEXT,
    thread_id TEXT,
    actor_type TEXT NOT NULL,
    actor_id TEXT DEFAULT '' NOT NULL,
    actor_name TEXT DEFAULT '' NOT NULL,
    payload JSON NOT NULL,
    created_at TEXT NOT NULL,
    deleted_at TEXT,
    CONSTRAINT uq_activities_short_id UNIQUE (conversation_id, short_id),
    UNIQUE (activity_id)
);

CREATE TABLE stream_events (
    message_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (message_id, seq)
) WITHOUT ROWID;

CREATE TABLE search_state (
    name TEXT NOT NULL,
    indexed_seq BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE sessions (
    session_hash TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    user_agent TEXT DEFAULT '' NOT NULL,
    address TEXT DEFAULT '' NOT NULL,
    created_at TEXT NOT NULL,
    last_seen_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    PRIMARY KEY (session_hash),
    UNIQUE (session_id),
    FOREIGN KEY(user_email) REFERENCES users (user_email) ON DELETE CASCADE
);

CREATE TABLE api_tokens (
    token_hash TEXT NOT NULL,
    token_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    name TEXT NOT NULL,
    read_only INTEGER DEFAULT '0' NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT,
    PRIMARY KEY (token_hash),
    UNIQUE (token_id),
    FOREIGN KEY(user_email) REFERENCES users (user_email) ON DELETE CASCADE
);

CREATE TABLE "ConversationIdToWorkspaceId" (
    conversation_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    PRIMARY KEY (conversation_id),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE shares (
    token_hash TEXT NOT NULL,
    user_email TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    title TEXT NOT NULL,
    snapshot JSON NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (token_hash),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE
);

CREATE TABLE messages (
    seq INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    user_email TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    sender TEXT NOT NULL,
    text TEXT NOT NULL,
    status TEXT DEFAULT 'complete' NOT NULL,
    message_short_hash TEXT,
    show_hide TEXT DEFAULT 'show' NOT NULL,
    in_answer_to TEXT,
    config JSON NOT NULL,
    report JSON NOT NULL,
    created_at TEXT NOT NULL,
    edited_at TEXT,
    deleted_at TEXT,
    chosen_variant INTEGER,
    pinned_at TEXT,
    PRIMARY KEY (seq),
    CONSTRAINT uq_messages_ordinal UNIQUE (conversation_id, ordinal),
    CONSTRAINT uq_messages_short_hash UNIQUE (conversation_id, message_short_hash),
    UNIQUE (message_id),
    FOREIGN KEY(conversation_id) REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE
);

CREATE TABLE message_variants (
    message_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    status TEXT NOT NULL,
    config JSON NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (message_id, number),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE message_edits (
    edit_id INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    text TEXT NOT NULL,
    replaced_at TEXT NOT NULL,
    PRIMARY KEY (edit_id),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
);

CREATE TABLE message_references (
    message_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    user_email TEXT NOT NULL,
    ref TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    target_conversation_id TEXT,
    target_message_id TEXT,
    target_id TEXT,
    PRIMARY KEY (message_id, position),
    FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
);

CREATE VIRTUAL TABLE messages_fts USING fts5(owner, conversation, body, content='', tokenize='ascii', prefix='2 3');

CREATE VIRTUAL TABLE messages_words USING fts5vocab('messages_fts', 'instance');

CREATE INDEX idx_login_attempts_subject ON login_attempts (subject, attempted_at);

CREATE UNIQUE INDEX "idx_UserToConversationId_email_doc" ON "UserToConversationId" (user_email, conversation_id);

CREATE UNIQUE INDEX "idx_UserToConversationId_friendly_id" ON "UserToConversationId" (user_email, conversation_friendly_id);

CREATE INDEX "idx_UserToConversationId_deleted" ON "UserToConversationId" (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE INDEX "idx_UserToConversationId_temporary" ON "UserToConversationId" (user_email) WHERE expires_at IS NOT NULL;

CREATE INDEX "idx_UserToConversationId_list" ON "UserToConversationId" (user_email, domain, deleted_at, updated_at, conversation_id, archived);

CREATE INDEX "idx_WorkspaceMetadata_domain" ON "WorkspaceMetadata" (user_email, domain);

CREATE INDEX idx_activities_thread ON activities (user_email, thread_id, seq);

CREATE INDEX idx_activities_reply ON activities (reply_to_id);

CREATE INDEX idx_sessions_user_email ON sessions (user_email);

CREATE INDEX idx_api_tokens_user_email ON api_tokens (user_email);

CREATE INDEX "idx_ConversationIdToWorkspaceId_workspace" ON "ConversationIdToWorkspaceId" (user_email, workspace_id);

CREATE INDEX idx_shares_cascade ON shares (conversation_id);

CREATE INDEX idx_shares_conversation ON shares (user_email, conversation_id);

CREATE INDEX idx_messages_streaming ON messages (status) WHERE status = 'streaming';

CREATE INDEX idx_messages_live ON messages (conversation_id, ordinal) WHERE deleted_at IS NULL;

CREATE INDEX idx_messages_unhashed ON messages (user_email, conversation_id) WHERE message_short_hash IS NULL;

CREATE INDEX idx_messages_pinned ON messages (conversation_id) WHERE pinned_at IS NOT NULL;

CREATE INDEX idx_message_edits_message ON message_edits (message_id);

CREATE INDEX idx_message_references_message ON message_references (user_email, target_message_id);

CREATE INDEX idx_message_references_conversation ON message_references (user_email, target_conversation_id);

INSERT INTO search_state (name, indexed_seq) VALUES ('messages', 0);
