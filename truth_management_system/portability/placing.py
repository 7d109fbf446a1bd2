"""Which entities, tags and contexts of an import the owner has already, by id or by name, and which are new."""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy import bindparam, func, literal, select

from ..crud.base import json_list
from ..database import PKBDatabase, Prepared
from ..errors import InvalidKnowledgeError
from ..schema import metadata
from ..schema.operators import among
from ..utils import name_key
from .identities import Wish, free_friendly_ids, identify
from .payload import Row

_Place = tuple[str, str]
"""A name as names are compared, and what it has to differ within: the type, or the parent's id."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A table of things with names.

    Attributes:
        suffix: What a readable id ends in.
        within: The column within whose values names are compared; in a tree it names the parent.
        names_differ: Whether two new things of one name in one place are one.
    """

    table: str
    key: str
    suffix: str
    within: str
    is_tree: bool = True
    names_differ: bool = True


def place(db: PKBDatabase, owner: str, kind: Kind, rows: Sequence[Row]) -> tuple[dict[str, str], list[Row]]:
    """What became of each id, and the rows that are new, ready to be inserted, parents first."""
    ids, present = identify(db, owner, kind.table, kind.key, [row[kind.key] for row in rows])
    places = _stored_places(db, owner, kind, rows)
    new: dict[str, Row] = {}
    for row in _parents_first(kind, rows):
        ours = ids[row[kind.key]]
        if ours in present or ours in new:
            continue
        within = ids.get(row[kind.within]) if kind.is_tree else row[kind.within]
        where = (name_key(row["name"]), within or "")
        if where in places:
            ids[row[kind.key]] = places[where]
            continue
        if kind.names_differ:
            places[where] = ours
        new[ours] = row | {"user_email": owner, kind.key: ours, kind.within: within, "name_key": where[0]}
    return ids, _with_friendly_ids(db, owner, kind, list(new.values()))


def _with_friendly_ids(db: PKBDatabase, owner: str, kind: Kind, new: list[Row]) -> list[Row]:
    wanted = [Wish(row["friendly_id"], row["name"], kind=row.get("entity_type", "")) for row in new]
    names = free_friendly_ids(db, owner, kind.table, wanted, suffix=kind.suffix)
    return [row | {"friendly_id": name} for row, name in zip(new, names, strict=True)]


def _stored_places(db: PKBDatabase, owner: str, kind: Kind, rows: Sequence[Row]) -> dict[_Place, str]:
    """The owner's things with the names of `rows`, by place; of several in one place the oldest."""
    names = json_list(name_key(row["name"]) for row in rows)
    stored = db.rows(_places(kind.table, kind.key, kind.within), user=owner, names=names)
    return {(name, within): identity for name, within, identity in stored}


@cache
def _places(table: str, key: str, within: str) -> Prepared:
    rows = metadata.tables[table].c
    query = select(rows.name_key, func.coalesce(rows[within], literal("")), rows[key])
    query = query.where(rows.user_email == bindparam("user"), among(rows.name_key, "names"))
    return Prepared(query.order_by(rows.created_at.desc()))


def _parents_first(kind: Kind, rows: Sequence[Row]) -> list[Row]:
    if not kind.is_tree:
        return list(rows)
    by_id = {row[kind.key]: row for row in reversed(rows)}
    parents = {identity: {row[kind.within]} & by_id.keys() for identity, row in by_id.items()}
    try:
        return [by_id[identity] for identity in graphlib.TopologicalSorter(parents).static_order()]
    except graphlib.CycleError as error:
        raise InvalidKnowledgeError(f'"data.{kind.table}": some lie below themselves.') from error
