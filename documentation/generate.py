"""Makes the tables in the documents from the code: `python -m documentation.generate [--check]`.

A document holds a generated part between `<!-- generated: NAME -->` and `<!-- end -->`; the rest is written by hand.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from flask import Flask
from sqlalchemy import Table

from chat.tools.catalogue import BUILT_IN
from chat.tools.references import UnresolvedReferenceError
from chat.tools.registry import Tool
from database.changes import KINDS
from database.schema import metadata
from endpoints.http.errors import ERROR_TABLE, Row
from endpoints.http.openapi import routes
from server import create_app
from settings import SETTINGS_TABLE, load_settings
from truth_management_system import PKBConfig, PKBDatabase, get_memory_database

from .public_api import called, first_line, meaning_of, members_of, public_names

FOLDER = Path(__file__).parent
_ABBREVIATIONS = frozenset({"http", "mcp", "pkb"})
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def settings_table(_app: Flask) -> Iterator[str]:
    """Every setting: variable, default, meaning, option."""
    yield from table(
        ("Variable", "Default", "Meaning", "Option of `server.py`"),
        ((code(row.name), code(row.default), row.meaning, code(row.flag or "")) for row in SETTINGS_TABLE),
    )


def routes_table(app: Flask) -> Iterator[str]:
    """Every route, by the noun whose folder serves it, and by module where that has several."""
    found = sorted(routes(app), key=lambda route: (_noun_of(route[2]), route[0], route[1]))
    for noun, group in groupby(found, key=lambda route: _noun_of(route[2])):
        yield from (f"### {': '.join(part for part in noun if part)}", "")
        rows = ((code(f"{method} {path}"), _wants(view), _whole_text(view)) for path, method, view in group)
        yield from table(("Route", "Who, what", "Answer"), rows)
        yield ""


def _noun_of(view: Callable[..., Any]) -> tuple[str, str]:
    """The folder of a view, and its module; "" for the one that has the folder's own name."""
    folder, module = (part.replace("_", " ") for part in view.__module__.split(".")[-2:])
    noun = folder.upper() if folder in _ABBREVIATIONS else folder.capitalize()
    return noun, "" if module == "views" else module


def changes_table(_app: Flask) -> Iterator[str]:
    """Every kind of change that `GET /events` tells."""
    yield from table(("`kind`", "`fields`"), ((code(kind.name), kind.fields) for kind in KINDS.values()))


_WITHOUT_CLASS = {
    HTTPStatus.NOT_FOUND: ("not_found", "No route has this address."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "The route has no such method; `Allow` names those it has."),
    HTTPStatus.REQUEST_URI_TOO_LONG: ("uri_too_long", "The address is too long."),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: ("headers_too_large", "The headers are too large, or too many."),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("internal_error", "A fault of the server."),
}
"""Codes that are no error of the program's own."""

_OF_NOTHING = frozenset({"thing_not_found", "knowledge_error"})
"""Codes of errors that are raised as kinds of them alone."""


def errors_table(_app: Flask) -> Iterator[str]:
    """Every error that a request may be answered with."""
    meanings: dict[tuple[int, str], list[str]] = {}
    for row in ERROR_TABLE:
        for name in _codes_of(row):
            meanings.setdefault((int(row.status), name), []).append(first_line(row.error))
    for status, (name, text) in _WITHOUT_CLASS.items():
        meanings.setdefault((int(status), name), []).append(text)
    alike: dict[tuple[int, str], list[str]] = {}
    for (number, name), texts in meanings.items():
        alike.setdefault((number, " ".join(dict.fromkeys(filter(None, texts)))), []).append(code(name))
    rows = ((str(number), ", ".join(names), text) for (number, text), names in alike.items())
    yield from table(("Status", "Code", "When"), rows)


