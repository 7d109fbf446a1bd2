"""Making one of what was remembered twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentences import say

from ..crud.base import listed_ids
from ..crud.links import get_claim_entities, get_claim_tags, link_claim_entity, link_claim_tag
from ..errors import InvalidKnowledgeError
from ..models import Claim
from ..search.consolidation import cluster_entity_variants, cluster_near_duplicate_claims
from ..search.vectors import newest_vectors
from .claim_actions import ClaimActions
from .parts import Outcome, outcome

_FEWEST_CLAIMS = 2
_MOST_COMPARED = 2_000


@dataclass(slots=True)
class _Compared:
    entity_id: str
    name: str


class TidyingActions(ClaimActions):
    """Finding and merging claims, entities and tags that mean the same."""

    @outcome("consolidate", "claim")
    def consolidate_claims(self, claim_ids: Sequence[str], keep_id: str | None = None) -> Outcome:
        """Let one claim supersede others that say the same, and take over what they are filed under.

        keep_id: which one; without it the one that is surest, of equals the newest. `.data`: `{"kept", "superseded",
        "claim"}`: its id, theirs, and the claim that stays.
        """
        claims = self._claims(listed_ids(claim_ids))
        if len(claims) < _FEWEST_CLAIMS:
            raise InvalidKnowledgeError(say("merge_needs_two"))
        kept = max(claims, key=_sureness) if keep_id is None else self._claim(keep_id)
        others = [claim for claim in claims if claim.claim_id != kept.claim_id]
        if len(others) == len(claims):
            raise InvalidKnowledgeError(say("merge_keeps_one"))
        superseded = [claim.claim_id for claim in others]
        with self._recording("consolidate", "claim", kept.claim_id, kept.statement, superseded=superseded):
            for claim_id in superseded:
                self._take_over(kept.claim_id, claim_id)
                self._supersede(kept.claim_id, claim_id)
        data = {"kept": kept.claim_id, "superseded": superseded, "claim": self._claim(kept.claim_id)}
        return Outcome(data, kept.claim_id)

    @outcome("merge", "entity")
    def merge_entities(self, source_id: str, target_id: str) -> Outcome:
        """Let one entity become part of another; `.data`: `{"entity", "aliases"}`."""
        entity = self.entities.merge(source_id, target_id)
        return Outcome({"entity": entity, "aliases": self.entities.aliases(entity)}, target_id)

    @outcome("merge", "tag")
    def merge_tags(self, source_id: str, target_id: str) -> Outcome:
        """Let one tag, with its claims and all below it, become part of another; `.data`: `{"tag"}`."""
        return Outcome({"tag": self.tags.merge(source_id, target_id)}, target_id)

    @outcome("find_duplicates", "claim")
    def find_claim_duplicates(self) -> Outcome:
        """Claims that hold and may say the same, by their vectors, the most alike first.

        `.data`: `[{"claim_ids", "suggested_keep_id", "max_similarity"}]`. At most 2,000 claims are compared, those that
        were embedded last. `.warnings` say why none could be.
        """
        model = self.llm.models.embedding if self.config.embedding_enabled else None
        if model is None:
            return Outcome([], warnings=[say("meaning_without_model")])
        with self.db.snapshot():
            pairs = newest_vectors(self.db, self.owner, model.name, limit=_MOST_COMPARED)
            claims = {claim.claim_id: claim for claim in self.claims.get_many([claim_id for claim_id, _ in pairs])}
            warnings = [] if pairs or not self.claims.count() else [say("meaning_not_prepared")]
        groups = cluster_near_duplicate_claims(pairs, self.config.duplicate_similarity)
        return Outcome([_with_surest(group, claims) for group in groups], warnings=warnings)

    @outcome("find_duplicates", "entity")
    def find_entity_duplicates(self, entity_type: str | None = None) -> Outcome:
        """Entities of one type whose names may mean one, the most alike first.

        `.data`: `[{"entity_ids", "names", "suggested_keep_id", "max_similarity"}]`; names by id. At most 2,000 entities
        are compared.
        """
        by_type: dict[str, list[_Compared]] = defaultdict(list)
        for entity in self.entities.list(entity_type, limit=_MOST_COMPARED):
            by_type[entity.entity_type].append(_Compared(entity.entity_id, entity.name))
        return Outcome(self._alike(by_type.values()))

    @outcome("find_duplicates", "tag")
    def find_tag_duplicates(self) -> Outcome:
        """Tags whose names may mean one; `.data` as of `find_entity_duplicates`, with `tag_ids`."""
        tags = [_Compared(tag.tag_id, tag.name) for tag in self.tags.list(limit=_MOST_COMPARED)]
        return Outcome([{"tag_ids": group.pop("entity_ids"), **group} for group in self._alike([tags])])

    def _alike(self, kinds: Iterable[Sequence[_Compared]]) -> list[dict[str, Any]]:
        threshold = self.config.entity_dedup_threshold
        found = [_with_names(group, kind) for kind in kinds for group in cluster_entity_variants(kind, threshold)]
        return sorted(found, key=lambda group: -group["max_similarity"])

    def _take_over(self, kept_id: str, claim_id: str) -> None:
        for tag in get_claim_tags(self.db, claim_id, user_email=self.owner):
            link_claim_tag(self.db, kept_id, tag.tag_id, user_email=self.owner)
        for entity, role in get_claim_entities(self.db, claim_id, user_email=self.owner):
            link_claim_entity(self.db, kept_id, entity.entity_id, role, user_email=self.owner)
        for context in self.contexts.contexts_of(claim_id):
            self.contexts.add_claim(context.context_id, kept_id)


def _sureness(claim: Claim) -> tuple[float, int]:
    return -1.0 if claim.confidence is None else claim.confidence, claim.claim_number


def _with_surest(group: Mapping[str, Any], claims: Mapping[str, Claim]) -> dict[str, Any]:
    return {**group, "suggested_keep_id": max(map(claims.__getitem__, group["claim_ids"]), key=_sureness).claim_id}


def _with_names(group: Mapping[str, Any], compared: Sequence[_Compared]) -> dict[str, Any]:
    names = {one.entity_id: one.name for one in compared}
    return {**group, "names": {identity: names[identity] for identity in group["entity_ids"]}}
