"""What a person wants of their knowledge base, in their own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from language_models.testing import Reply
from tests.truth_management_system.ingestion.conftest import saying
from truth_management_system import LLMHelpers
from truth_management_system.analysis.model_questions import KnowledgeModels
from truth_management_system.ingestion.text_orchestrator import Intent, Understood, understood, understood_by_rules


@pytest.mark.parametrize(
    ("text", "intent", "subject"),
    [
        ("remember that I like tea", "remember", "I like tea"),
        ("/memory I like tea", "remember", "I like tea"),
        ("Please add a memory: I like tea!", "remember", "I like tea!"),
        ("find my notes on tea", "find", "tea"),
        ("What do I know about Anna?", "find", "Anna"),
        ("search tea", "find", "tea"),
        ("show me everything about health", "find", "health"),
        ("do you know anything about Anna?", "find", "Anna"),
        ("forget the memory about Anna", "forget", "Anna"),
        ("delete @tea_a3f2", "forget", "@tea_a3f2"),
        ("show conflicts", "conflicts", ""),
        ("Are there any contradictions?", "conflicts", ""),
        ("I like tea", "unclear", "I like tea"),
        ("find", "unclear", "find"),
        ("forget", "unclear", "forget"),
    ],
)
def test_the_first_words_say_what_is_wanted(text: str, intent: str, subject: str) -> None:
    assert understood_by_rules(text) == Understood(intent=Intent(intent), subject=subject)


def helpers(*answers: Any) -> LLMHelpers:
    model = saying(*(Reply(json.dumps(answer)) for answer in answers)) if answers else None
    return LLMHelpers(models=KnowledgeModels(chat=model))


def test_a_model_is_asked_where_they_do_not() -> None:
    told = {"intent": "remember", "subject": "tea"}
    assert understood("I like tea", llm=helpers(told)) == Understood(
        intent=Intent.REMEMBER, subject="I like tea", by="model"
    )
    told = {"intent": "find", "subject": "Anna"}
    assert understood("Where is Anna?", llm=helpers(told)) == Understood(intent=Intent.FIND, subject="Anna", by="model")


@pytest.mark.parametrize("answers", [(), ({"intent": "burn", "subject": ""},)])
def test_without_its_answer_a_question_is_a_search(answers: tuple[Any, ...]) -> None:
    assert understood("Where is Anna?", llm=helpers(*answers)).intent == Intent.FIND
    assert understood("I like tea", llm=helpers(*answers)).intent == Intent.UNCLEAR
