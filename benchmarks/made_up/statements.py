"""Statements for measuring: made of a fixed vocabulary by a few patterns, the same from the same seed.

Names, numbers and things vary enough that a hundred thousand of them are about as different as a person's are; some
words are in every third statement, most in one of thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

_WORDS = {
    "first": """
        Ada Amara Anneke Bela Bruno Carmen Chidi Dagny Dmitri Elif Emeka Farah Fenna Giulia Hamza Hana Ines Ivo
        Jamal Jonas Kaito Katja Lars Leila Lucia Magnus Mei Mateo Nadia Niko Olga Omar Paulina Piet Priya
        Quentin Rania Rafael Sanne Sofia Tariq Tomasz Ulla Umut Valeria Wanda Xenia Yusuf Zofia Zoltan
    """,
    "last": """
        Achterberg Baptiste Castellano Demir Eriksen Fontaine Gallagher Haddad Ibarra Jablonski Kowalczyk
        Lindqvist Mbeki Nakamura Okafor Papadakis Quiroga Rasmussen Sato Thorne Umarov Vandermeer Wieczorek
        Yilmaz Zimmermann
    """,
    "place": """
        Utrecht Lisbon Kraków Nairobi Osaka Montréal Valparaíso Tromsø Ghent Leipzig Turin Bristol Tbilisi Hanoi
        Oaxaca Adelaide Halifax Bergen Salzburg Zagreb Riga Porto Sevilla Lyon Basel Galway Tampere Aarhus Brno
        Graz
    """,
    "thing": """
        espresso rowing sourdough bouldering cello chess cycling astronomy watercolours gardening calligraphy
        yoga fencing ceramics photography beekeeping birdwatching carpentry choir juggling kayaking knitting
        origami sailing swimming archery weaving running orienteering improvisation cooking brewing cartography
        woodcuts tango hiking badminton squash snorkelling genealogy philately printmaking pilates harmonica
        accordion oboe ukulele crosswords sudoku backgammon dominoes falconry bonsai mycology geology botany
        phonology etymology palaeography numismatics heraldry topology
    """,
    "food": """
        aubergine barley basil cardamom chickpeas chocolate cilantro coconut couscous cucumber fennel figs
        garlic ginger hazelnuts kale kimchi leeks lentils mango miso mushrooms oatmeal okra olives paprika
        peanuts pears persimmon pistachio polenta pomegranate quinoa rhubarb rosemary saffron salmon sesame
        shellfish spinach tahini tamarind tempeh thyme tofu turmeric vanilla walnuts yoghurt zucchini
    """,
    "work": """
        ledger scheduler importer dashboard gateway crawler compiler notebook pipeline registry sandbox
        simulator tokenizer translator validator warehouse exporter forecaster inventory manifest orchestrator
        parser planner profiler proxy queue renderer replica resolver router sampler scanner tracer watchdog
        workbench billing checkout onboarding payroll procurement retention ingestion telemetry
    """,
    "body": """
        ankle back breathing eyesight hearing hip iron knee migraine posture pulse shoulder skin sleep stomach
        thyroid vitamin wrist asthma hayfever
    """,
    "money": """
        annuity bond brokerage deposit dividend electricity groceries insurance internet laundry loan mortgage
        museum parking pension rent savings subscription tax telephone tuition water
    """,
    "month": """
        January February March April May June July August September October November December
    """,
}
_WHEN = (
    "before breakfast",
    "after lunch",
    "on weekdays",
    "at weekends",
    "every Monday",
    "on Tuesday evenings",
    "in the first week of the month",
    "since the move",
    "until the summer",
    "during winter",
    "in early spring",
    "when it rains",
    "when travelling",
    "late at night",
    "on the way home",
    "twice a week",
    "three times a month",
    "once a quarter",
    "in leap years",
    "whenever the trains are late",
)
_WHY = (
    "because the doctor said so",
    "because it helps me think",
    "since my last birthday",
    "as agreed with the team",
    "although I keep forgetting",
    "which is cheaper than before",
    "and want to keep it that way",
    "unless something urgent comes up",
    "so that the evenings stay free",
    "which surprised everybody",
)

_PATTERNS: dict[str, tuple[tuple[str, str], ...]] = {
    "personal": (
        ("preference", "I prefer {thing} to {thing2} {when}"),
        ("memory", "In {year} I spent {number} days in {place} learning {thing}"),
        ("fact", "My {thing} teacher {person} lives in {place} near number {number}"),
        ("habit", "I practise {thing} for {number} minutes {when}"),
    ),
    "health": (
        ("fact", "I can't eat {food} together with {food2} {when}"),
        ("habit", "I do {number} minutes of {thing} for my {body} {when}"),
        ("observation", "My {body} gets better {when} without {food}"),
        ("reminder", "Have the {body} checked by Dr {last} in {place} in {month}"),
    ),
    "relationships": (
        ("fact", "{person} is allergic to {food} and likes {thing}"),
        ("reminder", "{person}'s birthday is on {number} {month}"),
        ("memory", "{person} and I met at a {thing} course in {place} in {year}"),
        ("observation", "{person} answers letters {when}"),
    ),
    "learning": (
        ("task", "Read chapter {number} of the book on {thing} by {person}"),
        ("decision", "I take up {thing} again in {month} {year}"),
        ("observation", "I learn {thing} best {when} with {person}"),
    ),
    "life_ops": (
        ("task", "Renew the {money} contract with {last} & {last2} before {number} {month}"),
        ("reminder", "The spare key for {place} is with {person}"),
        ("habit", "I buy {food} and {food2} {when}"),
    ),
    "work": (
        ("decision", "The {work} moves to the {work2} cluster in {month} {year}"),
        ("fact", "{person} owns the {work} and reviews changes to the {work2}"),
        ("task", "Write down for {person} why the {work} needs {number} replicas"),
        ("preference", "I review the {work} {when}, not the {work2}"),
    ),
    "finance": (
        ("fact", "The {money} costs {number} euros a month at {last} & {last2}"),
        ("decision", "From {month} {year} the {money} is paid from the {money2} account"),
        ("observation", "{money} and {money2} rose by {number} percent in {year}"),
    ),
}
_FURTHER_CLAUSE = 0.4
_QUESTION = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeStatement:
    """What a made-up claim says.

    Attributes:
        question: One that it answers, or None.
    """

    statement: str
    claim_type: str
    domain: str
    question: str | None


class StatementMaker:
    """Makes statements; each pool's first words come often, its last ones seldom."""

    def __init__(self, random: Random) -> None:
        self._random = random
        pools: dict[str, Sequence[str]] = {name: words.split() for name, words in _WORDS.items()}
        # What stands beside another one of its kind comes from the other end.
        seconds = {f"{name}2": pools[name][::-1] for name in ("thing", "food", "work", "money", "last")}
        self._pools = pools | seconds | {"when": _WHEN}
        longest = max(len(pool) for pool in self._pools.values())
        self._weights = list(accumulate(1.0 / (rank + 4) for rank in range(longest)))

    def person(self) -> str:
        """A first and a last name."""
        return f"{self._random.choice(self._pools['first'])} {self._random.choice(self._pools['last'])}"

    def topic(self) -> str:
        """Something to file under: "Kayaking in Riga"."""
        return (
            f"{self._random.choice(self._pools['thing']).capitalize()} in {self._random.choice(self._pools['place'])}"
        )

    def statement(self) -> MadeStatement:
        """One sentence of about 75 characters, without its full stop."""
        domain = self._random.choice(list(_PATTERNS))
        claim_type, pattern = self._random.choice(_PATTERNS[domain])
        words = {name: self._word(pool) for name, pool in self._pools.items()}
        number, year = self._random.randint(2, 95), self._random.randint(1994, 2026)
        said = pattern.format(**words, person=self.person(), number=number, year=year)
        if self._random.random() < _FURTHER_CLAUSE:
            said = f"{said}, {self._random.choice(_WHY)}"
        asked = f"What about {words['thing']} and {words['place']}?" if self._random.random() < _QUESTION else None
        return MadeStatement(statement=said[0].upper() + said[1:], claim_type=claim_type, domain=domain, question=asked)

    def _word(self, pool: Sequence[str]) -> str:
        return self._random.choices(pool, cum_weights=self._weights[: len(pool)])[0]
