"""What one can do with claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from database.engine.text import storable
from sentences import say

from ..constants import ClaimStatus
from ..crud.base import listed_ids, required_text
from ..crud.claim_fields import LONGEST_STATEMENT
from ..crud.claims import EntityNames
from ..crud.filters import SearchFilters
from ..crud.links import link_successor, supersession_heads
from ..database.audit_log import is_recorded
from ..errors import ClaimNotFoundError, ClientIdTakenError, InvalidKnowledgeError
from ..models import CLAIM_COLUMNS, Claim
from ..search.similar import find_similar
from ..utils import generate_uuid
from .parts import ApiParts, Outcome, outcome, present, present_or

FIELDS = frozenset(CLAIM_COLUMNS) - {
    "claim_id",
    "user_email",
    "claim_number",
    "status",
    "created_at",
    "updated_at",
    "retracted_at",
} | {"tags", "entities", "contexts"}
"""What can be given of a new claim."""


_OF_THE_CLAIM_ALONE = frozenset(ClaimStatus) - {ClaimStatus.ACTIVE, ClaimStatus.CONTESTED, ClaimStatus.SUPERSEDED}
_CLIENT_IDS = UUID("0f4dfb4e-6a0b-4c1c-9f43-5d2f1f0a7c11")
"""The namespace of the ids that are derived from those of clients."""


class Identity(NamedTuple):
    """The ids of a new claim and of the audit entry that records its adding."""

    claim_id: str
    audit_id: str


def identity_of(user_email: str, client_id: str | None, statement: str) -> Identity:
    """Random ids, or derived ones: the claim's from the client's id, the entry's from that and from the statement."""
    if client_id is None:
        return Identity(generate_uuid(), generate_uuid())
    claim_id = uuid5(_CLIENT_IDS, storable(f"{user_email}\n{client_id}"))
    return Identity(str(claim_id), str(uuid5(claim_id, storable(statement))))


