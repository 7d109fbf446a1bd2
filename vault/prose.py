"""What a document says first, in prose: a summary that needs no model. Pure."""

from __future__ import annotations

import re

from markdown_code import code_ranges

_NO_PROSE = re.compile(
    r"[ ]{0,3}(?:\#{1,6}(?:[ \t]|$)|(?:[-*_][ \t]*){3,}$|!\[[^\]]*\]\([^)]*\)[ \t]*$|!\[\[[^\]]*\]\][ \t]*$|[|>]|<)"
)


def first_paragraph(text: str, *, at_most: int) -> str | None:
    """The first paragraph of prose on one line, if it has less than `at_most` characters; else None.

    text: without its front matter. Headings, rules, images, tables, quotes, HTML and code are no prose.
    """
    code = list(code_ranges(text[: at_most * 100]))
    at, paragraph = 0, list[str]()
    for line in text[: at_most * 100].split("\n"):
        is_prose = bool(line.strip()) and not _NO_PROSE.match(line) and not any(a <= at < b for a, b in code)
        at += len(line) + 1
        if is_prose:
            paragraph.append(line.strip())
        elif paragraph:
            break
    found = " ".join(paragraph)
    return found if 0 < len(found) < at_most else None
