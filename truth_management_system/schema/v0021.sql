-- Former names: what a merged, imported or renamed thing was called, and what that name leads to. Frozen.

CREATE TABLE aliases (
    user_email TEXT NOT NULL DEFAULT '',
    alias TEXT NOT NULL,
    kind TEXT NOT NULL,
    thing_id TEXT NOT NULL,
    PRIMARY KEY (user_email, alias, kind, thing_id)
) WITHOUT ROWID;

CREATE INDEX idx_aliases_thing ON aliases(kind, thing_id);
