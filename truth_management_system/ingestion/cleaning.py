"""Text from outside, made fit to be read line by line; and how two statements are found to be the same."""

from __future__ import annotations

import re
import unicodedata

from database.engine.text import storable

from ..errors import InvalidKnowledgeError

MOST_TEXT_BYTES = 50 * 1024

_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_WORDS = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")


def checked_text(text: object) -> str:
    """`text` with plain line ends and no control characters. Raises InvalidKnowledgeError for none, or too much."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidKnowledgeError("The text is empty: write something.")
    clean = readable(text)
    size = max(len(clean.encode()), len(storable(text).encode()))
    if size > MOST_TEXT_BYTES:
        raise InvalidKnowledgeError(f"The text has {size:,} bytes; {MOST_TEXT_BYTES:,} are possible at once.")
    return clean


def readable(text: str) -> str:
    """`text` with LF as its only line end; control characters become spaces, lone surrogates U+FFFD."""
    return _CONTROLS.sub(" ", _LINE_ENDS.sub("\n", storable(text)))


def words_of(statement: str) -> list[str]:
    """The words of a statement, without case; "2026-02-08", "don't" and "7:30" are one word each."""
    return _WORDS.findall(unicodedata.normalize("NFKC", statement).casefold().replace("’", "'"))


def same_key(statement: str) -> str:
    """What is equal for two statements that differ in case, spaces and punctuation alone."""
    return " ".join(words_of(statement)) or statement.strip()
