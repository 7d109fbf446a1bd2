"""Merging an export into a knowledge base: what is there already stays as it is, so importing twice adds nothing."""

from __future__ import annotations

import graphlib
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, literal, select
from sqlalchemy.dialects.postgresql import insert

from sentences import Sentence, otherwise, say

from ..constants import ClaimType, ContextDomain
from ..crud.friendly_ids import Thing, alias_row, can_be_alias, check_given
from ..database import PKBDatabase, Prepared
from ..database.audit_log import ChangeSet, recording
from ..database.change_set import taken_ids
from ..errors import InvalidKnowledgeError
from ..schema import ALIASED, KEYS, metadata
from ..schema.operators import among
from ..schema.tables import claim_numbers
from ..utils import friendly_id_candidates, name_key
from .payload import Row, read_payload

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
    return db.rows(_where(table, tuple(columns), column), values=set(values))


@cache
def _where(table: str, columns: tuple[str, ...], column: str) -> Prepared:
    rows = metadata.tables[table].c
    return Prepared(select(*(rows[name] for name in columns)).where(among(rows[column], "values")))


def free_numbers(db: PKBDatabase, owner: str, wanted: Sequence[int]) -> list[int]:
    """A number for each new claim of the owner's: the one that is wanted, where nothing ever had it, else a new one."""
    row = db.row(_LAST_NUMBER, user=owner)
    last = int(row[0]) if row else 0
    # In Python, True is a whole number, too.
    wanted = [0 if isinstance(number, bool) else number for number in wanted]
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


def free_friendly_ids(db: PKBDatabase, owner: str, wanted: Sequence[Wish], *, suffix: str = "") -> list[str]:
    """A readable id for each: the one that it would keep, where that is well-formed and free, else a new one."""
    candidates = [_candidates(wish, suffix) for wish in wanted]
    names = [""] * len(wanted)
    used: set[str] = set()
    waiting = list(range(len(wanted)))
    while waiting:
        tried = {index: next(candidates[index]) for index in waiting}
        used |= taken_ids(db, owner, tried.values())
        waiting = []
        for index, name in tried.items():
            if name.lower() in used:
                waiting.append(index)
            else:
                used.add(name.lower())
                names[index] = name
    return names


def _candidates(wish: Wish, suffix: str) -> Iterator[str]:
    # An id that can't be kept is replaced; it may become an alias.
    with suppress(InvalidKnowledgeError):
        check_given(wish.friendly_id, suffix=suffix)
        yield wish.friendly_id
    yield from friendly_id_candidates(wish.text, suffix, kind=wish.kind)


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
    names = free_friendly_ids(db, owner, wanted, suffix=kind.suffix)
    return [row | {"friendly_id": name} for row, name in zip(new, names, strict=True)]


def _stored_places(db: PKBDatabase, owner: str, kind: Kind, rows: Sequence[Row]) -> dict[_Place, str]:
    """The owner's things with the names of `rows`, by place; of several in one place the oldest."""
    names = [name_key(row["name"]) for row in rows]
    stored = db.rows(_places(kind.table, kind.key, kind.within), user=owner, names=names)
    return {(name, within): identity for name, within, identity in stored}


@cache
def _places(table: str, key: str, within: str) -> Prepared:
    rows = metadata.tables[table].c
    query = select(rows.name_key, func.coalesce(rows[within], literal("")), rows[key])
    query = query.where(rows.user_email == bindparam("user"), among(rows.name_key, "names"))
    return Prepared(query.order_by(rows.created_at.desc()))


@cache
def _bearing(table: str, key: str) -> Prepared:
    rows = metadata.tables[table].c
    named = (rows.user_email == bindparam("user"), among(rows.name_key, "names"))
    return Prepared(select(rows.name_key, rows[key]).where(*named))


def _parents_first(kind: Kind, rows: Sequence[Row]) -> list[Row]:
    if not kind.is_tree:
        return list(rows)
    by_id = {row[kind.key]: row for row in reversed(rows)}
    parents = {identity: {row[kind.within]} & by_id.keys() for identity, row in by_id.items()}
    try:
        return [by_id[identity] for identity in graphlib.TopologicalSorter(parents).static_order()]
    except graphlib.CycleError as error:
        raise InvalidKnowledgeError(
            otherwise(f'"data.{kind.table}": some lie below themselves.', "export_not_whole")
        ) from error


_KINDS = (
    Kind("entities", "entity_id", suffix="_entity", within="entity_type", is_tree=False),
    Kind("tags", "tag_id", suffix="_tag", within="parent_tag_id"),
    Kind("contexts", "context_id", suffix="_context", within="parent_context_id", names_differ=False),
)
_NAMED = {"claims": "claim_id"} | {kind.table: kind.key for kind in _KINDS}
"""The tables of what a reference names, with the columns of their ids."""
_SOMETHING = Thing("", "")
"""A thing that has a readable id, whichever."""

_MOST_WARNINGS = 50

