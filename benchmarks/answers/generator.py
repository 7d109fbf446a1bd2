"""Ten histories with known facts and sixty questions about them, made of `material.toml`; the same ones each time.

A history asks one question of each stratum. Its facts are told in conversations of their own, most of them beside
something else, among about a hundred messages on other subjects (of `benchmarks.questions`) and facts that nobody asks
about. `python -m benchmarks.answers.generator` writes `questions.json`, in the order in which they are asked.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ..questions.generator import generated_histories
from ..questions.histories import History

Stratum = Literal["single", "changed", "combined", "document", "memory", "absent"]
STRATA: tuple[Stratum, ...] = ("single", "changed", "combined", "document", "memory", "absent")
HISTORIES = 10
CHOSEN = 24
"""How many questions every run answers first, in every arm: four of each stratum."""
QUESTIONS_FILE = Path(__file__).with_name("questions.json")

_MATERIAL = Path(__file__).with_name("material.toml")
_STEP = 7
_TALKS_BESIDE = 14
_LONGEST_TALK = 8
_TOLD_BESIDE = 8
_BEGUN_WITH_OTHERS = 0.6
_EARLIEST_DAYS, _LATEST_DAYS = 500, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message; sender: "user" or "model"."""

    sender: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One conversation, a minute between its messages."""

    begun_at: datetime
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of the vault."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an answer is found: a message (`talk`, `place`), a memory (`place`) or a document (`path`)."""

    kind: Literal["message", "memory", "document"]
    talk: int = -1
    place: int = -1
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question with its key.

    accepted, rejected: regular expressions of right answers, and of wrong ones that the history suggests. sources: what
    a person would name by hand; of a question whose answer is not there, the place where one would look for it.
    """

    question_id: str
    history: int
    stratum: Stratum
    text: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    sources: tuple[Source, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHistory:
    """What one person has: conversations in order of time, memories, documents."""

    number: int
    talks: tuple[Talk, ...]
    memories: tuple[str, ...]
    documents: tuple[Document, ...]
    questions: tuple[AskedQuestion, ...]

    def texts(self) -> Iterator[str]:
        """Everything that is written in it."""
        yield from (said.text for talk in self.talks for said in talk.said)
        yield from self.memories
        yield from (document.text for document in self.documents)


@cache
def answer_histories() -> tuple[AnswerHistory, ...]:
    """The ten histories, always the same."""
    with _MATERIAL.open("rb") as file:
        families = tomllib.load(file)["family"]
    by_stratum = {stratum: [each for each in families if each["stratum"] == stratum] for stratum in STRATA}
    others = generated_histories()
    return tuple(_made(number, by_stratum, others[number]) for number in range(HISTORIES))


def questions_in_order() -> list[AskedQuestion]:
    """All questions in rounds of one of each stratum, so that the strata are balanced wherever a run stops.

    The first `CHOSEN` of them are the chosen ones.
    """
    histories = answer_histories()
    return [
        histories[(round_ * _STEP + place) % HISTORIES].questions[place]
        for round_ in range(HISTORIES)
        for place in range(len(STRATA))
    ]


def as_json() -> str:
    """The questions as `questions.json` has them."""
    rows = [
        {name: value for name, value in asdict(question).items() if name not in {"sources", "absent"}}
        | {"chosen": place < CHOSEN}
        for place, question in enumerate(questions_in_order())
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


_Family = Mapping[str, Any]


_FORMS: Mapping[str, Callable[[str], str]] = {
    "first": lambda value: value.split()[0],
    "last": lambda value: value.split()[-1],
    "stem": lambda value: re.sub(r"(ies|s)$", "", value),
    "clock": lambda value: value.removeprefix("0"),
    "digits": lambda value: re.sub(r"\D", "", value),
    "thousands": lambda value: f"{int(value):,}",
}


class _Key(str):
    """A drawn value as part of a key, which is a regular expression. Its forms, of `_FORMS`, are attributes."""

    def __format__(self, _specification: str) -> str:
        return re.escape(self)

    def __getattr__(self, form: str) -> _Key:
        return _Key(_FORMS[form](self))


def _made(number: int, families: Mapping[Stratum, Sequence[_Family]], beside: History) -> AnswerHistory:
    """The history that asks for the family of this number in each stratum."""
    teller = _Teller(random.Random(f"answers {number}"), beside)
    asked = {stratum: families[stratum][number] for stratum in STRATA}
    values = {stratum: teller.tell(asked[stratum], mark=stratum) for stratum in STRATA}
    unasked = [each for stratum in STRATA for each in families[stratum] if each not in asked.values()]
    for family in teller.rng.sample(unasked, _TOLD_BESIDE):
        teller.tell(family, mark="")
    told = teller.in_order()
    questions = [
        AskedQuestion(
            question_id=f"{number}-{stratum}",
            history=number,
            stratum=stratum,
            text=asked[stratum]["question"],
            accepted=_keys(asked[stratum].get("accepted", ()), values[stratum]),
            rejected=_keys(asked[stratum]["rejected"], values[stratum]),
            sources=tuple(told.sources(stratum)),
            absent=tuple(asked[stratum].get("absent", ())),
        )
        for stratum in STRATA
    ]
    return AnswerHistory(
        number=number,
        talks=tuple(Talk(begun_at=begun_at, said=tuple(said for said, _ in talk)) for begun_at, talk in told.talks),
        memories=tuple(memory for memory, _ in told.memories),
        documents=tuple(document for document, _ in told.documents),
        questions=tuple(questions),
    )


def _keys(patterns: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    keys = {name: _Key(value) for name, value in values.items()}
    return tuple(pattern.format(**keys) for pattern in patterns)


class _Teller:
    """What was told so far. Each text has a mark: the stratum whose question it answers, or ""."""

    def __init__(self, rng: random.Random, beside: History) -> None:
        """`beside`: whose conversations are told too, or begin those with facts."""
        assert beside.asked_at is not None
        self.rng = rng
        self.talks: list[tuple[datetime, list[tuple[Said, str]]]] = []
        self.memories: list[tuple[str, str]] = []
        self.documents: list[tuple[Document, str]] = []
        self._now = beside.asked_at
        listed: dict[str, list[tuple[Said, str]]] = {}
        for message in beside.messages:
            listed.setdefault(message.conversation_id, []).append((Said(sender=message.sender, text=message.text), ""))
        conversations = [said[:_LONGEST_TALK] for said in listed.values()]
        rng.shuffle(conversations)
        self.talks += [(self._day(), said) for said in conversations[:_TALKS_BESIDE]]
        self._beginnings = [said[:2] for said in conversations[_TALKS_BESIDE:]]

    def tell(self, family: _Family, *, mark: str) -> dict[str, str]:
        """Tell a family, and what is near to it; the values that were drawn."""
        values: dict[str, str] = {}
        for name, pool in family["values"].items():
            values[name], values[f"{name}2"] = self.rng.sample(pool, 2)
        is_absent = family["stratum"] == "absent"
        scenes = [_scene(lines, values, mark, is_near=False) for lines in family.get("scenes", ())]
        near = [_scene(lines, values, mark if is_absent else "", is_near=True) for lines in family.get("near", ())]
        days = sorted(self._day() for _ in scenes) + [self._day() for _ in near]
        self.talks += [(day, self._begun(scene)) for day, scene in zip(days, [*scenes, *near], strict=True)]
        for place, memory in enumerate(family.get("memories", ())):
            self.memories.append((memory.format(**values), "" if place else mark))
        for place, document in enumerate(family.get("documents", ())):
            written = Document(path=document["path"], text=document["text"].format(**values))
            self.documents.append((written, "" if place else mark))
        return values

    def in_order(self) -> _Teller:
        """Itself, conversations in order of time, memories in none."""
        self.talks.sort(key=lambda talk: talk[0])
        self.rng.shuffle(self.memories)
        self.documents.sort(key=lambda written: written[0].path)
        return self

    def sources(self, mark: str) -> Iterator[Source]:
        """Where the texts with this mark are."""
        for talk, (_, said) in enumerate(self.talks):
            yield from (
                Source(kind="message", talk=talk, place=place)
                for place, (_, marked) in enumerate(said)
                if marked == mark
            )
        yield from (
            Source(kind="memory", place=place) for place, (_, marked) in enumerate(self.memories) if marked == mark
        )
        yield from (
            Source(kind="document", path=document.path) for document, marked in self.documents if marked == mark
        )

    def _day(self) -> datetime:
        days = self.rng.randrange(_LATEST_DAYS, _EARLIEST_DAYS)
        return self._now - timedelta(days=days, minutes=self.rng.randrange(600))

    def _begun(self, scene: list[tuple[Said, str]]) -> list[tuple[Said, str]]:
        """The scene, often behind an exchange on something else."""
        return [*self.rng.choice(self._beginnings), *scene] if self.rng.random() < _BEGUN_WITH_OTHERS else scene


def _scene(lines: Sequence[str], values: Mapping[str, str], mark: str, *, is_near: bool) -> list[tuple[Said, str]]:
    """The messages of a scene; what answers has the mark; of a near one the first message."""
    scene: list[tuple[Said, str]] = []
    for place, line in enumerate(lines):
        sign, _, text = line.partition(" ")
        said = Said(sender="user" if sign[0] == "U" else "model", text=text.format(**values))
        is_marked = place == 0 if is_near else sign.endswith("*")
        scene.append((said, mark if is_marked else ""))
    return scene


if __name__ == "__main__":
    QUESTIONS_FILE.write_text(as_json(), encoding="utf-8")
