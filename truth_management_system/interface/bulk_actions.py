"""What one can do with many claims at once: one change, with one undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sentences import said, say

from ..analysis.asking import Patience
from ..crud.base import listed, listed_ids
from ..database.audit_log import is_recorded
from ..errors import ClientIdTakenError, InvalidKnowledgeError, KnowledgeError
from ..models import Claim
from ..results import ActionResult
from .claim_actions import FIELDS, ClaimActions, Identity, identity_of
from .parts import Outcome, outcome

MOST_IN_BULK = 100
MOST_CHANGED = 500


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
