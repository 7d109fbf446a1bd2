"""Rows of documents: what their files said when they were read last, the names and links in them, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from database.changes import DOCUMENT, ChangeType, record_each
from database.engine.database import Database, Urgency
from database.engine.statements import insert_rows
from database.schema import (
    document_chunks,
    document_links,
    document_names,
    document_summaries,
    documents,
    is_closed,
    is_open,
)
from database.search.owned import DOCUMENTS

_AT_ONCE = 500
_TOLD_ONE_BY_ONE = 20

_d, _n, _l = documents.c, document_names.c, document_links.c


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A document to be stored. names: (kind, name, folded name). links: (line, wikilink, file key, whole key)."""

    path: str
    title: str
    version: str
    size: int
    modified_ns: int
    front_matter: dict[str, Any]
    headings: Sequence[tuple[int, str, int]]
    text: str
    names: Sequence[tuple[int, str, str]]
    links: Sequence[tuple[int, str, str, str]]


class Entry(NamedTuple):
    """A document in a list. modified_ns: the file's time, in nanoseconds."""

    path: str
    title: str
    modified_ns: int
    size: int


ENTRY = (_d.path, _d.title, _d.modified_ns, _d.size)
"""The columns of an `Entry`."""


class KnownFile(NamedTuple):
    """What the index knows of a file."""

    modified_ns: int
    size: int
    version: str


class LinkRow(NamedTuple):
    """A link in the document at `path`. line: 1-based."""

    path: str
    title: str
    line: int
    wikilink: str


class Progress(NamedTuple):
    """How many documents the index holds, and how many of them have vectors."""

    documents: int
    embedded: int


def put_documents(*, database: Database, user_email: str, rows: Sequence[DocumentRow]) -> None:
    """Add documents, or replace those of the same paths, in one transaction; none of an account that was closed."""

    def job(connection: Connection) -> None:
        if not connection.execute(select(is_open(user_email))).scalar():
            return
        known = _known(connection, user_email, [row.path for row in rows])
        _take_out_words(connection, user_email, list(known.values()))
        _delete_parts(connection, list(known.values()))
        ids = dict(known)
        for row in rows:
            values = _values(row, user_email)
            if row.path in known:
                connection.execute(update(documents).where(_d.document_id == known[row.path]).values(values))
            else:
                added = connection.execute(insert(documents).values(values))
                (ids[row.path],) = added.inserted_primary_key or (0,)
        _insert_parts(connection, user_email, [(ids[row.path], row) for row in rows])
        DOCUMENTS.put(connection, user_email, [(ids[row.path], f"{row.title}\n{row.text}") for row in rows])
        _tell(connection, user_email, {row.path: row for row in rows}, set(known))

    if rows:
        database.write(job, urgency=Urgency.INDEX)


def touch_documents(*, database: Database, user_email: str, times: dict[str, int]) -> None:
    """Store new times of files that say what they said. times: in nanoseconds, by path."""

    def job(connection: Connection) -> None:
        for path, modified_ns in times.items():
            these = (_d.user_email == user_email) & (_d.path == path)
            connection.execute(update(documents).where(these).values(modified_ns=modified_ns))

    if times:
        database.write(job, urgency=Urgency.INDEX)


def remove_documents(*, database: Database, user_email: str, paths: Sequence[str], told: bool = True) -> int:
    """Take documents out of the index; how many were in it."""

    def job(connection: Connection, some: Sequence[str]) -> int:
        known = _known(connection, user_email, some)
        ids = list(known.values())
        _take_out_words(connection, user_email, ids)
        _delete_parts(connection, ids)
        connection.execute(delete(documents).where(_d.document_id.in_(ids)))
        if told:
            _tell(connection, user_email, dict.fromkeys(known), set(known))
        return len(ids)

    return sum(database.write(partial(job, some=some), urgency=Urgency.INDEX) for some in _slices(paths))


