"""What entities, tags and contexts have in common: a name, a readable id, claims; of tags and contexts, the tree."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, TypeVar

from sqlalchemy import ColumnElement, Select, Table, bindparam, func, literal_column, select

from ..database import PKBDatabase, Prepared
from ..database.audit_log import ChangeSet
from ..errors import CycleError
from ..models import CLAIM_COLUMNS, Claim, Context, Entity, Tag
from ..schema.operators import among, caseless, contains, in_order, unindexed
from ..schema.tables import claims
from ..utils import name_key, now_iso
from .base import (
    EVERYTHING,
    HOLDING,
    OwnedRows,
    begins,
    counted,
    json_object,
    known_fields,
    one_of,
    optional_text,
    paged,
    prefix_bounds,
    required_text,
)
from .friendly_ids import Thing, add_aliases, insert_named

LONGEST_NAME = 200
LONGEST_DESCRIPTION = 10_000

_CHANGED = itemgetter(CLAIM_COLUMNS.index("updated_at"), CLAIM_COLUMNS.index("claim_number"))

Group = TypeVar("Group", bound=Entity | Tag | Context)


class Groups(OwnedRows[Group], ABC):
    """One user's groups of one kind.

    Attributes:
        noun: Its readable id ends in it.
        links: The table that ties claims to groups of this kind.
        checks: The fields that can be given, each with what makes it storable or raises InvalidKnowledgeError.
    """

    links: ClassVar[Table]
    checks: ClassVar[Mapping[str, Callable[[Any], Any]]]

    def add(self, group: Group) -> Group:
        """Store a new one with its readable id; returns it.

        Raises InvalidKnowledgeError, FriendlyIdTakenError, DuplicateNameError; then nothing is stored.
        """
        given = group.to_dict()
        row = given | {"user_email": self.user_email} | self._checked({name: given[name] for name in self.checks})
        with self._recording("add", getattr(group, self.key), group.name) as changes:
            self._check_place(row)
            stored = row | {"name_key": name_key(row["name"])}
            row["friendly_id"] = insert_named(
                changes,
                self.table.name,
                stored,
                text=row["name"],
                suffix=f"_{self.noun}",
                kind=row.get("entity_type", ""),
            )
        return self.model(**row)

    def edit(self, identity: str, changes: Mapping[str, Any]) -> Group | None:
        """Change fields of one; None where there is no such one. By its former name it is still found.

        Raises InvalidKnowledgeError for fields that can't be changed and values that make no sense,
        DuplicateNameError for a name that another one has.
        """
        known_fields(changes, self.checks)
        checked = self._checked(changes)
        with self.db.transaction():
            before = self.get(identity)
            if before is None:
                return None
            fields = {name: value for name, value in checked.items() if getattr(before, name) != value}
            if fields:
                self._check_place(before.to_dict() | fields)
                with self._recording(self._action(fields), identity, before.name, fields=fields) as recorded:
                    self._update(recorded, identity, fields)
                    if name_key(fields.get("name", before.name)) != name_key(before.name):
                        self._keep_former_name(recorded, before)
            return self.get(identity)

    def delete(self, identity: str) -> bool:
        """Delete one; its claims stay. False where there is no such one."""
        with self.db.transaction():
            group = self.get(identity)
            if group is None:
                return False
            with self._recording("delete", identity, group.name) as changes:
                self._delete(changes, group)
        return True

    def find_by_name(self, name: str) -> builtins.list[Group]:
        """Those of this name, whatever its case, oldest first."""
        return self._found(self._by_name(), name=name_key(name))

    def search_friendly_ids(self, prefix: str, limit: int = 10) -> builtins.list[Group]:
        """Those whose readable id begins with `prefix`, in any case, in order of the id."""
        return self._found(self._by_beginning(), limit=limit, **prefix_bounds(prefix))

    def claim_counts(self, identities: Sequence[str]) -> dict[str, int]:
        """How many active and contested claims each holds itself; one query."""
        if not identities:
            return {}
        return dict.fromkeys(identities, 0) | self._counted_claims(identities)

    def resolve_claims(self, identity: str, limit: int | None = None) -> builtins.list[Claim]:
        """The active and contested claims that belong to one, newest change first, each once, in one query.

        None where there is no such one; at most `limit`, where it is given.
        """
        return held_claims(self.db, self._holding(), user=self.user_email, identity=identity, limit=limit)

    def count_resolved(self, identity: str) -> int:
        """How many `resolve_claims` gives without a limit."""
        return count_held(self.db, self._holding(), user=self.user_email, identity=identity)

    @classmethod
    @cache
    def _holding(cls) -> Holding:
        return Holding(cls.belonging())

    @classmethod
    @abstractmethod
    def belonging(cls, place: str = "") -> Select[Any]:
        """A query for the `claim_id`s that belong to the group `:identity` of `:user`.

        place: behind the names in the query, where it is a part of a statement with others of its kind.
        """

    @abstractmethod
    def _check_place(self, row: Mapping[str, Any]) -> None:
        """Raise where a row with this name, or in this place of the tree, can't be."""

    def _action(self, fields: Mapping[str, Any]) -> str:
        return "edit"

    def _keep_former_name(self, changes: ChangeSet, before: Group) -> None:
        """Let the name that one had before lead to it."""
        add_aliases(changes, self._thing(before), [before.name])

    def _thing(self, group: Group) -> Thing:
        return Thing(self.noun, getattr(group, self.key))

    def _delete(self, changes: ChangeSet, group: Group) -> None:
        changes.delete(self.table.name, {self.key: getattr(group, self.key)})

    def _update(self, changes: ChangeSet, identity: str, fields: Mapping[str, Any]) -> None:
        row = {**fields, "updated_at": now_iso()}
        if "name" in fields:
            row["name_key"] = name_key(fields["name"])
        changes.update(self.table.name, {self.key: identity}, row)

    def _checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.checks[name](value) for name, value in fields.items()}

    def _counted_claims(self, identities: Sequence[str] | None = None) -> dict[str, int]:
        """How many active and contested claims each group holds itself: all groups, or those with these ids."""
        given = {} if identities is None else {"identities": identities}
        rows = self.db.rows(self._counting(some=identities is not None), user=self.user_email, **given)
        return {identity: count for identity, count in rows}  # noqa: C416 (a row is no pair to the type checker)

    def _page(self, *, limit: int | None = None, offset: int = 0, **given: Any) -> builtins.list[Group]:
        """Groups by name; `given`: see `_condition`."""
        statement = self._listing(tuple(given))
        return self._found(statement, limit=EVERYTHING if limit is None else limit, offset=offset, **given)

    def _count(self, **given: Any) -> int:
        return self._number(self._number_of(tuple(given)), **given)

    @classmethod
    def _condition(cls, name: str) -> ColumnElement[Any]:
        """What a list is restricted to: names that hold these `words`, or rows with this value of the column `name`."""
        if name == "words":
            return contains(cls.table.c.name_key, bindparam("words"))
        return cls.table.c[name] == bindparam(name)

    @classmethod
    @cache
    def _listing(cls, names: tuple[str, ...]) -> Prepared:
        query = cls._owned(*map(cls._condition, names))
        return paged(query.order_by(cls.table.c.name_key, cls.table.c.friendly_id))

    @classmethod
    @cache
    def _number_of(cls, names: tuple[str, ...]) -> Prepared:
        return counted(cls.table, *map(cls._condition, names))

    @classmethod
    @cache
    def _by_name(cls) -> Prepared:
        query = cls._owned(cls.table.c.name_key == bindparam("name"))
        return Prepared(query.order_by(cls.table.c.created_at, cls.table.c[cls.key]))

    @classmethod
    @cache
    def _by_beginning(cls) -> Prepared:
        query = cls._owned(begins(cls.table.c.friendly_id)).order_by(caseless(cls.table.c.friendly_id))
        return Prepared(query.limit(bindparam("limit")))

    @classmethod
    @cache
    def _counting(cls, *, some: bool) -> Prepared:
        group, tie = cls.table.c[cls.key], cls.links.c
        joined = in_order(
            in_order(cls.table, cls.links, tie[cls.key] == group), claims, claims.c.claim_id == tie.claim_id
        )
        query = select(tie[cls.key], func.count(tie.claim_id.distinct())).select_from(joined)
        query = query.where(cls.table.c.user_email == bindparam("user"), one_of(claims.c.status, HOLDING))
        return Prepared((query.where(among(group, "identities")) if some else query).group_by(tie[cls.key]))


