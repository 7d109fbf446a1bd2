"""The words of the full-text index in a SQLite file: folded, cut, stemmed, and behind a prefix of their owner.

A search walks along its owner's words alone, however many other people say the same. FTS5 gets them ready made: its own
stemmer would take the prefix for a part of the word. PostgreSQL does the same by functions of its own.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import Any

import orjson

from database.search.index import folded, term_prefix

_WORD = re.compile(r"[^\W_]+")
_BREAKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_SHORTEST = 3
_KNOWN_STEMS = 20_000
_own = threading.local()


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


@lru_cache(maxsize=_KNOWN_STEMS)
def stem(word: str) -> str:
    """What the inflections of an English word have in common; words of other languages lose some endings, too."""
    return word if len(word) < _SHORTEST else _stemmer().stemWord(word)


def _stemmer() -> Any:
    """One for each thread: a stemmer keeps the word it works at."""
    if not hasattr(_own, "stemmer"):
        import Stemmer

        _own.stemmer = Stemmer.Stemmer("porter")
    return _own.stemmer
