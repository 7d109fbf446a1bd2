"""Claims that say nearly what a new statement says, or the opposite: found by search, judged by words and vectors."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..analysis.comparing import Comparison, Relation, compare
from ..analysis.model_questions import LLMHelpers
from ..analysis.similarity import KINDS, LONGEST_COMPARED, Cosines, Kind
from ..crud.filters import SearchFilters
from ..errors import KnowledgeError
from ..models import Claim
from .service import ClaimSearch

log = logging.getLogger(__name__)
_LOOKED_AT = 6
_URGENCY = (Relation.CONTRADICTION, Relation.DUPLICATE, Relation.REFINEMENT, Relation.RELATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarClaim:
    """A known claim that a new statement is close to; similarity: 0 to 1. `comparison` has the reason."""

    claim: Claim
    similarity: float
    kind: Kind
    comparison: Comparison


def find_similar(statement: str, *, search: ClaimSearch, llm: LLMHelpers) -> list[SimilarClaim]:
    """Near duplicates and contradictions among the user's claims that hold, the most telling first.

    No language model is asked. What can't be searched finds nothing.
    """
    return find_similar_to_each([statement], search=search, llm=llm)[0] if statement.strip() else []


def find_similar_to_each(
    statements: Sequence[str], *, search: ClaimSearch, llm: LLMHelpers
) -> list[list[SimilarClaim]]:
    """As `find_similar`, for many statements; their vectors are computed together."""
    found = [_searched(search, statement) for statement in statements]
    texts = [*statements, *(claim.statement for claims in found for claim in claims)]
    cosines = Cosines(llm, texts if any(found) else ())
    return [
        sorted(_judged(statement, claims, cosines, llm), key=_most_telling)
        for statement, claims in zip(statements, found, strict=True)
    ]


def _searched(search: ClaimSearch, statement: str) -> list[Claim]:
    query = statement[:LONGEST_COMPARED]
    try:
        found = search.search(query, strategy="hybrid", k=_LOOKED_AT, filters=SearchFilters())
    except KnowledgeError as error:
        log.warning("a memory was compared with none: %s", error.message)
        return []
    return [result.claim for result in found.results]


def _judged(statement: str, claims: Sequence[Claim], cosines: Cosines, llm: LLMHelpers) -> Iterator[SimilarClaim]:
    for claim in claims:
        cosine = cosines.between(statement, claim.statement)
        comparison = compare(statement, claim.statement, cosine=cosine, config=llm.config)
        if comparison.relation in KINDS:
            kind = KINDS[comparison.relation]
            yield SimilarClaim(claim=claim, similarity=comparison.similarity, kind=kind, comparison=comparison)


def _most_telling(similar: SimilarClaim) -> tuple[int, float]:
    return _URGENCY.index(similar.comparison.relation), -similar.similarity