class ClaimActions(ApiParts):
    """Adding, changing, retracting, pinning claims."""

    @outcome("add", "claim")
    def add_claim(
        self,
        statement: str,
        claim_type: str = "fact",
        context_domain: str = "personal",
        tags: Sequence[str] | None = None,
        entities: Sequence[EntityNames] | None = None,
        auto_extract: bool = True,
        *,
        contexts: Sequence[str] | None = None,
        supersedes: str | None = None,
        contradicts: str | None = None,
        suggest_similar: bool = False,
        client_id: str | None = None,
        **fields: Any,
    ) -> Outcome:
        """Add a claim; `.data` is the Claim.

        tags: names. entities: `{"name", "type", "role"}`. auto_extract: have a model find tags and entities where none
        are given; without a model, a warning says so. contexts: ids. supersedes: id of the claim that this one
        replaces. contradicts: id of a claim that says otherwise: both are in a conflict then. suggest_similar: look for
        near duplicates and contradictions; they are in `metadata["similar"]`. client_id: unique among the user's
        claims; where this statement was added under it before, `.data` is that claim as it is now.
        fields: confidence, valid_from, valid_to, meta_json, friendly_id, possible_questions, claim_types,
        context_domains, subject_text, predicate, object_text, source_activity_id.
        """
        unknown = set(fields) - FIELDS
        if unknown:
            raise InvalidKnowledgeError(f"A claim has no {', '.join(sorted(unknown))}.")
        statement = required_text(statement, "statement", longest=LONGEST_STATEMENT)
        warnings: list[str] = []
        if auto_extract:
            tags, entities = self._extracted(statement, tags, entities, warnings)
        similar = find_similar(statement, search=self.search_strategy, llm=self.llm) if suggest_similar else []
        identity = identity_of(self.owner, client_id, statement)
        claim = Claim.create(statement, claim_type, context_domain, claim_id=identity.claim_id, **present(fields))
        with self.db.transaction():
            repeated = self._added_before(identity) if client_id is not None else None
            if repeated is None:
                with self._recording("add", "claim", claim.claim_id, statement, audit_id=identity.audit_id):
                    self.claims.add(claim, tags=tags, entities=entities, contexts=contexts)
                    claim = self._related(claim, supersedes=supersedes, contradicts=contradicts)
        added = repeated or claim
        metadata: dict[str, Any] = {"audit_id": identity.audit_id} if repeated else {}
        if suggest_similar:
            metadata["similar"] = [one for one in similar if one.claim.claim_id != added.claim_id]
        return Outcome(added, added.claim_id, warnings, metadata)

    def _added_before(self, identity: Identity) -> Claim | None:
        """The claim that was added under the same client_id. Raises ClientIdTakenError where that was another one."""
        claim = self.claims.get(identity.claim_id)
        is_same = is_recorded(self.db, user_email=self.owner, audit_id=identity.audit_id)
        if claim is None and not is_same:
            return None
        if claim is None or not is_same:
            raise ClientIdTakenError
        return claim

    def _related(self, added: Claim, *, supersedes: str | None, contradicts: str | None) -> Claim:
        """The new claim, after it has replaced or contradicted another one."""
        if supersedes is not None:
            self._supersede(added.claim_id, supersedes)
        if contradicts is None:
            return added
        self.conflicts.create([added.claim_id, contradicts])
        return self._claim(added.claim_id)

    @outcome("edit", "claim")
    def edit_claim(
        self, claim_id: str, *, based_on: str | None = None, by_hand: bool = False, **changes: Any
    ) -> Outcome:
        """Change columns of a claim; `.data` is the Claim as it is now. based_on: the statement that the caller saw.

        by_hand: refuse a status that nothing else bears out, `contested` without an open conflict, `superseded`
        without a successor, and `active` while a conflict is open; what takes part in one is contested when it holds
        again.
        """
        with self.db.transaction():
            if by_hand and "status" in changes:
                changes["status"] = self._status_by_hand(self._claim(claim_id), changes["status"])
            edited = self.claims.edit(claim_id, changes, based_on=based_on)
        return Outcome(present_or(ClaimNotFoundError, claim_id, edited), claim_id)

    @outcome("delete", "claim")
    def delete_claim(self, claim_id: str) -> Outcome:
        """Retract a claim; it stays, with status `retracted`. `.data` is the Claim."""
        return Outcome(present_or(ClaimNotFoundError, claim_id, self.claims.delete(claim_id)), claim_id)

    @outcome("get", "claim")
    def get_claim(self, claim_id: str) -> Outcome:
        """`.data` is the Claim."""
        return Outcome(self._claim(claim_id), claim_id)

    @outcome("get_by_ids", "claim")
    def get_claims_by_ids(self, claim_ids: Sequence[str]) -> Outcome:
        """`.data`: the claims in the order of the ids, None for those that are not there."""
        wanted = listed_ids(claim_ids)
        found = {claim.claim_id: claim for claim in self.claims.get_many(wanted)}
        return Outcome([found.get(claim_id) for claim_id in wanted])

    @outcome("get", "claim")
    def get_claim_by_friendly_id(self, friendly_id: str) -> Outcome:
        """`.data` is the Claim."""
        name = str(friendly_id)
        found = self.claims.get_by_friendly_id(name.removeprefix("@")) or self.references.former_claim(name)
        claim = present_or(ClaimNotFoundError, friendly_id, found)
        return Outcome(claim, claim.claim_id)

    def resolve_claim_identifier(self, identifier: str | int) -> Claim | None:
        """The claim that `42`, `#42`, `claim_42`, `@…`, a UUID or a readable id, of today or a former one, names."""
        return self.references.claim(str(identifier)) or self.references.former_claim(str(identifier))

    @outcome("pin", "claim")
    def pin_claim(self, claim_id: str, pin: bool = True) -> Outcome:
        """Let a claim go into every conversation, or no longer; `.data` is the Claim."""
        return Outcome(present_or(ClaimNotFoundError, claim_id, self.claims.pin(claim_id, pinned=pin)), claim_id)

    @outcome("get_pinned", "claim")
    def get_pinned_claims(self, limit: int = 50) -> Outcome:
        """`.data`: the claims that go into every conversation, newest change first."""
        return Outcome(self.claims.get_pinned(limit))

    @outcome("list", "claim")
    def list_claims(
        self, filters: SearchFilters | None = None, limit: int = 50, offset: int = 0, order_by: str = "-updated_at"
    ) -> Outcome:
        """`.data`: `{"claims": [...], "total_count": n}`."""
        claims = self.claims.list(filters, limit=limit, offset=offset, order_by=order_by)
        return Outcome({"claims": claims, "total_count": self.claims.count(filters)})

    @outcome("supersede", "claim")
    def supersede_claim(self, new_claim_id: str, old_claim_id: str, resolution_notes: str | None = None) -> Outcome:
        """Let one claim take another's place; `.data`: `{"claim", "old_claim_id", "head_claim_id"}`."""
        new, old = self._claim(new_claim_id), self._claim(old_claim_id)
        detail = {"superseded": old_claim_id, "notes": resolution_notes or ""}
        with self._recording("supersede", "claim", new_claim_id, old.statement, **detail):
            linked = self._supersede(new_claim_id, old_claim_id)
        head = supersession_heads(self.db, [old_claim_id], user_email=self.owner)[old_claim_id]
        warnings = [] if linked else [f"@{old.friendly_id} was superseded by @{new.friendly_id} before."]
        data = {"claim": self._claim(new_claim_id), "old_claim_id": old_claim_id, "head_claim_id": head}
        return Outcome(data, new_claim_id, warnings)

    def _status_by_hand(self, before: Claim, status: str) -> str:
        if status in (before.status, *_OF_THE_CLAIM_ALONE):
            return status
        if status == ClaimStatus.SUPERSEDED:
            heads = supersession_heads(self.db, [before.claim_id], user_email=self.owner)
            if heads.get(before.claim_id, before.claim_id) == before.claim_id:
                raise InvalidKnowledgeError(say("superseded_by_nothing"))
            return status
        in_conflict = self.conflicts.has_open(before.claim_id)
        if status == ClaimStatus.CONTESTED and not in_conflict:
            raise InvalidKnowledgeError(say("contested_by_nothing"))
        if in_conflict and before.status == ClaimStatus.CONTESTED:
            raise InvalidKnowledgeError(say("contested_still"))
        return ClaimStatus.CONTESTED.value if in_conflict else status

    def _supersede(self, new_claim_id: str, old_claim_id: str) -> bool:
        new = self._claim(new_claim_id)
        self._claim(old_claim_id)
        if new_claim_id == old_claim_id:
            raise InvalidKnowledgeError(say("supersedes_itself"))
        if new.status not in ClaimStatus.default_search_statuses():
            # Both would be out of sight.
            raise InvalidKnowledgeError(say("successor_not_active", reference=new.friendly_id or "", status=new.status))
        linked = link_successor(self.db, new_claim_id, old_claim_id, user_email=self.owner)
        self.claims.edit(old_claim_id, {"status": ClaimStatus.SUPERSEDED.value})
        return linked is not None

    def _extracted(
        self,
        statement: str,
        tags: Sequence[str] | None,
        entities: Sequence[EntityNames] | None,
        warnings: list[str],
    ) -> tuple[Sequence[str] | None, Sequence[EntityNames] | None]:
        """What a model finds in `statement`, for what was not given."""
        if tags is None:
            tags = self.llm.model_tags(statement)
        if entities is None:
            entities = self.llm.extract_entities(statement)
        warnings += self.llm.take_warnings()
        return tags, entities
