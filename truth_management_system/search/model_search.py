"""Searches in which a language model takes part: it widens the question, or judges what was found. Opt-in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from language_models.ports import ChatModel
from sentences import because, say

from ..analysis.asking import Question, UnansweredError, ask, items_in, list_of, object_of
from ..crud.filters import SearchFilters
from .base import Found, SearchResult, SearchStrategy, merge_results_rrf

log = logging.getLogger(__name__)

_LONGEST_QUERY = 1_000
_LONGEST_STATEMENT = 300
_REWRITINGS = 3
_REWRITTEN_WEIGHT = 0.5
_CANDIDATES = 30
_JUDGED_AT_ONCE = 10
_MOST_TOKENS = 200

_REWRITE = "rewrite", object_of(queries=list_of({"type": "string"}, most=_REWRITINGS))
_JUDGE = "judge", object_of(helpful=list_of({"type": "integer"}, most=_JUDGED_AT_ONCE))


class RewriteSearchStrategy(SearchStrategy):
    """A model asks the same in other words; what all the askings find is put together by rank."""

    name = "rewrite"

    def __init__(self, base: SearchStrategy, *, model: ChatModel | None, timeout: float) -> None:
        """`base` searches; without a `model` it does so alone. timeout: seconds that the model may take."""
        self.base = base
        self._model, self._timeout = model, timeout

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims; a failing model costs a warning.

        `metadata["queries"]` says what was asked, `["scores"]` the best that each search gave in any of the askings.
        """
        found = self.base.find(query, max(k, _CANDIDATES), filters)
        try:
            queries = _asked(self._model, self._timeout, _REWRITE, query[:_LONGEST_QUERY], _queries)
        except UnansweredError as error:
            return _without_model(found, k, because("not_widened", error.reason))
        others = [self.base.find(text, max(k, _CANDIDATES), filters).results for text in queries]
        weights = [1.0, *(_REWRITTEN_WEIGHT for _ in others)]
        merged = merge_results_rrf([found.results, *others], k, weights)
        scores = _best_scores([found.results, *others])
        asked = [query, *queries]
        results = [_said(one, self.name, queries=asked, scores=scores[one.claim.claim_id]) for one in merged]
        return Found(results=results, warnings=found.warnings)


class MapReduceSearchStrategy(SearchStrategy):
    """A model judges what was found, some at a time; what helps comes first, in the order of the search."""

    name = "mapreduce"

    def __init__(self, base: SearchStrategy, *, model: ChatModel | None, timeout: float) -> None:
        """`base` searches; without a `model` it does so alone. timeout: seconds that each judgement may take."""
        self.base = base
        self._model, self._timeout = model, timeout

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims that the model calls helpful; where it calls none so, or fails, what was found at all."""
        found = self.base.find(query, max(k, _CANDIDATES), filters)
        judged: list[SearchResult] = []
        try:
            for start in range(0, min(len(found.results), _CANDIDATES), _JUDGED_AT_ONCE):
                judged += self._helpful(query, found.results[start : start + _JUDGED_AT_ONCE])
        except UnansweredError as error:
            return _without_model(found, k, because("findings_not_judged", error.reason))
        if not judged:
            return _without_model(found, k, say("none_helpful"))
        return Found(results=[_said(result, self.name, judged=True) for result in judged[:k]], warnings=found.warnings)

    def _helpful(self, query: str, results: Sequence[SearchResult]) -> list[SearchResult]:
        notes = (
            f"{number}. {result.claim.rendered()[:_LONGEST_STATEMENT]}" for number, result in enumerate(results, 1)
        )
        material = "\n".join([f"Question: {query[:_LONGEST_QUERY]}", "Notes:", *notes])
        numbers = _asked(self._model, self._timeout, _JUDGE, material, lambda answer: items_in(answer["helpful"]))
        return [result for number, result in enumerate(results, 1) if number in numbers]


def _queries(answer: Any) -> list[str]:
    return [str(text)[:_LONGEST_QUERY] for text in items_in(answer["queries"]) if str(text).strip()][:_REWRITINGS]


def _asked(
    model: ChatModel | None,
    timeout: float,
    job: tuple[str, dict[str, Any]],
    material: str,
    read: Callable[[Any], list[Any]],
) -> list[Any]:
    """The list that the model answers. Raises UnansweredError."""
    if model is None:
        raise UnansweredError(say("no_language_model"), is_silent=True)
    name, schema = job
    question = Question(job=name, schema=schema, material=material, max_tokens=_MOST_TOKENS)
    return ask(model, question, read=read, timeout=timeout)


def _without_model(found: Found, k: int, warning: str) -> Found:
    log.info(warning)
    return Found(results=found.results[:k], warnings=[*found.warnings, warning])


def _best_scores(rankings: Sequence[Sequence[SearchResult]]) -> dict[str, dict[str, float]]:
    """For each claim, by its id, the best score that each search gave it."""
    best: dict[str, dict[str, float]] = {}
    for result in chain.from_iterable(rankings):
        scores = best.setdefault(result.claim.claim_id, {})
        for name, score in (result.metadata.get("scores") or {result.source: result.score}).items():
            scores[name] = max(score, scores.get(name, score))
    return best


def _said(result: SearchResult, source: str, **metadata: Any) -> SearchResult:
    return replace(result, source=source, metadata=result.metadata | metadata)
