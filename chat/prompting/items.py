"""What a model may rely on: one shape of item from resolution to prompt, and its rendering as `<pkb_item>` elements."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

Source = Literal["referenced", "attached", "pinned", "conv_pinned", "auto"]

SOURCES: tuple[Source, ...] = ("referenced", "attached", "pinned", "conv_pinned", "auto")
"""In order of priority."""

REFERENCE_CAP = 8000
"""Characters of one referenced message, unless the settings say otherwise."""

CONTEXT_BEGINS = "--- Context for this message ---"
SUMMARY_HEADING = "Summary of the earlier part of this conversation, whose messages are not shown:"
CONDENSED_HEADING = "Condensed from other material of the user:"
REFERENCED_HEADING = "**User's explicitly referenced memories (ground truth):**"
DOCUMENTS_HEADING = "Documents that this conversation named before, the latest first:"
FILES_HEADING = "Files that the user attached to this message:"
GIVEN_HEADING = "Answers that others have given to this message already:"
CONTEXT_ENDS = "--- End of context ---"
"""The lines that structure the block of context in a prompt. `neutralised` text holds none of them."""

_CLOSING = "</pkb_item>"
# Between the signs of a tag there may be invisible ones, and each may be its full-width or a similar letter.
_HIDDEN = r"[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]*"
_TAG_NAME = _HIDDEN.join(
    (
        r"[p\u0440\u03c1\uff50]",
        r"[k\u043a\u03ba\uff4b]",
        r"[b\uff42]",
        r"[_\uff3f]",
        r"[i\u0456\u03b9\uff49]",
        r"[t\uff54]",
        r"[e\u0435\uff45]",
        r"[m\uff4d]",
    )
)
_GAP = f"(?:\\s|{_HIDDEN[:-1]})*"
_TAG_IN_BODY = re.compile(rf"[<\ufe64\uff1c](?={_GAP}(?:[/\uff0f]{_GAP})?{_TAG_NAME}(?![\w-]))", re.IGNORECASE)
# Attribute values never hold "<": one that does not end cannot make the search run through the whole text.
_OPENING = re.compile(r"""<pkb_item((?:\s+[\w:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*>""")
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_LEGACY_BULLET = re.compile(
    r"^- \[(?:REFERENCED\b[^\]\n]*\]|(?:ATTACHED|(?:GLOBAL[-_ ])?PINNED|CONV[-_ ]PINNED|AUTO|[a-z][a-z0-9_-]+)\] )",
    re.MULTILINE,
)
_ESCAPES = str.maketrans(
    {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
_LONGEST_NOTICE = 64

_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_NO_LETTERS = re.compile(r"[\W_]+")
_MOST_LETTERS = 100
# Cyrillic, Armenian and Greek letters that look like Latin ones.
_LATIN = str.maketrans("асԁеһіјкмнопѕрԛтуѵхԝցոսօαεικνορτυχ", "acdehijkmhonspqtyvxwgnuoaeiknoptux")
_RULED_END = re.compile(r"[-=_*#~\u2010-\u2015\u2212\u2500-\u257f]{2}(?=[\W_]*end[\W_]+of[\W_]+context)", re.IGNORECASE)


def _letters(line: str) -> str:
    """The letters and digits of `line` in lowercase, those that look Latin as Latin ones: one for every spelling."""
    letters = _NO_LETTERS.sub("", line)
    if letters.isascii() or len(letters) > _MOST_LETTERS:
        return letters.lower()
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKD", letters).lower().translate(_LATIN))


_MARKERS = frozenset(
    map(
        _letters,
        (
            CONTEXT_BEGINS,
            SUMMARY_HEADING,
            DOCUMENTS_HEADING,
            CONDENSED_HEADING,
            REFERENCED_HEADING,
            FILES_HEADING,
            GIVEN_HEADING,
            CONTEXT_ENDS,
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PkbItem:
    """One thing the model may rely on.

    Attributes:
        body: Verbatim text, unescaped; a prefix of it when `truncated_from` is set.
        type: Type of the claim, or `conversation_message`, `conversation`, `document`, `activity`, `file`.
        source: Why it is given; `SOURCES` has them in order of priority.
        refs: References that named it, as typed with their `@`.
        label: First line, telling where the body is from; not part of it.
        key: What the item is (a message's or a claim's id): items of one key are one item. None is like no other.
        name: The readable id of a claim.
        truncated_from: Characters of the whole text when the body was cut, else None.
        note: What a reader has to know of it ("retracted", "superseded by @…"), or "".
        picture: A `data:` URL that goes with the message to a model that sees pictures; "" for what is none. No text.
    """

    body: str
    type: str
    source: Source
    refs: tuple[str, ...] = ()
    label: str = ""
    key: str | None = None
    name: str = ""
    truncated_from: int | None = None
    note: str = ""
    picture: str = ""

    @property
    def text(self) -> str:
        """Label, body, and the notice where the body was cut: what stands in the element."""
        notice = "" if self.truncated_from is None else _notice(self.truncated_from)
        return f"{self.label}\n{self.body}{notice}" if self.label else f"{self.body}{notice}"


def render(items: Iterable[PkbItem]) -> str:
    """The items as `<pkb_item>` elements, one after another, in the order given; "" for none."""
    return "\n".join(_element(item) for item in items)


def _element(item: PkbItem) -> str:
    attributes = [("source", item.source), ("type", item.type)]
    if item.refs:
        attributes.append(("ref", " ".join(item.refs)))
    if item.note:
        attributes.append(("note", item.note))
    opening = " ".join(["<pkb_item", *(f'{name}="{value.translate(_ESCAPES)}"' for name, value in attributes)])
    # Over label and body at once: a tag could also stand across their border.
    return f"{opening}>{neutralised(item.text)}{_CLOSING}"


def neutralised(text: str) -> str:
    """`text` as data: with nothing in it that could be read as the tag of an item or a marker of the context block.

    The "<" of such a tag becomes "&lt;", and the first character of such a marker its numeric reference ("&#45;"). All
    else stays as it is, byte for byte. A marker is known by its letters alone: other dashes, spaces, letters of other
    alphabets that look alike and invisible characters make no difference. Nor do letters and characters of the latter
    two kinds to a tag.
    """
    untagged = _TAG_IN_BODY.sub(lambda match: "&lt;" if match[0] == "<" else _reference(match[0]), text)
    untagged = _RULED_END.sub(lambda match: f"{_reference(match[0][0])}{match[0][1:]}", untagged)
    return _LINE.sub(lambda match: _without_marker(match[0]), untagged)


def _without_marker(line: str) -> str:
    if _letters(line) not in _MARKERS:
        return line
    start = len(line) - len(line.lstrip())
    return f"{line[:start]}{_reference(line[start])}{line[start + 1 :]}"


def _reference(sign: str) -> str:
    return f"&#{ord(sign)};"


def merge(items: Iterable[PkbItem]) -> list[PkbItem]:
    """Each thing once, under its highest source, with the references of all its items; sources in order of priority.

    Within a source the order stays as given, and what was cut gives way to more of the same.
    """
    merged: dict[object, PkbItem] = {}
    for item in sorted(items, key=lambda item: SOURCES.index(item.source)):
        identity = object() if item.key is None else item.key
        first = merged.get(identity, item)
        is_cut = first.truncated_from is not None and item.source == first.source
        fullest = item if is_cut and len(item.body) > len(first.body) else first
        refs = tuple(dict.fromkeys(first.refs + item.refs))
        merged[identity] = fullest if refs == fullest.refs else replace(fullest, refs=refs)
    return list(merged.values())


def extract_referenced(rendered: str) -> str:
    """What was explicitly referenced, out of rendered items: whole `source="referenced"` elements, each on a new line.

    Text without elements is read as the older bullets `- [REFERENCED @id] [type] statement`, with all their lines.
    """
    opening = _OPENING.search(rendered)
    if opening is None:
        return _extract_legacy_bullets(rendered)
    kept: list[str] = []
    while opening:
        body_end = rendered.find(_CLOSING, opening.end())
        if body_end < 0:
            break
        end = body_end + len(_CLOSING)
        if _attributes(opening[1]).get("source") == "referenced":
            kept.append(rendered[opening.start() : end])
        opening = _OPENING.search(rendered, end)
    return "\n".join(kept)


def _attributes(written: str) -> dict[str, str]:
    return {match[1]: match[2] or match[3] or "" for match in _ATTRIBUTE.finditer(written)}


def _extract_legacy_bullets(text: str) -> str:
    edges = [*(match.start() for match in _LEGACY_BULLET.finditer(text)), len(text)]
    bullets = (text[start:end].rstrip("\n") for start, end in pairwise(edges))
    return "\n".join(bullet for bullet in bullets if bullet.startswith("- [REFERENCED"))


def cut(body: str, cap: int = REFERENCE_CAP) -> tuple[str, bool]:
    """`body` with at most `cap` of its characters and a notice behind them, and whether anything was cut."""
    if len(body) <= cap:
        return body, False
    return body[: _place_to_cut(body, cap)] + _notice(len(body)), True


def shorten(item: PkbItem, cap: int = REFERENCE_CAP) -> PkbItem:
    """The item with at most `cap` characters of its body; what is cut is announced when it is rendered."""
    if len(item.body) <= cap:
        return item
    whole = item.truncated_from or len(item.body)
    return replace(item, body=item.body[: _place_to_cut(item.body, cap)], truncated_from=whole)


def _notice(characters: int) -> str:
    return f"\n... [truncated, original message was {characters} chars]"


def _place_to_cut(body: str, cap: int) -> int:
    """End of the last line, else word, within the last eighth before `cap`; `cap` itself where there is neither."""
    nearest = cap - cap // 8
    line_end = body.rfind("\n", nearest, cap + 1)
    if line_end >= 0:
        return line_end
    return next((place for place in range(cap, nearest - 1, -1) if body[place].isspace()), cap)


def fit(items: Sequence[PkbItem], budget_chars: int) -> tuple[list[PkbItem], list[PkbItem]]:
    """Cut the longest bodies down to one common length, so that the rendered items fit `budget_chars`.

    None is dropped: where even the tags and notices exceed the budget, the bodies are cut away and the result is longer
    than the budget.

    Returns:
        All items in their order, and those among them that were cut here.
    """
    if len(render(items)) <= budget_chars:
        return list(items), []
    tags = sum(len(_element(item)) - len(item.body) + 1 for item in items)
    cap = _common_cap([len(item.body) for item in items], budget_chars - tags)
    fitted = [shorten(item, cap) if len(item.body) > cap + _LONGEST_NOTICE else item for item in items]
    return fitted, [after for before, after in zip(items, fitted, strict=True) if after is not before]


def _common_cap(lengths: Sequence[int], budget: int) -> int:
    """The largest cap with which bodies of these lengths and their notices take at most `budget` characters; or 0."""
    cap, too_much = 0, max(lengths) + 1
    while too_much - cap > 1:
        middle = (cap + too_much) // 2
        if sum(min(length, middle + _LONGEST_NOTICE) for length in lengths) <= budget:
            cap = middle
        else:
            too_much = middle
    return cap
