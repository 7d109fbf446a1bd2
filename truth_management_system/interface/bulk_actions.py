"""What one can do with many claims at once, with one undo; also making one of what was remembered twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentences import said, say
from truth_management_system.models import ActionResult

from ..analysis.asking import Patience
from ..crud.base import listed, listed_ids
from ..crud.links import get_claim_entities, get_claim_tags, link_claim_entity, link_claim_tag
from ..database.audit_log import is_recorded
from ..errors import ClientIdTakenError, InvalidKnowledgeError, KnowledgeError
from ..models import Claim
from ..search.consolidation import cluster_entity_variants, cluster_near_duplicate_claims
from ..search.vectors import newest_vectors
from .claim_actions import FIELDS, ClaimActions, Identity, identity_of
from .parts import Outcome, outcome

MOST_IN_BULK = 100
MOST_CHANGED = 500
_FEWEST_CLAIMS = 2
_MOST_COMPARED = 2_000


def _nth(client_id: str, index: int) -> str:
    """The client's id of one among the claims that were added together."""
    return f"{client_id}\n{index}"


def _succeeded(index: int, claim: Claim) -> dict[str, Any]:
    return {"index": index, "success": True, "claim_id": claim.claim_id, "friendly_id": claim.friendly_id}


def _failed(error: KnowledgeError) -> dict[str, Any]:
    """Why one of many was not done, and by which code other languages say it."""
    return {"success": False, "error": error.message, "code": error.code, "said": said(error.message) or None}


