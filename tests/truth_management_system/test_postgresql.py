"""A knowledge base in PostgreSQL: its tables, who may open it, and what differs from a file."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.postgresql import PostgreSQLServer, shape
from truth_management_system import PKBConfig, PKBDatabase, StructuredAPI, get_database, get_memory_database
from truth_management_system.errors import KnowledgeTooNewError, KnowledgeUnavailableError
from truth_management_system.schema import SCHEMA_VERSION, metadata
from truth_management_system.schema.postgresql import translated

from .conftest import added, empty_knowledge_base, finds_its_memories, make_store_before

# What SQLAlchemy tells of an index over expressions differs, and PostgreSQL indexes the words itself.
_TOLD_OTHERWISE = ("_nocase", "_words", "_name_parent")


@pytest.fixture
def url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    """A database with an empty store."""
    url = postgresql_server.empty_store()
    yield url
    postgresql_server.take_back(url)


@pytest.fixture
def db(url: str, tmp_path: Path) -> Iterator[PKBDatabase]:
    with empty_knowledge_base(url, tmp_path) as database:
        yield database


def table_of(db: PKBDatabase, table: str) -> dict[str, object]:
    with db._statement() as connection:
        found = shape(connection, table)
    columns, indexes = found["columns"], found["indexes"]
    assert isinstance(columns, dict)
    assert isinstance(indexes, dict)
    columns.pop("words", None)
    columns.update(dict.fromkeys(metadata.tables[table].primary_key.columns.keys(), False))
    return found | {"indexes": {name: told for name, told in indexes.items() if not name.endswith(_TOLD_OTHERWISE)}}


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection")
def test_an_empty_database_gets_the_tables_that_the_sqlite_file_has(db: PKBDatabase) -> None:
    with get_memory_database() as file:
        for table in metadata.tables:
            assert table_of(db, table) == table_of(file, table), table


def test_texts_compare_by_code_point_and_integers_have_64_bits(db: PKBDatabase) -> None:
    others = db.select(
        "SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns "
        "WHERE table_schema = 'anaphora_knowledge' AND table_name <> 'schema_version' "
        "AND (data_type = 'integer' OR data_type = 'text' AND collation_name <> 'C')"
    )
    assert others == []


def test_programs_that_open_it_at_once_make_the_tables_once(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    url = postgresql_server.empty_database()
    with ThreadPoolExecutor(3) as pool:
        opened = list(pool.map(lambda _: empty_knowledge_base(url, tmp_path), range(3)))
    assert [each.get_schema_version() for each in opened] == [SCHEMA_VERSION] * 3
    for each in opened:
        each.close()


def test_a_knowledge_base_of_a_newer_version_is_refused(postgresql_server: PostgreSQLServer, tmp_path: Path) -> None:
    url = postgresql_server.empty_database()
    with empty_knowledge_base(url, tmp_path) as db:
        db.execute("INSERT INTO schema_version (version) VALUES (?)", [SCHEMA_VERSION + 1])
    with pytest.raises(KnowledgeTooNewError):
        empty_knowledge_base(url, tmp_path)


def test_a_program_needs_nothing_but_the_url(url: str) -> None:
    with get_database(PKBConfig(database_url=url)) as db:
        api = StructuredAPI(db, {}, db.config, "ann@example.org")
        claim = added(api, "My bike is red")
        assert [found.claim.statement for found in api.search("bikes").data] == ["My bike is red"]
        row = db.fetchone("SELECT statement, 'a?' AS mark FROM claims WHERE claim_number = ?", [1])
        assert row == {"statement": claim.statement, "mark": "a?"}
        assert "postgres" not in repr(db.config)


def test_accents_and_case_are_no_matter_of_a_search(db: PKBDatabase) -> None:
    api = StructuredAPI(db, {}, db.config)
    added(api, "Der Überblick für Zoë: Straße, 20€")
    for word in ("uberblick", "ZOE", "straße", "20"):
        assert api.search(word).data, word
    assert not api.search("zoo").data


def test_memories_of_the_version_before_are_found_by_their_words(
    postgresql_server: PostgreSQLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql_server.empty_database()
    with monkeypatch.context() as before, make_store_before(before, url, tmp_path):
        pass
    with empty_knowledge_base(url, tmp_path) as db:
        assert finds_its_memories(db)


_OF_MANY = """
INSERT INTO claims (
    claim_id, user_email, claim_number, friendly_id, claim_type, claim_types, statement, context_domain,
    context_domains, created_at, updated_at, valid_from
)
SELECT 'id' || number, mod(number, 250) || '@example.org', number, 'bike_' || number, 'fact', '["fact"]',
    'Bicycles number ' || number, 'work', '["work"]', '2026', '2026', '2026'
FROM generate_series(1, 10000) AS number
"""
_PLANS = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%%asked(%%'"
_STATEMENTS = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%%asked(%%'"


def test_among_many_a_search_is_planned_once_and_walks_along_its_own_words_alone(db: PKBDatabase) -> None:
    db.execute(_OF_MANY)
    db.execute("ANALYZE claims")
    api = StructuredAPI(db, {}, db.config, "7@example.org")
    with db.snapshot():
        for _ in range(12):
            assert len(api.search("bicycle", strategy="fts", k=100).data) == 40
            assert api.autocomplete("bicycl").data["memories"]
        plans, statements = db.select(_PLANS), [sql for (sql,) in db.select(_STATEMENTS)]
        explained = ["\n".join(row[0] for row in db.select(f"EXPLAIN (GENERIC_PLAN) {sql}")) for sql in statements]
    assert len(plans) == 3
    assert all(custom == 5 < generic for generic, custom in plans), plans
    for plan in explained:
        assert "Bitmap Index Scan on idx_claims_words" in plan
        assert plan.count("Index Scan") == 1, plan


def test_nothing_but_question_marks_outside_of_quotes_stands_for_parameters() -> None:
    sql = translated("""SELECT '?', "a?" FROM t WHERE a LIKE '5%' AND b = ?""")
    assert sql == """SELECT '?', "a?" FROM t WHERE a LIKE '5%%' AND b = %s"""


def test_after_a_restart_of_the_database_server_it_goes_on(
    db: PKBDatabase, postgresql_server: PostgreSQLServer
) -> None:
    api = StructuredAPI(db, {}, db.config)
    added(api, "My bike is red")
    postgresql_server.cut_connections()
    assert len(api.claims.list()) == 1
    added(api, "My car is blue")


def test_a_database_that_is_not_there_is_told_without_its_address(tmp_path: Path) -> None:
    url = make_url("postgresql+psycopg://").set(username="postgres", database="none", query={"host": str(tmp_path)})
    with pytest.raises(KnowledgeUnavailableError, match="can't be reached") as told:
        empty_knowledge_base(url.render_as_string(hide_password=False), tmp_path)
    assert str(tmp_path) not in str(told.value)
