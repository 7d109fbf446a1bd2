"""Entities: the people, places, projects and other things that claims are about."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Select, bindparam, except_, func, literal, select

from sentences import say

from ..database import Prepared
from ..database.audit_log import ChangeSet
from ..errors import DuplicateNameError, EntityNotFoundError, InvalidKnowledgeError
from ..models import ENTITY_COLUMNS, Entity
from ..schema.operators import contains, in_order
from ..schema.tables import claim_entities, entities
from ..utils import name_key
from .base import counted, owned, required_text
from .claim_fields import category_name
from .friendly_ids import hand_over_aliases
from .groups import LONGEST_NAME, Groups, further_data, one_line

_PARTS = (
    select(claim_entities.c.claim_id, claim_entities.c.role)
    .join(entities, entities.c.entity_id == claim_entities.c.entity_id)
    .where(entities.c.user_email == bindparam("user"))
)
_TO_TAKE = Prepared(
    select(
        except_(
            _PARTS.where(claim_entities.c.entity_id == bindparam("source")),
            _PARTS.where(claim_entities.c.entity_id == bindparam("target")),
        ).subquery()
    )
)
_RENAMED = Prepared(
    owned(entities, ENTITY_COLUMNS)
    .where(contains(func.coalesce(entities.c.meta_json, literal("")), literal('"aliases"')))
    .order_by(entities.c.name_key, entities.c.friendly_id)
)
_NAMESAKES = counted(
    entities,
    entities.c.name_key == bindparam("name"),
    entities.c.entity_type == bindparam("kind"),
    entities.c.entity_id != bindparam("identity"),
)


class EntityCRUD(Groups[Entity]):
    """The entities of one user. Two of one type never have the same name."""

    table, key, columns, model = entities, "entity_id", ENTITY_COLUMNS, Entity
    noun, not_found, links = "entity", EntityNotFoundError, claim_entities
    checks = {  # noqa: RUF012
        "name": one_line,
        "entity_type": lambda value: category_name(required_text(value, "type", longest=LONGEST_NAME), "type"),
        "meta_json": further_data,
    }

    def list(
        self, entity_type: str | None = None, limit: int = 100, offset: int = 0, query: str = ""
    ) -> builtins.list[Entity]:
        """Entities by name: of one type, and with `query` in the name, where these are given."""
        return self._page(limit=limit, offset=offset, **_given(entity_type, query))

    def count(self, entity_type: str | None = None, query: str = "") -> int:
        """How many `list` would give."""
        return self._count(**_given(entity_type, query))

    def find_by_name(self, name: str) -> builtins.list[Entity]:
        """The entities of this name, in any case, oldest first; where there are none, those that once had it."""
        if found := super().find_by_name(name):
            return found
        return [entity for entity in self._found(_RENAMED) if name_key(name) in map(name_key, self.aliases(entity))]

    def get_or_create(self, name: str, entity_type: str) -> tuple[Entity, bool]:
        """The entity of this name and type, and whether it was made just now. Raises InvalidKnowledgeError."""
        kind = self.checks["entity_type"](entity_type)
        with self.db.transaction():
            for entity in self.find_by_name(one_line(name)):
                if entity.entity_type == kind:
                    return entity, False
            return self.add(Entity.create(name=name, entity_type=kind)), True

    def merge(self, source_id: str, target_id: str) -> Entity:
        """Let one entity become part of another, which keeps the names of both; returns the latter.

        The id of the former leads to the latter. Raises EntityNotFoundError, and InvalidKnowledgeError for an entity
        and itself.
        """
        if source_id == target_id:
            raise InvalidKnowledgeError(say("entity_merged_with_itself"))
        with self.db.transaction():
            source, target = self.existing(source_id), self.existing(target_id)
            with self._recording("merge", target_id, target.name, merged=source.name, merged_id=source_id) as changes:
                parts = self.db.rows(_TO_TAKE, user=self.user_email, source=source_id, target=target_id)
                taken = [{"claim_id": claim_id, "entity_id": target_id, "role": role} for claim_id, role in parts]
                changes.insert_many("claim_entities", taken)
                self._keep_names(changes, target, [source.name, *self.aliases(source)])
                hand_over_aliases(changes, self._thing(source), self._thing(target), [source.friendly_id])
                self._delete(changes, source)
            return self.existing(target_id)

    @staticmethod
    def aliases(entity: Entity) -> builtins.list[str]:
        """The names that this one had before, and those of the entities that became part of it."""
        names = json.loads(entity.meta_json or "{}").get("aliases")
        return [name for name in names if isinstance(name, str)] if isinstance(names, builtins.list) else []

    @classmethod
    def belonging(cls, place: str = "") -> Select[Any]:
        """See `Groups`."""
        joined = in_order(entities, claim_entities, claim_entities.c.entity_id == entities.c.entity_id)
        of_user = (entities.c.entity_id == bindparam(f"identity{place}"), entities.c.user_email == bindparam("user"))
        return select(claim_entities.c.claim_id).select_from(joined).where(*of_user)

    def _check_place(self, row: Mapping[str, Any]) -> None:
        given = {"name": name_key(row["name"]), "kind": row["entity_type"], "identity": row["entity_id"]}
        if self._number(_NAMESAKES, **given):
            raise DuplicateNameError(say("entity_exists", name=row["name"]))

    def _keep_former_name(self, changes: ChangeSet, before: Entity) -> None:
        self._keep_names(changes, self.existing(before.entity_id), [before.name])

    def _keep_names(self, changes: ChangeSet, entity: Entity, names: Iterable[str]) -> None:
        """Let further names lead to an entity."""
        known = dict.fromkeys([*self.aliases(entity), *names])
        known.pop(entity.name, None)
        meta = json.loads(entity.meta_json or "{}") | {"aliases": list(known)}
        self._update(changes, entity.entity_id, {"meta_json": json.dumps(meta, ensure_ascii=False)})


def _given(entity_type: str | None, query: str) -> dict[str, str]:
    """The conditions of a list by name, each with its parameter."""
    words = name_key(query)
    return ({"words": words} if words else {}) | ({"entity_type": entity_type} if entity_type else {})
