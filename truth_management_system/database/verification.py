"""Looking through a knowledge base for what should never be, and making anew what follows from the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from database.maintenance.findings import FileConnection, Finding, IndexSums, Rule, examine, first_ones, guarded, look

from ..schema import ALIASED, KEYS, postgresql, sqlite
from ..schema.fulltext import CLAIM_SEARCH_COLUMNS, NOTE_SEARCH_COLUMNS
from ..utils import is_reserved, is_well_formed
from .pkb_database import PKBDatabase

_NUMBERS, _DOMAINS, _VECTORS, _ALIASES = "claim numbers", "domains of claims", "vectors", "aliases"
_INDEXES = {
    "index of claims": ("claims", "claim_rowid", CLAIM_SEARCH_COLUMNS),
    "index of notes": ("notes", "note_rowid", NOTE_SEARCH_COLUMNS),
}
_NAMED = ("claims", "entities", "tags", "contexts")
_BELONGING = (
    ("claim_tags", "claims", "claim_id", "tags", "tag_id"),
    ("claim_entities", "claims", "claim_id", "entities", "entity_id"),
    ("context_claims", "claims", "claim_id", "contexts", "context_id"),
    ("conflict_set_members", "claims", "claim_id", "conflict_sets", "conflict_set_id"),
)
# What the triggers keep, said once more.
_DOMAINS_EXPECTED = """
    SELECT claim_rowid, user_email, context_domain AS domain FROM claims UNION
    SELECT claim_rowid, user_email, value FROM claims, json_each(claims.context_domains)
"""
_DOMAINS_KEPT = "SELECT claim_rowid, user_email, domain FROM claim_domains"
_WRONG_DOMAINS = f"""
    SELECT DISTINCT claim_rowid FROM (
        SELECT * FROM (SELECT * FROM ({_DOMAINS_EXPECTED}) EXCEPT {_DOMAINS_KEPT})
        UNION ALL SELECT * FROM ({_DOMAINS_KEPT} EXCEPT SELECT * FROM ({_DOMAINS_EXPECTED}))
    )
"""
_LATE_NUMBERS = """
    SELECT claims.user_email, MAX(claim_number), COALESCE(last_number, 0) FROM claims
    LEFT JOIN claim_numbers USING (user_email) GROUP BY claims.user_email
    HAVING MAX(claim_number) > COALESCE(last_number, 0)
"""
_NUMBER_ON = """
    INSERT INTO claim_numbers (user_email, last_number)
    SELECT user_email, MAX(claim_number) FROM claims WHERE user_email = ? GROUP BY user_email
    ON CONFLICT (user_email) DO UPDATE SET last_number = MAX(last_number, excluded.last_number)
"""
_DOMAINS_ANEW = (
    "DELETE FROM claim_domains WHERE claim_rowid = ?",
    (
        "INSERT INTO claim_domains (claim_rowid, user_email, domain) "
        f"SELECT * FROM ({_DOMAINS_EXPECTED}) WHERE claim_rowid = ?"
    ),
)
_FOREIGN_VECTORS = """
    SELECT embedding_seq FROM {noun}_embeddings AS kept JOIN {noun}s USING ({noun}_rowid)
    WHERE kept.user_email <> {noun}s.user_email OR length(vector) = 0 OR length(vector) % 2 = 1
