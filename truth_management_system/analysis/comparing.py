"""What a new statement is to one that is known, without asking a model: by words, values, negation and vectors."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from conversation_reference_utils import STOPWORDS

from ..config import PKBConfig
from .cues import (
    COMPATIBLE,
    EXCLUSIVE,
    FIRST_PERSON,
    FIRST_PERSON_UNSPACED,
    NEGATION,
    NEGATION_UNSPACED,
    OPPOSITES,
    VALUE_WORDS,
)
from .statements import same_key, words_of

_OPPOSING = frozenset().union(*OPPOSITES)
_RELATED_WORDS = 0.5
_SAME_SUBJECT_MATTER = 0.6
_SAME_BUT_FOR_A_VALUE = 0.75
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SHORTEST_PLURAL = 4
_LONGEST_UNSPACED_WORD = 3
# What a person has one of: another name for it is another one.
_ONE_OF_A_KIND = re.compile(
    r"my (?P<what>(?!(?:best |old |good )?(?:friend|colleague|neighbou?r|brother|sister|son|daughter|child|cousin|"
    r"uncle|aunt|teacher)\b)[^\W\d_][\w' -]{1,60}?) (?:is|are) (?:called |named )?(?P<which>.{1,80})",
    re.IGNORECASE,
)
_ONE_PLACE = re.compile(r"i (?P<what>live in|work (?:at|for)|was born (?:in|on)|come from) (?P<which>.{1,80})", re.I)
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "prof", "herr", "frau"})
_FAVOURITE = re.compile(r"favou?rite\b", re.IGNORECASE)


class Relation(StrEnum):
    """What a new statement is to a known one. refinement: it says the same and more."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    REFINEMENT = "refinement"
    RELATED = "related"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """similarity: cosine of the vectors, or the share of common words where there are none. reason: for a person."""

    relation: Relation
    similarity: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A statement taken apart; `names` are the words written with a capital, the first one apart."""

    core: frozenset[str]
    values: frozenset[str]
    names: frozenset[str]
    is_negated: bool
    is_first_person: bool

    @property
    def words(self) -> frozenset[str]:
        return self.core | self.values


def compare(new: str, known: str, *, cosine: float | None, config: PKBConfig) -> Comparison:
    """What `new` is to `known`; cosine: of their vectors, None where there are none."""
    if same_key(new) == same_key(known):
        return Comparison(relation=Relation.DUPLICATE, similarity=1.0, reason="It is there, word for word.")
    one, other = _parts(new), _parts(known)
    common = _common(one.words, other.words)
    similarity = common if cosine is None else cosine
    if other_one := _another_of_a_kind(new, known):
        return Comparison(relation=Relation.CONTRADICTION, similarity=_within(similarity), reason=other_one)
    relation, reason = _related(one, other, similarity >= config.related_similarity or common >= _RELATED_WORDS)
    if one.is_first_person == other.is_first_person:
        is_near = cosine is not None and cosine >= config.duplicate_similarity
        relation, reason = _about_the_same(one, other, common, is_near) or (relation, reason)
    return Comparison(relation=relation, similarity=_within(similarity), reason=reason)


def content_words(statement: str) -> frozenset[str]:
    """The words of a statement that say something, plurals as singulars; scripts without spaces in pairs of letters."""
    affirmed = NEGATION_UNSPACED.sub("", statement)
    words = [word for word in words_of(affirmed) if not NEGATION.fullmatch(word)]
    meaningful = [word for word in words if word not in STOPWORDS or word in _OPPOSING] or words
    return frozenset(piece for word in meaningful for piece in _pieces(word))


def values_of(words: AbstractSet[str]) -> frozenset[str]:
    """Those of `words` that are numbers, times, days or months."""
    return frozenset(word for word in words if any(map(str.isdigit, word)) or VALUE_WORDS.fullmatch(word))


def is_first_person(statement: str) -> bool:
    """Whether a person speaks of themselves."""
    return bool(FIRST_PERSON.search(statement) or FIRST_PERSON_UNSPACED.search(statement))


def is_unspaced_sentence(word: str) -> bool:
    """Whether what looks like one word is written in a script without spaces, and too long to be one."""
    return len(word) > _LONGEST_UNSPACED_WORD and _UNSPACED.search(word) is not None


def _count_negations(statement: str) -> int:
    return len(NEGATION.findall(statement)) + len(NEGATION_UNSPACED.findall(statement))


def _another_of_a_kind(new: str, known: str) -> str:
    """Why "My dentist is Dr. Meier" and "My dentist is Dr. Novak" can't both be; "" where they can."""
    pattern = _ONE_PLACE if _ONE_PLACE.match(new.strip()) else _ONE_OF_A_KIND
    here, there = pattern.match(new.strip()), pattern.match(known.strip())
    if not here or not there or same_key(here["what"]) != same_key(there["what"]):
        return ""
    names = [match["which"].strip(" .!\"'") for match in (here, there)]
    is_named = all(name[:1].isupper() for name in names) or _FAVOURITE.match(here["what"])
    differ = content_words(names[0]).isdisjoint(content_words(names[1]) - _TITLES)
    return f"One says {names[0]}, the other {names[1]}." if is_named and differ else ""


