"""What distillers of texts and of conversations share: one user's models and categories, proposals, plans.

Of what is proposed, the new is added, the known skipped, and what says more or else is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.asking import Patience
from ..analysis.comparing import Relation
from ..analysis.model_questions import LLMHelpers
from ..analysis.statements import same_key
from ..config import PKBConfig
from ..constants import ClaimType, ContextDomain
from ..search.similar import SimilarClaim, find_similar_to_each
from .executing import Approved, carry_out
from .plans import IngestCandidate, IngestProposal, IngestResult, PlanStore, ProposedAction, TextIngestionPlan
from .reading import Categories, FactReader

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


if TYPE_CHECKING:
    from ..interface.structured_api import StructuredAPI

DEFAULT_TYPE, DEFAULT_DOMAIN = ClaimType.FACT.value, ContextDomain.PERSONAL.value


class Distiller:
    """keys: of a model service, for programs whose `api` has no models; config: that of `api` unless given."""

    kind = "text"

    def __init__(
        self, api: StructuredAPI, keys: Mapping[str, str] | None = None, config: PKBConfig | None = None
    ) -> None:
        self.api = api
        self.config = config or api.config
        self.llm = helpers_for(api, keys, config)

    def execute_plan(self, plan_or_plan_id: TextIngestionPlan | str, approved: Approved = None, /) -> IngestResult:
        """Carry out what was approved of a plan of this user's, as one change with one undo.

        approved: None or "all" for everything as proposed; else a list of `{"index"}` with what is changed: `action`
        ("add", "update", "skip", "conflict"), `statement`, `claim_type`, `context_domain`, `tags`. A row that can't be
        done fails alone. Raises PlanNotFoundError for a plan that expired or is not this user's, PlanExecutedError
        for one that was carried out, InvalidKnowledgeError.
        """
        return carry_out(self.api, plan_or_plan_id, approved)

    def _reader(self, default_type: str, default_domain: str) -> FactReader:
        types = [category.name for category in self.api.type_catalog.list()]
        domains = [category.name for category in self.api.domain_catalog.list()]
        categories = Categories(
            types=list(dict.fromkeys([*types, default_type])),
            domains=list(dict.fromkeys([*domains, default_domain])),
            default_type=default_type,
            default_domain=default_domain,
        )
        return FactReader(llm=self.llm, categories=categories)

    def _planned(
        self,
        candidates: Sequence[IngestCandidate],
        *,
        raw_text: str,
        patience: Patience,
        warnings: Sequence[str],
        use_llm: bool = True,
        source_message_id: str | None = None,
    ) -> TextIngestionPlan:
        distinct: dict[str, IngestCandidate] = {}
        for candidate in candidates:
            distinct.setdefault(same_key(candidate.statement), candidate)
        proposer = Proposer(self.api, self.llm, self.config)
        proposals = proposer.propose(list(distinct.values()), patience=patience, use_llm=use_llm)
        troubles = [*warnings, *self.llm.take_warnings()]
        if self.llm is not self.api.llm:
            troubles += self.api.llm.take_warnings()
        return PlanStore(self.api.db, self.api.user_email).add(
            proposals,
            kind=self.kind,
            raw_text=raw_text,
            hours=self.config.plan_ttl_hours,
            source_message_id=source_message_id,
            warnings=list(dict.fromkeys(troubles)),
        )


def helpers_for(api: StructuredAPI, keys: Mapping[str, str] | None, config: PKBConfig | None) -> LLMHelpers:
    """The models of `api`, or those that a program reaches with its own `keys`."""
    if keys and api.llm.models.chat is None:
        return LLMHelpers(keys, config or api.config)
    return api.llm if config is None else LLMHelpers(config=config, models=api.llm.models)
