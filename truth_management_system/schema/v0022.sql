-- The words of the index stand behind a prefix of their owner: nobody's search walks through other people's words.
-- `owned_words` is a function of the program (`schema/words.py`), which gives it to each connection of its own. A trigger
-- calls it once for all texts of a row: the LIMIT keeps SQLite from calling it for each of them. Frozen.

DROP TRIGGER claims_fts_insert;

DROP TRIGGER claims_fts_delete;

DROP TRIGGER claims_fts_update;

-- FTS5 opens no index whose list of segments (row 10) is damaged, not even to drop it: it gets an empty one.
INSERT OR REPLACE INTO claims_fts_data (id, block) VALUES (10, zeroblob(7));

DROP TABLE claims_fts;

DROP VIEW claims_searchable;

CREATE VIEW claims_searchable AS
SELECT claim_rowid,
    json_extract(owned_words(user_email, json_array(statement)), '$[0]') AS statement,
    json_extract(owned_words(user_email, json_array(subject_text)), '$[0]') AS subject_text,
    json_extract(owned_words(user_email, json_array(predicate)), '$[0]') AS predicate,
    json_extract(owned_words(user_email, json_array(object_text)), '$[0]') AS object_text,
    json_extract(owned_words(user_email, json_array(context_domain)), '$[0]') AS context_domain,
    json_extract(owned_words(user_email, json_array(possible_questions)), '$[0]') AS possible_questions,
    json_extract(owned_words(user_email, json_array(friendly_id)), '$[0]') AS friendly_id
FROM claims;

CREATE VIRTUAL TABLE claims_fts USING fts5(
    statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id,
    content='', tokenize='ascii', prefix='10 11');

CREATE TRIGGER claims_fts_insert AFTER INSERT ON claims
BEGIN
    INSERT INTO claims_fts(rowid, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        SELECT new.claim_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]'), json_extract(words, '$[2]'), json_extract(words, '$[3]'), json_extract(words, '$[4]'), json_extract(words, '$[5]'), json_extract(words, '$[6]')
        FROM (SELECT owned_words(new.user_email, json_array(new.statement, new.subject_text, new.predicate, new.object_text, new.context_domain, new.possible_questions, new.friendly_id)) AS words LIMIT 1);
END;

CREATE TRIGGER claims_fts_delete AFTER DELETE ON claims
BEGIN
    INSERT INTO claims_fts(claims_fts, rowid, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        SELECT 'delete', old.claim_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]'), json_extract(words, '$[2]'), json_extract(words, '$[3]'), json_extract(words, '$[4]'), json_extract(words, '$[5]'), json_extract(words, '$[6]')
        FROM (SELECT owned_words(old.user_email, json_array(old.statement, old.subject_text, old.predicate, old.object_text, old.context_domain, old.possible_questions, old.friendly_id)) AS words LIMIT 1);
END;

CREATE TRIGGER claims_fts_update AFTER UPDATE OF user_email, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id ON claims
BEGIN
    INSERT INTO claims_fts(claims_fts, rowid, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        SELECT 'delete', old.claim_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]'), json_extract(words, '$[2]'), json_extract(words, '$[3]'), json_extract(words, '$[4]'), json_extract(words, '$[5]'), json_extract(words, '$[6]')
        FROM (SELECT owned_words(old.user_email, json_array(old.statement, old.subject_text, old.predicate, old.object_text, old.context_domain, old.possible_questions, old.friendly_id)) AS words LIMIT 1);
    INSERT INTO claims_fts(rowid, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
        SELECT new.claim_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]'), json_extract(words, '$[2]'), json_extract(words, '$[3]'), json_extract(words, '$[4]'), json_extract(words, '$[5]'), json_extract(words, '$[6]')
        FROM (SELECT owned_words(new.user_email, json_array(new.statement, new.subject_text, new.predicate, new.object_text, new.context_domain, new.possible_questions, new.friendly_id)) AS words LIMIT 1);
END;

INSERT INTO claims_fts(rowid, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id)
SELECT claim_rowid, statement, subject_text, predicate, object_text, context_domain, possible_questions, friendly_id FROM claims_searchable;

DROP TRIGGER notes_fts_insert;

DROP TRIGGER notes_fts_delete;

DROP TRIGGER notes_fts_update;

-- FTS5 opens no index whose list of segments (row 10) is damaged, not even to drop it: it gets an empty one.
INSERT OR REPLACE INTO notes_fts_data (id, block) VALUES (10, zeroblob(7));

DROP TABLE notes_fts;

DROP VIEW notes_searchable;

CREATE VIEW notes_searchable AS
SELECT note_rowid,
    json_extract(owned_words(user_email, json_array(title)), '$[0]') AS title,
    json_extract(owned_words(user_email, json_array(body)), '$[0]') AS body
FROM notes;

CREATE VIRTUAL TABLE notes_fts USING fts5(
    title, body,
    content='', tokenize='ascii', prefix='10 11');

CREATE TRIGGER notes_fts_insert AFTER INSERT ON notes
BEGIN
    INSERT INTO notes_fts(rowid, title, body)
        SELECT new.note_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]')
        FROM (SELECT owned_words(new.user_email, json_array(new.title, new.body)) AS words LIMIT 1);
END;

CREATE TRIGGER notes_fts_delete AFTER DELETE ON notes
BEGIN
    INSERT INTO notes_fts(notes_fts, rowid, title, body)
        SELECT 'delete', old.note_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]')
        FROM (SELECT owned_words(old.user_email, json_array(old.title, old.body)) AS words LIMIT 1);
END;

CREATE TRIGGER notes_fts_update AFTER UPDATE OF user_email, title, body ON notes
BEGIN
    INSERT INTO notes_fts(notes_fts, rowid, title, body)
        SELECT 'delete', old.note_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]')
        FROM (SELECT owned_words(old.user_email, json_array(old.title, old.body)) AS words LIMIT 1);
    INSERT INTO notes_fts(rowid, title, body)
        SELECT new.note_rowid, json_extract(words, '$[0]'), json_extract(words, '$[1]')
        FROM (SELECT owned_words(new.user_email, json_array(new.title, new.body)) AS words LIMIT 1);
END;

INSERT INTO notes_fts(rowid, title, body)
SELECT note_rowid, title, body FROM notes_searchable;
