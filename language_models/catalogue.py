"""The embedded models that are known by name, read from `catalogue.toml`."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("catalogue.toml")
_DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """A file at its publisher's."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSource:
    """A file cut into `count` parts, each inside a package of its own; `package` holds `{number}`, from 1."""

    package: str
    version: str
    count: int

    def requirement(self, number: int) -> str:
        """The pinned requirement of one part."""
        return f"{self.package.format(number=number)}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One model: size in bytes, ram_gib in GiB, sha256 as hexadecimal digits, sources in the order to try them."""

    name: str
    aliases: tuple[str, ...]
    file: str
    size: int
    sha256: str
    licence: str
    ram_gib: float
    sources: tuple[HubSource | PackageSource, ...]


@functools.cache
def entries() -> tuple[CatalogueEntry, ...]:
    """Every model of the catalogue."""
    with _FILE.open("rb") as file:
        return tuple(_entry(table) for table in tomllib.load(file)["model"])


def entry_named(name: str) -> CatalogueEntry:
    """The model of that name or alias, "" for the default one. Raises ValueError that lists what there is."""
    wanted = name.lower() or _DEFAULT
    for entry in entries():
        if wanted == entry.name or wanted in entry.aliases:
            return entry
    known = ", ".join(f"{entry.name} ({', '.join(entry.aliases)})" for entry in entries())
    raise ValueError(f"{name!r} is not in the catalogue; there are {known}, or give the path of a .gguf file")


def _entry(table: dict[str, Any]) -> CatalogueEntry:
    sources = tuple(_source(source) for source in table.pop("sources"))
    return CatalogueEntry(aliases=tuple(table.pop("aliases")), sources=sources, **table)


def _source(table: dict[str, Any]) -> HubSource | PackageSource:
    kind = table.pop("kind")
    return HubSource(**table) if kind == "hub" else PackageSource(**table)
