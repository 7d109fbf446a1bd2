"""Finding documents by their names and by the words of their titles and texts, with the operators of the search.

What documents mean is found by `vault.search`, which works upon this package.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Text, and_, bindparam, exists, func, or_, select

from database.engine.database import Database
from database.engine.statements import Prepared
from database.schema import document_names, documents
from database.search.index import expression_for, folded, is_called, names_sought
from database.search.mending import again_in_new_index
from database.search.owned import DOCUMENTS
from database.vault.documents import ENTRY, Entry, below_folder
from search import engine_of
from search.query import SearchQuery
from search.ranking import Snippet, best, snippet

_SAYING = 4_000
_READ = 400
_RANKED_CHARACTERS = 8_000
_NAMED = 50
_AT_ONCE = 500

_d, _n = documents.c, document_names.c
_HAS_DOCUMENTS = Prepared(select(exists().where(_d.user_email == bindparam("user_email", type_=Text))))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document that was found. path: relative to the vault. modified: the file's time, ISO 8601 in UTC."""

    path: str
    title: str
    modified: str
    snippet: Snippet


def has_documents(*, database: Database, user_email: str) -> bool:
    """Whether the person has any document at all."""
    with database.reading() as connection:
        row = _HAS_DOCUMENTS.row(connection, user_email=user_email)
    return row is not None and bool(row[0])


@again_in_new_index
def find_documents(*, database: Database, user_email: str, query: SearchQuery) -> dict[str, str | None]:
    """The person's documents that are called so or say all words of `query`, best first, by path.

    Each has the name that fits, or None where its title and text say the words. A query without words finds none. Three
    statements at most.
    """
    if not query.phrases:
        return {}
    with database.reading() as connection:
        named = {} if query.excluded else _named(connection, user_email, query)
        saying = _saying(connection, user_email, query)
    said = set(saying)
    return {path: None if path in said else named[path] for path in dict.fromkeys([*named, *saying])}


def documents_called(
    *, database: Database, user_email: str, name: str, folder: str, after: str, most: int
) -> list[Entry]:
    """The person's documents with `name`, which is not empty, in one of their names; as `list_documents` gives them.

    A name without words, such as a sign, is looked for as it is.
    """
    query = select(*ENTRY, _n.name).join(documents, _d.document_id == _n.document_id).order_by(_d.path)
    query = query.where(_n.user_email == user_email, _d.path > after, *below_folder(folder))
    sought = [each for each in names_sought([[name]]) if each]
    if not sought:
        query = query.where(_n.folded.contains(name, autoescape=True))
    found = dict[str, Entry]()
    with database.reading() as connection, closing(_called(connection, query, sought)) as rows:
        for row in rows:
            found.setdefault(row.path, Entry(row.path, row.title, row.modified_ns, row.size))
            if len(found) == most:
                break
    return list(found.values())


def documents_in_time(*, database: Database, user_email: str, paths: Collection[str], query: SearchQuery) -> set[str]:
    """Those of these documents that were changed within the days that `query` names."""
    if not paths:
        return set()
    with database.reading() as connection:
        rows = connection.execute(select(_d.path).where(_d.path.in_(paths), *_own(user_email, query)))
        return set(rows.scalars())


def described_documents(
    *, database: Database, user_email: str, shown: Mapping[str, str | None], query: SearchQuery
) -> list[FoundDocument]:
    """What a client is shown of these documents, in this order.

    shown: by path, the text that a snippet is made of; None for the document's own.
    """
    if not shown:
        return []
    with database.reading() as connection:
        columns = select(_d.path, _d.title, _d.modified_ns, _d.text)
        rows = connection.execute(columns.where(_d.user_email == user_email, _d.path.in_(shown)))
        found = {
            row.path: FoundDocument(
                path=row.path,
                title=row.title,
                modified=datetime.fromtimestamp(row.modified_ns / 1e9, UTC).isoformat(timespec="seconds"),
                snippet=_snippet(shown[row.path], row.text, query),
            )
            for row in rows
        }
    return [found[path] for path in shown if path in found]


def _snippet(shown: str | None, text: str, query: SearchQuery) -> Snippet:
    return snippet(text if shown is None else shown, query.phrases, beginning=query.beginning)


def _named(connection: Connection, user_email: str, query: SearchQuery) -> dict[str, str]:
    """Path and name of the documents with a name that holds all words: that of the file, an alias, a title."""
    names = (
        select(_d.path, _n.name)
        .join(documents, _d.document_id == _n.document_id)
        .where(_n.user_email == user_email, *_own(user_email, query))
        .order_by(_n.kind, _d.path)
    )
    found = dict[str, str]()
    with closing(_called(connection, names, names_sought(query.phrases))) as rows:
        for row in islice(rows, _NAMED):
            found.setdefault(row.path, row.name)
    return found


def _called(connection: Connection, names: Select[Any], sought: Sequence[str]) -> Generator[Row[Any]]:
    """Those rows of `names` whose `name` holds all of `names_sought`. Close it."""
    # Names are compared here: `folded` has diacritics, by which links tell documents apart.
    holds = [_n.folded.contains(word, autoescape=True) for part in sought for word in part.split()]
    if holds:
        names = names.where(or_(and_(*holds), engine_of(connection).has_more_than_ascii(_n.folded)))
    with closing(connection.execute(names.execution_options(yield_per=_AT_ONCE))) as rows:
        yield from (row for row in rows if is_called(row.name, sought))


def _saying(connection: Connection, user_email: str, query: SearchQuery) -> list[str]:
    """Paths of the documents whose titles and texts say all words, best first: the latest changed are ranked."""
    expression = expression_for(
        connection,
        user_email=user_email,
        phrases=query.phrases,
        beginning=query.beginning,
        excluded=query.excluded,
    )
    saying = DOCUMENTS.newest(connection, expression, most=_SAYING)
    if not saying:
        return []
    numbers = engine_of(connection).listed(saying)
    latest_first = _d.modified_ns.desc(), _d.document_id.desc()
    # Chosen apart, so that only their texts are read.
    fitting = select(_d.document_id).where(_d.document_id.in_(numbers), *_own(user_email, query))
    latest = fitting.order_by(*latest_first).limit(_READ)
    # A document may have 2 MiB: it is ranked by its beginning.
    columns = select(_d.document_id, _d.path, _d.title, func.substr(_d.text, 1, _RANKED_CHARACTERS).label("begins"))
    rows = connection.execute(columns.where(_d.document_id.in_(latest)).order_by(*latest_first)).all()
    paths = {row.document_id: row.path for row in rows}
    ranked = best([(row.document_id, folded(f"{row.title}\n{row.begins}")) for row in rows], query.phrases)
    return [paths[number] for number in ranked]


def _own(user_email: str, query: SearchQuery) -> list[ColumnElement[bool]]:
    """The conditions of a document of the person that was changed within the days that `query` names."""
    conditions = [_d.user_email == user_email]
    if query.after is not None:
        conditions.append(_d.modified_ns >= _nanoseconds(query.after))
    if query.before is not None:
        conditions.append(_d.modified_ns < _nanoseconds(query.before))
    return conditions


def _nanoseconds(day: str) -> int:
    """When a day begins in UTC, as files tell the time."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000_000
