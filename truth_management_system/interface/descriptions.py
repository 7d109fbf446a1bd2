"""Claims and groups as programs over a wire see them: plain dicts, made with as many queries for one as for many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Table, bindparam, func, select

from ..constants import ClaimStatus
from ..crud.links import supersession_heads
from ..database import Prepared
from ..models import Claim, ConflictSet, Context, Entity, Tag
from ..schema import tables
from ..schema.operators import among, in_order, unindexed
from .parts import ApiParts

Description = dict[str, Any]


def _filed_under(ties: Table, groups: Table, key: str, *columns: Column[Any]) -> Prepared:
    """(claim_id, columns …) of the groups of `:user` under which the claims of the list `ids` are filed, by name."""
    # From the claims to their groups, never through all groups of everybody: compared with a parameter, SQLite would
    # first read those to make a Bloom filter of them.
    claims = tables.claims
    tied = in_order(claims, ties, ties.c.claim_id == claims.c.claim_id)
    joined = in_order(tied, groups, (groups.c[key] == ties.c[key]) & (groups.c.user_email == claims.c.user_email))
    mine = unindexed(claims.c.user_email) == bindparam("user")
    query = select(ties.c.claim_id, *columns).select_from(joined).where(among(claims.c.claim_id, "ids"), mine)
    return Prepared(query.order_by(groups.c.name_key))


_GROUPS = {
    "tags": _filed_under(
        tables.claim_tags,
        tables.tags,
        "tag_id",
        *(tables.tags.c[name] for name in ("tag_id", "name", "friendly_id")),
    ),
    "entities": _filed_under(
        tables.claim_entities,
        tables.entities,
        "entity_id",
        *(tables.entities.c[name] for name in ("entity_id", "name", "entity_type", "friendly_id")),
        tables.claim_entities.c.role,
    ),
    "contexts": _filed_under(
        tables.context_claims,
        tables.contexts,
        "context_id",
        *(tables.contexts.c[name] for name in ("context_id", "name", "friendly_id")),
    ),
}
_KEYS = {
    "tags": ("tag_id", "name", "friendly_id"),
    "entities": ("entity_id", "name", "entity_type", "friendly_id", "role"),
    "contexts": ("context_id", "name", "friendly_id"),
}
_CHILDREN = Prepared(
    select(tables.contexts.c.parent_context_id, func.count())
    .where(among(tables.contexts.c.parent_context_id, "ids"), tables.contexts.c.user_email == bindparam("user"))
    .group_by(tables.contexts.c.parent_context_id)
)
_NAMES = Prepared(
    select(tables.claims.c.claim_id, tables.claims.c.friendly_id).where(
        among(tables.claims.c.claim_id, "ids"), tables.claims.c.user_email == bindparam("user")
    )
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
        ids = [claim.claim_id for claim in claims]
        with self.db.snapshot():
            groups = {kind: self._filed(kind, ids) for kind in _GROUPS}
            successors = self._successors(claims)
        return [
            {
                **_fields(claim, _PLAIN),
                "claim_types": claim.all_types,
                "context_domains": claim.all_domains,
                "possible_questions": claim.questions,
                "pinned": claim.pinned,
                "is_contested": claim.is_contested,
                "superseded_by": successors.get(claim.claim_id),
                **{kind: filed[claim.claim_id] for kind, filed in groups.items()},
            }
            for claim in claims
        ]

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
        filed = self.contexts.claim_counts(ids)
        children = dict(self.db.rows(_CHILDREN, user=self.owner, ids=ids))
        return [
            {
                **_fields(context, _CONTEXT),
                "claim_count": filed[context.context_id],
                "child_count": children.get(context.context_id, 0),
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

    def _filed(self, kind: str, claim_ids: Sequence[str]) -> Mapping[str, list[dict[str, Any]]]:
        """For each claim of `claim_ids`, the groups of one kind that it is filed under."""
        filed: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for claim_id, *values in self.db.rows(_GROUPS[kind], user=self.owner, ids=claim_ids):
            filed[claim_id].append(dict(zip(_KEYS[kind], values, strict=True)))
        return filed

    def _successors(self, claims: Sequence[Claim]) -> Mapping[str, str]:
        """For each superseded claim, the readable id of the one at the end of its chain."""
        superseded = [claim.claim_id for claim in claims if claim.status == ClaimStatus.SUPERSEDED]
        heads = supersession_heads(self.db, superseded, user_email=self.owner)
        if not heads:
            return {}
        rows = self.db.rows(_NAMES, user=self.owner, ids=heads.values())
        names = {claim_id: friendly_id for claim_id, friendly_id in rows}  # noqa: C416
        return {begin: names[end] for begin, end in heads.items() if end != begin and end in names}


def _fields(described: object, names: Sequence[str]) -> Description:
    return {name: getattr(described, name) for name in names}
