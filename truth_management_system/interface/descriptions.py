"""Claims and groups as programs over a wire see them: plain dicts, made with as many queries for one as for many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..constants import ClaimStatus
from ..crud.base import MOST_AT_ONCE, marks
from ..crud.links import supersession_heads
from ..database import PKBDatabase
from ..models import Claim, ConflictSet, Context, Entity, Tag
from .parts import ApiParts

Description = dict[str, Any]

# CROSS JOIN: SQLite goes from the claims to their groups, never through all groups of everybody.
_TAGS = (
    "SELECT claim_tags.claim_id, tags.tag_id, tags.name, tags.friendly_id FROM claim_tags "
    "CROSS JOIN tags USING (tag_id) WHERE claim_tags.claim_id IN ({}) ORDER BY tags.name_key"
)
_ENTITIES = (
    "SELECT claim_entities.claim_id, entities.entity_id, entities.name, entities.entity_type, claim_entities.role, "
    "entities.friendly_id FROM claim_entities CROSS JOIN entities USING (entity_id) "
    "WHERE claim_entities.claim_id IN ({}) ORDER BY entities.name_key"
)
_CONTEXTS = (
    "SELECT context_claims.claim_id, contexts.context_id, contexts.name, contexts.friendly_id FROM context_claims "
    "CROSS JOIN contexts USING (context_id) WHERE context_claims.claim_id IN ({}) ORDER BY contexts.name_key"
)
_CHILDREN = (
    "SELECT parent_context_id, COUNT(*) FROM contexts WHERE parent_context_id IN ({}) GROUP BY parent_context_id"
)
_PLAIN = (
    "claim_id",
    "claim_number",
    "friendly_id",
    "claim_type",
    "statement",
    "context_domain",
    "status",
    "confidence",
    "valid_from",
    "valid_to",
    "created_at",
    "updated_at",
    "retracted_at",
    "source_activity_id",
)
_CONTEXT = ("context_id", "friendly_id", "name", "description", "parent_context_id", "created_at", "updated_at")
_ENTITY = ("entity_id", "friendly_id", "name", "entity_type")
_TAG = ("tag_id", "friendly_id", "name", "parent_tag_id")
_CONFLICT = ("conflict_set_id", "status", "resolution_notes", "created_at")


class Descriptions(ApiParts):
    """What there is, described."""

    def describe_claims(self, claims: Sequence[Claim]) -> list[Description]:
        """Claims of this user with their tags, entities and contexts, and what superseded them."""
        return _described(self.db, claims)

    def describe_contexts(self) -> list[Description]:
        """The whole tree, flat, each context with how much is filed in it and right below it."""
        return [
            {**_fields(one.context, _CONTEXT), "claim_count": one.claim_count, "child_count": one.child_count}
            for one in self.contexts.list_all()
        ]

    def describe_entities(self, entities: Sequence[Entity]) -> list[Description]:
        """Entities with how many claims are about each."""
        counts = self.entities.claim_counts([entity.entity_id for entity in entities])
        return [{**_fields(one, _ENTITY), "claim_count": counts.get(one.entity_id, 0)} for one in entities]

    def describe_tags(self, tags: Sequence[Tag]) -> list[Description]:
        """Tags with how many claims have each."""
        counts = self.tags.claim_counts([tag.tag_id for tag in tags])
        return [{**_fields(one, _TAG), "claim_count": counts.get(one.tag_id, 0)} for one in tags]

    def describe_context(self, context: Context) -> Description:
        """One context; its counts as of now."""
        return self.describe_some_contexts([context])[0]

    def describe_some_contexts(self, contexts: Sequence[Context]) -> list[Description]:
        """Contexts of this user; their counts as of now."""
        ids = [context.context_id for context in contexts]
        filed, children = self.contexts.claim_counts(ids), Counter[str]()
        for some in _slices(ids):
            children.update(dict(map(tuple, self.db.select(_CHILDREN.format(marks(some)), some))))
        return [
            {
                **_fields(context, _CONTEXT),
                "claim_count": filed[context.context_id],
                "child_count": children[context.context_id],
            }
            for context in contexts
        ]

    def describe_conflicts(self, conflicts: Sequence[ConflictSet]) -> list[Description]:
        """Conflict sets with their claims."""
        ids = list(dict.fromkeys(claim_id for conflict in conflicts for claim_id in conflict.member_claim_ids))
        described = {one["claim_id"]: one for one in self.describe_claims(self.claims.get_many(ids))}
        return [
            {
                **_fields(conflict, _CONFLICT),
                "members": [described[claim_id] for claim_id in conflict.member_claim_ids if claim_id in described],
            }
            for conflict in conflicts
        ]


def _fields(described: object, names: Sequence[str]) -> Description:
    return {name: getattr(described, name) for name in names}


def _described(db: PKBDatabase, claims: Sequence[Claim]) -> list[Description]:
    ids = [claim.claim_id for claim in claims]
    tags = _filed(db, _TAGS, ids, ("tag_id", "name", "friendly_id"))
    entities = _filed(db, _ENTITIES, ids, ("entity_id", "name", "entity_type", "role", "friendly_id"))
    contexts = _filed(db, _CONTEXTS, ids, ("context_id", "name", "friendly_id"))
    successors = _successors(db, claims)
    return [
        {
            **_fields(claim, _PLAIN),
            "claim_types": claim.all_types,
            "context_domains": claim.all_domains,
            "possible_questions": claim.questions,
            "pinned": claim.pinned,
            "is_contested": claim.is_contested,
            "superseded_by": successors.get(claim.claim_id),
            "tags": tags[claim.claim_id],
            "entities": entities[claim.claim_id],
            "contexts": contexts[claim.claim_id],
        }
        for claim in claims
    ]


def _filed(
    db: PKBDatabase, sql: str, claim_ids: Sequence[str], names: Sequence[str]
) -> Mapping[str, list[dict[str, Any]]]:
    filed: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for some in _slices(claim_ids):
        for claim_id, *values in db.select(sql.format(marks(some)), some):
            filed[claim_id].append(dict(zip(names, values, strict=True)))
    return filed


def _successors(db: PKBDatabase, claims: Sequence[Claim]) -> Mapping[str, str]:
    """For each superseded claim, the readable id of the one at the end of its chain."""
    superseded = [claim.claim_id for claim in claims if claim.status == ClaimStatus.SUPERSEDED]
    heads: dict[str, str] = {}
    for some in _slices(superseded):
        ends = supersession_heads(db, list(some))
        sql = f"SELECT claim_id, friendly_id FROM claims WHERE claim_id IN ({marks(ends)})"
        names = dict(map(tuple, db.select(sql, list(ends.values())))) if ends else {}
        heads |= {begin: names[end] for begin, end in ends.items() if end != begin and end in names}
    return heads


def _slices(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[start : start + MOST_AT_ONCE] for start in range(0, len(ids), MOST_AT_ONCE))