_CATALOGS: dict[str, tuple[str, str, Collection[str]]] = {
    "type": ("claim_types_catalog", "type_name", set(ClaimType)),
    "domain": ("context_domains_catalog", "domain_name", set(ContextDomain)),
}


def import_data(
    db: PKBDatabase, user_email: str | Mapping[str, Any] | None = None, payload: Any = None, mode: str = "merge"
) -> dict[str, Any]:
    """Put an export into the knowledge base of one user, as one change; without a user, `import_data(db, payload)`.

    What has an id, or a name in its place, that the user has already is that very thing and stays as it is. Numbers and
    readable ids are kept where they are free; other readable ids become aliases where nothing else has them. Gives
    `{"counts": {table: rows added}, "skipped": {table: rows left out}, "audit_id": str or None, "new_ids": {id in the
    payload: id here, where that is another one}, of claims and what groups them, "renamed": [Renamed],
    "warnings": [Sentence]}`. Raises InvalidKnowledgeError for a payload that makes no sense; then nothing is stored.
    """
    if not isinstance(user_email, str | None):
        return import_data(db, None, user_email, mode if payload is None else payload)
    if mode != "merge":
        raise InvalidKnowledgeError(f'{mode!r} is no way to import; there is "merge".')
    rows = read_payload(payload)
    with recording(db, user_email=user_email or "", action="import", object_type="knowledge_base") as changes:
        merge = _Merge(changes, user_email or "", rows)
        counts = merge.run()
        skipped = {table: len(given) - counts[table] for table, given in rows.items()}
        changes.title = f"{counts['claims']:,} memories"
        changes.detail |= {"counts": counts, "skipped": skipped}
    return {
        "counts": counts,
        "skipped": skipped,
        "audit_id": changes.audit_id if changes.images else None,
        "new_ids": {former: own for key in _NAMED.values() for former, own in merge.ids[key].items() if former != own},
        "renamed": merge.renamed,
        "warnings": [each.warning for each in merge.renamed if not each.leads][:_MOST_WARNINGS],
    }


def own_ids(db: PKBDatabase, owner: str, identities: Collection[str]) -> set[str]:
    """Those of these ids that claims, contexts, entities or tags of the owner's have."""
    rows = [
        row for table, key in _NAMED.items() for row in stored_where(db, table, (key, "user_email"), key, identities)
    ]
    return {identity for identity, email in rows if email == owner}


class Renamed(NamedTuple):
    """A thing that has another readable id here than in the payload; leads: whether the former one leads to it."""

    kind: str
    former: str
    friendly_id: str
    leads: bool

    @property
    def warning(self) -> Sentence:
        """What a person should know where the former id doesn't lead to it."""
        return say("memory_renamed", former=self.former, reference=self.friendly_id)