class Holding:
    """The statements about the active and contested claims that a query names, by `claim_id` or `claim_rowid`.

    The query takes `:user` and whatever it needs besides.
    """

    def __init__(self, found: Select[Any]) -> None:
        (key,) = found.selected_columns.keys()
        # The planner would begin with all claims of the user, however few the group holds.
        own = (unindexed(claims.c.user_email) == bindparam("user"), one_of(unindexed(claims.c.status), HOLDING))
        columns = [claims.c[name] for name in CLAIM_COLUMNS]
        order = (claims.c.updated_at.desc(), claims.c.claim_number.desc())
        # Joined, SQLite would read everybody's claims first, to make a Bloom filter of those that are own and active.
        self.all = Prepared(select(*columns).where(claims.c[key].in_(found), *own))
        self.number = Prepared(select(func.count()).select_from(claims).where(claims.c[key].in_(found), *own))
        page = select(claims.c.claim_rowid).where(claims.c[key].in_(found), *own).order_by(*order)
        rows = page.limit(bindparam("limit")).offset(bindparam("offset")).subquery("page")
        whole = in_order(rows, claims, claims.c.claim_rowid == rows.c.claim_rowid)
        self.page = Prepared(select(*columns).select_from(whole).order_by(*order))


def held_claims(
    db: PKBDatabase, held: Holding, *, user: str, limit: int | None = None, offset: int = 0, **given: Any
) -> list[Claim]:
    """The user's active and contested claims that `held` names, newest change first, each once."""
    if limit is None and not offset:
        # SQLite would carry every column along while it sorts.
        return [Claim(*row) for row in sorted(db.rows(held.all, user=user, **given), key=_CHANGED, reverse=True)]
    rows_of_page = db.rows(held.page, user=user, limit=EVERYTHING if limit is None else limit, offset=offset, **given)
    return [Claim(*row) for row in rows_of_page]


