"""The words of the full-text index in a SQLite file: folded, cut, stemmed, and behind a prefix of their owner.

A search walks along its owner's words alone, however many other people say the same. FTS5 gets them ready made: its own
stemmer would take the prefix for a part of the word. PostgreSQL does the same by functions of its own.
"""

from __future__ import annotations

import re
from functools import lru_cache

import orjson

from database.search.index import folded, term_prefix

_WORD = re.compile(r"[^\W_]+")
_BREAKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_KNOWN_STEMS = 20_000


def owned_words(user_email: str, texts: str) -> str:
    """What the index holds of a JSON list of texts, as such a list: their terms, parted by spaces; null stays null.

    The triggers of the index call it, once for each row.
    """
    prefix = term_prefix(user_email)
    words = [None if text is None else " ".join(terms(prefix, text)) for text in orjson.loads(texts)]
    return orjson.dumps(words).decode()


def terms(prefix: str, text: str) -> list[str]:
    """The words of a text as the index knows them, in order."""
    words = text.lower().translate(_BREAKS).split() if text.isascii() else _WORD.findall(folded(text))
    return [prefix + stem(word) for word in words]


# M. F. Porter, An algorithm for suffix stripping, https://tartarus.org/martin/PorterStemmer/
_SHORTEST = 3
_DOUBLED = re.compile(r"(?!aa|ee|ii|oo|uu|ll|ss|zz)(.)\1$")
_SECOND = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_DROPPED = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment"),
    *("ent", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)
_FOURTH = dict.fromkeys(_DROPPED, "") | {"sion": "s", "tion": "t"}


@lru_cache(maxsize=_KNOWN_STEMS)
def stem(word: str) -> str:
    """What the inflections of an English word have in common; words of other languages lose some endings, too."""
    if len(word) < _SHORTEST:
        return word
    word = _without_inflection(_without_plural(word))
    if word.endswith("y") and "v" in _sounds(word[:-1]):
        word = f"{word[:-1]}i"
    for endings, least in ((_SECOND, 1), (_THIRD, 1), (_FOURTH, 2)):
        word = _shortened(word, endings, least=least)
    return _without_last_letter(word)


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_inflection(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    left = next((word[: -len(ending)] for ending in ("ed", "ing") if word.endswith(ending)), None)
    if left is None or "v" not in _sounds(left):
        return word
    if left.endswith(("at", "bl", "iz")):
        return f"{left}e"
    if _DOUBLED.search(left):
        return left[:-1]
    return f"{left}e" if _measure(left) == 1 and _ends_short(left) else left


def _shortened(word: str, endings: dict[str, str], *, least: int) -> str:
    """The word with its longest ending replaced, where so much is left of it."""
    ending = max((ending for ending in endings if word.endswith(ending)), key=len, default="")
    replaced = endings.get(ending, "")
    kept = word[: len(word) - len(ending)]
    measured = kept + replaced if endings is _FOURTH else kept
    return kept + replaced if ending and _measure(measured) >= least else word


def _without_last_letter(word: str) -> str:
    left = word[:-1]
    if word.endswith("e") and (_measure(left) > 1 or (_measure(left) == 1 and not _ends_short(left))):
        word = left
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _sounds(word: str) -> str:
    """A "v" for each vowel and a "c" for each consonant."""
    sounds = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and sounds.endswith("c"))
        sounds += "v" if is_vowel else "c"
    return sounds


def _measure(word: str) -> int:
    """How many times consonants follow vowels."""
    return _sounds(word).count("vc")


def _ends_short(word: str) -> bool:
    return _sounds(word).endswith("cvc") and word[-1] not in "wxy"
