"""What can be said of a statement without a model: type, domain, tags, entities, the question that it answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from conversation_reference_utils import STOPWORDS

from ..constants import ClaimType, ContextDomain, EntityRole, EntityType
from .comparing import is_unspaced_sentence, values_of
from .cues import DOMAIN_CUES, TYPE_CUES
from .statements import words_of

MOST_TAGS, MOST_ENTITIES = 4, 8
_SHORTEST_TAG = 3
_HASHTAG = re.compile(r"(?<![\w#&])#([^\W\d_][\w-]{1,39})")
# What a sentence is built with, rather than what it is about.
_STRUCTURE_WORDS = """
    prefer prefers preferred like likes love loves hate hates dislike dislikes enjoy enjoys favourite favorite want
    wants decided decide decision chose chosen need needs must should remember remind reminder forget noticed notice
    seems usually always often daily weekly monthly every each day days week weeks month months year years yesterday
    today tomorrow last next ago since live lives living lived called named name names have has had get got make makes
    ich mein meine habe hat bin ist sind war und der die das ein eine einen mit für auf von nicht auch sehr mag lebe
    moi mon mes est sont avec pour dans les des une pas très aime suis avoir como con para por los las una muy tengo
    made use uses used using take takes took really very much many also new old good great think thinks feel
"""
_STRUCTURE = frozenset(_STRUCTURE_WORDS.split())
_QUESTIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), question)
    for pattern, question in (
        (r"my (?P<x>[\w' -]{2,60}?) (?:is|are) (?:called|named)\b", "What is the name of my {x}?"),
        (r"my (?P<x>[\w' -]{2,60}?) is\b", "What is my {x}?"),
        (r"my (?P<x>[\w' -]{2,60}?) are\b", "What are my {x}?"),
        (r"i live\b", "Where do I live?"),
        (r"i work (?:at|for|in)\b", "Where do I work?"),
        (r"i work as\b", "What do I work as?"),
        (r"i(?: am|'m) allergic to\b", "What am I allergic to?"),
        (r"i (?:was born|am from|come from)\b", "Where am I from?"),
        (r"i (?:prefer|like|love|enjoy)\b", "What do I like?"),
        (r"i (?:hate|dislike|don't like|do not like)\b", "What do I dislike?"),
        (r"(?:i|we) (?:have )?decided\b", "What was decided?"),
    )
)

_NAME = re.compile(
    r"[^\W\d_a-z][\w&’'-]*(?:\.(?=\s+[A-Z]))?(?:\s+(?:(?:of|de|van|von|der|la|du|di)\s+)?[A-Z][\w&’'-]*)*"
)
_TITLED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau)\.?\s*$")
_PERSON_BEFORE = re.compile(
    r"\b(?:wife|husband|partner|girlfriend|boyfriend|mother|father|mum|mom|dad|sister|brother|son|daughter|friend|uncle|"
    r"aunt|cousin|boss|manager|colleague|neighbou?r|dentist|doctor|therapist|teacher|coach|with|met)"
    r"(?:\s+(?:is|was))?\s+$",
    re.IGNORECASE,
)
_PLACE_BEFORE = re.compile(
    r"\b(?:live|lives|lived|moved|born|travel\w*|work\w*|stay\w*|flew|flight|visit\w*|trip|went|from)\b.*$", re.I
)
_PLACE_PREPOSITION = re.compile(r"\b(?:in|to|from|near|at)\s+$", re.I)
_ORGANISATION = re.compile(
    r"\b(?:Inc|Ltd|LLC|GmbH|AG|Corp|Company|University|Universität|College|Bank|Institute|Foundation|Hospital)\b"
)
_EMPLOYER_BEFORE = re.compile(r"\b(?:work(?:s|ed|ing)?\s+(?:at|for)|employed\s+(?:at|by)|joined)\s+$", re.I)
_NO_NAME_WORDS = """
    i i'm i've i'd i'll january february march april may june july august september october november december
"""
_NO_NAMES = frozenset(_NO_NAME_WORDS.split())
_MOST_CAPITALS, _SHORTEST_TITLE = 0.6, 5


def rule_type(statement: str, otherwise: str = ClaimType.FACT.value) -> str:
    """The type that the statement's words speak for; `otherwise` where none does."""
    return next((kind.value for kind, cue in TYPE_CUES if cue.search(statement)), otherwise)


