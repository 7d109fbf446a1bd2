"""A style sheet without the rules that no page can need: those for classes that the pages' sources do not name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_BEGINNING = re.compile(r'(?:@charset "[^"]*";|/\*.*?\*/)*', re.DOTALL)
_CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
# What may or may not match says nothing about what a rule needs.
_OPTIONAL = re.compile(r":(?:not|is|where)\([^()]*\)")
_COMMA = re.compile(r",(?![^()]*\))")
_WORD = re.compile(r"[\w-]+")
_CONDITIONS = ("@media", "@supports")


def named_classes(sources: Iterable[str]) -> frozenset[str]:
    """Every word of the sources: a class counts as used if its name occurs anywhere, so that none is missed."""
    return frozenset(word for source in sources for word in _WORD.findall(source))


def only_used(sheet: str, used: frozenset[str]) -> str:
    """The minified `sheet` without the selectors that need a class outside `used`.

    Rules without classes stay, and so do keyframes and the comment at the beginning.
    """
    rest = _BEGINNING.sub("", sheet, count=1)
    return sheet[: len(sheet) - len(rest)] + "".join(_used_rules(rest, used))


def _used_rules(sheet: str, used: frozenset[str]) -> Iterator[str]:
    for head, body in _rules(sheet):
        if head.startswith(_CONDITIONS):
            if inner := only_used(body, used):
                yield f"{head}{{{inner}}}"
        elif head.startswith("@"):
            yield f"{head}{{{body}}}"
        elif selectors := [each for each in _COMMA.split(head) if _is_used(each, used)]:
            yield f"{','.join(selectors)}{{{body}}}"


def _is_used(selector: str, used: frozenset[str]) -> bool:
    return used.issuperset(_CLASS.findall(_OPTIONAL.sub("", selector)))


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """(what stands before the braces, what stands between them) of each rule at the top level."""
    begin = opened = depth = 0
    for brace in re.finditer(r"[{}]", sheet):
        if brace[0] == "{":
            depth += 1
            if depth == 1:
                opened = brace.start()
        else:
            depth -= 1
            if depth == 0:
                yield sheet[begin:opened], sheet[opened + 1 : brace.start()]
                begin = brace.end()
