"""Groups that lie below each other: tags and contexts."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from sqlalchemy import ColumnElement, Select, bindparam, literal_column, select

from ..database import Prepared
from ..database.audit_log import ChangeSet
from ..errors import CycleError
from ..models import Context, Tag
from ..schema.operators import in_order, unindexed
from .groups import Groups

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