def erase_documents(*, database: Database, user_email: str) -> None:
    """Erase all that the index knows of a person's documents."""
    paths = list(known_files(database=database, user_email=user_email))
    remove_documents(database=database, user_email=user_email, paths=paths, told=False)
    theirs = delete(document_summaries).where(document_summaries.c.user_email == user_email)
    database.write(lambda connection: connection.execute(theirs).rowcount, urgency=Urgency.INDEX)


def known_files(*, database: Database, user_email: str, below: str = "") -> dict[str, KnownFile]:
    """What the index knows of the files of a vault, or of a folder of it, by path."""
    query = select(_d.path, _d.modified_ns, _d.size, _d.version).where(
        _d.user_email == user_email, *below_folder(below)
    )
    with database.reading() as connection:
        return {path: KnownFile(*rest) for path, *rest in connection.execute(query)}


def counts(*, database: Database) -> dict[str, int]:
    """How many documents the index holds of each person who has some, and whose account isn't closed."""
    query = select(_d.user_email, func.count()).where(~is_closed(_d.user_email)).group_by(_d.user_email)
    with database.reading() as connection:
        return {row.user_email: int(row[1]) for row in connection.execute(query)}


def known_versions(*, database: Database, user_email: str, paths: Sequence[str]) -> dict[str, str]:
    """The versions of these documents that the index knows, by path."""
    query = select(_d.path, _d.version).where(_d.user_email == user_email, _d.path.in_(paths))
    with database.reading() as connection:
        return {row.path: row.version for row in connection.execute(query)}


def list_documents(*, database: Database, user_email: str, folder: str, after: str, most: int) -> list[Entry]:
    """The person's documents by path, behind the path `after`; those below `folder`."""
    query = select(*ENTRY).where(_d.user_email == user_email, _d.path > after, *below_folder(folder))
    with database.reading() as connection:
        return [Entry(*row) for row in connection.execute(query.order_by(_d.path).limit(most))]


def entries(*, database: Database, user_email: str, paths: Sequence[str]) -> dict[str, Entry]:
    """These documents as lists show them, by path."""
    query = select(*ENTRY).where(_d.user_email == user_email, _d.path.in_(paths))
    with database.reading() as connection:
        return {row.path: Entry(*row) for row in connection.execute(query)}


def texts_of(*, database: Database, user_email: str) -> Iterator[tuple[str, str, str]]:
    """Path, title and text of each of the person's documents, by path, read in slices."""
    after = ""
    while True:
        query = select(_d.path, _d.title, _d.text).where(_d.user_email == user_email, _d.path > after)
        with database.reading() as connection:
            rows = connection.execute(query.order_by(_d.path).limit(_AT_ONCE)).all()
        yield from (tuple(row) for row in rows)
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1].path


def names_with_keys(*, database: Database, user_email: str, keys: Iterable[str]) -> list[tuple[int, str, str]]:
    """(kind, name, path) of the names whose folded form is one of `keys`; one statement for up to 500 of them."""
    found = list[tuple[int, str, str]]()
    query = select(_n.kind, _n.name, _d.path).join(documents, _d.document_id == _n.document_id)
    with database.reading() as connection:
        for some in _slices(sorted(set(keys))):
            rows = connection.execute(query.where(_n.user_email == user_email, _n.folded.in_(some)))
            found += [(row.kind, row.name, row.path) for row in rows]
    return found


def all_names(*, database: Database, user_email: str) -> list[tuple[int, str, str]]:
    """(kind, name, path) of all names of a vault."""
    query = select(_n.kind, _n.name, _d.path).join(documents, _d.document_id == _n.document_id)
    with database.reading() as connection:
        rows = connection.execute(query.where(_d.user_email == user_email))
        return [(row.kind, row.name, row.path) for row in rows]


def names_of_path(*, database: Database, user_email: str, path: str) -> list[tuple[int, str]]:
    """(kind, folded name) of the names of the document at `path`."""
    query = select(_n.kind, _n.folded).join(documents, _d.document_id == _n.document_id)
    with database.reading() as connection:
        rows = connection.execute(query.where(_d.user_email == user_email, _d.path == path))
        return [(row.kind, row.folded) for row in rows]


