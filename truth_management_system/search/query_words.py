"""What a search looks for: the words in what somebody typed."""

from __future__ import annotations

import re

from conversation_reference_utils import STOPWORDS

_MOST_CHARACTERS = 2_000
_MOST_WORDS = 12
# Scripts that don't part words by spaces: the index holds whole runs of them as one word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*")
_LETTERS = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile("['’]")
# "2026-12-01", "24/7" and "030 / 123 45" are no sums.
_SUM = re.compile(r"(?<![\w.,])\d[\d.,]*(?:[\s()]*[+*×÷^=][\s()]*\d[\d.,]*|[\s()]+[-−–/][\s()]+\d{1,2}\b)+")


def query_words(text: str) -> list[str]:
    """The distinct words of `text` in lowercase, in order, at most 12; whatever is neither letter nor digit parts them.

    Words that say nothing ("what", "the") are left out where others remain; "Tomasz's" is "tomasz".
    """
    found = [match.group().lower() for match in _WORD.finditer(text[:_MOST_CHARACTERS])]
    meaningful = [word for word in found if word.replace("’", "'") not in STOPWORDS]
    return list(dict.fromkeys(part for word in meaningful or found for part in _parts(word)))[:_MOST_WORDS]


def all_words(text: str) -> list[str]:
    """Every word of `text` in lowercase, in order; an apostrophe parts words, too."""
    return [word.lower() for word in _LETTERS.findall(text[:_MOST_CHARACTERS])]


def unspaced_pieces(text: str) -> list[str]:
    """Pairs of neighbouring characters, at most 12, from what is written without spaces (Chinese, Thai, …).

    A run of one character is a piece of its own.
    """
    runs = (match.group() for match in _UNSPACED_RUN.finditer(text[:_MOST_CHARACTERS]))
    pieces = (run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1)))
    return list(dict.fromkeys(pieces))[:_MOST_WORDS]


def without_sums(text: str) -> str:
    """What a search reads of `text`, without sums ("2 + 2"), whose numbers stand for nothing."""
    return _SUM.sub(" ", text[:_MOST_CHARACTERS])


def _parts(word: str) -> list[str]:
    parts = _APOSTROPHE.split(word)
    return [part for part in parts if len(part) > 1] or parts
