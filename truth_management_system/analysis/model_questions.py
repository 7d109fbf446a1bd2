"""Small questions about statements that a language model answers; without one, rules answer or nothing does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from language_models.ports import ChatModel, EmbeddingModel
from sentences import because, say

from ..config import PKBConfig
from ..constants import ClaimType, ContextDomain
from ..models import Claim
from .asking import (
    ENTITIES,
    TAGS,
    TEXT,
    Analysis,
    Named,
    Question,
    UnansweredError,
    analysis_in,
    analysis_schema,
    ask,
    entities_in,
    items_in,
    list_of,
    object_of,
    one_of,
    tags_in,
    text_in,
)
from .rules import MOST_TAGS, rule_domain, rule_entities, rule_questions, rule_tags, rule_type
from .similarity import judged_by_rules
from .statements import words_of

Answer = TypeVar("Answer")

_OPENROUTER = "https://openrouter.ai/api/v1"
_OPENAI = "https://api.openai.com/v1"
_LONGEST_STATEMENT = 1_000
_MOST_COMPARED = 8
_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class KnowledgeModels:
    """The models that a knowledge base may use; None: there is none."""

    chat: ChatModel | None = None
    embedding: EmbeddingModel | None = None


class LLMHelpers:
    """Asks a model about statements. Nothing here raises: what can't be answered is empty, and `warnings` say why.

    keys: "OPENROUTER_API_KEY" or "OPENAI_API_KEY", used where no `models` are given. Every method blocks, at most for
    twice `config.llm_timeout` seconds.
    """

    def __init__(
        self,
        keys: Mapping[str, str] | None = None,
        config: PKBConfig | None = None,
        *,
        models: KnowledgeModels | None = None,
    ) -> None:
        self.config = config or PKBConfig()
        self.models = models or _models_for(keys or {}, self.config)
        self._local = threading.local()

    @property
    def warnings(self) -> list[str]:
        """What went wrong in this thread since `take_warnings`, the last twenty."""
        if not hasattr(self._local, "warnings"):
            self._local.warnings = []
        warnings: list[str] = self._local.warnings
        return warnings

    def warn(self, warning: str) -> None:
        """Remember what went wrong."""
        self.warnings.append(warning)
        del self.warnings[:-_MOST_WARNINGS]

    def take_warnings(self) -> list[str]:
        """The warnings of this thread, each once; from now on there are none."""
        taken = list(dict.fromkeys(self.warnings))
        self.warnings.clear()
        return taken

    def generate_tags(
        self, statement: str, context_domain: str | None = None, existing_tags: Sequence[str] | None = ()
    ) -> list[str]:
        """At most four lowercase tags, one at least; the model is shown some of the `existing_tags`.

        Where no model answers: existing tags whose words the statement has, then words of the statement.
        """
        known = existing_tags or ()
        return self.model_tags(statement, context_domain, known) or _rule_tags(statement, context_domain, known)

    def model_tags(
        self, statement: str, context_domain: str | None = None, existing_tags: Sequence[str] = ()
    ) -> list[str]:
        """As `generate_tags`, by a model alone: none where it gives none."""
        known = f"\nKnown tags: {', '.join(existing_tags[:20])}" if existing_tags else ""
        area = f"\nArea: {context_domain}" if context_domain else ""
        question = Question(
            job="tags",
            schema=object_of(tags=TAGS),
            material=f"Note: {_short(statement)}{area}{known}",
            max_tokens=60,
        )
        return self._answered(question, lambda answer: tags_in(answer["tags"]), otherwise=[], what="no_tags")

    def extract_entities(self, statement: str) -> list[Named]:
        """`{"name", "type", "role"}` of what the statement names, at most eight."""
        question = Question(
            job="entities",
            schema=object_of(entities=ENTITIES),
            material=f"Note: {_short(statement)}",
            max_tokens=160,
        )
        return self._answered(
            question, lambda answer: entities_in(answer["entities"], statement), otherwise=[], what="no_entities"
        )

    def extract_spo(self, statement: str) -> Named:
        """`{"subject", "predicate", "object"}`, or `{}`."""
        parts = ("subject", "predicate", "object")
        question = Question(
            job="triple",
            schema=object_of(**dict.fromkeys(parts, TEXT)),
            material=f"Sentence: {_short(statement)}",
            max_tokens=120,
        )

        def read(answer: Any) -> Named:
            return {part: text_in(answer[part], longest=_LONGEST_STATEMENT) for part in parts}

        return self._answered(question, read, otherwise={}, what="no_triple")

    def classify_claim_type(self, statement: str, types: Sequence[str] = tuple(ClaimType)) -> str:
        """One of `types`; by rules where the model gives none."""
        question = Question(
            job="claim_type",
            schema=object_of(type={"enum": [str(kind) for kind in types]}),
            material=f"Note: {_short(statement)}",
            max_tokens=20,
        )
        return self._answered(
            question,
            lambda answer: one_of(answer["type"], types),
            otherwise=_known_or(rule_type(statement), types, ClaimType.FACT),
            what="type_by_rules",
        )

    def check_similarity(
        self,
        new_claim: Claim | Mapping[str, Any] | str,
        existing_claims: Sequence[Claim | Mapping[str, Any] | str],
        threshold: float = 0.0,
    ) -> list[dict[str, Any]]:
        """What a new claim or statement is to known claims, in their order.

        `{"claim_id", "similarity", "relation"}`; relation: "duplicate", "contradiction", "related". similarity: of the
        vectors, or the share of common words where there are none; those below `threshold` are left out. A model
        judges the first eight; the others, and all of them where it does not answer, are judged by rules.
        """
        _, statement = _identified(new_claim)
        known = [_identified(claim) for claim in existing_claims]
        found = [one for one in judged_by_rules(self, statement, known) if one["similarity"] >= threshold]
        if not found:
            return []
        statements = dict(known)
        judged = self._relations(statement, [statements[one["claim_id"]] for one in found[:_MOST_COMPARED]])
        for one, relation in zip(found, judged, strict=False):
            one["relation"] = relation
        return found

    def analyze_statement(
        self,
        statement: str,
        *,
        types: Sequence[str] = tuple(ClaimType),
        domains: Sequence[str] = tuple(ContextDomain),
    ) -> Analysis:
        """Suggestions for all that a claim has besides its statement: by the model, or by rules."""
        question = Question(
            job="analysis",
            schema=analysis_schema(types, domains),
            material=f"Note: {_short(statement)}",
            max_tokens=250,
        )
        analysis = self._answered(
            question,
            lambda answer: analysis_in(answer, statement, types=types, domains=domains),
            otherwise=None,
            what="suggested_by_rules",
        )
        return analysis or self.by_rules(statement, types=types, domains=domains)

    def by_rules(
        self,
        statement: str,
        *,
        types: Sequence[str] = tuple(ClaimType),
        domains: Sequence[str] = tuple(ContextDomain),
        default_type: str = ClaimType.FACT.value,
        default_domain: str = ContextDomain.PERSONAL.value,
    ) -> Analysis:
        """Suggestions without a model; the defaults are for statements whose words say nothing."""
        return Analysis(
            claim_type=_known_or(rule_type(statement, default_type), types, default_type),
            context_domain=_known_or(rule_domain(statement, default_domain), domains, default_domain),
            tags=rule_tags(statement),
            entities=rule_entities(statement),
            possible_questions=rule_questions(statement),
            by="rules",
            warnings=list(self.warnings),
        )

    def answer(self, question: Question, read: Callable[[Any], Answer]) -> Answer:
        """What the model answers, as `read` makes it of the JSON. Raises UnansweredError, the only method that does."""
        if self.models.chat is None:
            raise UnansweredError(say("no_language_model"), is_silent=True)
        return ask(
            self.models.chat,
            question,
            read=read,
            timeout=self.config.llm_timeout,
            temperature=self.config.llm_temperature,
            is_logged=self.config.log_llm_calls,
        )

    def _answered(self, question: Question, read: Callable[[Any], Answer], *, otherwise: Answer, what: str) -> Answer:
        try:
            return self.answer(question, read)
        except UnansweredError as error:
            self.warn(because(what, error.reason))
            return otherwise

    def _relations(self, statement: str, known: Sequence[str]) -> list[str]:
        relations = ("duplicate", "contradiction", "related")
        older = "\n".join(f"{number}. {_short(text)[:200]}" for number, text in enumerate(known, 1))
        judgement = object_of(number={"type": "integer"}, relation={"enum": list(relations)})
        question = Question(
            job="similarity",
            schema=object_of(notes=list_of(judgement, most=len(known))),
            material=f"New note: {_short(statement)[:400]}\n\nOlder notes:\n{older}",
            max_tokens=30 + 20 * len(known),
        )

        def read(answer: Any) -> list[str]:
            told = {item["number"]: one_of(item["relation"], relations) for item in items_in(answer["notes"])}
            return [told[number] for number in range(1, len(known) + 1)]

        return self._answered(question, read, otherwise=[], what="compared_by_rules")


def _models_for(keys: Mapping[str, str], config: PKBConfig) -> KnowledgeModels:
    """What a program's own keys reach; no vectors, since those would be sent away claim by claim."""
    for name, base_url in (("OPENROUTER_API_KEY", _OPENROUTER), ("OPENAI_API_KEY", _OPENAI)):
        if key := keys.get(name):
            from language_models.openai.chat import ProviderChatModel

            model = config.llm_model.removeprefix("openai/") if base_url == _OPENAI else config.llm_model
            return KnowledgeModels(chat=ProviderChatModel(base_url=base_url, api_key=key, model=model))
    return KnowledgeModels()


def _known_or(value: str, known: Sequence[str], otherwise: str) -> str:
    return value if value in {str(one) for one in known} else str(otherwise)


def _identified(candidate: Claim | Mapping[str, Any] | str) -> tuple[str, str]:
    if isinstance(candidate, Claim):
        return candidate.claim_id, candidate.statement
    if isinstance(candidate, Mapping):
        return str(candidate.get("claim_id", "")), str(candidate["statement"])
    return str(candidate), str(candidate)


def _rule_tags(statement: str, context_domain: str | None, existing_tags: Sequence[str]) -> list[str]:
    words = {piece for word in words_of(statement) for piece in (word, word.removesuffix("s"))}
    fitting = [tag for tag in existing_tags if {word.removesuffix("s") for word in words_of(tag)} <= words]
    by_words = rule_tags(statement) or [word for word in words_of(statement) if word.isalnum()]
    tags = [*(tag.lower() for tag in fitting), *by_words] or [context_domain or ContextDomain.PERSONAL.value]
    return list(dict.fromkeys(tags))[:MOST_TAGS]


def _short(statement: str) -> str:
    return " ".join(str(statement).split())[:_LONGEST_STATEMENT]
