"""What one can do with many claims at once: one change, with one undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..asking import Patience
from ..crud.base import listed, listed_ids
from ..errors import InvalidKnowledgeError, KnowledgeError
from ..models import Claim
from ..results import ActionResult
from .claim_actions import FIELDS, ClaimActions
from .parts import Outcome, outcome

MOST_IN_BULK = 100
MOST_CHANGED = 500


class BulkActions(ClaimActions):
    """Adding and changing claims in bulk."""

    @outcome("add_bulk", "claim")
    def add_claims_bulk(
        self, claims: Sequence[Mapping[str, Any]], auto_extract: bool = False, stop_on_error: bool = False
    ) -> Outcome:
        """Add up to 100 claims as one change; one that makes no sense leaves the others alone.

        `.data`: `{"results": [{index, success, claim_id, friendly_id} or {index, success, error}], "added_count",
        "failed_count"}`. auto_extract: as for `add_claim`, for so long as three answers of a model may take.
        stop_on_error: then nothing is added.
        """
        claims = listed(claims, "claims")
        if len(claims) > MOST_IN_BULK:
            raise InvalidKnowledgeError(f"{len(claims)} claims are too many; {MOST_IN_BULK} are possible at once.")
        warnings: list[str] = []
        if auto_extract:
            # Before the change begins: while a model thinks, others want to write.
            claims = self._all_extracted(claims, warnings)
        results: list[dict[str, Any]] = []
        title = f"{len(claims)} memories"
        with self._recording("add_bulk", "claim", None, title, count=len(claims)) as changes:
            for index, given in enumerate(claims):
                try:
                    with changes.attempt():
                        added = self._add_one(given)
                except KnowledgeError as error:
                    if stop_on_error:
                        raise
                    results.append({"index": index, "success": False, "error": error.message})
                    continue
                names = {"claim_id": added.claim_id, "friendly_id": added.friendly_id}
                results.append({"index": index, "success": True, **names})
        count = sum(result["success"] for result in results)
        data = {"results": results, "added_count": count, "failed_count": len(results) - count}
        return Outcome(data, warnings=list(dict.fromkeys(warnings)))

    @outcome("change_bulk", "claim")
    def change_claims(self, claim_ids: Sequence[str], change: str, value: str | None = None) -> Outcome:
        """One change to many claims, with one undo; `.data`: `{"results": [{claim_id, success, error?}]}`.

        change: "retract", "pin", "unpin", "set_type", "set_domain" (value: a name), "add_tag" (value: a name),
        "add_to_context" (value: an id).
        """
        claim_ids = listed_ids(claim_ids)
        if len(claim_ids) > MOST_CHANGED:
            raise InvalidKnowledgeError(f"{len(claim_ids)} claims are too many; {MOST_CHANGED} are possible at once.")
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
                    results.append({"claim_id": claim_id, "success": False, "error": error.message})
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

    def _add_one(self, given: Mapping[str, Any]) -> Claim:
        if not isinstance(given, Mapping) or set(given) - FIELDS:
            raise InvalidKnowledgeError(f"A claim is an object with {', '.join(sorted(FIELDS))}.")
        result: ActionResult = self.add_claim(**{"statement": "", **given}, auto_extract=False)
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
            warnings.append(f"The model was asked no more after {patience.seconds:g} seconds.")
        return extracted
