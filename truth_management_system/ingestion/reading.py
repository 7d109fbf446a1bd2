"""What a model reads out of a text: facts of a given shape, each held against the text that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from language_models.ports import ChatModel

from ..analysis.asking import (
    TAGS,
    TEXT,
    Analysis,
    Question,
    items_in,
    list_of,
    object_of,
    one_of,
    tags_in,
    text_in,
)
from ..analysis.comparing import content_words, values_of
from ..analysis.model_questions import LLMHelpers
from ..constants import ClaimType, ContextDomain
from .plans import IngestCandidate

_LONGEST_FACT = 1_000
# A fact may say "lives" where the text says "living", but not speak of what the text does not mention.
_LEAST_FROM_TEXT = 0.6
_STEM = 4
_CONFIDENCE_OF_MODEL, CONFIDENCE_OF_RULES = 0.8, 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of a text a model reads at once, in characters, and how much it may answer, in facts and tokens."""

    longest: int
    most_facts: int
    max_tokens: int
    is_small: bool

    @classmethod
    def of(cls, model: ChatModel) -> Share:
        """Small models on ordinary processors read 60 tokens a second and lose the thread soon.

        They are known by their measured speed and not by their window: GPT-4's is no larger than theirs.
        """
        if model.speed().is_slow:
            return cls(longest=600, most_facts=8, max_tokens=300, is_small=True)
        return cls(
            longest=min(6_000, model.context_window),
            most_facts=60,
            max_tokens=min(4_000, model.context_window // 2),
            is_small=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """What a claim of this user may be, and what it is where nothing says otherwise."""

    types: Sequence[str]
    domains: Sequence[str]
    default_type: str
    default_domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactReader:
    """Asks a model for the facts in a text, or makes them out of statements by rules."""

    llm: LLMHelpers
    categories: Categories

    def read(self, job: str, material: str, *, share: Share, source: str | None = None) -> list[IngestCandidate]:
        """The facts that the model finds in `material` and that `source` (all of it, unless told) bears out.

        Raises UnansweredError.
        """
        fact: dict[str, Any] = {
            "statement": TEXT,
            "type": {"enum": list(self.categories.types)},
            "domain": {"enum": list(self.categories.domains)},
        }
        if not share.is_small:
            fact["tags"] = TAGS
        question = Question(
            job=job,
            schema=object_of(facts=list_of(object_of(**fact), most=share.most_facts)),
            material=material,
            max_tokens=share.max_tokens,
        )
        told = source if source is not None else material

        def facts(answer: Any) -> list[IngestCandidate]:
            read = [self._candidate(item, is_small=share.is_small) for item in items_in(answer["facts"])]
            return [candidate for candidate in read if candidate and is_borne_out(candidate.statement, told)]

        return self.llm.answer(question, facts)

    def by_rules(self, statement: str, *, confidence: float = CONFIDENCE_OF_RULES) -> IngestCandidate:
        """A candidate out of a statement, without a model."""
        analysis = self.llm.by_rules(
            statement,
            types=self.categories.types,
            domains=self.categories.domains,
            default_type=self.categories.default_type,
            default_domain=self.categories.default_domain,
        )
        return _candidate_of(statement, analysis, confidence)

    def analysed(self, statement: str, *, confidence: float) -> IngestCandidate:
        """A candidate out of a statement that stays as it is; what else a claim has, the model suggests, or rules."""
        analysis = self.llm.analyze_statement(statement, types=self.categories.types, domains=self.categories.domains)
        return _candidate_of(statement, analysis, confidence)

    def _candidate(self, item: Any, *, is_small: bool) -> IngestCandidate | None:
        statement = text_in(item["statement"], longest=_LONGEST_FACT)
        if len(statement.split()) < 2 and statement.isascii():
            return None
        kind = one_of(item["type"], self.categories.types)
        domain = one_of(item["domain"], self.categories.domains)
        by_rules = self.by_rules(statement)
        # Small models call nearly everything a personal fact; words that say more are believed.
        return IngestCandidate(
            statement=statement,
            claim_type=by_rules.claim_type if is_small and kind == ClaimType.FACT else kind,
            context_domain=by_rules.context_domain if is_small and domain == ContextDomain.PERSONAL else domain,
            tags=tags_in(item.get("tags", [])) or by_rules.tags,
            entities=by_rules.entities,
            possible_questions=by_rules.possible_questions,
            confidence=_CONFIDENCE_OF_MODEL,
        )


def is_borne_out(statement: str, source: str) -> bool:
    """Whether a text may have said so: all numbers, days and months, and most of the words are in it."""
    words, told = content_words(statement), content_words(source)
    values = values_of(words)
    if not values <= told:
        return False
    beginnings = {word[:_STEM] for word in told}
    rest = words - values
    return not rest or sum(word[:_STEM] in beginnings for word in rest) >= _LEAST_FROM_TEXT * len(rest)


def _candidate_of(statement: str, analysis: Analysis, confidence: float) -> IngestCandidate:
    return IngestCandidate(
        statement=statement,
        claim_type=analysis.claim_type,
        context_domain=analysis.context_domain,
        tags=analysis.tags,
        entities=analysis.entities,
        possible_questions=analysis.possible_questions,
        confidence=confidence,
    )
