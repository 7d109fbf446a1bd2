"""Claims that say nearly what a new statement says, or the opposite: found by search, judged by words and vectors."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from language_models.circuit_breaker import begin, finish
from language_models.errors import ModelError
from language_models.ports import EmbeddingModel
from sentences import because, say

from ..errors import KnowledgeError
from ..models import Claim
from ..search.base import SearchFilters
from .comparing import Comparison, Relation, compare

if TYPE_CHECKING:
    from ..interface.parts import ApiParts
    from ..model_questions import LLMHelpers

log = logging.getLogger(__name__)
Kind = Literal["duplicate", "contradiction", "related"]
_LOOKED_AT = 6
_EMBEDDED_AT_ONCE = 16
_LONGEST_QUERY = 1_000
_KINDS: dict[Relation, Kind] = {
    Relation.DUPLICATE: "duplicate",
    Relation.CONTRADICTION: "contradiction",
    Relation.REFINEMENT: "related",
    Relation.RELATED: "related",
}
_URGENCY = (Relation.CONTRADICTION, Relation.DUPLICATE, Relation.REFINEMENT, Relation.RELATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarClaim:
    """A known claim that a new statement is close to; similarity: 0 to 1. `comparison` has the reason."""

    claim: Claim
    similarity: float
    kind: Kind
    comparison: Comparison


def find_similar(api: ApiParts, statement: str) -> list[SimilarClaim]:
    """Near duplicates and contradictions among the user's claims that hold, the most telling first.

    No language model is asked. What can't be searched finds nothing.
    """
    return find_similar_to_each(api, [statement])[0] if statement.strip() else []


def find_similar_to_each(api: ApiParts, statements: Sequence[str]) -> list[list[SimilarClaim]]:
    """As `find_similar`, for many statements; their vectors are computed together."""
    found = [_searched(api, statement) for statement in statements]
    texts = [*statements, *(claim.statement for claims in found for claim in claims)]
    cosines = _Cosines(api.llm, texts if any(found) else ())
    return [
        sorted(_judged(statement, claims, cosines, api.llm), key=_most_telling)
        for statement, claims in zip(statements, found, strict=True)
    ]


def judged_by_rules(llm: LLMHelpers, statement: str, known: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """`{"claim_id", "similarity", "relation"}` for each (claim id, statement) of `known`, by words and vectors."""
    cosines = _Cosines(llm, [statement, *(text for _, text in known)])
    judged = []
    for claim_id, text in known:
        comparison = compare(statement, text, cosine=cosines.between(statement, text), config=llm.config)
        relation = _KINDS.get(comparison.relation, "related")
        judged.append({"claim_id": claim_id, "similarity": comparison.similarity, "relation": relation})
    return judged


class _Cosines:
    """Cosine similarities of some texts; none where there is no model for vectors, or it fails."""

    def __init__(self, llm: LLMHelpers, texts: Sequence[str]) -> None:
        self._vectors: Mapping[str, Any] = {}
        model = llm.models.embedding if llm.config.embedding_enabled else None
        if model is None or not texts:
            return
        distinct = list(dict.fromkeys(text[:_LONGEST_QUERY] for text in texts))
        try:
            parts = (
                distinct[start : start + _EMBEDDED_AT_ONCE] for start in range(0, len(distinct), _EMBEDDED_AT_ONCE)
            )
            longest = llm.config.embedding_timeout
            vectors = [vector for part in parts for vector in _in_time(model, part, longest)]
        except ModelError as error:
            llm.warn(because("compared_by_words", error.message))
            return
        except TimeoutError:
            llm.warn(because("compared_by_words", say("model_late")))
            return
        self._vectors = dict(zip(distinct, vectors, strict=True))

    def between(self, one: str, other: str) -> float | None:
        here, there = self._vectors.get(one[:_LONGEST_QUERY]), self._vectors.get(other[:_LONGEST_QUERY])
        return None if here is None or there is None else float(here @ there)


def _in_time(model: EmbeddingModel, texts: Sequence[str], seconds: float) -> Any:
    return finish(model, begin(model, model.embed, texts), within=seconds)


def _searched(api: ApiParts, statement: str) -> list[Claim]:
    query = statement[:_LONGEST_QUERY]
    try:
        found = api.search_strategy.search(query, strategy="hybrid", k=_LOOKED_AT, filters=SearchFilters())
    except KnowledgeError as error:
        log.warning("nothing was compared with %r: %s", query[:40], error.message)
        return []
    return [result.claim for result in found.results]


def _judged(statement: str, claims: Sequence[Claim], cosines: _Cosines, llm: LLMHelpers) -> Iterator[SimilarClaim]:
    for claim in claims:
        cosine = cosines.between(statement, claim.statement)
        comparison = compare(statement, claim.statement, cosine=cosine, config=llm.config)
        if comparison.relation in _KINDS:
            kind = _KINDS[comparison.relation]
            yield SimilarClaim(claim=claim, similarity=comparison.similarity, kind=kind, comparison=comparison)


def _most_telling(similar: SimilarClaim) -> tuple[int, float]:
    return _URGENCY.index(similar.comparison.relation), -similar.similarity
