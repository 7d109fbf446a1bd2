"""What a test process makes once, although each test has stores and applications of its own."""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Dialect, Engine
from sqlalchemy.util import LRUCache

import activity.recipes.registry
import chat.tools.registry

_MOST_STATEMENTS = 5_000


def find_packages_once() -> None:
    """Look through the installed packages once, and again where a folder that Python imports from has changed."""

    @cache
    def found_in(_folders: tuple[tuple[str, int | None], ...], group: str) -> importlib.metadata.EntryPoints:
        return importlib.metadata.entry_points(group=group)

    def found(*, group: str) -> importlib.metadata.EntryPoints:
        return found_in(tuple((folder, _changed(folder)) for folder in sys.path), group)

    for module in (activity.recipes.registry, chat.tools.registry):
        vars(module)["entry_points"] = found


def _changed(folder: str) -> int | None:
    """When the folder was changed, in nanoseconds; None where there is none."""
    with suppress(OSError):
        return Path(folder).stat().st_mtime_ns
    return None


def compile_statements_once() -> None:
    """Let the engines of all stores share their compiled statements, which would be compiled anew for each test."""
    compiled = _Compiled(_MOST_STATEMENTS)
    made = Engine.__init__

    def make(engine: Engine, *arguments: Any, **options: Any) -> None:
        made(engine, *arguments, **options)
        engine._compiled_cache = compiled

    Engine.__init__ = make  # type: ignore[method-assign]


class _Compiled(LRUCache[Any, Any]):
    """Compiled statements. Their keys begin with a dialect: engines whose dialects are set alike share what is here."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((_alike(key[0]), *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], statement: Any) -> None:
        super().__setitem__((_alike(key[0]), *key[1:]), statement)


def _alike(dialect: Dialect) -> tuple[object, ...]:
    """What decides the SQL and the converters of a dialect."""
    own = vars(dialect)
    known: tuple[object, ...] | None = own.get("alike")
    if known is None:
        made_by = type(dialect), type(dialect.type_compiler_instance)
        converting = own["_json_serializer"], own["_json_deserializer"], *dialect.colspecs.items()
        known = own["alike"] = (*made_by, *converting)
    return known