def count_held(db: PKBDatabase, held: Holding, *, user: str, **given: Any) -> int:
    """How many claims `held_claims` gives without a limit."""
    row = db.row(held.number, user=user, **given)
    return int(row[0]) if row else 0


def one_line(value: Any) -> str:
    """A name as stored: text on one line. Raises InvalidKnowledgeError."""
    return " ".join(required_text(value, "name", longest=LONGEST_NAME).split())


def description(value: Any) -> str | None:
    """A description as stored. Raises InvalidKnowledgeError."""
    return optional_text(value, "description", longest=LONGEST_DESCRIPTION)


def further_data(value: Any) -> str | None:
    """`meta_json` as stored. Raises InvalidKnowledgeError."""
    return json_object(value, "further data")


DEEPEST = 10
"""How many levels below a group still belong to it."""

Node = TypeVar("Node", bound=Tag | Context)


class Trees(Groups[Node]):
    """Groups of one user that have parents of their own kind.

    Attributes:
        parent: The column that names the parent; None there is a root.
    """

    parent: ClassVar[str]

    def get_hierarchy(self, identity: str) -> builtins.list[Node]:
        """A group and all above it, from the root down to it; empty where there is no such group.

        Raises CycleError where the stored tree runs in a circle.
        """
        rows = self._found(self._path(), identity=identity)
        found = {getattr(node, self.key): node for node in rows}
        path: list[Node] = []
        step: str | None = identity
        while step in found:
            node = found.pop(step)
            path.insert(0, node)
            step = getattr(node, self.parent)
        # Ancestors that the way up passed already are no longer among those that were found.
        if any(getattr(node, self.key) == step for node in path):
            raise CycleError(self.noun)
        return path

    def _children(self, parent: str | None) -> builtins.list[Node]:
        return self._page(**({"roots": True} if parent is None else {self.parent: parent}))

    @classmethod
    def _condition(cls, name: str) -> ColumnElement[Any]:
        return cls.table.c[cls.parent].is_(None) if name == "roots" else super()._condition(name)

    def _check_place(self, row: Mapping[str, Any]) -> None:
        parent = row[self.parent]
        if parent is None:
            return
        above = self.get_hierarchy(parent)
        if not above:
            raise self.not_found(parent)
        if any(getattr(node, self.key) == row[self.key] for node in above):
            raise CycleError(self.noun)

    @classmethod
    @cache
    def _path(cls) -> Prepared:
        """The group `:identity` and all above it."""
        first = select(cls.table.c[cls.key].label("id")).where(cls.table.c[cls.key] == bindparam("identity"))
        above = first.cte("above", recursive=True)
        above = above.union(select(cls.table.c[cls.parent]).where(cls.table.c[cls.key] == above.c.id))
        return Prepared(cls._owned(cls.table.c[cls.key].in_(select(above.c.id))))

    @classmethod
    def belonging(cls, place: str = "") -> Select[Any]:
        """What is filed in it and up to ten levels below it: see `Groups`."""
        group, tie = cls.table, cls.links
        top = select(
            group.c[cls.key].label("id"), literal_column("0").label("depth"), group.c.user_email.label("owner")
        )
        top = top.where(group.c[cls.key] == bindparam(f"identity{place}"), group.c.user_email == bindparam("user"))
        below = top.cte(f"below{place}", recursive=True)
        # The owner goes along from step to step: compared with a parameter, SQLite would first read all groups of
        # everybody, to make a Bloom filter of this person's. By the parent, since few groups lie below one: where most
        # people have few, SQLite would read all of a person's in each step.
        is_below = (group.c[cls.parent] == below.c.id) & (unindexed(group.c.user_email) == below.c.owner)
        next_level = select(group.c[cls.key], below.c.depth + literal_column("1"), below.c.owner)
        next_level = next_level.select_from(in_order(below, group, is_below))
        below = below.union(next_level.where(below.c.depth < literal_column(str(DEEPEST))))
        return select(tie.c.claim_id).select_from(in_order(below, tie, tie.c[cls.key] == below.c.id))

    def _action(self, fields: Mapping[str, Any]) -> str:
        return "move" if self.parent in fields else "edit"

    def _delete(self, changes: ChangeSet, group: Node) -> None:
        for child in self._children(getattr(group, self.key)):
            self._adopt(changes, child, getattr(group, self.parent))
        super()._delete(changes, group)

    def _adopt(self, changes: ChangeSet, child: Node, parent: str | None) -> None:
        self._update(changes, getattr(child, self.key), {self.parent: parent})


def parent_id(value: Any) -> str | None:
    """The id of a parent as stored; nothing is a root."""
    return str(value) if value else None