def _codes_of(row: Row) -> list[str]:
    """The codes of the errors that this row decides on: its own, or what each of the errors says of itself."""
    if "{" not in row.code:
        return [row.code]
    if row.error is UnresolvedReferenceError:
        return ["deleted", "empty", "not_found", "out_of_range", "streaming"]
    decided = [
        each for each in _with_kinds(row.error) if next(r for r in ERROR_TABLE if issubclass(each, r.error)) is row
    ]
    nouns = [getattr(each, "noun", "") for each in decided]
    names = [f"{noun}_not_found" if noun else each.code for noun, each in zip(nouns, decided, strict=True)]  # type: ignore[attr-defined]
    return sorted({name for name in names if name not in _OF_NOTHING})


def _with_kinds(error: type[Exception]) -> list[type[Exception]]:
    return [error, *(found for kind in error.__subclasses__() for found in _with_kinds(kind))]


def schema_tables(_app: Flask) -> Iterator[str]:
    """Every table of the store: columns, keys, indexes."""
    for each in metadata.sorted_tables:
        yield from (
            f"### {each.name}",
            "",
            *table(("Column", "Type", "Null", "Default", "Refers to"), _columns(each)),
            "",
        )
        indexes = sorted(f"{code(str(index.name))} ({', '.join(index.columns.keys())})" for index in each.indexes)
        if indexes:
            yield from (f"Indexes: {', '.join(indexes)}.", "")


def knowledge_tables(_app: Flask) -> Iterator[str]:
    """Every table of the knowledge base, as SQLite knows it; what the full-text index keeps for itself is left out."""
    with get_memory_database() as database:
        for (name,) in database.select("SELECT name FROM pragma_table_list WHERE type = 'table' ORDER BY name"):
            if not name.startswith("sqlite_"):
                yield from (f"### {name}", "", *_knowledge_columns(database, name), "")
                indexes = database.select(
                    "SELECT name FROM pragma_index_list(?) WHERE origin = 'c' ORDER BY name", [name]
                )
                if indexes:
                    yield from (f"Indexes: {', '.join(code(index) for (index,) in indexes)}.", "")


def knowledge_config(_app: Flask) -> Iterator[str]:
    """Every field of the configuration that a program may give a knowledge base."""
    meanings = dict(re.findall(r"^\s+(\w+): (.+)$", inspect.getdoc(PKBConfig) or "", re.MULTILINE))
    rows = ((code(each.name), code(repr(each.default)), meanings[each.name]) for each in fields(PKBConfig))
    yield from table(("Field", "Default", "Meaning"), rows)


def public_api(_app: Flask) -> Iterator[str]:
    """Every public name of the knowledge base: how it is called, what it is for, what it can do."""
    for module, group in groupby(public_names(), key=lambda named: named[0]):
        yield from (f"## {module}", "")
        for _, name, public in group:
            yield from (f"### {name}", "")
            if (how := called(name, public)) != name:
                yield from ("```text", how, "```", "")
            if meaning := meaning_of(public):
                yield from (meaning, "")
            if isinstance(public, type) and (members := list(members_of(public))):
                yield from table(("Member", "What"), ((code(how), what) for how, what in members))
                yield ""


def commands_table(app: Flask) -> Iterator[str]:
    """Every command of the command line with its options."""
    for path, command in _commands(app.cli, "flask --app server"):
        with click.Context(command, info_name=path) as context:
            yield from (
                f"### {path.removeprefix('flask --app server ')}",
                "",
                "```text",
                command.get_help(context),
                "```",
                "",
            )


def tools_table(_app: Flask) -> Iterator[str]:
    """Every tool of the product: its names, what it takes, what it is for, and what a model needs to call it."""
    rows = ((_names(tool), _parameters(tool), f"{tool.description} {_offered(tool)}".strip()) for tool in BUILT_IN)
    yield from table(("Tool", "Takes", "What it does"), rows)


GENERATORS: dict[str, Callable[[Flask], Iterable[str]]] = {
    "settings": settings_table,
    "routes": routes_table,
    "errors": errors_table,
    "changes": changes_table,
    "schema": schema_tables,
    "knowledge_schema": knowledge_tables,
    "knowledge_config": knowledge_config,
    "public_api": public_api,
    "commands": commands_table,
    "tools": tools_table,
}


