"""Twenty long histories and 300 questions, made of `stories.txt`; the same ones each time.

In that file `@ domain name [twin|when]` begins a family: scenes that belong to different conversations are parted by
`=`, other wordings of a scene by `|`. `U` is the person's message, `A` the answer; `*` marks evidence. `?` asks for it.
`{name=a|b}` draws a value for the family, `{name}` repeats it. `@@ domain` begins exchanges nobody asks about,
`@+ domain` sentences that answers are padded with.

A history has about 40 conversations over twenty months, each mostly about one domain and resumed again and again. It
tells most families, asks about fifteen, and tells *twins* again with other values (and *when* families at other times),
so that there is something on the same subject to mistake for the evidence. The families of the tuning half and of the
kept half are different ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

from .histories import History, HistoryMessage, Question, Split
from .spoken_times import spoken_time

HISTORIES = 20
_STORIES = Path(__file__).with_name("stories.txt")
_VALUE = re.compile(r"\{(\w+)(?:=((?:[^{}]|\{\w+\})*))?\}")
_SPAN_DAYS = 600
_TOLD = 0.7
_FILLERS = 90
_STRAY = 0.06
_APART_DAYS = 70
_OPENINGS = ("Hi, ", "Quick question: ", "One more thing. ", "Hello again! ", "Sorry to bother you. ", "By the way: ")
_LEADS = (
    "Good question.",
    "Sure.",
    "Let me see.",
    "Happy to help.",
    "In short:",
    "Of course.",
    "That depends a little.",
)
_PERSONA = {
    "partner": "Alex|Jonas|Marie|Tomás|Ingrid|Samir|Claire|Paul",
    "sister": "Hanna|Lucie|Elena|Ruth|Sofia|Carla",
    "brother": "Martin|Luca|Nils|David|Pierre|Adam",
    "friend": "Kathrin|Omar|Bea|Julien|Mira|Stefan",
    "friend2": "Robert|Aylin|Greta|Hugo|Tessa|Ivan",
    "colleague": "Priya|Lars|Monika|Chen|Fatima|George",
    "colleague2": "Volker|Susan|Dmitri|Agnes|Raúl|Kim",
    "boss": "Mrs Hartmann|Mr Delgado|Petra|Mr Osei|Annika",
    "child": "Mia|Ben|Lina|Theo|Ella|Noah",
    "child2": "Finn|Ida|Max|Zoe|Anton|Lilly",
    "dog": "Bruno|Luna|Käthe|Oskar|Pepper|Amy",
    "neighbour": "Mr Kowalski|Mrs Bauer|the Rossis|old Henrik|Mrs Lambert",
    "doctor": "Dr. Schuster|Dr. Meyer|Dr. Bianchi|Dr. Novak|Dr. Hill",
    "town": "Freiburg|Ghent|Uppsala|Bologna|York|Graz",
    "company": "Helios|Nordwerk|Bluefin|Castor & Co|Intera",
    "project": "Falcon|Mercury|the new portal|Atlas|Greenhouse",
}
_COMMON = {
    "city": "Lisbon|Porto|Vienna|Bologna|Copenhagen|Seville|Ghent|Kraków|Trieste|Marseille|Edinburgh|Ljubljana",
    "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "month": "March|April|May|June|July|September|October",
    "price": "35|60|85|120|145|210|260|340|480",
    "n": "two|three|four|five|six|seven",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    sender: str
    text: str
    is_evidence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    domain: str
    name: str
    kind: str
    # Scenes of wordings of messages.
    scenes: tuple[tuple[tuple[_Message, ...], ...], ...]
    questions: tuple[str, ...]
    choices: Mapping[str, str]


@dataclass(slots=True)
class _Stories:
    families: list[_Family] = field(default_factory=list)
    fillers: dict[str, list[tuple[_Message, ...]]] = field(default_factory=dict)
    advice: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Told:
    """A scene as one history tells it; `family` is set in those that a question asks for."""

    day: int
    domain: str
    messages: list[_Message]
    family: str | None = None


def generated_histories() -> list[History]:
    """The histories with their questions, always the same."""
    stories = _read(_STORIES.read_text(encoding="utf-8"))
    halves = _halves(stories.families)
    asked: dict[int, list[tuple[_Family, Split]]] = {number: [] for number in range(HISTORIES)}
    shares: tuple[tuple[Split, tuple[int, int]], ...] = (("tuning", (8, 7)), ("kept", (7, 8)))
    for split, share in shares:
        turns = _in_turn(halves[split])
        for number in range(HISTORIES):
            asked[number] += [(family, split) for family in islice(turns, share[number % 2])]
    return [_made(number, stories, asked[number]) for number in range(HISTORIES)]


def _halves(families: Sequence[_Family]) -> dict[Split, list[_Family]]:
    """Every second family of each kind, so that both halves ask alike."""
    halves: dict[Split, list[_Family]] = {"tuning": [], "kept": []}
    for kind in ("", "twin", "when"):
        for place, family in enumerate(each for each in families if each.kind == kind):
            halves["kept" if place % 2 else "tuning"].append(family)
    return halves


def _in_turn(families: list[_Family]) -> Iterator[_Family]:
    """The families again and again, in one order: a history asks none twice."""
    rng = random.Random("order of families")
    return cycle(rng.sample(families, len(families)))


def _made(number: int, stories: _Stories, asked: Sequence[tuple[_Family, Split]]) -> History:
    rng = random.Random(f"history {number}")
    persona = {name: rng.choice(values.split("|")) for name, values in _PERSONA.items()}
    asked_at = datetime(2026, 3, 1, 21) + timedelta(days=rng.randrange(250))  # noqa: DTZ001 (one zone)
    splits = {family.name: split for family, split in asked}
    told: list[_Told] = []
    texts: dict[str, str] = {}
    for family in stories.families:
        if family.name in splits:
            texts[family.name] = _tell_asked(rng, family, persona, asked_at, told)
        elif rng.random() < _TOLD:
            told += _tell(rng, family, _values(rng, family, persona), _days(rng, len(family.scenes)))
    exchanges = [(domain, exchange) for domain, each in stories.fillers.items() for exchange in each]
    for domain, exchange in rng.sample(exchanges, _FILLERS):
        values = _drawn(rng, _COMMON, persona)
        messages = [_filled(message, values, persona) for message in exchange]
        told.append(_Told(day=rng.randrange(_SPAN_DAYS), domain=domain, messages=messages))
    conversations, evidence = _conversations(rng, told, stories, asked_at, number)
    questions = tuple(
        Question(text=texts[name], evidence=frozenset(evidence[name]), split=split, family=name)
        for name, split in splits.items()
    )
    return History(name=f"generated {number}", asked_at=asked_at, messages=tuple(conversations), questions=questions)


def _tell_asked(
    rng: random.Random, family: _Family, persona: dict[str, str], asked_at: datetime, told: list[_Told]
) -> str:
    """Tell a family, and its twins; the question for the first."""
    values = _values(rng, family, persona)
    days = _days(rng, len(family.scenes))
    when, is_then = spoken_time(rng, asked_at - timedelta(days=_SPAN_DAYS - days[-1]), asked_at=asked_at)
    for scene in _tell(rng, family, values, days):
        scene.family = family.name
        told.append(scene)
    for _ in range({"twin": 1, "when": 2}.get(family.kind, 0)):
        others = _other_values(rng, family, persona, values)
        other_days = _days(rng, len(family.scenes))
        while abs(other_days[0] - days[0]) < _APART_DAYS or is_then(
            asked_at - timedelta(days=_SPAN_DAYS - other_days[0])
        ):
            other_days = _days(rng, len(family.scenes))
        told += _tell(rng, family, others, other_days)
    return _substituted(rng.choice(family.questions), {**values, "when": when})


def _other_values(
    rng: random.Random, family: _Family, persona: dict[str, str], values: Mapping[str, str]
) -> dict[str, str]:
    """Values of a twin; what the question names must differ."""
    while True:
        others = _values(rng, family, persona)
        named = {name for question in family.questions for name, _ in _VALUE.findall(question)} - {"when", *persona}
        if all(others[name] != values[name] for name in named):
            return others


def _days(rng: random.Random, scenes: int) -> list[int]:
    first = rng.randrange(_SPAN_DAYS - 30 * scenes)
    return [first + 25 * place + rng.randrange(5) for place in range(scenes)]


def _tell(rng: random.Random, family: _Family, values: Mapping[str, str], days: Sequence[int]) -> list[_Told]:
    return [
        _Told(day=day, domain=family.domain, messages=[_filled(message, values, {}) for message in rng.choice(scene)])
        for scene, day in zip(family.scenes, days, strict=True)
    ]


def _conversations(
    rng: random.Random, told: Sequence[_Told], stories: _Stories, asked_at: datetime, number: int
) -> tuple[list[HistoryMessage], dict[str, list[str]]]:
    """All messages in order of time, and the evidence of each family that is asked for."""
    messages: list[HistoryMessage] = []
    evidence: dict[str, list[str]] = {}
    for place, scenes in enumerate(_grouped(rng, told)):
        for scene in scenes:
            time = asked_at - timedelta(days=_SPAN_DAYS - scene.day, minutes=rng.randrange(600))
            for message in scene.messages:
                time += timedelta(seconds=rng.randrange(20, 240))
                message_id = f"h{number}-m{len(messages)}"
                if scene.family and message.is_evidence:
                    evidence.setdefault(scene.family, []).append(message_id)
                messages.append(
                    HistoryMessage(
                        message_id=message_id,
                        conversation_id=f"h{number}-c{place}",
                        sender=message.sender,
                        text=_padded(rng, message, stories.advice[scene.domain]),
                        created_at=time,
                    )
                )
    return messages, evidence


def _grouped(rng: random.Random, told: Sequence[_Told]) -> list[list[_Told]]:
    """Conversations in order of their beginnings: two or three a domain, each with what is nearest to its time."""
    conversations: list[list[_Told]] = []
    for domain in dict.fromkeys(scene.domain for scene in told):
        centres = [rng.randrange(_SPAN_DAYS) for _ in range(rng.choice((2, 3, 3)))]
        groups: dict[int, list[_Told]] = {centre: [] for centre in centres}
        for scene in told:
            if scene.domain == domain:
                groups[min(centres, key=lambda centre: abs(centre - scene.day))].append(scene)
        conversations += [sorted(group, key=lambda scene: scene.day) for group in groups.values() if group]
    conversations.sort(key=lambda scenes: scenes[0].day)
    _let_stray(rng, conversations)
    return [sorted(scenes, key=lambda scene: scene.day) for scenes in conversations]


def _let_stray(rng: random.Random, conversations: list[list[_Told]]) -> None:
    """An afterthought on something else lands in another conversation."""
    for scenes in conversations:
        if len(scenes) > 2 and rng.random() < _STRAY * len(scenes):
            rng.choice(conversations).append(scenes.pop(rng.randrange(len(scenes))))


def _padded(rng: random.Random, message: _Message, advice: Sequence[str]) -> str:
    if message.sender == "user":
        return rng.choice(_OPENINGS) + message.text if rng.random() < 0.2 else message.text
    lead = [rng.choice(_LEADS)] if rng.random() < 0.25 else []
    tail = rng.sample(advice, rng.randrange(1, 4)) if rng.random() < 0.5 else []
    gap = "\n\n" if len(tail) > 1 else " "
    return gap.join([*lead, message.text, *tail])


def _values(rng: random.Random, family: _Family, persona: dict[str, str]) -> dict[str, str]:
    """Values that a family lists at the same place belong together: a word and its meaning, a price and its sum."""
    place = rng.randrange(60)
    listed = {name: values.split("|") for name, values in family.choices.items()}
    chosen = {name: values[place % len(values)] for name, values in listed.items()}
    return _drawn(rng, {**_COMMON, **chosen}, persona)


def _drawn(rng: random.Random, choices: Mapping[str, str], persona: Mapping[str, str]) -> dict[str, str]:
    drawn = {name: rng.choice(values.split("|")) for name, values in choices.items()}
    return {**persona, **{name: _substituted(value, persona) for name, value in drawn.items()}}


def _filled(message: _Message, values: Mapping[str, str], persona: Mapping[str, str]) -> _Message:
    text = _substituted(message.text, {**persona, **values})
    # A value may stand at the beginning of a sentence.
    return _Message(sender=message.sender, text=text[:1].upper() + text[1:], is_evidence=message.is_evidence)


def _substituted(text: str, values: Mapping[str, str]) -> str:
    return _VALUE.sub(lambda found: values.get(found[1], found[0]), text)


def _read(text: str) -> _Stories:
    stories = _Stories()
    for section in re.split(r"^(?=@)", text, flags=re.MULTILINE)[1:]:
        head, _, body = section.partition("\n")
        sign, domain, *rest = head.split()
        if sign == "@":
            stories.families.append(_family(domain, rest, body))
        elif sign == "@@":
            stories.fillers[domain] = [_messages(block) for block in body.strip().split("\n\n")]
        else:
            stories.advice[domain] = body.strip().splitlines()
    return stories


def _family(domain: str, rest: Sequence[str], body: str) -> _Family:
    told, _, asked = body.partition("\n? ")
    scenes = tuple(
        tuple(_messages(wording) for wording in re.split(r"^\|\n", scene, flags=re.MULTILINE))
        for scene in re.split(r"^=\n", told, flags=re.MULTILINE)
    )
    return _Family(
        domain=domain,
        name=f"{domain} {rest[0]}",
        kind="".join(rest[1:]),
        scenes=scenes,
        questions=tuple(asked.strip().split("\n? ")),
        choices={name: values for name, values in _VALUE.findall(body) if values},
    )


def _messages(block: str) -> tuple[_Message, ...]:
    """The messages of a block; lines without a sign go on with the message before."""
    found = re.split(r"^([UA])(\*?): ", block.strip("\n"), flags=re.MULTILINE)[1:]
    return tuple(
        _Message(
            sender="user" if found[at] == "U" else "model",
            text=found[at + 2].strip("\n"),
            is_evidence=bool(found[at + 1]),
        )
        for at in range(0, len(found), 3)
    )
