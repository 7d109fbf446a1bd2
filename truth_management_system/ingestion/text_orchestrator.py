"""Free text as a way to use the knowledge base: remember, find, forget, show what is in conflict."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from truth_management_system.models import ActionResult, ReadByName

from ..analysis.asking import Question, UnansweredError, object_of, text_in
from ..analysis.model_questions import LLMHelpers
from ..analysis.statements import readable, without_request
from ..config import PKBConfig
from ..models import Claim
from ..search.similar import SimilarClaim
from .distiller import helpers_for

if TYPE_CHECKING:
    from ..interface.structured_api import StructuredAPI

_LONGEST_SUBJECT = 1_000


class Intent(StrEnum):
    """What is to be done."""

    REMEMBER = "remember"
    FIND = "find"
    FORGET = "forget"
    CONFLICTS = "conflicts"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """intent and what it is about, as the person said it. by: who understood it so."""

    intent: Intent
    subject: str
    by: Literal["rules", "model"] = "rules"


_PLEASE = r"\s*(?:please\s+|can you\s+|could you\s+)?"
_CONFLICTS = re.compile(
    rf"{_PLEASE}(?:show|list|what are|are there|any|see)?\b.{{0,40}}?"
    r"\b(?:conflicts?|contradictions?|contested)\b[\s?.!]*$",
    re.IGNORECASE,
)
_FORGET = re.compile(
    rf"{_PLEASE}(?:forget|delete|remove|erase|retract)\s+"
    r"(?:(?:that|about|the|my|this)\s+)?(?:(?:memory|memories|claim|fact|note)\b\s*(?:about|of|that)?\s*)?",
    re.IGNORECASE,
)
_FIND = re.compile(
    rf"{_PLEASE}(?:(?:find|search|look up|recall|look for|show(?: me)?|list)\b(?:\s+for)?"
    r"(?:\s+(?:everything|all|what|anything))?(?:\s+(?:my\s+)?(?:memories|claims|notes|facts))?"
    r"(?:\s+(?:i|you) know)?(?:\s+(?:about|on|of|for)\b)?|"
    r"what (?:do|did) (?:i|you) (?:know|remember|say|have|note)(?: about| on| of)?|"
    r"do (?:i|you) (?:know|remember|have) (?:anything|something) (?:about|on))\s*",
    re.IGNORECASE,
)
_ADD = re.compile(
    rf"{_PLEASE}(?:add|save|store|note|remember)\b(?:\s+(?:a|an|the|new|this|that))*"
    r"(?:\s+(?:memory|claim|fact|note))?\s*(?:[:：–—-]|\bthat\b)?\s*",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"[?？؟]\s*$")


def understood_by_rules(text: str) -> Understood:
    """What a text asks for by its first words; `unclear` for what begins like none of the requests that are known."""
    told = text.strip()
    if _CONFLICTS.match(told):
        return Understood(intent=Intent.CONFLICTS, subject="")
    if wish := without_request(told).wish:
        return Understood(intent=Intent.REMEMBER, subject=wish)
    for intent, pattern in ((Intent.FORGET, _FORGET), (Intent.FIND, _FIND), (Intent.REMEMBER, _ADD)):
        found = pattern.match(told)
        subject = told[found.end() :].strip() if found else ""
        if intent != Intent.REMEMBER:
            subject = subject.strip(" ?!.\"'“”")
        if subject:
            return Understood(intent=intent, subject=subject)
    return Understood(intent=Intent.UNCLEAR, subject=told)


def understood(text: str, *, llm: LLMHelpers, use_llm: bool = True) -> Understood:
    """What a text asks for: by its first words, else as a model takes it; without one, a question is a search."""
    rules = understood_by_rules(text)
    if rules.intent != Intent.UNCLEAR:
        return rules
    if not use_llm:
        return _search_if_question(rules)
    question = Question(
        job="intent",
        schema=object_of(intent={"enum": [intent.value for intent in Intent]}, subject={"type": "string"}),
        material=f"Text:\n{rules.subject[:_LONGEST_SUBJECT]}",
        max_tokens=120,
    )
    try:
        return llm.answer(question, lambda answer: _read(answer, rules.subject))
    except UnansweredError:
        return _search_if_question(rules)


def _search_if_question(unclear: Understood) -> Understood:
    is_question = _QUESTION_END.search(unclear.subject) is not None
    return Understood(intent=Intent.FIND, subject=unclear.subject.rstrip(" ?？؟")) if is_question else unclear


def _read(answer: Any, told: str) -> Understood:
    intent = Intent(answer["intent"])
    subject = text_in(answer["subject"], longest=_LONGEST_SUBJECT)
    # What is stored are the person's own words, whatever the model made of them.
    kept = told if intent == Intent.REMEMBER or not subject else subject
    return Understood(intent=intent, subject=kept, by="model")


_MOST_FOUND, _MOST_TO_FORGET = 10, 5
_LONGEST_QUERY = 2_000
_ACTIONS = {
    Intent.REMEMBER: "add_claim",
    Intent.FIND: "search",
    Intent.FORGET: "delete_claim",
    Intent.CONFLICTS: "list_conflicts",
    Intent.UNCLEAR: "clarify",
}
_DONE = {"delete": "deleted", "forget": "deleted", "pin": "pinned", "unpin": "unpinned"}
_EXAMPLES = '"remember that …", "what do I know about …", "forget …" or "show conflicts"'


@dataclass(slots=True, kw_only=True)
class OrchestrationResult(ReadByName):
    """What a text led to.

    action_taken: for a person, such as "found 3 claims". clarifying_questions: what the person should answer.
    affected_objects: `{"object_type", "object_id", "friendly_id", "statement"}` of what was added, found, or may be
    forgotten. raw_intent: `{"action", "subject", "by"}`; action: "add_claim", "search", "delete_claim" (nothing is
    deleted yet), "list_conflicts", "clarify", or what was confirmed.
    """

    action_taken: str
    action_result: ActionResult
    clarifying_questions: list[str] = field(default_factory=list)
    affected_objects: list[dict[str, Any]] = field(default_factory=list)
    raw_intent: dict[str, str] = field(default_factory=dict)


class TextOrchestrator:
    """keys: of a model service, for programs whose `api` has no models; config: that of `api` unless given."""

    def __init__(
        self, api: StructuredAPI, keys: Mapping[str, str] | None = None, config: PKBConfig | None = None
    ) -> None:
        self.api = api
        self.llm = helpers_for(api, keys, config)
        self._acts: dict[Intent, Callable[[str], OrchestrationResult]] = {
            Intent.FIND: self._find,
            Intent.FORGET: self._ask_which,
            Intent.CONFLICTS: self._show_conflicts,
            Intent.UNCLEAR: self._ask_what,
        }

    def process(self, text: str, *, use_llm: bool = True) -> OrchestrationResult:
        """Do what `text` asks for. Nothing is ever deleted here: the person is asked which one is meant first.

        use_llm: without, rules alone say what is asked for and how it is filed.
        """
        told = readable(text).strip() if isinstance(text, str) else ""
        nothing = Understood(intent=Intent.UNCLEAR, subject="")
        wanted = understood(told, llm=self.llm, use_llm=use_llm) if told else nothing
        if wanted.intent == Intent.REMEMBER:
            result = self._remember(wanted.subject, use_llm=use_llm)
        else:
            result = self._acts[wanted.intent](wanted.subject)
        result.raw_intent = {"action": _ACTIONS[wanted.intent], "subject": wanted.subject, "by": wanted.by}
        result.action_result.warnings += self.llm.take_warnings()
        return result

    def execute_confirmed_action(self, action: str, target_id: str) -> OrchestrationResult:
        """Do what the person confirmed: "delete" (or "forget"), "pin", "unpin" the claim that `target_id` names."""
        done = self._confirmed(action, target_id)
        return OrchestrationResult(
            action_taken=f"{_DONE[action]} 1 claim" if done.success else "nothing",
            action_result=done,
            affected_objects=_objects([done.data] if done.success else []),
            raw_intent={"action": action, "subject": target_id, "by": "person"},
        )

    def _confirmed(self, action: str, target_id: str) -> ActionResult:
        acts: dict[str, Callable[[str], ActionResult]] = {
            "delete": self.api.delete_claim,
            "forget": self.api.delete_claim,
            "pin": self.api.pin_claim,
            "unpin": lambda claim_id: self.api.pin_claim(claim_id, pin=False),
        }
        if not isinstance(action, str) or action not in acts:
            return ActionResult(
                False, str(action), "claim", errors=[f"{action!r} can't be confirmed; use one of {', '.join(acts)}."]
            )
        claim = self.api.resolve_claim_identifier(target_id)
        return acts[action](claim.claim_id if claim else target_id)

    def _remember(self, statement: str, *, use_llm: bool) -> OrchestrationResult:
        types = [category.name for category in self.api.type_catalog.list()]
        domains = [category.name for category in self.api.domain_catalog.list()]
        suggest = self.llm.analyze_statement if use_llm else self.llm.by_rules
        analysis = suggest(statement, types=types, domains=domains)
        added: ActionResult = self.api.add_claim(
            statement,
            analysis.claim_type,
            analysis.context_domain,
            tags=analysis.tags,
            entities=analysis.entities,
            possible_questions=analysis.possible_questions,
            auto_extract=False,
            suggest_similar=True,
        )
        questions = [_about_similar(similar) for similar in added.metadata.get("similar", ())]
        return OrchestrationResult(
            action_taken="added 1 claim" if added.success else "nothing",
            action_result=added,
            clarifying_questions=[question for question in questions if question],
            affected_objects=_objects([added.data] if added.success else []),
        )

    def _find(self, subject: str) -> OrchestrationResult:
        found = self.api.search(subject[:_LONGEST_QUERY], k=_MOST_FOUND)
        claims = [result.claim for result in found.data or ()]
        return OrchestrationResult(
            action_taken=f"found {_counted(len(claims), 'claim')}",
            action_result=found,
            affected_objects=_objects(claims),
        )

    def _ask_which(self, subject: str) -> OrchestrationResult:
        named = self.api.resolve_claim_identifier(subject)
        found = self.api.search(subject[:_LONGEST_QUERY], k=_MOST_TO_FORGET)
        claims = [named] if named else [result.claim for result in found.data or ()]
        question = (
            "Which of these is to be forgotten? Confirm with its id."
            if claims
            else f"Nothing is known about {subject!r}."
        )
        return OrchestrationResult(
            action_taken=f"found {_counted(len(claims), 'claim')} to delete",
            action_result=found,
            clarifying_questions=[question],
            affected_objects=_objects(claims),
        )

    def _show_conflicts(self, subject: str) -> OrchestrationResult:
        conflicts = self.api.get_open_conflicts()
        ids = list(dict.fromkeys(claim_id for one in conflicts.data or () for claim_id in one.member_claim_ids))
        return OrchestrationResult(
            action_taken=f"found {_counted(len(conflicts.data or ()), 'conflict')}",
            action_result=conflicts,
            affected_objects=_objects(self.api.claims.get_many(ids)),
        )

    def _ask_what(self, subject: str) -> OrchestrationResult:
        nothing = ActionResult(False, "none", "claim", errors=["It is not clear what to do."])
        return OrchestrationResult(
            action_taken="nothing",
            action_result=nothing,
            clarifying_questions=[f"What shall be done? Write for instance {_EXAMPLES}."],
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _about_similar(similar: SimilarClaim) -> str:
    known = f"@{similar.claim.friendly_id} ({similar.claim.statement[:200]})"
    if similar.kind == "contradiction":
        return f"This contradicts {known}. Keep both, let the new one supersede it, or open a conflict?"
    return f"This says nearly the same as {known}. Keep both?" if similar.kind == "duplicate" else ""


def _objects(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    return [
        {
            "object_type": "claim",
            "object_id": claim.claim_id,
            "friendly_id": claim.friendly_id,
            "statement": claim.statement,
        }
        for claim in claims
    ]
