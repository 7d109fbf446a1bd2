"""From statements to proposals: what is new is added, what is known skipped, what says more or else is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.asking import Patience
from ..analysis.comparing import Relation
from ..analysis.model_questions import LLMHelpers
from ..config import PKBConfig
from ..search.similar import SimilarClaim, find_similar_to_each
from .plans import IngestCandidate, IngestProposal, ProposedAction

if TYPE_CHECKING:
    from ..interface.structured_api import StructuredAPI

_ACTIONS = {
    Relation.DUPLICATE: ProposedAction.SKIP,
    Relation.CONTRADICTION: ProposedAction.CONFLICT,
    Relation.REFINEMENT: ProposedAction.UPDATE,
}
_MOST_QUESTIONS = 8
# A model that takes two statements for the same is believed only where their vectors or words nearly say so.
_NEARLY = 0.1


@dataclass(frozen=True, slots=True)
class Proposer:
    """Makes proposals for one user. llm: judges what words and vectors can't."""

    api: StructuredAPI
    llm: LLMHelpers
    config: PKBConfig

    def propose(
        self, candidates: Sequence[IngestCandidate], *, patience: Patience, use_llm: bool = True
    ) -> list[IngestProposal]:
        """One proposal for each candidate, in order. Without patience, no model is asked any more."""
        found = find_similar_to_each(
            [candidate.statement for candidate in candidates], search=self.api.search_strategy, llm=self.api.llm
        )
        can_ask, asked = use_llm and self.llm.models.chat is not None, 0
        proposals = []
        for index, (candidate, similar) in enumerate(zip(candidates, found, strict=True)):
            unclear = bool(similar) and similar[0].comparison.relation == Relation.RELATED
            if unclear and can_ask and asked < _MOST_QUESTIONS and not patience.is_over():
                asked += 1
                troubles = len(self.llm.warnings)
                proposals.append(self._judged(index, candidate, similar))
                if len(self.llm.warnings) > troubles:
                    patience.lose()
            else:
                proposals.append(_proposal(index, candidate, similar[0] if similar else None))
        return proposals

    def _judged(self, index: int, candidate: IngestCandidate, similar: Sequence[SimilarClaim]) -> IngestProposal:
        """As the model judges; contradictions are believed, since a person decides them."""
        known = {one.claim.claim_id: one for one in similar}
        for judged in self.llm.check_similarity(candidate.statement, [one.claim for one in similar]):
            one = known[judged["claim_id"]]
            nearly_same = one.similarity >= self.config.duplicate_similarity - _NEARLY
            if judged["relation"] == "contradiction" or (judged["relation"] == "duplicate" and nearly_same):
                is_duplicate = judged["relation"] == "duplicate"
                return IngestProposal(
                    index=index,
                    action=ProposedAction.SKIP if is_duplicate else ProposedAction.CONFLICT,
                    candidate=candidate,
                    existing_claim=one.claim,
                    similarity_score=one.similarity,
                    reason="The model takes the two for the same."
                    if is_duplicate
                    else "The model takes the two for a contradiction.",
                )
        return _proposal(index, candidate, similar[0])


def _proposal(index: int, candidate: IngestCandidate, similar: SimilarClaim | None) -> IngestProposal:
    if similar is None:
        return IngestProposal(index=index, action=ProposedAction.ADD, candidate=candidate, reason="It is new.")
    return IngestProposal(
        index=index,
        action=_ACTIONS.get(similar.comparison.relation, ProposedAction.ADD),
        candidate=candidate,
        existing_claim=similar.claim,
        similarity_score=similar.similarity,
        reason=similar.comparison.reason,
    )
