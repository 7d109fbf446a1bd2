"""The knowledge base of the first implementation, an SQLite file, as an export that `import_data` merges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, NullPool, Table, create_engine, func, select, table
from sqlalchemy.exc import SQLAlchemyError

from database.engine.sqlite import connect_untrusted, stored_tables
from sentences import otherwise

from ..errors import InvalidKnowledgeError
from .payload import EXPORT_VERSION, Row, read_payload

_TABLES = ("claims", "notes", "entities", "tags", "contexts", "claim_links", "conflict_sets")
_TIES = ("claim_tags", "claim_entities", "context_claims", "conflict_set_members")
_MOST_ROWS = 1_000_000
_CATALOGS = {"claim_types_catalog": ("type", "type_name"), "context_domains_catalog": ("domain", "domain_name")}


def read_first_knowledge_base(path: Path, user_email: str) -> tuple[dict[str, Any], int]:
    """What one person had in a `pkb.sqlite` of the first implementation, and how many rows made no sense.

    The file is opened for reading alone, and nothing beside it is written. A file whose rows all belong to one other
    person, or to nobody, is that of the one who brings it. Raises InvalidKnowledgeError for any other file, for one of
    more than a million rows, and for one whose schema computes without end.
    """
    engine = create_engine("sqlite://", creator=lambda: connect_untrusted(path), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            return _read(connection, user_email)
    except SQLAlchemyError as error:
        raise InvalidKnowledgeError(
            otherwise("This is no whole knowledge base of the first implementation.", "export_not_whole")
        ) from error
    finally:
        engine.dispose()


def _read(connection: Connection, user_email: str) -> tuple[dict[str, Any], int]:
    present = stored_tables(connection)
    if "claims" not in present:
        raise InvalidKnowledgeError(
            otherwise("This is no knowledge base of the first implementation: it has no claims.", "export_not_whole")
        )
    names = [name for name in (*_TABLES, *_TIES, *_CATALOGS) if name in present]
    counts = (connection.execute(select(func.count()).select_from(table(name))).scalar_one() for name in names)
    if sum(counts) > _MOST_ROWS:
        raise InvalidKnowledgeError(
            otherwise(f"The knowledge base has more than {_MOST_ROWS:,} rows.", "export_not_whole")
        )
    rows = {name: list(_rows(connection, name)) for name in names}
    owners = {row.get("user_email") or "" for name in _TABLES for row in rows.get(name, ())}
    mine = {user_email} if user_email in owners or len(owners - {""}) > 1 else owners
    data: dict[str, list[Row]] = {}
    for name in _TABLES:
        own = [row for row in rows.get(name, ()) if (row.get("user_email") or "") in mine]
        data[name] = own
    for name in _TIES:
        data[name] = rows.get(name, [])
    data["catalogs"] = [
        {"kind": kind, "name": row.get(column), "display_name": row.get("display_name")}
        for table, (kind, column) in _CATALOGS.items()
        for row in rows.get(table, ())
        if row.get("user_email") and row["user_email"] in mine
    ]
    return _sound(data)


def _rows(connection: Connection, name: str) -> Iterator[Row]:
    columns = Table(name, MetaData(), autoload_with=connection, resolve_fks=False)
    # Types of columns in SQLite are advice: values come as they are.
    for row in connection.execute(select(columns)).mappings():
        yield {column: value for column, value in row.items() if value is not None}


def _sound(data: dict[str, list[Row]]) -> tuple[dict[str, Any], int]:
    """The rows that make sense by themselves and whose parts are there, and how many others were left out."""
    kept = {name: [row for row in rows if _makes_sense(name, row)] for name, rows in data.items()}
    ids = {
        column: {row[column] for row in kept[name]}
        for name, column in (
            ("claims", "claim_id"),
            ("tags", "tag_id"),
            ("entities", "entity_id"),
            ("contexts", "context_id"),
            ("conflict_sets", "conflict_set_id"),
        )
    }
    for name in _TIES:
        # Ties of other people's rows are in the file too: they are no fault.
        data[name] = kept[name] = [
            row for row in kept[name] if all(row[column] in known for column, known in ids.items() if column in row)
        ]
    dropped = sum(len(rows) - len(kept[name]) for name, rows in data.items())
    return {"pkb_export_version": EXPORT_VERSION, "data": kept}, dropped


def _makes_sense(table: str, row: Row) -> bool:
    try:
        read_payload({"data": {table: [row]}})
    except InvalidKnowledgeError:
        return False
    return True
