"""How near two statements are to each other: by words and, where there is a model for vectors, by these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from language_models.circuit_breaker import begin, finish
from language_models.errors import ModelError
from sentences import because, say

from .comparing import Relation, compare

if TYPE_CHECKING:
    from .model_questions import LLMHelpers

Kind = Literal["duplicate", "contradiction", "related"]
LONGEST_COMPARED = 1_000
"""Characters of a statement of which vectors are made."""
_EMBEDDED_AT_ONCE = 16
KINDS: dict[Relation, Kind] = {
    Relation.DUPLICATE: "duplicate",
    Relation.CONTRADICTION: "contradiction",
    Relation.REFINEMENT: "related",
    Relation.RELATED: "related",
}


def judged_by_rules(llm: LLMHelpers, statement: str, known: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """`{"claim_id", "similarity", "relation"}` for each (claim id, statement) of `known`, by words and vectors."""
    cosines = Cosines(llm, [statement, *(text for _, text in known)])
    judged = []
    for claim_id, text in known:
        comparison = compare(statement, text, cosine=cosines.between(statement, text), config=llm.config)
        relation = KINDS.get(comparison.relation, "related")
        judged.append({"claim_id": claim_id, "similarity": comparison.similarity, "relation": relation})
    return judged


class Cosines:
    """Cosine similarities of some texts; none where there is no model for vectors, or it fails."""

    def __init__(self, llm: LLMHelpers, texts: Sequence[str]) -> None:
        self._vectors: Mapping[str, Any] = {}
        model = llm.models.embedding if llm.config.embedding_enabled else None
        if model is None or not texts:
            return
        distinct = list(dict.fromkeys(text[:LONGEST_COMPARED] for text in texts))
        try:
            parts = (
                distinct[start : start + _EMBEDDED_AT_ONCE] for start in range(0, len(distinct), _EMBEDDED_AT_ONCE)
            )
            longest = llm.config.embedding_timeout
            vectors = [
                vector for part in parts for vector in finish(model, begin(model, model.embed, part), within=longest)
            ]
        except ModelError as error:
            llm.warn(because("compared_by_words", error.message))
            return
        except TimeoutError:
            llm.warn(because("compared_by_words", say("model_late")))
            return
        self._vectors = dict(zip(distinct, vectors, strict=True))

    def between(self, one: str, other: str) -> float | None:
        """The similarity of two of the texts; None where there are no vectors."""
        here, there = self._vectors.get(one[:LONGEST_COMPARED]), self._vectors.get(other[:LONGEST_COMPARED])
        return None if here is None or there is None else float(here @ there)