def links_naming(
    *, database: Database, user_email: str, file_keys: Sequence[str], whole_keys: Sequence[str]
) -> list[LinkRow]:
    """Links of the person's documents that may lead to one that is called so."""
    either = or_(_l.file_key.in_(file_keys), _l.whole_key.in_(whole_keys))
    return _links(database, _LINKS.where(_l.user_email == user_email, either).order_by(_d.path, _l.position))


def all_links(*, database: Database, user_email: str) -> list[LinkRow]:
    """All links of a vault."""
    return _links(database, _LINKS.where(_d.user_email == user_email).order_by(_d.path, _l.position))


def progress_of(*, database: Database, user_email: str) -> Progress:
    """How far the index of a vault is."""
    query = select(func.count(), func.coalesce(func.sum(_d.chunked), 0)).where(_d.user_email == user_email)
    with database.reading() as connection:
        return Progress(*map(int, connection.execute(query).one()))


_LINKS = select(_d.path, _d.title, _l.line, _l.wikilink).join(documents, _d.document_id == _l.document_id)


def _links(database: Database, query: Any) -> list[LinkRow]:
    with database.reading() as connection:
        return [LinkRow(*row) for row in connection.execute(query)]


def below_folder(folder: str) -> list[ColumnElement[bool]]:
    """Conditions of the paths below `folder`; "0" is the sign after "/"."""
    return [_d.path > f"{folder}/", _d.path < f"{folder}0"] if folder else []


def _slices(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE))


def _known(connection: Connection, user_email: str, paths: Sequence[str]) -> dict[str, int]:
    query = select(_d.path, _d.document_id).where(_d.user_email == user_email, _d.path.in_(paths))
    return {row.path: row.document_id for row in connection.execute(query)}


def _values(row: DocumentRow, user_email: str) -> dict[str, Any]:
    named = ("path", "title", "version", "size", "modified_ns", "front_matter", "text")
    values = {name: getattr(row, name) for name in named}
    return values | {"headings": [list(each) for each in row.headings], "user_email": user_email, "chunked": 0}


def _take_out_words(connection: Connection, user_email: str, ids: Sequence[int]) -> None:
    query = select(_d.document_id, _d.title, _d.text).where(_d.document_id.in_(ids))
    rows = connection.execute(query).all() if ids else []
    DOCUMENTS.remove(connection, user_email, [(row.document_id, f"{row.title}\n{row.text}") for row in rows])


def _delete_parts(connection: Connection, ids: Sequence[int]) -> None:
    for table in (document_names, document_links, document_chunks):
        if ids:
            connection.execute(delete(table).where(table.c.document_id.in_(ids)))


def _insert_parts(connection: Connection, user_email: str, rows: Sequence[tuple[int, DocumentRow]]) -> None:
    names = [
        {"document_id": number, "user_email": user_email, "kind": kind, "name": name, "folded": folded}
        for number, row in rows
        for kind, name, folded in row.names
    ]
    links = [
        {"document_id": number, "user_email": user_email, "position": position}
        | {"line": line, "wikilink": wikilink, "file_key": file_key, "whole_key": whole_key}
        for number, row in rows
        for position, (line, wikilink, file_key, whole_key) in enumerate(row.links)
    ]
    for table, values in ((document_names, names), (document_links, links)):
        insert_rows(connection, table, values)


def _tell(connection: Connection, user_email: str, rows: dict[str, DocumentRow | None], known: set[str]) -> None:
    """Record the change of each document (None: it is gone), or of many as one."""
    if len(rows) > _TOLD_ONE_BY_ONE:
        record_each(connection, DOCUMENT, "changed", user_email=user_email, fields={"*": {"count": len(rows)}})
        return
    for path, row in rows.items():
        change: ChangeType = "gone" if row is None else "changed" if path in known else "created"
        fields = {} if row is None else {"title": row.title, "version": row.version}
        record_each(connection, DOCUMENT, change, user_email=user_email, fields={path: fields})
