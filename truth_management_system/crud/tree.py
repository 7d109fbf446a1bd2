"""Groups that lie below each other: tags and contexts."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from ..changes import ChangeSet
from ..errors import CycleError, group_not_found
from ..models import Context, Tag
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
        above = (
            f"{self.table}.{self.key} IN (WITH RECURSIVE above(id) AS (VALUES (?) "
            f"UNION SELECT {self.parent} FROM above JOIN {self.table} ON {self.key} = above.id) SELECT id FROM above)"
        )
        found = {getattr(node, self.key): node for node in self._where(above, [identity])}
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
        column = f"{self.table}.{self.parent}"
        return self._page(
            f"{column} IS NULL" if parent is None else f"{column} = ?", [] if parent is None else [parent]
        )

    def _check_place(self, row: Mapping[str, Any]) -> None:
        parent = row[self.parent]
        if parent is None:
            return
        above = self.get_hierarchy(parent)
        if not above:
            raise group_not_found(self.noun, parent)
        if any(getattr(node, self.key) == row[self.key] for node in above):
            raise CycleError(self.noun)

    def _belonging(self, identity: str) -> tuple[str, builtins.list[Any]]:
        """What is filed in it and up to ten levels below it."""
        # The owner goes along from step to step: compared with a parameter, SQLite would first read all groups of
        # everybody, to make a Bloom filter of this person's.
        found = (
            f"WITH RECURSIVE below(id, depth, owner) AS ("
            f"SELECT {self.key}, 0, user_email FROM {self.table} WHERE {self.key} = ? AND user_email = ? "
            f"UNION SELECT {self.table}.{self.key}, below.depth + 1, below.owner FROM below CROSS JOIN {self.table} "
            f"WHERE {self.table}.{self.parent} = below.id AND {self.table}.user_email = below.owner "
            f"AND below.depth < {DEEPEST}) "
            f"SELECT links.claim_id FROM below CROSS JOIN {self.links} AS links WHERE links.{self.key} = below.id"
        )
        return found, [identity, self.user_email]

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