@dataclass(slots=True)
class _Merge:
    """One import on its way.

    ids: for each key column, what became of the ids in the payload. renamed: readable ids that are others here.
    """

    changes: ChangeSet
    owner: str
    rows: Mapping[str, list[Row]]
    ids: dict[str, dict[str, str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    renamed: list[Renamed] = field(default_factory=list)

    @property
    def db(self) -> PKBDatabase:
        return self.changes.db

    def run(self) -> dict[str, int]:
        """Insert what is new, in an order in which each row finds those that it needs; rows added by table."""
        for kind in _KINDS:
            self.ids[kind.key], new = place(self.db, self.owner, kind, self.rows[kind.table])
            self._insert(kind.table, new)
        self._claims()
        for table, key in (("notes", "note_id"), ("conflict_sets", "conflict_set_id")):
            self._insert(table, self._new(table, key, self.rows[table]))
        self._links()
        self._ties("claim_tags", "claim_id", "tag_id")
        self._ties("claim_entities", "claim_id", "entity_id")
        self._ties("context_claims", "claim_id", "context_id")
        self._ties("conflict_set_members", "conflict_set_id", "claim_id")
        self._categories()
        self._aliases()
        return {table: self.counts[table] for table in self.rows}

    def _new(self, table: str, key: str, rows: Sequence[Row]) -> list[Row]:
        """Those of `rows` that are not there yet, with the owner and the id that they will have."""
        ids, present = identify(self.db, self.owner, table, key, [row[key] for row in rows])
        self.ids[key] = ids
        new: dict[str, Row] = {}
        for row in rows:
            if ids[row[key]] not in present:
                new.setdefault(ids[row[key]], row | {"user_email": self.owner, key: ids[row[key]]})
        return list(new.values())

    def _claims(self) -> None:
        rows = sorted(self.rows["claims"], key=lambda row: row["claim_number"] or float("inf"))
        new = self._new("claims", "claim_id", rows)
        numbers = free_numbers(self.db, self.owner, [row["claim_number"] for row in new])
        names = free_friendly_ids(self.db, self.owner, [Wish(row["friendly_id"], row["statement"]) for row in new])
        given = zip(new, numbers, names, strict=True)
        self._insert("claims", [row | {"claim_number": n, "friendly_id": name} for row, n, name in given])

    def _links(self) -> None:
        columns = ("from_claim_id", "to_claim_id", "link_type")
        rows = self._ours("claim_links", from_claim_id="claim_id", to_claim_id="claim_id")
        between = [row for row in rows if row["from_claim_id"] != row["to_claim_id"]]
        self._insert("claim_links", self._unseen("claim_links", columns, self._new("claim_links", "link_id", between)))

    def _ties(self, table: str, *keys: str) -> None:
        rows = self._ours(table, **{key: key for key in keys})
        self._insert(table, self._unseen(table, tuple(rows[0]) if rows else keys, rows))

    def _ours(self, table: str, **ends: str) -> list[Row]:
        """Rows whose ends are there, with the ids that these have here."""
        return [
            row | {column: self.ids[key][row[column]] for column, key in ends.items()}
            for row in self.rows[table]
            if all(row[column] in self.ids[key] for column, key in ends.items())
        ]

    def _unseen(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> list[Row]:
        """The first of `rows` with its values in `columns`, unless such a row is stored."""
        seen = set(stored_where(self.db, table, columns, columns[0], [row[columns[0]] for row in rows]))
        new = []
        for row in rows:
            values = tuple(row[column] for column in columns)
            if values not in seen:
                seen.add(values)
                new.append(row)
        return new

    def _categories(self) -> None:
        self.counts["catalogs"] = 0
        for kind, (table, column, built_in) in _CATALOGS.items():
            rows_of_user = stored_where(self.db, table, (column,), "user_email", [self.owner])
            stored = {name for (name,) in rows_of_user}
            named = {row["name"]: row for row in self.rows["catalogs"] if row["kind"] == kind}
            rows = [
                {
                    "user_email": self.owner,
                    column: name,
                    "display_name": row["display_name"],
                    "created_at": row["created_at"],
                }
                for name, row in named.items()
                if name not in stored and name not in built_in
            ]
            self._insert(table, rows, counted_as="catalogs")

    def _aliases(self) -> None:
        """Those of the payload, and readable ids that things could not keep."""
        keys = {kind: KEYS[table][0] for table, kind in ALIASED.items()}
        led = [
            (row["alias"], row["kind"], self.ids[keys[row["kind"]]].get(row["thing_id"]))
            for row in self.rows["aliases"]
        ]
        given = [alias_row(self.owner, alias, Thing(kind, thing_id)) for alias, kind, thing_id in led if thing_id]
        self._insert("aliases", self._unseen("aliases", KEYS["aliases"], given))
        changed = [each for table in ALIASED for each in self._changed_ids(table)]
        bearers = self._bearers([former for _, former, _ in changed])
        rows = []
        for thing, former, friendly_id in changed:
            alias = name_key(former)
            leads = can_be_alias(former) and bearers[alias] <= {thing}
            if leads:
                bearers[alias].add(thing)
                rows.append(alias_row(self.owner, alias, thing))
            self.renamed.append(Renamed(thing.kind, former, friendly_id, leads))
        self.changes.insert_many("aliases", self._unseen("aliases", KEYS["aliases"], rows))

    def _bearers(self, names: Sequence[str]) -> dict[str, set[Thing]]:
        """What bears each of these names here, or once did, by the name as names are compared."""
        aliases = [name_key(name) for name in names]
        bearers: dict[str, set[Thing]] = {alias: set() for alias in aliases}
        for alias in taken_ids(self.db, self.owner, aliases):
            bearers[alias].add(_SOMETHING)
        for kind in _KINDS:
            for name, thing_id in self.db.rows(_bearing(kind.table, kind.key), user=self.owner, names=aliases):
                bearers[name].add(Thing(ALIASED[kind.table], thing_id))
        for name, *thing in stored_where(self.db, "aliases", ("alias", "kind", "thing_id"), "user_email", [self.owner]):
            if name in bearers:
                bearers[name].add(Thing(*thing))
        return bearers

    def _changed_ids(self, table: str) -> list[tuple[Thing, str, str]]:
        """Things that have another readable id here: with that of the payload, and that of here."""
        kind, (key,) = ALIASED[table], KEYS[table]
        wanted = [(self.ids[key][row[key]], row["friendly_id"]) for row in self.rows[table] if row["friendly_id"]]
        stored = stored_where(self.db, table, (key, "friendly_id"), key, [thing_id for thing_id, _ in wanted])
        names: dict[str, str] = {thing_id: name for thing_id, name in stored}  # noqa: C416
        return [
            (Thing(kind, thing_id), former, names[thing_id])
            for thing_id, former in dict.fromkeys(wanted)
            if former.lower() != names[thing_id].lower()
        ]

    def _insert(self, table: str, rows: Sequence[Row], *, counted_as: str = "") -> None:
        self.changes.insert_many(table, rows)
        name = counted_as or table
        self.counts[name] = self.counts.get(name, 0) + len(rows)