def rule_domain(statement: str, otherwise: str = ContextDomain.PERSONAL.value) -> str:
    """The domain that most of the statement's words speak for; `otherwise` where none does."""
    hits = {domain.value: len(cue.findall(statement)) for domain, cue in DOMAIN_CUES}
    best = max(hits, key=lambda domain: hits[domain])
    return best if hits[best] else otherwise


def rule_tags(statement: str) -> list[str]:
    """At most four: those that are written as #tags, then words that the statement is about."""
    tagged = [tag.lower() for tag in _HASHTAG.findall(statement)]
    names = {word for entity in rule_entities(statement) for word in words_of(entity["name"])}
    words = words_of(statement)
    values = values_of(set(words))
    told = [
        word
        for word in words
        if len(word) >= _SHORTEST_TAG
        and word.isalpha()
        and word not in STOPWORDS
        and word not in _STRUCTURE
        and word not in _NO_NAMES
        and word not in values | names
        and not is_unspaced_sentence(word)
    ]
    return list(dict.fromkeys([*tagged, *told]))[:MOST_TAGS]


def rule_entities(statement: str) -> list[dict[str, str]]:
    """`{"name", "type", "role"}` of what is written with a capital letter, at most eight.

    The first word of a sentence counts only where it goes on with another capital. Where nearly every word has one
    (as in titles), single words do not count.
    """
    words = statement.split()
    capitals = sum(word[:1].isupper() for word in words[1:])
    is_title = len(words) >= _SHORTEST_TITLE and capitals > _MOST_CAPITALS * (len(words) - 1)
    if len(words) > 1 and statement.isupper():
        return []
    found: dict[str, dict[str, str]] = {}
    for match in _NAME.finditer(statement):
        name = _without_beginning(match, statement)
        if name and not (is_title and " " not in name):
            before = statement[: match.end() - len(name)]
            found.setdefault(name.casefold(), {"name": name, "type": _kind(name, before), "role": _role(before)})
    return list(found.values())[:MOST_ENTITIES]


def rule_questions(statement: str) -> list[str]:
    """The question that the statement answers, if it has one of a few common forms."""
    for pattern, question in _QUESTIONS:
        match = pattern.match(statement.strip())
        # "My wife Anna is …" tells nothing that one would ask for by her name.
        if match and not any(letter.isupper() for letter in match.groupdict().get("x") or ""):
            return [question.format(**match.groupdict())]
    return []


def grounded_entities(statement: str, entities: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Those whose name is in the statement, each once."""
    told = statement.casefold()
    kept = {entity["name"].casefold(): entity for entity in entities if entity["name"].casefold() in told}
    return list(kept.values())[:MOST_ENTITIES]


def _without_beginning(match: re.Match[str], statement: str) -> str:
    """The name, without a word that has its capital only because a sentence begins; "" for what is no name."""
    name = match[0].strip(".'’-")
    before = statement[: match.start()].rstrip("\"'“„( ")
    if not before or before[-1] in ".!?:":
        first, _, rest = name.partition(" ")
        if first.lower() in STOPWORDS | _NO_NAMES | _STRUCTURE or (not rest and not _is_acronym(first)):
            name = rest
    name = name.removesuffix("'s").removesuffix("’s")
    is_name = len(name) > 1 and name.lower() not in _NO_NAMES | STOPWORDS and not values_of({name.lower()})
    return name if is_name else ""


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word.isalpha()


def _kind(name: str, before: str) -> str:
    if _ORGANISATION.search(name) or _EMPLOYER_BEFORE.search(before):
        return EntityType.ORG.value
    if _TITLED.search(before) or _PERSON_BEFORE.search(before) or name.startswith(("Dr. ", "Prof. ", "Mr. ", "Mrs. ")):
        return EntityType.PERSON.value
    if _PLACE_PREPOSITION.search(before) and _PLACE_BEFORE.search(before):
        return EntityType.PLACE.value
    return EntityType.OTHER.value


def _role(before: str) -> str:
    return EntityRole.SUBJECT.value if not before.strip() else EntityRole.MENTIONED.value
