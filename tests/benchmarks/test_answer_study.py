"""The answer study: its histories, its questions and its grader."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from benchmarks.answers.generator import (
    CHOSEN,
    QUESTIONS_FILE,
    STRATA,
    AnswerHistory,
    AskedQuestion,
    Source,
    answer_histories,
    as_json,
    questions_in_order,
)
from benchmarks.answers.grading import Verdict, grade

# Fixed before any model was asked; whoever changes histories or questions has every answer made anew.
DIGEST = "89137897f313a609ecc170aa19eb3a705fddcccbaf8193f6ab8823941fbcf442"


def texts_of(sources: tuple[Source, ...], history: AnswerHistory) -> Iterator[str]:
    documents = {document.path: document.text for document in history.documents}
    for source in sources:
        match source.kind:
            case "message":
                yield history.talks[source.talk].said[source.place].text
            case "memory":
                yield history.memories[source.place]
            case "document":
                yield documents[source.path]


def matching(patterns: tuple[str, ...], texts: Iterator[str]) -> list[str]:
    return [text for text in texts if any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)]


def test_the_histories_are_those_that_the_published_answers_are_about() -> None:
    content = json.dumps([asdict(history) for history in answer_histories()], sort_keys=True, default=str)
    assert hashlib.sha256(content.encode()).hexdigest() == DIGEST


def test_the_questions_that_were_committed_are_those_of_the_histories() -> None:
    assert QUESTIONS_FILE.read_text(encoding="utf-8") == as_json()


def test_sixty_questions_over_ten_histories_are_asked_in_rounds_of_one_of_each_stratum() -> None:
    questions = questions_in_order()
    assert len({question.question_id for question in questions}) == 60
    assert Counter(question.history for question in questions) == dict.fromkeys(range(10), 6)
    for first in range(0, 60, len(STRATA)):
        assert [question.stratum for question in questions[first : first + len(STRATA)]] == list(STRATA)
    assert {question.history for question in questions[:CHOSEN]} == set(range(10))


@pytest.mark.parametrize("question", questions_in_order(), ids=lambda question: question.question_id)
def test_the_answer_is_where_a_person_would_point_and_nowhere_where_there_is_none(question: AskedQuestion) -> None:
    history = answer_histories()[question.history]
    pointed_at = list(texts_of(question.sources, history))
    assert pointed_at
    if question.stratum == "absent":
        assert not question.accepted
        assert [text for text in history.texts() for words in question.absent if words in text.lower()] == []
        assert matching(question.rejected, iter(pointed_at)), "what is near tempts to a wrong answer"
    else:
        assert matching(question.accepted, iter(pointed_at))
        assert not matching(question.rejected, iter(pointed_at[-1:]))
        assert matching(question.rejected, history.texts()), "something else in the history is to be told apart"


def test_a_fact_that_was_changed_is_told_before_and_after() -> None:
    for question in questions_in_order():
        if question.stratum == "changed":
            talks = answer_histories()[question.history].talks
            said = [(number, said.text) for number, talk in enumerate(talks) for said in talk.said]
            old = [number for number, text in said if matching(question.rejected, iter([text]))]
            assert min(old) < question.sources[0].talk


def test_combined_facts_are_told_in_two_conversations() -> None:
    for question in questions_in_order():
        if question.stratum == "combined":
            assert len({source.talk for source in question.sources}) == 2


def asked(stratum: str) -> AskedQuestion:
    accepted = () if stratum == "absent" else (r"\bThursdays?\b",)
    return AskedQuestion(
        question_id="q",
        history=0,
        stratum=stratum,  # type: ignore[arg-type]
        text="When does the club meet?",
        accepted=accepted,
        rejected=(r"\bMondays?\b",),
        sources=(),
        absent=(),
    )


@pytest.mark.parametrize(
    ("stratum", "answer", "verdict"),
    [
        ("single", "On Thursday.", "right"),
        ("single", "Your club meets on **Thursdays** at eight.", "right"),
        ("single", "On Monday.", "wrong"),
        ("single", "On Monday or Thursday.", "wrong"),
        ("single", "On Friday.", "wrong"),
        ("single", "", "wrong"),
        ("single", "I don't know.", "unknown"),
        ("single", "I’m sorry, but I don’t have access to your calendar.", "unknown"),
        ("single", "The day is not mentioned in what you gave me.", "unknown"),
        ("single", "I do not know, perhaps on Monday.", "wrong"),
        ("single", "Could you tell me more? I can't find it; it may be Thursday.", "right"),
        ("changed", "It was moved from Monday to Thursday.", "right"),
        ("changed", "On Thursday, no longer on Monday.", "right"),
        ("changed", "Monday, Thursday.", "wrong"),
        ("changed", "Every Monday at eight.", "wrong"),
        ("absent", "I don't know.", "right"),
        ("absent", "There is no information about that.", "right"),
        ("absent", "It meets on Monday.", "wrong"),
        ("absent", "I don't know the club, but you have something on Mondays.", "wrong"),
        ("absent", "It meets on Sunday.", "wrong"),
    ],
)
def test_an_answer_is_graded_by_what_it_names(stratum: str, answer: str, verdict: Verdict) -> None:
    assert grade(answer, asked(stratum)) == verdict
