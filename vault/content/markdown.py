"""What a document's file says: text, front matter, title, headings, links. Pure."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from markdown_code import code_ranges

from .wikilinks import without_extension

_LARGEST_FRONT_MATTER = 64 * 1024
_MOST_VALUES = 2_000
_DEEPEST = 8
_LONGEST_VALUE = 2_000
_LARGEST_NUMBER = 2**53
_MOST_ALIASES = 100
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]([^\n]*))?$", re.MULTILINE)
_NO_PROSE = re.compile(
    r"[ ]{0,3}(?:\#{1,6}(?:[ \t]|$)|(?:[-*_][ \t]*){3,}$|!\[[^\]]*\]\([^)]*\)[ \t]*$|!\[\[[^\]]*\]\][ \t]*$|[|>]|<)"
)


class Heading(NamedTuple):
    """A heading. level: 1 to 6. line: 1-based."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as its file is now.

    path: relative to the vault. text: whole, with its front matter; lines end in a line feed. version: a hash of the
    file's bytes. body_line: the 1-based line after the front matter. modified_ns: the file's time, in nanoseconds.
    is_whole: the text says all that the file does; False where some of it is no UTF-8.
    """

    path: str
    title: str
    text: str
    front_matter: dict[str, Any]
    headings: list[Heading]
    version: str
    body_line: int
    size: int
    modified_ns: int
    is_whole: bool = True

    @property
    def lines(self) -> list[str]:
        """The lines, without their ends; a last line that is empty doesn't count."""
        lines = self.text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    @property
    def body(self) -> str:
        """The text without its front matter."""
        return "\n".join(self.text.split("\n")[self.body_line - 1 :])

    @property
    def aliases(self) -> list[str]:
        """The further names that the front matter gives."""
        return _texts(self.front_matter.get("aliases", self.front_matter.get("alias")))[:_MOST_ALIASES]


def version_of(content: bytes) -> str:
    """The version of a file that holds `content`."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def decoded(content: bytes) -> str:
    """The text of a file: without a byte order mark, line feeds between lines; what is no UTF-8 becomes U+FFFD."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")


def is_utf8(content: bytes) -> bool:
    """Whether `decoded` keeps everything that a file says."""
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False


def parsed(path: str, content: bytes, *, modified_ns: int) -> Document:
    """The document at `path`, whose file holds `content`."""
    text = decoded(content)
    front_matter, body_start = _front_matter(text)
    headings = list(_headings(text, body_start))
    given = front_matter.get("title")
    title = given.strip() if isinstance(given, str) else ""
    name = without_extension(path.rpartition("/")[2])
    return Document(
        path=path,
        title=title or next((heading.text for heading in headings if heading.text), "") or name,
        text=text,
        front_matter=front_matter,
        headings=headings,
        version=version_of(content),
        body_line=text.count("\n", 0, body_start) + 1,
        size=len(content),
        modified_ns=modified_ns,
        is_whole="\ufffd" not in text or is_utf8(content),
    )


def _headings(text: str, body_start: int) -> Iterator[Heading]:
    code = list(code_ranges(text[body_start:]))
    line, at, number = 1, 0, 0
    for match in _HEADING.finditer(text, body_start):
        start = match.start() - body_start
        while number < len(code) and code[number][1] <= start:
            number += 1
        if number < len(code) and code[number][0] <= start:
            continue
        line += text.count("\n", at, match.start())
        at = match.start()
        yield Heading(len(match[1]), _heading_text(match[2] or ""), line)


def _heading_text(rest: str) -> str:
    """What a heading says, without the signs that may close it."""
    text = rest.strip()
    before = text.rstrip("#")
    return before.rstrip() if before != text and (not before or before[-1] in " \t") else text


def _front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The values before the text, and where the text begins; broken ones are none, and belong to the text."""
    block = _FRONT_MATTER.match(text, 0, _LARGEST_FRONT_MATTER)
    if block is None:
        return {}, 0
    from frontmatter.default_handlers import YAMLHandler  # a server without documents does without YAML

    try:
        values = YAMLHandler().load(block[1] or "")
        plain = _Plain().of(values) if isinstance(values, dict) else {}
    except Exception:  # noqa: BLE001 - whatever YAML stumbles over, the document is still a text
        return {}, 0
    return plain, block.end()


class _Plain:
    """Values of YAML as those of JSON, as many as a document needs: aliases of YAML can stand for billions."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise ValueError("too many values")
        if isinstance(value, dict):
            return {_clean(str(key)): self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set)):
            return [self.of(item, depth + 1) for item in value]
        return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float)):  # true and false too
        return value if math.isfinite(value) and abs(value) <= _LARGEST_NUMBER else str(value)[:_LONGEST_VALUE]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return None if value is None else _clean(str(value))


def _clean(text: str) -> str:
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())[:_LONGEST_VALUE]


def _texts(value: Any) -> list[str]:
    listed: Sequence[Any] = value if isinstance(value, list) else [value]
    return [item.strip() for item in listed if isinstance(item, str) and item.strip()]


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