class BulkActions(ClaimActions):
    """Adding and changing claims in bulk."""

    @outcome("add_bulk", "claim")
    def add_claims_bulk(
        self,
        claims: Sequence[Mapping[str, Any]],
        auto_extract: bool = False,
        stop_on_error: bool = False,
        *,
        client_id: str | None = None,
    ) -> Outcome:
        """Add up to 100 claims as one change; one that makes no sense leaves the others alone.

        `.data`: `{"results": [{index, success, claim_id, friendly_id} or {index, success, error, code, said}],
        "added_count", "failed_count"}`. auto_extract: as for `add_claim`, for as long as three answers of a model take.
        stop_on_error: then nothing is added. client_id: unique among the user's additions; where claims were added
        under it before, `.data` tells of those, and nothing is added.
        """
        claims = listed(claims, "claims")
        if len(claims) > MOST_IN_BULK:
            raise InvalidKnowledgeError(say("most_memories_at_once", count=len(claims), most=MOST_IN_BULK))
        warnings: list[str] = []
        if auto_extract:
            # Before the change begins: while a model thinks, others want to write.
            claims = self._all_extracted(claims, warnings)
        audit_id = None if client_id is None else self._bulk_identity(client_id).audit_id
        with self.db.transaction():
            repeated = None if client_id is None else self._added_in_bulk(claims, client_id)
            results = repeated or self._add_each(claims, client_id, audit_id, stop_on_error=stop_on_error)
        count = sum(result["success"] for result in results)
        data = {"results": results, "added_count": count, "failed_count": len(results) - count}
        metadata = {"audit_id": audit_id} if repeated else {}
        return Outcome(data, warnings=list(dict.fromkeys(warnings)), metadata=metadata)

    def _bulk_identity(self, client_id: str) -> Identity:
        return identity_of(self.owner, f"{client_id}\nbulk", "")

    def _added_in_bulk(self, claims: Sequence[Any], client_id: str) -> list[dict[str, Any]] | None:
        """What became of claims that were added under this id before; None where none were.

        Raises ClientIdTakenError where nothing is left of them, or other claims were added.
        """
        if not is_recorded(self.db, user_email=self.owner, audit_id=self._bulk_identity(client_id).audit_id):
            return None
        results: list[dict[str, Any]] = []
        for index in range(len(claims)):
            claim = self.claims.get(identity_of(self.owner, _nth(client_id, index), "").claim_id)
            if claim is None:
                results.append({"index": index, "success": False, "error": "This memory was not added."})
            else:
                results.append(_succeeded(index, claim))
        if not any(result["success"] for result in results):
            raise ClientIdTakenError
        return results

    def _add_each(
        self, claims: Sequence[Any], client_id: str | None, audit_id: str | None, *, stop_on_error: bool
    ) -> list[dict[str, Any]]:
        """The result of each. Raises KnowledgeError, if `stop_on_error`, at the first that can't be added."""
        results: list[dict[str, Any]] = []
        title = f"{len(claims)} memories"
        with self._recording("add_bulk", "claim", None, title, audit_id=audit_id, count=len(claims)) as changes:
            for index, given in enumerate(claims):
                try:
                    with changes.attempt():
                        added = self._add_one(given, client_id=client_id and _nth(client_id, index))
                except KnowledgeError as error:
                    if stop_on_error:
                        raise
                    results.append({"index": index, **_failed(error)})
                    continue
                results.append(_succeeded(index, added))
        return results

    @outcome("change_bulk", "claim")
    def change_claims(self, claim_ids: Sequence[str], change: str, value: str | None = None) -> Outcome:
        """One change to many claims, with one undo.

        `.data`: `{"results": [{claim_id, success, error?, code?, said?}]}`.

        change: "retract", "pin", "unpin", "set_type", "set_domain" (value: a name), "add_tag" (value: a name),
        "add_to_context" (value: an id).
        """
        claim_ids = listed_ids(claim_ids)
        if len(claim_ids) > MOST_CHANGED:
            raise InvalidKnowledgeError(say("most_memories_at_once", count=len(claim_ids), most=MOST_CHANGED))
        act = self._bulk_change(change, value or "")
        results: list[dict[str, Any]] = []
        title = f"{len(claim_ids)} memories"
        with self._recording(change, "claim", None, title, count=len(claim_ids), value=value) as changes:
            for claim_id in dict.fromkeys(claim_ids):
                try:
                    with changes.attempt():
                        act(claim_id)
                    results.append({"claim_id": claim_id, "success": True})
                except KnowledgeError as error:
                    results.append({"claim_id": claim_id, **_failed(error)})
        return Outcome({"results": results})

    def _bulk_change(self, change: str, value: str) -> Any:
        changes = {
            "retract": lambda claim_id: self.claims.delete(self._claim(claim_id).claim_id),
            "pin": lambda claim_id: self.claims.pin(self._claim(claim_id).claim_id),
            "unpin": lambda claim_id: self.claims.pin(self._claim(claim_id).claim_id, pinned=False),
            "set_type": lambda claim_id: self.claims.edit(self._claim(claim_id).claim_id, {"claim_type": value}),
            "set_domain": lambda claim_id: self.claims.edit(self._claim(claim_id).claim_id, {"context_domain": value}),
            "add_tag": lambda claim_id: self.claims.tag(self._claim(claim_id).claim_id, value),
            "add_to_context": lambda claim_id: self.contexts.add_claim(value, self._claim(claim_id).claim_id),
        }
        if not isinstance(change, str) or change not in changes:
            raise InvalidKnowledgeError(f"{change!r} is no change; use one of {', '.join(changes)}.")
        return changes[change]

    def _add_one(self, given: Mapping[str, Any], *, client_id: str | None) -> Claim:
        if not isinstance(given, Mapping) or set(given) - FIELDS:
            raise InvalidKnowledgeError(f"A claim is an object with {', '.join(sorted(FIELDS))}.")
        result: ActionResult = self.add_claim(**{"statement": "", **given}, auto_extract=False, client_id=client_id)
        if not result.success:
            error: Exception = result.metadata["error"]
            raise error if isinstance(error, KnowledgeError) else InvalidKnowledgeError(result.errors[0])
        claim: Claim = result.data
        return claim

    def _all_extracted(self, claims: Sequence[Any], warnings: list[str]) -> list[Any]:
        """The claims with what a model finds in each; one that makes no sense stays as it is."""
        patience = Patience.of(self.config.llm_timeout)
        extracted: list[Any] = []
        for given in claims:
            found: dict[str, Any] = {}
            if isinstance(given, Mapping) and isinstance(given.get("statement"), str) and not patience.is_over():
                tags, entities = self._extracted(given["statement"], given.get("tags"), given.get("entities"), warnings)
                found = {"tags": tags, "entities": entities}
            extracted.append({**given, **found} if found else given)
        if patience.is_over():
            warnings.append(say("asked_no_more", seconds=round(patience.seconds)))
        return extracted


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
