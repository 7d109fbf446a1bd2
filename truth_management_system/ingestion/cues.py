"""Words that say what kind of statement one is, and what it is about. English first, a few of other languages.

Each is a regular expression for whole words, matched without case.
"""

from __future__ import annotations

import re

from ..constants import ClaimType, ContextDomain


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])", re.IGNORECASE)


_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"

TYPE_CUES: tuple[tuple[ClaimType, re.Pattern[str]], ...] = (
    (
        ClaimType.REMINDER,
        _words(r"remind(?: me)?", r"reminder", r"(?:don't|do not|never) forget", r"remember to", r"nicht vergessen"),
    ),
    (
        ClaimType.DECISION,
        _words(
            r"decided",
            r"decision",
            r"(?:have|has|we|i) (?:chosen|chose)",
            r"settled on",
            r"going with",
            r"opted",
            r"(?:made|make) up (?:my|our) minds?",
            r"entschieden",
            r"beschlossen",
            r"décidé",
            r"decidí|decidimos|decidido",
        ),
    ),
    (
        ClaimType.TASK,
        _words(
            r"to-?do",
            r"(?:need|needs|have|has|ought) to",
            r"must",
            r"should",
            r"deadline",
            r"is due|are due|due (?:on|by|in)",
            r"muss|müssen",
            r"il faut|dois",
            r"tengo que|hay que",
        ),
    ),
    (
        ClaimType.HABIT,
        _words(
            r"(?:every|each) (?:single )?(?:other )?(?:day|morning|evening|night|week|weekend|month|year|"
            + _DAYS
            + r"|time)s?",
            rf"on (?:{_DAYS})s",
            r"daily",
            r"weekly",
            r"monthly",
            r"usually",
            r"regularly",
            r"normally",
            r"(?:once|twice|\w+ times) (?:a|per) (?:day|week|month|year)",
            r"habit",
            r"jeden (?:tag|morgen|abend|\w+tag)",
            r"tous les|chaque",
            r"todos los|cada",
        ),
    ),
    (
        ClaimType.PREFERENCE,
        _words(
            r"prefer(?:s|red)?",
            r"preference",
            r"favou?rites?",
            r"(?:i|we|he|she|they|really|don't|doesn't|do not|does not|would|also|\w+'d) (?:like|love|hate|enjoy)",
            r"(?:likes|loves|hates|dislikes|enjoys|dislike|adore|adores)",
            r"would rather|i'd rather|rather than",
            r"can't stand",
            r"fond of",
            r"mag|liebe|hasse|bevorzuge|lieblings\w*",
            r"(?:j'|je l')?aime|préfère|déteste",
            r"me gusta|me encanta|prefiero|odio",
        ),
    ),
    (
        ClaimType.OBSERVATION,
        _words(
            r"noticed",
            r"notice that",
            r"observed",
            r"(?:it )?(?:seems|appears|looks like|feels like)",
            r"i (?:feel|felt)",
            r"found (?:out )?that",
            r"mir ist aufgefallen",
        ),
    ),
    (
        ClaimType.MEMORY,
        _words(
            r"yesterday",
            r"last (?:night|week|weekend|month|year|spring|summer|autumn|fall|winter|" + _DAYS + ")",
            r"(?:\w+ )?(?:days?|weeks?|months?|years?) ago",
            r"(?:in|since|back in) (?:19|20)\d\d",
            r"when (?:i|we) (?:was|were)",
            r"once (?:i|we)",
            r"i remember",
            r"as a (?:child|kid|student)",
            r"gestern|letzte[sn]? (?:woche|jahr|monat)",
            r"hier|l'année dernière",
            r"ayer|el año pasado",
        ),
    ),
)
"""In order: the first that matches decides."""

