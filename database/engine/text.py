"""Text as the store can hold it."""

from __future__ import annotations

from typing import Any

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


def problem_of_json(value: Any, *, deepest: int = DEEPEST_JSON, depth: int = 0) -> str | None:
    """Why JSON from outside can't be stored: a NUL character, or more than `deepest` levels; None where it can."""
    if depth > deepest:
        return f"nested more than {deepest} levels deep"
    if isinstance(value, str):
        return "a NUL character is not allowed" if "\x00" in value else None
    within = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = (problem_of_json(each, deepest=deepest, depth=depth + 1) for each in within)
    return next((problem for problem in found if problem is not None), None)
