"""Which document a wikilink names, of the names that a vault's documents have. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePosixPath
from typing import NamedTuple

from .markdown import Document
from .wikilinks import Wikilink, fold, without_extension

_LONGEST_NAME = 300


class NameKind(IntEnum):
    """What a document is called by; the first kind that has a link's target decides."""

    FILE = 0
    ALIAS = 1
    TITLE = 2
    HEADING = 3


class Name(NamedTuple):
    """A name of a document: of a file, its name without folders and extension. NFC."""

    kind: NameKind
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a link leads to. path: None for a broken one. candidates: all that it may mean, the chosen one first."""

    path: str | None = None
    anchor: str | None = None
    alias: str | None = None
    candidates: tuple[str, ...] = ()

    @property
    def ambiguous(self) -> bool:
        """Whether several documents have this name."""
        return len(self.candidates) > 1


def names_of(document: Document) -> list[Name]:
    """All that links may call a document."""
    path = document.path
    names = [Name(NameKind.FILE, _nfc(without_extension(PurePosixPath(path).name)), path)]
    names += [Name(NameKind.ALIAS, _nfc(alias), path) for alias in document.aliases]
    title = document.front_matter.get("title")
    if isinstance(title, str) and title.strip():
        names.append(Name(NameKind.TITLE, _nfc(title.strip()), path))
    first = next((heading.text for heading in document.headings if heading.text), None)
    if first is not None:
        names.append(Name(NameKind.HEADING, _nfc(first), path))
    return [name for name in dict.fromkeys(names) if len(name.name) <= _LONGEST_NAME]


def keys_of(link: Wikilink) -> tuple[str, str]:
    """The folded names by which a link's document is looked up: that of a file, and that of an alias or a title."""
    return fold(without_extension(link.target.rpartition("/")[2])), fold(link.target)


def is_relative(link: Wikilink) -> bool:
    """Whether a link begins in the folder of its document, as `[[./a]]` and `[[../a]]` do."""
    return not {".", ".."}.isdisjoint(link.target.split("/"))


def by_key(names: Iterable[Name]) -> dict[str, list[Name]]:
    """Names by their folded form."""
    found: dict[str, list[Name]] = {}
    for name in names:
        found.setdefault(fold(name.name), []).append(name)
    return found


def resolve(link: Wikilink, names: Mapping[str, Sequence[Name]], *, source: str = "") -> Resolution:
    """The document of `link` among `names`, by their folded form; those of `keys_of(link)` are enough.

    source: the path of the document that holds the link: a relative link begins in its folder. "" for none, where a
    relative link leads nowhere.
    """
    file_key, whole_key = keys_of(link)
    files = [each.path for each in names.get(file_key, ()) if each.kind is NameKind.FILE]
    if is_relative(link):
        target = _from_folder(link.target, source) if source else None
        paths = [] if target is None else _of_files(target, [path for path in files if _depth(path) == _depth(target)])
        return Resolution(path=next(iter(paths), None), anchor=link.anchor, alias=link.alias, candidates=tuple(paths))
    paths = _of_files(link.target, files)
    others = names.get(whole_key, ())
    if not paths:  # a file may be named "a.md.md"
        paths = [each.path for each in others if each.kind is NameKind.FILE]
    if not paths:
        paths = _of_others(link.target, others)
    return Resolution(path=paths[0] if paths else None, anchor=link.anchor, alias=link.alias, candidates=tuple(paths))


def _from_folder(target: str, source: str) -> str | None:
    """The path that a relative target means in the document `source`; None for one that leaves the vault."""
    segments = _nfc(source).split("/")[:-1]
    for segment in target.split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    return "/".join(segments)


def _depth(path: str) -> int:
    return path.count("/")


def _of_files(target: str, paths: Sequence[str]) -> list[str]:
    """Those of `paths` whose last segments are those of the target, in the order of preference."""
    wanted = target.split("/")
    stem, extension = without_extension(wanted[-1]), _extension(wanted[-1])
    named = []
    for path in paths:
        segments = _nfc(path).split("/")[-len(wanted) :]
        given = [*segments[:-1], without_extension(segments[-1])]
        sought = [*wanted[:-1], stem]
        if list(map(fold, given)) == list(map(fold, sought)):
            named.append((given != sought, path))
    if extension and any(_extension(path) == extension for _, path in named):
        named = [each for each in named if _extension(each[1]) == extension]
    return _ordered(named)


def _of_others(target: str, names: Sequence[Name]) -> list[str]:
    kinds = [each.kind for each in names if each.kind is not NameKind.FILE]
    if not kinds:
        return []
    return _ordered([(each.name != target, each.path) for each in names if each.kind is min(kinds)])


def _ordered(found: Iterable[tuple[bool, str]]) -> list[str]:
    """Paths, those of exactly this case first, then those of fewest segments, then by alphabet."""
    ordered = sorted(found, key=lambda each: (each[0], each[1].count("/"), each[1]))
    return list(dict.fromkeys(path for _, path in ordered))


def _extension(name: str) -> str:
    return name[len(without_extension(name)) :].lower()


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