def renewed(text: str, app: Flask) -> str:
    """`text` with its generated parts as the code says today. Raises KeyError for a part that nothing makes."""

    def renew(found: re.Match[str]) -> str:
        lines = "\n".join(GENERATORS[found[2]](app)).strip()
        return f"{found[1]}\n{lines}\n\n{found[3]}"

    return _PART.sub(renew, text)


def outdated(app: Flask) -> dict[Path, str]:
    """The documents that differ from what the code says, and what they should be."""
    files = sorted(FOLDER.rglob("*.md"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    return {file: new for file, text in texts.items() if (new := renewed(text, app)) != text}


def documented_app(data_dir: str) -> Flask:
    """The application over an empty store, without models."""
    environ = {"ANAPHORA_DATA_DIR": data_dir, "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    return create_app(load_settings(environ, "no.env"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def code(text: str) -> str:
    """`text` as code; nothing for nothing."""
    return f"`{text}`" if text else ""


def _whole_text(view: object) -> str:
    return " ".join((inspect.getdoc(view) or "").split())


def _wants(view: Any) -> str:
    parts = ["anyone" if getattr(view, "is_public", False) else "logged in"]
    for attribute, what in (("query_model", "query"), ("body_model", "body")):
        model = getattr(view, attribute, None)
        if model is not None and model.model_fields:
            parts.append(f"{what} {', '.join(code(name) for name in model.model_fields)}")
    return "; ".join(parts)


def _columns(each: Table) -> Iterator[tuple[str, ...]]:
    for column in each.columns:
        key = " **key**" if column.primary_key else ""
        default = getattr(column.server_default, "arg", "")
        refers = ", ".join(code(key.target_fullname) for key in column.foreign_keys)
        null = "yes" if column.nullable else ""
        yield (code(column.name) + key, str(column.type).lower(), null, code(str(default)) or "", refers)


def _knowledge_columns(database: PKBDatabase, name: str) -> Iterator[str]:
    referred = {
        column: f"{table}.{there}"
        for column, table, there in database.select(
            'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', [name]
        )
    }
    sql = 'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)'
    rows = (
        (
            code(column) + (" **key**" if is_key else ""),
            kind.lower() + (", computed" if computed else ""),
            "" if required or is_key else "yes",
            code((default or "").strip("'")),
            code(referred.get(column, "")),
        )
        for column, kind, required, default, is_key, computed in database.select(sql, [name])
    )
    yield from table(("Column", "Type", "Null", "Default", "Refers to"), rows)


def _names(tool: Tool) -> str:
    aliases = f" (also {', '.join(map(code, tool.aliases))})" if tool.aliases else ""
    return f"{code(tool.name)}{aliases}"


def _parameters(tool: Tool) -> str:
    required = tool.parameters.get("required", [])
    found = tool.parameters["properties"].items()
    return "; ".join(f"{code(name)}{'' if name in required else '?'}{_bounds(schema)}" for name, schema in found)


def _bounds(schema: Mapping[str, Any]) -> str:
    """The choices or the least and greatest value of a parameter, and what it is where it is left out."""
    kind = next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), schema)
    said = [", ".join(kind.get("enum") or kind.get("items", {}).get("enum") or ())]
    if "minimum" in kind:
        said.append(f"{kind['minimum']} to {kind['maximum']}" if "maximum" in kind else f"from {kind['minimum']}")
    if isinstance(schema.get("default"), int):
        said.append(f"else {schema['default']}")
    return f" ({'; '.join(filter(None, said))})" if any(said) else ""


def _offered(tool: Tool) -> str:
    if tool.reads_only:
        return ""
    if tool.needs_agents:
        return "*On once you have made an agent.*"
    return "*Proposes.*" if tool.on_by_default else "*Proposes; off until it is switched on.*"


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(group.commands.items()):
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")


def main(arguments: Sequence[str]) -> int:
    """Renew the documents; with `--check`, name the outdated ones and return 1."""
    with tempfile.TemporaryDirectory() as data_dir:
        stale = outdated(documented_app(data_dir))
    for file, text in stale.items():
        print(f"{file.relative_to(FOLDER.parent)} {'is outdated; run `make docs`' if arguments else 'renewed'}")
        if not arguments:
            file.write_text(text, encoding="utf-8")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