"""
_FORGET_VECTORS = [
    (_FOREIGN_VECTORS.format(noun=noun), f"DELETE FROM {noun}_embeddings WHERE embedding_seq = ?")
    for noun in ("claim", "note")
]
_LEADS_NOWHERE = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} WHERE aliases.kind = '{kind}' AND {table}.{KEYS[table][0]} = aliases.thing_id "
    f"AND {table}.user_email = aliases.user_email)"
    for table, kind in ALIASED.items()
)

RULES: tuple[Rule, ...] = (
    Rule(
        name=_NUMBERS,
        sql="SELECT user_email, claim_number, COUNT(*) FROM claims GROUP BY user_email, claim_number "
        "HAVING COUNT(*) > 1 OR claim_number < 1",
        what="{2} claims of {0} have the number {1}.",
    ),
    Rule(
        name=_NUMBERS,
        sql=_LATE_NUMBERS,
        what="The next claim of {0} would get a number again: {1} is given, and {2} was noted.",
        derived=True,
    ),
    *(
        Rule(
            name="friendly ids",
            sql=f"SELECT user_email, friendly_id, COUNT(*) FROM {table} GROUP BY user_email, friendly_id "
            "HAVING COUNT(*) > 1",
            what=f"{{2}} {table} of {{0}} are called {{1}}.",
        )
        for table in _NAMED
    ),
    *(
        Rule(
            name="owners",
            sql=f"SELECT {first}.{one}, {second}.{other} FROM {table} JOIN {first} USING ({one}) "
            f"JOIN {second} USING ({other}) WHERE {first}.user_email <> {second}.user_email",
            what=f"{{0}} and {{1}} belong together in {table}, but to different people.",
        )
        for table, first, one, second, other in _BELONGING
    ),
    Rule(
        name=_DOMAINS,
        sql=_WRONG_DOMAINS,
        what="Claim number {0} is kept under other domains than it names.",
        derived=True,
    ),
    *(
        Rule(
            name=_VECTORS,
            sql=_FOREIGN_VECTORS.format(noun=noun),
            what=f"Vector {{0}} of a {noun} is somebody else's, or none.",
            derived=True,
        )
        for noun in ("claim", "note")
    ),
    Rule(
        name=_ALIASES,
        sql=f"SELECT alias, kind, user_email FROM aliases WHERE {_LEADS_NOWHERE}",
        what="The alias {0!r} leads to no {1} of {2}.",
        derived=True,
    ),
)


def verify_knowledge(path: Path) -> Iterator[Finding]:
    """What is not as it should be in the knowledge base at `path`, as it is found. Changes nothing."""
    return examine(path, _broken_rules)


def repair_knowledge(db: PKBDatabase, rules: Collection[str]) -> Iterator[str]:
    """Make anew what `rules`, names out of findings that are derived, are about; a sentence for each."""
    if _NUMBERS in rules:
        late = _each(db, _LATE_NUMBERS, [_NUMBER_ON])
        yield f"{late} people's claims are numbered on from the last one."
    if _DOMAINS in rules:
        yield f"{_each(db, _WRONG_DOMAINS, _DOMAINS_ANEW)} claims were put under the domains that they name."
    if _VECTORS in rules:
        forgotten = (_each(db, wrong, [delete]) for wrong, delete in _FORGET_VECTORS)
        yield f"{sum(forgotten)} vectors were thrown away; a server makes them again."
    if _ALIASES in rules:
        dead = db.execute(f"DELETE FROM aliases WHERE {_LEADS_NOWHERE}").rowcount
        yield f"{dead} aliases that led nowhere were deleted."
    for rule in _INDEXES:
        if rule in rules:
            reindex_knowledge(db, only=(rule,))
            yield f"The {rule} was made anew."


def reindex_knowledge(db: PKBDatabase, *, only: Collection[str] = tuple(_INDEXES)) -> None:
    """Make the full-text indexes anew, each as one change: who searches meanwhile finds what was there before.

    Who writes has to wait, a few seconds for 100,000 claims. Raises KnowledgeUnavailableError.
    """
    for rule in only:
        table = _INDEXES[rule][0]
        with db.transaction():
            for statement in (postgresql if db.is_postgresql else sqlite).rebuilding(table):
                db.execute(statement)


def _broken_rules(connection: FileConnection) -> Iterator[Finding]:
    yield from look(connection, RULES)
    for table in _NAMED:
        yield from guarded("friendly ids", partial(_badly_named, connection, table), derived=False)
    for rule in _INDEXES:
        yield from guarded(rule, partial(_wrong_words, connection, rule), derived=True)


def _badly_named(connection: FileConnection, table: str) -> Iterator[Finding]:
    rows = connection.execute(f"SELECT friendly_id, user_email FROM {table}")
    return first_ones(
        Finding(rule="friendly ids", what=f"One of the {table} of {user_email} is called {friendly_id!r}.")
        for friendly_id, user_email in rows
        if not is_well_formed(friendly_id) or is_reserved(friendly_id)
    )


def _wrong_words(connection: FileConnection, rule: str) -> Iterator[Finding]:
    """Compares an index with one that is made anew in a place of our own."""
    table, rowid, columns = _INDEXES[rule]
    shown = ", ".join(columns)
    sqlite.prepare(connection)
    again, held, expected = f"{table}_again", IndexSums(), IndexSums()
    options = f"content='', tokenize='{sqlite.TOKENIZER}'"
    connection.execute(f"CREATE VIRTUAL TABLE temp.{again} USING fts5({shown}, {options})")
    connection.execute(f"INSERT INTO temp.{again}(rowid, {shown}) SELECT {rowid}, {shown} FROM main.{table}_searchable")
    for place, index, sums in (("main", f"{table}_fts", held), ("temp", again, expected)):
        connection.execute(f"CREATE VIRTUAL TABLE temp.{index}_words USING fts5vocab('{place}', '{index}', 'instance')")
        sums.add(connection.execute(f"SELECT doc, col, offset, CAST(term AS BLOB) FROM temp.{index}_words"))
    differences = held.differences(expected)
    if differences:
        what = f"The full-text index holds other words than the {table} say, in {differences} of its parts."
        yield Finding(rule=rule, what=what, derived=True)


def _each(db: PKBDatabase, query: str, statements: Collection[str]) -> int:
    """Run statements for the first value of each row that a query gives, as one change; how many rows it were."""
    with db.transaction():
        keys = [next(iter(row.values())) for row in db.fetchall(query)]
        for key in keys:
            for statement in statements:
                db.execute(statement, [key])
    return len(keys)
