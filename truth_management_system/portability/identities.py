"""Which ids, numbers and readable ids the things of an import have here. A fixed number of statements, however many."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects.sqlite import insert

from ..crud.base import json_list
from ..crud.friendly_ids import check_given
from ..database import PKBDatabase, Prepared
from ..errors import InvalidKnowledgeError
from ..schema import metadata
from ..schema.operators import among, caseless
from ..schema.tables import claim_numbers
from ..utils import friendly_id_candidates

_FURTHEST_NUMBER = 1_000_000_000
_NAMESPACE = uuid.UUID("5b1c9d0a-7f0e-4d5e-9a55-3a1d3f0c2e77")
_LAST_NUMBER = Prepared(select(claim_numbers.c.last_number).where(claim_numbers.c.user_email == bindparam("user")))
_inserted = insert(claim_numbers).values(user_email=bindparam("user"), last_number=bindparam("number"))
_SET_NUMBER = Prepared(
    _inserted.on_conflict_do_update(
        index_elements=[claim_numbers.c.user_email], set_={"last_number": _inserted.excluded.last_number}
    )
)


class Wish(NamedTuple):
    """The readable id that a thing would keep, and what one is made of where it can't; kind: as in `insert_named`."""

    friendly_id: str
    text: str
    kind: str = ""


def identify(
    db: PKBDatabase, owner: str, table: str, key: str, identities: Sequence[str]
) -> tuple[dict[str, str], set[str]]:
    """For each id, the one that its thing has here; and which of the latter the owner has already.

    An id that is another user's is replaced by one that follows from it and the owner, so that importing again finds
    the same thing.
    """
    derived = {identity: str(uuid.uuid5(_NAMESPACE, f"{owner}\n{table}\n{identity}")) for identity in identities}
    rows = stored_where(db, table, (key, "user_email"), key, [*derived, *derived.values()])
    owners: dict[str, str] = {identity: email for identity, email in rows}  # noqa: C416
    foreign = {identity for identity, email in owners.items() if email != owner}
    ours = {
        identity: other if identity in foreign or other in owners else identity for identity, other in derived.items()
    }
    return ours, owners.keys() - foreign


def stored_where(
    db: PKBDatabase, table: str, columns: Sequence[str], column: str, values: Collection[str]
) -> list[tuple[Any, ...]]:
    """`columns` of the rows of any user whose `column` has one of `values`; one statement."""
    if not values:
        return []
    return db.rows(_where(table, tuple(columns), column), values=json_list(set(values)))


@cache
def _where(table: str, columns: tuple[str, ...], column: str) -> Prepared:
    rows = metadata.tables[table].c
    return Prepared(select(*(rows[name] for name in columns)).where(among(rows[column], "values")))


def free_numbers(db: PKBDatabase, owner: str, wanted: Sequence[int]) -> list[int]:
    """A number for each new claim of the owner's: the one that is wanted, where nothing ever had it, else a new one."""
    row = db.row(_LAST_NUMBER, user=owner)
    last = row[0] if row else 0
    kept = {number for number in wanted if last < number <= _FURTHEST_NUMBER}
    highest = max(kept, default=last)
    numbers = []
    for number in wanted:
        if number in kept:
            kept.remove(number)
            numbers.append(number)
        else:
            highest += 1
            numbers.append(highest)
    if numbers:
        db.run(_SET_NUMBER, user=owner, number=highest)
    return numbers


def free_friendly_ids(
    db: PKBDatabase, owner: str, table: str, wanted: Sequence[Wish], *, suffix: str = ""
) -> list[str]:
    """A readable id for each: the one that it would keep, where that is well-formed and free, else a new one."""
    candidates = [_candidates(wish, suffix) for wish in wanted]
    names = [""] * len(wanted)
    used: set[str] = set()
    waiting = list(range(len(wanted)))
    while waiting:
        tried = {index: next(candidates[index]) for index in waiting}
        used |= _taken(db, owner, table, tried.values())
        waiting = []
        for index, name in tried.items():
            if name.lower() in used:
                waiting.append(index)
            else:
                used.add(name.lower())
                names[index] = name
    return names


def _candidates(wish: Wish, suffix: str) -> Iterator[str]:
    # What can't be kept is made anew; nobody is asked in the middle of an import.
    with suppress(InvalidKnowledgeError):
        check_given(wish.friendly_id, suffix=suffix)
        yield wish.friendly_id
    yield from friendly_id_candidates(wish.text, suffix, kind=wish.kind)


def _taken(db: PKBDatabase, owner: str, table: str, names: Collection[str]) -> set[str]:
    rows = db.rows(_named(table), user=owner, names=json_list(names))
    return {name for (name,) in rows}


@cache
def _named(table: str) -> Prepared:
    rows = metadata.tables[table].c
    query = select(func.lower(rows.friendly_id)).where(rows.user_email == bindparam("user"))
    return Prepared(query.where(among(caseless(rows.friendly_id), "names")))
