"""What a person wants of their knowledge base, in their own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from ..asking import Question, UnansweredError, object_of, text_in
from ..llm_helpers import LLMHelpers
from .remembering import without_request

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


def understood(text: str, *, llm: LLMHelpers) -> Understood:
    """What a text asks for: by its first words, else as a model takes it; without one, a question is a search."""
    rules = understood_by_rules(text)
    if rules.intent != Intent.UNCLEAR:
        return rules
    question = Question(
        job="intent",
        schema=object_of(intent={"enum": [intent.value for intent in Intent]}, subject={"type": "string"}),
        material=f"Text:\n{rules.subject[:_LONGEST_SUBJECT]}",
        max_tokens=120,
    )
    try:
        return llm.answer(question, lambda answer: _read(answer, rules.subject))
    except UnansweredError:
        is_question = _QUESTION_END.search(rules.subject) is not None
        return Understood(intent=Intent.FIND, subject=rules.subject.rstrip(" ?？؟")) if is_question else rules


def _read(answer: Any, told: str) -> Understood:
    intent = Intent(answer["intent"])
    subject = text_in(answer["subject"], longest=_LONGEST_SUBJECT)
    # What is stored are the person's own words, whatever the model made of them.
    kept = told if intent == Intent.REMEMBER or not subject else subject
    return Understood(intent=intent, subject=kept, by="model")
