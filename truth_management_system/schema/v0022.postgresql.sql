-- The words of the index stand behind a prefix of their owner: nobody's search walks through other people's words.
-- Frozen.

-- What stands before every word of a user, told by the token of `asked`. Two users may have the same one, so that the
-- owner is compared where rows are read.
CREATE FUNCTION anaphora_knowledge.owner_prefix(token text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(md5(token), 8)
$$;

-- The text of a `tsvector` or a `tsquery` with a prefix before each word. No word has a quote in it.
CREATE FUNCTION anaphora_knowledge.behind(prefix text, words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(words, '''([^'']+)''', '''' || prefix || '\1''', 'g')
$$;

CREATE OR REPLACE FUNCTION anaphora_knowledge.indexed(owner text, named text, further text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT anaphora_knowledge.behind(
        anaphora_knowledge.owner_prefix('u' || encode(convert_to(owner, 'UTF8'), 'hex')),
        (
            setweight(
                to_tsvector('anaphora_knowledge.words'::regconfig, anaphora_knowledge.folded(named)), 'A'
            )
            || to_tsvector('anaphora_knowledge.words'::regconfig, anaphora_knowledge.folded(further))
        )::text
    )::tsvector
$$;

CREATE OR REPLACE FUNCTION anaphora_knowledge.asked(search text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN numnode(query) = 0 OR owner = '-' THEN query
        ELSE anaphora_knowledge.behind(anaphora_knowledge.owner_prefix(owner), query::text)::tsquery
    END
    FROM (
        SELECT split_part(search, ' ', 1) AS owner,
            to_tsquery('anaphora_knowledge.words'::regconfig, substr(search, strpos(search, ' ') + 1)) AS query
    ) AS parts
$$;

DROP FUNCTION anaphora_knowledge.owner_word(text);

DROP VIEW claims_fts;

ALTER TABLE claims DROP COLUMN words;

ALTER TABLE claims ADD COLUMN words TSVECTOR GENERATED ALWAYS AS (anaphora_knowledge.indexed(
    user_email,
    statement || ' ' || COALESCE(possible_questions, '') || ' ' || friendly_id,
    COALESCE(subject_text, '') || ' ' || COALESCE(predicate, '') || ' ' || COALESCE(object_text, '') || ' ' || context_domain
)) STORED;

CREATE INDEX idx_claims_words ON claims USING gin (words) WITH (fastupdate = off);

CREATE VIEW claims_fts AS SELECT claim_rowid AS rowid, words FROM claims;

DROP VIEW notes_fts;

ALTER TABLE notes DROP COLUMN words;

ALTER TABLE notes ADD COLUMN words TSVECTOR GENERATED ALWAYS AS (
    anaphora_knowledge.indexed(user_email, '', COALESCE(title, '') || ' ' || body)
) STORED;

CREATE INDEX idx_notes_words ON notes USING gin (words) WITH (fastupdate = off);

CREATE VIEW notes_fts AS SELECT note_rowid AS rowid, words FROM notes;