def _within(similarity: float) -> float:
    return round(min(1.0, max(0.0, similarity)), 4)


def _related(one: _Parts, other: _Parts, is_near: bool) -> tuple[Relation, str]:
    if not is_near:
        return Relation.UNRELATED, ""
    common = ", ".join(sorted(one.words & other.words)[:3])
    return Relation.RELATED, f"Both speak of {common}." if common else "They mean something alike."


def _about_the_same(one: _Parts, other: _Parts, common: float, is_near: bool) -> tuple[Relation, str] | None:
    """What holds for two statements with one subject; None where they only may be related."""
    if contradiction := _contradiction(one, other):
        return Relation.CONTRADICTION, contradiction
    added, missing = one.words - other.words, other.words - one.words
    differ = added | missing
    if one.is_negated != other.is_negated or differ & _OPPOSING or (added & one.values and missing & other.values):
        return None
    if not added and common >= _RELATED_WORDS:
        return Relation.DUPLICATE, "What is known says this, and more." if missing else "The same words are there."
    if not missing and common >= _RELATED_WORDS:
        return Relation.REFINEMENT, f"It says the same and more: {', '.join(sorted(added)[:4])}."
    if is_near and not differ & (one.names | other.names | one.values | other.values):
        return Relation.DUPLICATE, "It means the same."
    return None


def _contradiction(one: _Parts, other: _Parts) -> str:
    alike = _common(one.core, other.core)
    if one.is_negated != other.is_negated:
        is_same_matter = alike >= _SAME_SUBJECT_MATTER and one.values == other.values
        return "One says it, the other denies it." if is_same_matter else ""
    only_one, only_other = one.values - other.values, other.values - one.values
    is_within = alike >= _RELATED_WORDS and (one.core <= other.core or other.core <= one.core)
    if len(only_one) == len(only_other) == 1 and (is_within or alike >= _SAME_BUT_FOR_A_VALUE):
        return f"One says {min(only_one)}, the other {min(only_other)}."
    return _opposite(one, other)


def _opposite(one: _Parts, other: _Parts) -> str:
    added, missing = one.core - other.core, other.core - one.core
    for pair in OPPOSITES:
        here, there = pair & added, pair & missing
        if pair in COMPATIBLE and not one.core & other.core & EXCLUSIVE:
            continue
        if here and there and added - here == missing - there == frozenset() and one.values == other.values:
            return f"One says {min(here)}, the other {min(there)}."
    return ""


def _parts(statement: str) -> _Parts:
    words = content_words(statement)
    values = values_of(words)
    names = frozenset(
        piece
        for word in statement.split()[1:]
        if word.strip("\"'“„(«")[:1].isupper()
        for part in words_of(word)
        for piece in _pieces(part)
    )
    return _Parts(
        core=words - values,
        values=values,
        names=names,
        is_negated=_count_negations(statement) % 2 == 1,
        is_first_person=is_first_person(statement),
    )


def _pieces(word: str) -> list[str]:
    if _UNSPACED.search(word) and len(word) > 1:
        return [word[start : start + 2] for start in range(len(word) - 1)]
    word = word.removesuffix("'s")
    is_plural = len(word) >= _SHORTEST_PLURAL and word.endswith("s") and not word.endswith("ss")
    return [word[:-1] if is_plural else word]


def _common(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Dice's coefficient, 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
