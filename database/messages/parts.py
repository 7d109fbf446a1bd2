"""The parts of messages beside their words, as rows; `activity.parts` says what kinds there are.

A part belongs to one version of its message: version 1, or one of the variants of an answer that was made again.
`messages.has_parts` says whether any version has parts, so that reading plain messages asks for nothing more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, delete, insert, select

from database.schema import message_parts

_p = message_parts.c
_IN_COLUMNS = frozenset({"id", "kind", "at"})
_AT_ONCE = 10_000
_FILE_KINDS = frozenset({"file", "image"})

Parts = Sequence[Mapping[str, Any]]
"""Each `{id, kind, at, …}`; the further fields are those of the kind."""


def part_rows(message_id: str, parts: Parts, *, version: int) -> list[dict[str, Any]]:
    """`parts` as rows of `message_parts`."""
    return [
        {
            "message_id": message_id,
            "version": version,
            "part_id": part["id"],
            "kind": part["kind"],
            "at": part["at"],
            "data": {name: value for name, value in part.items() if name not in _IN_COLUMNS},
            "attachment_id": part.get("attachment_id") if is_file(part) else None,
        }
        for part in parts
    ]


def store_parts(connection: Connection, message_id: str, parts: Parts, *, version: int) -> None:
    """Store the parts of one version of a message, which has none yet; the caller sets `has_parts`."""
    if parts:
        connection.execute(insert(message_parts), part_rows(message_id, parts, version=version))


def replace_parts(connection: Connection, message_id: str, parts: Parts, *, version: int) -> None:
    """Let one version of a message have these parts alone; the caller sets `has_parts`."""
    connection.execute(delete(message_parts).where(_p.message_id == message_id, _p.version == version))
    store_parts(connection, message_id, parts, version=version)


def parts_of(connection: Connection, message_ids: Sequence[str]) -> dict[tuple[str, int], tuple[dict[str, Any], ...]]:
    """The parts of these messages in order, by message id and version."""
    found: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for start in range(0, len(message_ids), _AT_ONCE):
        query = (
            select(_p.message_id, _p.version, _p.part_id, _p.kind, _p.at, _p.data)
            .where(_p.message_id.in_(message_ids[start : start + _AT_ONCE]))
            .order_by(_p.message_id, _p.version, _p.part_id)
        )
        for message_id, version, part_id, kind, at, data in connection.execute(query):
            found[message_id, version].append({"id": part_id, "kind": kind, "at": at, **data})
    return {key: tuple(parts) for key, parts in found.items()}


def files_of(connection: Connection, message_id: str) -> tuple[dict[str, Any], ...]:
    """The files of a question, in order, as parts of it."""
    return tuple(part for part in parts_of(connection, [message_id]).get((message_id, 1), ()) if is_file(part))


def is_file(part: Mapping[str, Any]) -> bool:
    """Whether a part is a file that was attached."""
    return part["kind"] in _FILE_KINDS


def told_parts(events: Iterable[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """The parts of an answer that its stored events have told of."""
    parts: dict[int, dict[str, Any]] = {}
    for _, event in events:
        if b'"part' not in event:
            continue
        told = orjson.loads(event)
        if part := told.get("part"):
            parts[part["id"]] = part
        if more := told.get("part_text"):
            grown = parts[more["id"]]
            parts[more["id"]] = {**grown, "text": grown.get("text", "") + more["text"]}
    return [parts[part_id] for part_id in sorted(parts)]