DOMAIN_CUES: tuple[tuple[ContextDomain, re.Pattern[str]], ...] = (
    (
        ContextDomain.HEALTH,
        _words(
            r"health\w*",
            r"doctors?",
            r"dentists?",
            r"allerg\w+",
            r"medic\w+",
            r"vitamins?",
            r"diet\w*",
            r"vegetarian|vegan",
            r"sleep\w*",
            r"workouts?",
            r"exercis\w+",
            r"gym",
            r"run(?:s|ning)?",
            r"yoga",
            r"weight",
            r"blood",
            r"pain",
            r"therapy|therapist",
            r"injur\w+",
            r"asthma|diabet\w+|migraines?",
            r"calories|protein",
            r"arzt|zahnarzt|gesund\w*|allergisch",
            r"médecin|santé|médico|salud",
        ),
    ),
    (
        ContextDomain.FINANCE,
        _words(
            r"money",
            r"bank\w*",
            r"budgets?",
            r"invest\w*",
            r"savings?",
            r"salar(?:y|ies)",
            r"mortgage",
            r"rent",
            r"loans?",
            r"tax(?:es)?",
            r"pensions?",
            r"stocks?",
            r"dollars?|euros?|pounds?|francs?",
            r"credit cards?",
            r"insurance",
            r"invoices?",
            r"geld|steuern?|miete|argent|impôts?|dinero",
        ),
    ),
    (
        ContextDomain.WORK,
        _words(
            r"work(?:s|ing|ed)?",
            r"jobs?",
            r"boss",
            r"manager",
            r"colleagues?",
            r"teams?",
            r"office",
            r"compan(?:y|ies)",
            r"clients?",
            r"customers?",
            r"projects?",
            r"meetings?",
            r"deadlines?",
            r"sprints?",
            r"deploy\w*",
            r"release[sd]?",
            r"career",
            r"employ\w+",
            r"arbeit\w*|chef|büro|kolleg\w+",
            r"travail|bureau|trabajo|oficina",
        ),
    ),
    (
        ContextDomain.RELATIONSHIPS,
        _words(
            r"wife|husband|spouse|partner|girlfriend|boyfriend|fiancée?",
            r"mother|father|mum|mom|dad|parents?",
            r"sisters?|brothers?|siblings?",
            r"sons?|daughters?|child(?:ren)?|kids?|baby",
            r"friends?",
            r"uncle|aunt|cousins?|nephew|niece|grand(?:ma|pa|mother|father)",
            r"neighbou?rs?",
            r"married|wedding|divorced?",
            r"frau|mann|mutter|vater|schwester|bruder|tochter|sohn|freund(?:in)?",
            r"femme|mari|mère|père|sœur|frère|ami[es]?",
            r"esposa|marido|madre|padre|hermana|hermano|amig[oa]s?",
        ),
    ),
    (
        ContextDomain.LEARNING,
        _words(
            r"learn(?:s|t|ed|ing)?",
            r"stud(?:y|ies|ied|ying)",
            r"courses?",
            r"class(?:es)?",
            r"books?",
            r"lessons?",
            r"exams?",
            r"universit\w+|college|school",
            r"tutorials?",
            r"degree",
            r"languages?",
            r"lern\w*|studier\w*|schule",
            r"apprends?|étudi\w+|aprend\w+|estudi\w+",
        ),
    ),
    (
        ContextDomain.LIFE_OPS,
        _words(
            r"apartment|flat|house|home|kitchen|garden",
            r"car|bike|bicycle",
            r"passport|visa|licen[cs]e",
            r"appointments?",
            r"clean\w*|laundry|grocer\w+|shopping",
            r"travel\w*|flights?|trips?|hotel",
            r"buy|bought|order(?:ed)?",
            r"pay|bills?",
            r"wohnung|haus|auto|einkauf\w*",
            r"appartement|maison|voiture|casa|coche",
        ),
    ),
)
"""The domain with the most matches wins; of equals, the first."""

NEGATION = _words(
    r"not",
    r"\w+n't",
    r"cannot|dont|doesnt|isnt|wasnt|cant|wont",
    r"no",
    r"no longer",
    r"never",
    r"none",
    r"without",
    r"stopped|quit",
    r"anymore",
    r"nicht|kein\w*|nie(?:mals)?|ohne",
    r"ne|n'\w+|pas|jamais|sans",
    r"nunca|sin|não|nem",
)

FIRST_PERSON = _words(
    r"i|i'\w+|me|my|mine|myself|we|we'\w+|us|our|ours",
    r"ich|mir|mich|mein\w*|wir|uns|unser\w*",
    r"je|j'\w+|moi|mon|ma|mes|nous|notre|nos",
    r"yo|mi|mis|nosotros|nuestr[oa]s?|me",
    r"io|mio|mia|noi|eu|meu|minha|nós",
    r"я|мне|меня|мой|моя|моё|мои|мы",
)
FIRST_PERSON_UNSPACED = re.compile("我|私|僕|俺|ฉัน|ผม")

VALUE_WORDS = re.compile(
    rf"(?:{_DAYS}|january|february|march|april|june|july|august|september|october|november|december|"
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?"
)
"""Besides words with digits: what a statement can be wrong about."""

OPPOSITES: tuple[frozenset[str], ...] = tuple(
    frozenset(pair.split())
    for pair in (
        "like hate",
        "like dislike",
        "love hate",
        "love dislike",
        "enjoy hate",
        "prefer avoid",
        "always never",
        "married divorced",
        "married single",
        "vegetarian carnivore",
        "morning evening",
        "early late",
        "hot cold",
        "big small",
        "open closed",
        "alive dead",
        "rent own",
        "left right",
        "lactose-free dairy",
    )
)
