"""Searches in which a language model takes part: it widens the question, or judges what was found. Opt-in."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from language_models import blocking
from language_models.errors import ModelError, ModelFailedError
from language_models.ports import ChatModel

from .base import Found, SearchFilters, SearchResult, SearchStrategy, merge_results_rrf

log = logging.getLogger(__name__)

_LONGEST_QUERY = 1_000
_LONGEST_STATEMENT = 300
_REWRITINGS = 3
_REWRITTEN_WEIGHT = 0.5
_CANDIDATES = 30
_JUDGED_AT_ONCE = 10
_MOST_TOKENS = 200

_REWRITE = (
    "You help to search short personal notes. Write up to three other ways to ask for the same thing: "
    "with synonyms, with what such a note would say itself, without filler words. Keep names and numbers."
)
_REWRITE_SCHEMA = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": _REWRITINGS}},
    "required": ["queries"],
    "additionalProperties": False,
}
_JUDGE = (
    "You are given a question and numbered personal notes. "
    "Name the numbers of those notes that help to answer the question; none if none does."
)
_JUDGE_SCHEMA = {
    "type": "object",
    "properties": {"helpful": {"type": "array", "items": {"type": "integer"}, "maxItems": _JUDGED_AT_ONCE}},
    "required": ["helpful"],
    "additionalProperties": False,
}


class RewriteSearchStrategy(SearchStrategy):
    """A model asks the same in other words; what all the askings find is put together by rank."""

    name = "rewrite"

    def __init__(self, base: SearchStrategy, *, model: ChatModel | None, timeout: float) -> None:
        """`base` searches; without a `model` it does so alone. timeout: seconds that the model may take."""
        self.base = base
        self._asking = _Asking(model, timeout)

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims; a failing model costs a warning.

        `metadata["queries"]` says what was asked, `["scores"]` the best that each search gave in any of the askings.
        """
        found = self.base.find(query, max(k, _CANDIDATES), filters)
        try:
            answer = self._asking.ask(_REWRITE, query[:_LONGEST_QUERY], "queries", _REWRITE_SCHEMA)
        except ModelError as error:
            return _without_model(found, k, f"The question was not widened: {error.message}")
        queries = [str(text)[:_LONGEST_QUERY] for text in answer if str(text).strip()][:_REWRITINGS]
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
        self._asking = _Asking(model, timeout)

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims that the model calls helpful; where it calls none so, or fails, what was found at all."""
        found = self.base.find(query, max(k, _CANDIDATES), filters)
        judged: list[SearchResult] = []
        try:
            for start in range(0, min(len(found.results), _CANDIDATES), _JUDGED_AT_ONCE):
                judged += self._helpful(query, found.results[start : start + _JUDGED_AT_ONCE])
        except ModelError as error:
            return _without_model(found, k, f"The findings were not judged: {error.message}")
        if not judged:
            return _without_model(found, k, "The model called none of the findings helpful.")
        return Found(results=[_said(result, self.name, judged=True) for result in judged[:k]], warnings=found.warnings)

    def _helpful(self, query: str, results: Sequence[SearchResult]) -> list[SearchResult]:
        notes = (
            f"{number}. {result.claim.rendered()[:_LONGEST_STATEMENT]}" for number, result in enumerate(results, 1)
        )
        question = "\n".join([f"Question: {query[:_LONGEST_QUERY]}", "Notes:", *notes])
        numbers = set(self._asking.ask(_JUDGE, question, "helpful", _JUDGE_SCHEMA))
        return [result for number, result in enumerate(results, 1) if number in numbers]


class _Asking:
    """One question to a model, answered by a list."""

    def __init__(self, model: ChatModel | None, timeout: float) -> None:
        self._model = model
        self._timeout = timeout

    def ask(self, instruction: str, text: str, field: str, schema: Mapping[str, Any]) -> list[str | int]:
        """The list in `field` of the answer. Raises ModelError."""
        if self._model is None:
            raise ModelFailedError("No language model is configured.")
        completion = blocking.run(
            self._model.complete(
                [{"role": "system", "content": instruction}, {"role": "user", "content": text}],
                response_format={"type": "json_schema", "json_schema": {"name": field, "schema": schema}},
                max_tokens=_MOST_TOKENS,
                temperature=0.0,
            ),
            timeout=self._timeout,
        )
        try:
            values = json.loads(completion.text)[field]
        except (ValueError, KeyError, TypeError) as error:
            raise ModelFailedError("The model's answer can't be read.") from error
        if not isinstance(values, list):
            raise ModelFailedError("The model's answer can't be read.")
        return [value for value in values if isinstance(value, str | int)]


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
