"""Groups for measuring: contexts, tags and entities of one user, some of them of a size that is known."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from truth_management_system.constants import EntityType
from truth_management_system.models import Context, Entity, Tag
from truth_management_system.utils import grouped_friendly_id, name_key

from .statements import StatementMaker

TREE, TAG, ENTITY = "measured_tree_context", "measured_tag", "measured_project_entity"
"""The readable ids of the groups that are measured."""

_BRANCHES = 10
_SUB_TAGS = 7
_CLAIMS_A_GROUP = 60
_MOST_CONTEXTS, _MOST_TAGS, _MOST_ENTITIES = 150, 300, 400

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeGroups:
    """Rows of the groups of one user, parents first.

    tree, tag, entity: what is measured: 111 contexts, 8 tags, one entity; empty where nothing is. contexts, tags,
    entities: the others, at least one each.
    """

    tree: Sequence[Row]
    tag: Sequence[Row]
    entity: Sequence[Row]
    contexts: Sequence[Row]
    tags: Sequence[Row]
    entities: Sequence[Row]

    def rows(self) -> Mapping[str, Sequence[Row]]:
        """All of them by table."""
        tables = {
            "contexts": [*self.tree, *self.contexts],
            "tags": [*self.tag, *self.tags],
            "entities": [*self.entity, *self.entities],
        }
        return {table: [row | {"name_key": name_key(row["name"])} for row in rows] for table, rows in tables.items()}


class GroupMaker:
    """Makes the groups of one user, each with a name of its own."""

    def __init__(self, random: Random, *, user_email: str, born: str) -> None:
        """`born`: ISO time of their making."""
        self._random = random
        self._words = StatementMaker(random)
        self._given = {"user_email": user_email, "created_at": born, "updated_at": born}
        self._taken = {TREE, TAG, ENTITY}

    def make(self, *, claims: int, is_measured: bool) -> MadeGroups:
        """As many as suit a user with so many claims."""
        count = 1 + claims // _CLAIMS_A_GROUP
        return MadeGroups(
            tree=self._tree() if is_measured else (),
            tag=self._measured_tag() if is_measured else (),
            entity=[self._entity("Measured", EntityType.PROJECT, ENTITY)] if is_measured else (),
            contexts=_nested(min(count, _MOST_CONTEXTS), "context_id", self._context),
            tags=_nested(min(count, _MOST_TAGS), "tag_id", self._tag),
            entities=[self._person() for _ in range(min(count, _MOST_ENTITIES))],
        )

    def _tree(self) -> list[Row]:
        root = self._context_row("Measured tree", TREE, None)
        branches = [self._context(root["context_id"]) for _ in range(_BRANCHES)]
        return [root, *branches, *(self._context(each["context_id"]) for each in branches for _ in range(_BRANCHES))]

    def _measured_tag(self) -> list[Row]:
        root = self._tag_row("Measured", TAG, None)
        return [root, *(self._tag(root["tag_id"]) for _ in range(_SUB_TAGS))]

    def _context(self, parent: str | None) -> Row:
        return self._context_row(*self._free(self._words.topic, "_context"), parent)

    def _tag(self, parent: str | None) -> Row:
        return self._tag_row(*self._free(self._words.topic, "_tag"), parent)

    def _person(self) -> Row:
        kind = EntityType.PERSON
        name, friendly_id = self._free(self._words.person, "_entity", kind=kind.value)
        return self._entity(name, kind, friendly_id)

    def _context_row(self, name: str, friendly_id: str, parent: str | None) -> Row:
        return Context(
            self._id(), friendly_id=friendly_id, name=name, parent_context_id=parent, **self._given
        ).to_dict()

    def _tag_row(self, name: str, friendly_id: str, parent: str | None) -> Row:
        return Tag(self._id(), friendly_id=friendly_id, name=name, parent_tag_id=parent, **self._given).to_dict()

    def _entity(self, name: str, kind: EntityType, friendly_id: str) -> Row:
        return Entity(self._id(), friendly_id=friendly_id, name=name, entity_type=kind.value, **self._given).to_dict()

    def _free(self, propose: Callable[[], str], suffix: str, *, kind: str = "") -> tuple[str, str]:
        """A name whose readable id nothing else has, and that id."""
        while (friendly_id := grouped_friendly_id(name := propose(), suffix, kind=kind)) in self._taken:
            pass
        self._taken.add(friendly_id)
        return name, friendly_id

    def _id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _nested(count: int, key: str, make: Callable[[str | None], Row]) -> list[Row]:
    """`count` groups: a tenth of them are roots, the others lie below those."""
    top = max(1, count // 10)
    rows: list[Row] = []
    for number in range(count):
        rows.append(make(rows[number % top][key] if number >= top else None))
    return rows
