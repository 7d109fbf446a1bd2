"""Text as the store can hold it."""

from __future__ import annotations

DEEPEST_JSON = 20
"""How many levels JSON from outside may be nested."""


def storable(text: str) -> str:
    """`text` with each lone surrogate, which no encoding of Unicode can hold, replaced by U+FFFD; the rest as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # Surrogate pairs become the characters they stand for; what is left alone becomes the replacement character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
