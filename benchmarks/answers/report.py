"""The table of a study: how many answers of each arm are right, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from .arms import ARMS
from .generator import STRATA, AskedQuestion
from .grading import Verdict, grade
from .records import Record

_VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "unknown")
_MEDIANS = ("prompt_tokens", "completion_tokens", "requests", "wall_seconds", "cpu_seconds")


def figures(records: Sequence[Record], questions: Sequence[AskedQuestion]) -> dict[str, Any]:
    """The figures of one model's records: of each arm all answers, and those to questions that every arm answered."""
    known = {question.question_id: question for question in questions}
    times = [record.answered_at for record in records]
    answers = {
        arm: {record.question_id: record for record in records if record.arm == arm and record.question_id in known}
        for arm in ARMS
    }
    answers = {arm: each for arm, each in answers.items() if each}
    shared = set.intersection(*(set(each) for each in answers.values())) if answers else set()
    return {
        "commits": sorted({record.commit for record in records}),
        "answered_at": [min(times, default=""), max(times, default="")],
        "answered": {arm: len(each) for arm, each in answers.items()},
        "shared_questions": [question.question_id for question in questions if question.question_id in shared],
        "shared": {
            arm: _arm([each[question_id] for question_id in sorted(shared)], known) for arm, each in answers.items()
        },
        "all": {arm: _arm(list(each.values()), known) for arm, each in answers.items()},
    }


def _arm(records: Sequence[Record], known: Mapping[str, AskedQuestion]) -> dict[str, Any]:
    graded = [
        (known[record.question_id].stratum, grade(record.answered.text, known[record.question_id]))
        for record in records
    ]
    counts = Counter(verdict for _, verdict in graded)
    return {
        "questions": len(records),
        **{verdict: counts[verdict] for verdict in _VERDICTS},
        "median": {
            name: round(median(record.answered.figures[name] for record in records), 2)
            for name in (_MEDIANS if records else ())
        },
        "called_tools": sum(bool(record.answered.tool_calls) for record in records),
        "right_by_stratum": {
            stratum: [graded.count((stratum, "right")), sum(each == stratum for each, _ in graded)]
            for stratum in STRATA
        },
    }


def listed(records: Sequence[Record], questions: Sequence[AskedQuestion]) -> Iterator[str]:
    """A line for each answer, with its grade, in order of the questions: for people who check the grades."""
    for question in questions:
        for record in (each for each in records if each.question_id == question.question_id):
            verdict = grade(record.answered.text, question)
            tools = ", ".join(call["name"] for call in record.answered.tool_calls)
            said = " ".join(record.answered.text.split())
            yield f"{verdict:7} {record.arm:7} {question.question_id}: {said}{f' [{tools}]' if tools else ''}"


def table(study: Mapping[str, Any]) -> str:
    """The figures as Markdown: the questions that every arm answered, and where an arm answered more, all of them."""
    parts = [f"{len(study['shared_questions'])} questions, answered in every arm:", *_table(study["shared"])]
    if any(arm["questions"] > len(study["shared_questions"]) for arm in study["all"].values()):
        parts += ["", "All answers:", *_table(study["all"])]
    return "\n".join(parts)


def _table(arms: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield ""
    yield (
        "| arm | questions | right | wrong | “I don't know” | tokens read | tokens written | requests "
        "| seconds | CPU seconds | called tools |"
    )
    yield "|---" * 11 + "|"
    for name, arm in arms.items():
        counts = [arm["questions"], *(arm[verdict] for verdict in _VERDICTS)]
        medians = [f"{arm['median'].get(each, 0):,.0f}" for each in _MEDIANS]
        yield f"| {' | '.join([ARMS[name].meaning, *map(str, counts), *medians, str(arm['called_tools'])])} |"
    yield ""
    yield f"| right, by kind | {' | '.join(STRATA)} |"
    yield "|---" * (len(STRATA) + 1) + "|"
    for name, arm in arms.items():
        shares = (f"{right} of {asked}" for right, asked in arm["right_by_stratum"].values())
        yield f"| {ARMS[name].meaning} | {' | '.join(shares)} |"
