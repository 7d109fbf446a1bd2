"""Wikilinks of a text: `[[target]]`, `[[target#heading]]`, `[[target#^block]]`, `[[target|alias]]`. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_code import code_ranges

_LONGEST = 1_000
_LONGEST_KEY = 300
_EXTENSION = re.compile(r"\.(?:md|markdown|txt)\Z", re.IGNORECASE)
# What Obsidian embeds or opens beside documents.
_OTHER_FILE = re.compile(
    r"[^/.][^/]*\.(?:avif|bmp|gif|heic|jpe?g|png|svg|tiff?|webp|3gp|flac|m4a|mp3|oga|ogg|opus|wav|mkv|mov|mp4|ogv|webm|"
    r"pdf|canvas|base|excalidraw)\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wikilink:
    """A link. raw: as it stands in the text, with its brackets. target: NFC, without anchor and alias.

    anchor: the heading, or the block after "^"; None without one. start, end: its place in the text, in characters.
    """

    raw: str
    target: str
    anchor: str | None
    alias: str | None
    start: int
    end: int


def find_wikilinks(text: str) -> list[Wikilink]:
    """The links of `text` in order; none in code, none without a target, none with a line break."""
    if "[[" not in text:
        return []
    found, code = list[Wikilink](), _Ranges(code_ranges(text))
    for start, end in _places(text):
        link = _parsed(text[start:end], text[start + 2 : end - 2], start=start)
        if link is not None and start not in code:
            found.append(link)
    return found


def parse_wikilink(text: str) -> Wikilink | None:
    """The link that `text` is, with or without brackets; None where it is none."""
    stripped = text.strip().removeprefix("!")
    inside = stripped[2:-2] if stripped.startswith("[[") and stripped.endswith("]]") else stripped
    return None if "]" in inside else _parsed(stripped, inside, start=0)


def link_to(path: str) -> str | None:
    """The link to the document at `path`; None for a path that no link can say, such as one with "#"."""
    link = parse_wikilink(f"[[{path}]]")
    return link.raw if link is not None and link.target == unicodedata.normalize("NFC", path) else None


def fold(name: str) -> str:
    """`name` as names are compared without regard to case; of a long one the beginning: it is a key of indexes."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())[:_LONGEST_KEY]


def names_other_file(link: Wikilink) -> bool:
    """Whether a link that no document has for its name is to a picture, or to another file that is no document."""
    return _OTHER_FILE.search(link.target) is not None


def without_extension(name: str) -> str:
    """`name` without `.md`, `.markdown` or `.txt`."""
    return _EXTENSION.sub("", name)


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each pair of double brackets with no "]" between them, in time linear in the text."""
    start, closing = text.find("[["), -1
    while start >= 0:
        if closing < start + 2:
            closing = text.find("]", start + 2)
        if closing < 0:
            return
        if closing > start + 2 and text.startswith("]]", closing):
            yield start, closing + 2
            start = text.find("[[", closing + 2)
        else:
            start = text.find("[[", start + 1)


def _parsed(raw: str, inside: str, *, start: int) -> Wikilink | None:
    if len(raw) > _LONGEST or "\n" in inside or "\r" in inside:
        return None
    address, bar, alias = inside.partition("|")
    if bar:
        address = address.removesuffix("\\")  # within a table the bar is escaped
    target, hash_sign, anchor = address.partition("#")
    target = unicodedata.normalize("NFC", target).strip()
    if not target:
        return None
    return Wikilink(
        raw=raw,
        target=target,
        anchor=(anchor.strip() or None) if hash_sign else None,
        alias=(alias.strip() or None) if bar else None,
        start=start,
        end=start + len(raw),
    )


class _Ranges:
    """Ranges in order, asked about growing positions."""

    def __init__(self, ranges: Iterator[tuple[int, int]]) -> None:
        self._ranges = ranges
        self._current: tuple[int, int] | None = next(ranges, None)

    def __contains__(self, position: int) -> bool:
        while self._current is not None and self._current[1] <= position:
            self._current = next(self._ranges, None)
        return self._current is not None and self._current[0] <= position
