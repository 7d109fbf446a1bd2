"""What follows from the tables and is kept by triggers: full-text indexes, domains of claims, stale vectors."""

from __future__ import annotations

_SEARCHED = ("statement", "subject_text", "predicate", "object_text", "context_domain", "possible_questions")
CLAIM_SEARCH_COLUMNS = (*_SEARCHED, "friendly_id")
NOTE_SEARCH_COLUMNS = ("title", "body")
TOKENIZER = "porter unicode61 remove_diacritics 2"


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
    options = f"content='{table}_searchable', content_rowid='{rowid}', tokenize='{TOKENIZER}', prefix='2 3'"
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


DERIVED = [
    *_fulltext("claims", "claim_rowid", CLAIM_SEARCH_COLUMNS),
    *_fulltext("notes", "note_rowid", NOTE_SEARCH_COLUMNS),
    *_DOMAIN_TRIGGERS,
    _stale_vectors("claim", "claim_rowid", ("user_email", "statement", "possible_questions")),
    _stale_vectors("note", "note_rowid", ("user_email", "title", "body")),
    _stale_vectors("tag", "tag_id", ("name",)),
]
"""Statements that make the indexes and the triggers that keep them."""
