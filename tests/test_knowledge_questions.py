"""The questions that search is measured by are what they say they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from conversation_reference_utils import _extract_meaningful_words

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "knowledge_questions.json").read_text("utf-8"))
CLAIMS = {claim["id"]: claim for claim in DATA["claims"]}
DOMAINS = {"health", "personal", "work", "relationships", "learning", "finance", "life_ops"}
TYPES = {"fact", "preference", "decision", "memory", "task", "reminder", "habit", "observation"}


def words(text: str) -> set[str]:
    return set(_extract_meaningful_words(text, max_words=100))


def shared(question: dict[str, Any]) -> set[str]:
    claim = CLAIMS[question["claim_id"]]
    return words(question["question"]) & words(" ".join([claim["statement"], *claim["tags"]]))


def test_sixty_questions_each_have_a_claim_of_their_own_among_three_hundred() -> None:
    assert len(CLAIMS) == len(DATA["claims"]) == 300
    assert len({claim["statement"] for claim in CLAIMS.values()}) == 300
    assert len({question["claim_id"] for question in DATA["questions"]} & CLAIMS.keys()) == 60


def test_there_are_as_many_questions_of_each_kind() -> None:
    assert Counter(question["kind"] for question in DATA["questions"]) == {"words": 20, "meaning": 20, "between": 20}


def test_a_question_of_meaning_shares_no_word_with_its_claim_and_the_others_do() -> None:
    for question in DATA["questions"]:
        assert bool(shared(question)) == (question["kind"] != "meaning"), question


def test_claims_are_filed_under_types_and_domains_that_everybody_has() -> None:
    assert {claim["claim_type"] for claim in CLAIMS.values()} <= TYPES
    assert {claim["context_domain"] for claim in CLAIMS.values()} <= DOMAINS
