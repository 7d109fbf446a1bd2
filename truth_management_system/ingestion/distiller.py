"""What distillers of texts and of conversations share: one user's models and categories, proposals, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..analysis.asking import Patience
from ..analysis.model_questions import LLMHelpers
from ..analysis.statements import same_key
from ..config import PKBConfig
from ..constants import ClaimType, ContextDomain
from .executing import Approved, carry_out
from .plans import IngestCandidate, IngestResult, PlanStore, TextIngestionPlan
from .proposing import Proposer
from .reading import Categories, FactReader

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
