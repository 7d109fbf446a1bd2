"""The kinds of message parts: thinking, notices, tool calls, files, pictures; how exports and shared links show them.

The words of a message are its `text` part. They stand in `messages.text` alone: only they are quoted, searched and
given to models. Every other part is a row of `message_parts`, and a plain message has none. `at` says how many
characters of the text come before a part.

A new kind of part is one object with the shape of `PartKind` and one line in `KINDS`. What the kind does not define
(storing, streaming, copying, erasing) is the same for all kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

Part = Mapping[str, Any]
"""`{id, kind, at, …}`: `id` is unique in its message, the further fields are those of the kind."""
_NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
"""Characters that Windows has in no name, control characters, and those that let a name read otherwise than it is."""
_DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)", re.IGNORECASE)
_ACTIVE_ENDINGS = re.compile(
    r"atom|dae|fb2|gml|gpx|kml|mathml|mht|mhtml|mml|opml|owl|plist|rdf|rss|s?html?|smil?|svgz?|wsdl|x3d|xaml|xbl"
    r"|xht|xhtml?|xml|xsd|xslt?|xspf|xul",
    re.IGNORECASE,
)
"""Browsers show them as pages, or as XML, which may hold scripts. From the disk they run, whatever a link asks for."""
_PROGRAM_ENDINGS = re.compile(
    r"action|ahk|app|applescript|appref-ms|application|au3|bat|chm|cmd|com|command|cpl|desktop|diagcab|exe"
    r"|fileloc|gadget|hlp|hta|inetloc|inf|iqy|jar|jnlp|jse?|library-ms|lnk|msc|msi|msp|pif|ps[cdm]?1"
    r"|ps1xml|rdp|reg|scf|scptd?|scr|sct|search(connector)?-ms|settingcontent-ms|slk|terminal"
    r"|theme|tool|url|vb[es]?|webloc|website|workflow|ws[cfh]?",
    re.IGNORECASE,
)
"""A system runs them on a double click, or opens an address that they hold. Not those of interpreters that somebody has
to install, such as `.py`: people who do so attach them often, and want to find them by name."""
_ACTIVE_TYPES = ("text/html", "image/svg+xml")
_AS_TEXT = ".txt"
_LONGEST_ENDING = 16
_FILE_SHOWS = ("name", "media_type", "size")
_LONGEST = 200
"""In bytes of UTF-8, with `_AS_TEXT`: file systems take 255."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPart:
    """A part in a readable export. title: one line of plain text. body: Markdown, "" for none.

    file: `<id>/<name>` of the file that it is, as ZIPs have it, "" for none. label: the English word before the title
    for what it is.
    """

    title: str
    label: str = ""
    body: str = ""
    file: str = ""


class PartKind(Protocol):
    """What the program has to know of one kind of part."""

    @property
    def name(self) -> str:
        """The `kind` of such parts."""
        ...

    def exported(self, part: Part) -> ExportedPart:
        """The part as Markdown and HTML exports show it. JSON exports and bundles hold the part itself."""
        ...

    def shared(self, part: Part) -> dict[str, Any] | None:
        """The fields of the part that the readers of a shared link may see; None: nothing of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleKind:
    """A `PartKind` made of two functions; without `shows`, readers of a shared link see nothing of the part."""

    name: str
    export: Callable[[Part], ExportedPart]
    shows: tuple[str, ...] = ()

    def exported(self, part: Part) -> ExportedPart:
        """See `PartKind`."""
        return self.export(part)

    def shared(self, part: Part) -> dict[str, Any] | None:
        """See `PartKind`."""
        return {name: part[name] for name in self.shows if name in part} or None


def _thinking(part: Part) -> ExportedPart:
    return ExportedPart(label="Thinking", title="", body=str(part.get("text", "")))


def _notice(part: Part) -> ExportedPart:
    return ExportedPart(label="Note", title=" ".join(str(part.get("text", "")).split()))


def _tool_call(part: Part) -> ExportedPart:
    fields = {name: part[name] for name in ("arguments", "result") if name in part}
    shown = orjson.dumps(fields, option=orjson.OPT_INDENT_2).decode().replace("\n", "\n    ")
    return ExportedPart(label="Tool", title=str(part.get("name", "")), body=f"    {shown}" if fields else "")


def _file(part: Part) -> ExportedPart:
    return ExportedPart(label="File", title=str(part.get("name", "")), file=_path_of(part))


def _image(part: Part) -> ExportedPart:
    return ExportedPart(label="Picture", title=str(part.get("name", "")), file=_path_of(part))


def _path_of(part: Part) -> str:
    name = archived_name(str(part.get("name", "")), str(part.get("media_type", "")))
    return f"{part['attachment_id']}/{name}" if "attachment_id" in part else ""


def archived_name(name: str, media_type: str) -> str:
    """What the file `name` is called in its folder of a ZIP, where any system can unpack it and a click runs nothing.

    Pages, SVG, XML, programs, scripts and links end in .txt. The true name stays in the message, from which an import
    restores it.
    """
    plain = _NOT_IN_NAMES.sub("_", name).rstrip(". ")
    # Files that begin with a dot are hidden.
    plain = f"_{plain}" if not plain or plain.startswith(".") or _DEVICES.match(plain) else plain
    stem, dot, ending = plain.rpartition(".")
    runs = _ACTIVE_ENDINGS.fullmatch(ending) or _PROGRAM_ENDINGS.fullmatch(ending)
    is_active = runs is not None or media_type in _ACTIVE_TYPES
    has_ending = bool(dot) and len(ending) < _LONGEST_ENDING
    behind = (f".{ending}" if has_ending else "") + (_AS_TEXT if is_active else "")
    beginning = (stem if has_ending else plain).encode()[: _LONGEST - len(behind.encode())]
    return (beginning.decode(errors="ignore") + behind).rstrip(". ")


# A shared link never shows thinking: it quotes memories, documents and other conversations. Notices are for the owner.
# Of files, a snapshot asks only for those that were chosen.
KINDS: dict[str, PartKind] = {
    kind.name: kind
    for kind in (
        SimpleKind(name="thinking", export=_thinking),
        SimpleKind(name="notice", export=_notice),
        SimpleKind(name="tool_call", export=_tool_call, shows=("name",)),
        SimpleKind(name="file", export=_file, shows=_FILE_SHOWS),
        SimpleKind(name="image", export=_image, shows=(*_FILE_SHOWS, "width", "height")),
    )
}
"""Every kind of part by its name."""


def exported(part: Part) -> ExportedPart:
    """The part as readable exports show it; a part of an unknown kind, which a newer version wrote, is only named."""
    kind = KINDS.get(str(part["kind"]))
    return ExportedPart(title=str(part["kind"])) if kind is None else kind.exported(part)


def shared(part: Part) -> dict[str, Any] | None:
    """What readers of a shared link see of the part, with its kind and place; None for nothing."""
    kind = KINDS.get(str(part["kind"]))
    fields = None if kind is None else kind.shared(part)
    return None if fields is None else {"kind": part["kind"], "at": part["at"], **fields}


def in_reading_order(text: str, parts: Sequence[Part]) -> Iterator[str | ExportedPart]:
    """The pieces of a message's text, none empty, with the exported parts between them."""
    done = 0
    for part in sorted(parts, key=lambda part: int(part["at"])):
        place = min(int(part["at"]), len(text))
        if text[done:place]:
            yield text[done:place]
        done = max(done, place)
        yield exported(part)
    if text[done:]:
        yield text[done:]
