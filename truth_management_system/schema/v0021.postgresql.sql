-- Former names: what a merged, imported or renamed thing was called, and what that name leads to. Frozen.

CREATE TABLE aliases (
    user_email TEXT COLLATE "C" DEFAULT '' NOT NULL,
    alias TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    thing_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_email, alias, kind, thing_id)
);

CREATE INDEX idx_aliases_thing ON aliases (kind, thing_id);
