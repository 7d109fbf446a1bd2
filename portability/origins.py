"""What files of ours say of where things came from. What makes no sense is left out; the rest comes in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from database.engine.text import storable
from database.imports.origins import OWN_SOURCES

_LONGEST_ID = 200
"""In characters: importers know no longer ones."""
_LONGEST_MESSAGE_ID = 3 * _LONGEST_ID + 10
"""A message that is repeated in another branch is called by its id and that of the answer for which it is."""
_LONGEST_TITLE = 500
_LONGEST_PATH = 1_024
_MOST_VERSIONS = 1_000
_MOST_BESIDE = 20_000
"""Of documents, and of workspaces."""
_SOURCE = re.compile(r"[a-z][a-z0-9_]{0,49}")
_DIGEST = re.compile(r"[0-9a-f]{0,64}")


def _id(value: object, *, longest: int) -> str | None:
    """An id as every database can hold it, None for anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= longest or "\x00" in value or storable(value) != value:
        return None
    return value


def _digest(value: object) -> str:
    return value if isinstance(value, str) and _DIGEST.fullmatch(value) else ""


def source_of(value: object) -> str | None:
    """The name of another program, as importers have it; None for anything else."""
    is_name = isinstance(value, str) and _SOURCE.fullmatch(value) and value not in OWN_SOURCES
    return str(value) if is_name else None


def tidy_origin(value: object) -> dict[str, str] | None:
    """The fields of an `Origin`; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    source, source_id = source_of(value.get("source")), _id(value.get("id"), longest=_LONGEST_ID)
    if source is None or source_id is None:
        return None
    title = value.get("title")
    named = {"title": storable(title.replace("\x00", ""))[:_LONGEST_TITLE] if isinstance(title, str) else ""}
    return {"source": source, "source_id": source_id, **named, "digest": _digest(value.get("digest"))}


def tidy_origins(value: object) -> list[dict[str, Any]]:
    """What a source calls the versions of a message: each once."""
    found = dict[int, dict[str, Any]]()
    for each in value[:_MOST_VERSIONS] if isinstance(value, list) else ():
        fields = each if isinstance(each, Mapping) else {}
        name, number = _id(fields.get("id"), longest=_LONGEST_MESSAGE_ID), fields.get("variant")
        if name is not None and type(number) is int:
            found.setdefault(number, {"id": name, "variant": number, "digest": _digest(fields.get("digest"))})
    return list(found.values())


def has_ids_of_source(origins: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Whether a message has an id that another program has given: what both call so could not be told apart.

    origins: what messages came from, by their ids.
    """
    return any(each["id"].partition(" ")[0] in origins for some in origins.values() for each in some)


def _tidy_documents(value: object) -> list[dict[str, str]]:
    """What documents came from; see `database.imports.origins.origins_beside`."""
    found = list[dict[str, str]]()
    for each in _some(value):
        source, path = source_of(each.get("source")), _id(each.get("path"), longest=_LONGEST_PATH)
        digest = _digest(each.get("digest"))
        if source is not None and path is not None and digest:
            found.append({"source": source, "digest": digest, "path": path})
    return found


def _tidy_workspaces(value: object) -> list[dict[str, str | None]]:
    """What workspaces came from, likewise; without an id, one that is gone."""
    found = list[dict[str, str | None]]()
    for each in _some(value):
        source, name = source_of(each.get("source")), _id(each.get("name"), longest=_LONGEST_ID)
        if source is not None and name is not None:
            found.append(
                {"source": source, "name": name, "workspace_id": _id(each.get("workspace_id"), longest=_LONGEST_ID)}
            )
    return found


def _some(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value[:_MOST_BESIDE] if isinstance(each, Mapping)] if isinstance(value, list) else []


def _tidy_beside(value: object) -> dict[str, Any]:
    said = value if isinstance(value, Mapping) else {}
    documents, folders = _tidy_documents(said.get("documents")), _tidy_workspaces(said.get("workspaces"))
    return {"documents": documents, "workspaces": folders}


BesideOrigins = Annotated[dict[str, Any], BeforeValidator(_tidy_beside)]
"""What documents and workspaces of an archive came from."""
TidyOrigin = Annotated[dict[str, str] | None, BeforeValidator(tidy_origin)]
"""What a conversation is at its source, as the fields of an `Origin`."""
MessageOrigins = Annotated[list[dict[str, Any]], BeforeValidator(tidy_origins)]
"""What a source calls the versions of a message: `{id, variant, digest}` each."""
