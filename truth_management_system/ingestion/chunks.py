"""Cutting a long text into parts that a model can read one by one."""

from __future__ import annotations

import re

# Where a text may be cut, the best places first: after paragraphs, lines, sentences, words.
_ENDS = tuple(map(re.compile, (r"\n[ \t]*\n+", r"\n", r"[.!?…][\"'”’)]*\s+|[。！？]", r"\s+")))


def chunks(text: str, *, longest: int) -> list[str]:
    """Parts of at most `longest` characters; joined, they are `text` again. Parts of spaces alone are left out."""
    parts: list[str] = []
    begin = 0
    while begin < len(text):
        end = _end_of_part(text, begin, longest)
        parts.append(text[begin:end])
        begin = end
    return [part for part in parts if part.strip()]


def _end_of_part(text: str, begin: int, longest: int) -> int:
    limit = begin + longest
    if limit >= len(text):
        return len(text)
    for pattern in _ENDS:
        # A part that is nearly empty is worse than one that ends in a less good place.
        ends = [match.end() for match in pattern.finditer(text, begin, limit) if match.end() - begin > longest // 4]
        if ends:
            return ends[-1]
    return limit
