"""The documents that messages name or rest on, as rows; `chat.exchange.documents` says how they are found.

A reference belongs to one version of its message, as a part does. `messages.has_documents` says whether any version has
some, and `has_documents` of the conversation whether any of its messages ever had, so that nothing more is asked for
where there are none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from database.engine.text import storable
from database.schema import conversations, document_references, messages

_d = document_references.c
_AT_ONCE = 10_000
_FLAGS = ("ambiguous", "used")
_BELONGING = ("message_id", "version", "position", "user_email")
FIELDS = tuple(str(column.name) for column in _d if column.name not in _BELONGING)
"""What a reference says, beside which message it belongs to."""

Documents = Sequence[Mapping[str, Any]]
"""Each `{wikilink, relative_path, reference_type, summary, context_snippet, anchor, via_tool, ambiguous, used}`.

wikilink: with its brackets. relative_path: None for a link that leads nowhere. reference_type: "direct" or "search".
used: False for what a search found and nobody read or cited. The rest may be None.
"""


def document_rows(message_id: str, documents: Documents, *, user_email: str, version: int) -> list[dict[str, Any]]:
    """`documents` as rows of `document_references`."""
    own = {"message_id": message_id, "version": version, "user_email": user_email}
    return [own | {"position": place} | _stored(document) for place, document in enumerate(documents)]


def _stored(document: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: document.get(name) for name in FIELDS}
    fields |= {name: int(bool(document.get(name, name == "used"))) for name in _FLAGS}
    return {name: storable(value) if isinstance(value, str) else value for name, value in fields.items()}


def store_documents(
    connection: Connection,
    message_id: str,
    documents: Documents,
    *,
    user_email: str,
    conversation_id: str,
    version: int = 1,
) -> None:
    """Store the documents of one version of a message, in place of earlier ones."""
    this_one = (_d.message_id == message_id) & (_d.version == version)
    connection.execute(delete(document_references).where(this_one))
    if not documents:
        return
    rows = document_rows(message_id, documents, user_email=user_email, version=version)
    connection.execute(insert(document_references), rows)
    connection.execute(update(messages).where(messages.c.message_id == message_id).values(has_documents=1))
    here = conversations.c.conversation_id == conversation_id
    connection.execute(update(conversations).where(here).values(has_documents=1))


def documents_of(
    connection: Connection, message_ids: Sequence[str]
) -> dict[tuple[str, int], tuple[dict[str, Any], ...]]:
    """The documents of these messages in order, by message id and version."""
    found: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for start in range(0, len(message_ids), _AT_ONCE):
        query = (
            select(_d.message_id, _d.version, *(_d[name] for name in FIELDS))
            .where(_d.message_id.in_(message_ids[start : start + _AT_ONCE]))
            .order_by(_d.message_id, _d.version, _d.position)
        )
        for message_id, version, *values in connection.execute(query):
            found[message_id, version].append(shown(zip(FIELDS, values, strict=True)))
    return {key: tuple(documents) for key, documents in found.items()}


def shown(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A stored reference as clients see it."""
    document = dict(fields)
    return document | {name: bool(document[name]) for name in _FLAGS}


def told_documents(events: Iterable[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """The documents of an answer as its stored events have told of them last."""
    told: list[dict[str, Any]] = []
    for _, event in events:
        if b'"document_references"' in event:
            told = orjson.loads(event)["document_references"]
    return told
