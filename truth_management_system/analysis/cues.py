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
            r"decided|decision|(?:have|has|we|i) (?:chosen|chose)|settled on|going with|opted|"
            r"(?:made|make) up (?:my|our) minds?|entschieden|beschlossen|décidé|decidí|decidimos|decidido"
        ),
    ),
    (
        ClaimType.TASK,
        _words(
            r"to-?do|(?:need|needs|have|has|ought) to|must|should|deadline|is due|are due|due (?:on|by|in)|"
            r"muss|müssen|il faut|dois|tengo que|hay que"
        ),
    ),
    (
        ClaimType.HABIT,
        _words(
            r"(?:every|each) (?:single )?(?:other )?"
            rf"(?:day|morning|evening|night|week|weekend|month|year|{_DAYS}|time)s?|"
            rf"on (?:{_DAYS})s|"
            r"daily|weekly|monthly|usually|regularly|normally|"
            r"(?:once|twice|\w+ times) (?:a|per) (?:day|week|month|year)|habit|jeden (?:tag|morgen|abend|\w+tag)|"
            r"tous les|chaque|todos los|cada"
        ),
    ),
    (
        ClaimType.PREFERENCE,
        _words(
            r"prefer(?:s|red)?|preference|favou?rites?|"
            r"(?:i|we|he|she|they|really|don't|doesn't|do not|does not|would|also|\w+'d) (?:like|love|hate|enjoy)|"
            r"(?:likes|loves|hates|dislikes|enjoys|dislike|adore|adores)|would rather|i'd rather|rather than|"
            r"can't stand|fond of|mag|liebe|hasse|bevorzuge|lieblings\w*|(?:j'|je l')?aime|préfère|déteste|"
            r"me gusta|me encanta|prefiero|odio"
        ),
    ),
    (
        ClaimType.OBSERVATION,
        _words(
            r"noticed|notice that|observed|(?:it )?(?:seems|appears|looks like|feels like)|i (?:feel|felt)|"
            r"found (?:out )?that|mir ist aufgefallen"
        ),
    ),
    (
        ClaimType.MEMORY,
        _words(
            r"yesterday|"
            rf"last (?:night|week|weekend|month|year|spring|summer|autumn|fall|winter|{_DAYS})|"
            r"(?:\w+ )?(?:days?|weeks?|months?|years?) ago|(?:in|back in) (?:19|20)\d\d|"
            r"when (?:i|we) (?:was|were)|once (?:i|we)|i remember|as a (?:child|kid|student)|"
            r"gestern|letzte[sn]? (?:woche|jahr|monat)|hier|l'année dernière|ayer|el año pasado"
        ),
    ),
)
"""In order: the first that matches decides."""

DOMAIN_CUES: tuple[tuple[ContextDomain, re.Pattern[str]], ...] = (
    (
        ContextDomain.HEALTH,
        _words(
            r"health\w*|doctors?|dentists?|allerg\w+|medic\w+|vitamins?|diet\w*|vegetarian|vegan|sleep\w*|"
            r"workouts?|exercis\w+|gym|run(?:s|ning)?|yoga|weight|blood|pain|therapy|therapist|injur\w+|"
            r"asthma|diabet\w+|migraines?|calories|protein|arzt|zahnarzt|gesund\w*|allergisch|"
            r"médecin|santé|médico|salud"
        ),
    ),
    (
        ContextDomain.FINANCE,
        _words(
            r"money|bank\w*|budgets?|invest\w*|savings?|salar(?:y|ies)|mortgage|rent|loans?|tax(?:es)?|pensions?|"
            r"stocks?|dollars?|euros?|pounds?|francs?|credit cards?|insurance|invoices?|"
            r"geld|steuern?|miete|argent|impôts?|dinero"
        ),
    ),
    (
        ContextDomain.WORK,
        _words(
            r"work(?:s|ing|ed)?|jobs?|boss|manager|colleagues?|teams?|office|compan(?:y|ies)|clients?|customers?|"
            r"projects?|meetings?|deadlines?|sprints?|deploy\w*|release[sd]?|career|employ\w+|"
            r"arbeit\w*|chef|büro|kolleg\w+|travail|bureau|trabajo|oficina"
        ),
    ),
    (
        ContextDomain.RELATIONSHIPS,
        _words(
            r"wife|husband|spouse|partner|girlfriend|boyfriend|fiancée?|mother|father|mum|mom|dad|parents?|"
            r"sisters?|brothers?|siblings?|sons?|daughters?|child(?:ren)?|kids?|baby|friends?|"
            r"uncle|aunt|cousins?|nephew|niece|grand(?:ma|pa|mother|father)|neighbou?rs?|married|wedding|divorced?|"
            r"frau|mann|mutter|vater|schwester|bruder|tochter|sohn|freund(?:in)?|"
            r"femme|mari|mère|père|sœur|frère|ami[es]?|esposa|marido|madre|padre|hermana|hermano|amig[oa]s?"
        ),
    ),
    (
        ContextDomain.LEARNING,
        _words(
            r"learn(?:s|t|ed|ing)?|stud(?:y|ies|ied|ying)|courses?|class(?:es)?|books?|lessons?|exams?|"
            r"universit\w+|college|school|tutorials?|degree|languages?|lern\w*|studier\w*|schule|"
            r"apprends?|étudi\w+|aprend\w+|estudi\w+"
        ),
    ),
    (
        ContextDomain.LIFE_OPS,
        _words(
            r"apartment|flat|house|home|kitchen|garden|car|bike|bicycle|passport|visa|licen[cs]e|appointments?|"
            r"clean\w*|laundry|grocer\w+|shopping|travel\w*|flights?|trips?|hotel|buy|bought|order(?:ed)?|"
            r"pay|bills?|wohnung|haus|auto|einkauf\w*|appartement|maison|voiture|casa|coche"
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
    r"pas|jamais|sans",
    r"nunca|sin|não|nem",
)

NEGATION_UNSPACED = re.compile("[不没沒無]|ない|ません|ไม่")

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
        "prefer hate",
        "enjoy dislike",
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
COMPATIBLE: frozenset[frozenset[str]] = frozenset({frozenset({"morning", "evening"}), frozenset({"early", "late"})})
"""Opposites that may both be true ("I run in the morning", "I run in the evening") unless a statement is exclusive."""
EXCLUSIVE = frozenset({"prefer", "preferred", "always", "favourite", "favorite", "best", "rather"})
