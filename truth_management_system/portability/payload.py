"""What an import is given: read, checked and brought into the shape of our tables before anything is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from database.engine.clock import now_iso
from sentences import otherwise, say

from ..constants import ConflictStatus
from ..crud.base import optional_text, required_text
from ..crud.claim_fields import category_name, checked_claim, utc_time
from ..crud.contexts import ContextCRUD
from ..crud.entities import EntityCRUD
from ..crud.notes import NoteCRUD
from ..crud.tags import TagCRUD
from ..errors import InvalidKnowledgeError
from ..models import Claim, ConflictSet, Context, Entity, Note, Tag
from ..schema import ALIASED
from ..utils import name_key

EXPORT_VERSION = 1
_LONGEST_ID = 200
_LONGEST_NOTES = 10_000
_ROW = "this row"

Row = dict[str, Any]


def read_payload(payload: Any) -> dict[str, list[Row]]:
    """The rows of each table, checked; a table that is missing is empty, columns that nobody knows are left out.

    Raises InvalidKnowledgeError, which names what is wrong and where.
    """
    data = payload.get("data") if isinstance(payload, Mapping) else None
    if not isinstance(data, Mapping):
        raise InvalidKnowledgeError(say("no_export_of_memories"))
    version = payload.get("pkb_export_version", EXPORT_VERSION)
    if version != EXPORT_VERSION:
        raise InvalidKnowledgeError(say("export_version_unknown", version=str(version)[:100]))
    return {table: _rows(data.get(table), table, read) for table, read in _READERS.items()}


def _rows(given: Any, table: str, read: Callable[[Mapping[str, Any]], Row]) -> list[Row]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise InvalidKnowledgeError(otherwise(f'"data.{table}" is no list.', "export_not_whole"))
    return [_row(row, f"data.{table}[{index}]", read) for index, row in enumerate(given)]


def _row(given: Any, where: str, read: Callable[[Mapping[str, Any]], Row]) -> Row:
    if not isinstance(given, Mapping):
        raise InvalidKnowledgeError(otherwise(f'"{where}" is no object.', "export_not_whole"))
    try:
        return read(given)
    except InvalidKnowledgeError as error:
        raise InvalidKnowledgeError(otherwise(f'"{where}": {error.message}', "export_not_whole")) from error


def _claim(given: Mapping[str, Any]) -> Row:
    claim = _model(Claim, "claim_id", given)
    row = checked_claim(claim)
    for one, many in (("claim_type", "claim_types"), ("context_domain", "context_domains")):
        row[many] = json.dumps(list(dict.fromkeys([row[one], *json.loads(row[many])])))
    return row | {
        "claim_number": claim.claim_number if isinstance(claim.claim_number, int) else 0,
        "retracted_at": utc_time(claim.retracted_at, _ROW) if claim.retracted_at else None,
        "source_activity_id": optional_text(claim.source_activity_id, "source", longest=_LONGEST_ID),
        **_times(row),
    }


def _named(
    model: type[Note | Entity | Tag | Context], key: str, checks: Mapping[str, Callable[[Any], Any]]
) -> Callable[[Mapping[str, Any]], Row]:
    def read(given: Mapping[str, Any]) -> Row:
        row: Row = _model(model, key, given).to_dict()
        return row | {column: check(row[column]) for column, check in checks.items()} | _times(row)

    return read


def _conflict_set(given: Mapping[str, Any]) -> Row:
    row: Row = _model(ConflictSet, "conflict_set_id", given).to_dict()
    if row["status"] not in set(ConflictStatus):
        raise InvalidKnowledgeError(f"{row['status']!r} is no status of a conflict.")
    notes = optional_text(row["resolution_notes"], "notes", longest=_LONGEST_NOTES)
    return row | {"resolution_notes": notes} | _times(row)


def _link(given: Mapping[str, Any]) -> Row:
    ids = {column: _id(given, column) for column in ("link_id", "from_claim_id", "to_claim_id")}
    link_type = _word(given.get("link_type"), "kind of link")
    return ids | {"link_type": link_type, "created_at": utc_time(given.get("created_at") or now_iso(), _ROW)}


def _tie(*columns: str) -> Callable[[Mapping[str, Any]], Row]:
    return lambda given: {column: _id(given, column) for column in columns}


def _part(given: Mapping[str, Any]) -> Row:
    role = _word(given.get("role") or "mentioned", "role")
    return {"claim_id": _id(given, "claim_id"), "entity_id": _id(given, "entity_id"), "role": role}


def _alias(given: Mapping[str, Any]) -> Row:
    kind = given.get("kind")
    if kind not in ALIASED.values():
        raise InvalidKnowledgeError(f"{kind!r} is nothing that has aliases.")
    alias = name_key(required_text(given.get("alias"), "alias", longest=_LONGEST_ID))
    return {"kind": kind, "alias": alias, "thing_id": _id(given, "thing_id")}


def _category(given: Mapping[str, Any]) -> Row:
    kind = given.get("kind")
    if kind not in ("type", "domain"):
        raise InvalidKnowledgeError(f"{kind!r} is neither a type nor a domain.")
    return {
        "kind": kind,
        "name": _word(given.get("name"), str(kind)),
        "display_name": required_text(given.get("display_name") or given.get("name"), "label", longest=80),
        "created_at": utc_time(given.get("created_at") or now_iso(), _ROW),
    }


def _model(model: type[Any], key: str, given: Mapping[str, Any]) -> Any:
    known = {column: given[column] for column in model._columns if given.get(column) is not None}
    friendly_id = known.get("friendly_id", "")
    if not isinstance(friendly_id, str):
        raise InvalidKnowledgeError("The friendly_id has to be text.")
    return model(**{**known, key: _id(given, key)})


def _id(given: Mapping[str, Any], column: str) -> str:
    return required_text(given.get(column), column, longest=_LONGEST_ID)


def _word(value: Any, what: str) -> str:
    return category_name(required_text(value, what, longest=_LONGEST_ID), what)


def _times(row: Mapping[str, Any]) -> Row:
    return {column: utc_time(row[column], _ROW) for column in ("created_at", "updated_at")}


_READERS: dict[str, Callable[[Mapping[str, Any]], Row]] = {
    "claims": _claim,
    "notes": _named(Note, "note_id", NoteCRUD.checks),
    "entities": _named(Entity, "entity_id", EntityCRUD.checks),
    "tags": _named(Tag, "tag_id", TagCRUD.checks),
    "contexts": _named(Context, "context_id", ContextCRUD.checks),
    "claim_tags": _tie("claim_id", "tag_id"),
    "claim_entities": _part,
    "context_claims": _tie("context_id", "claim_id"),
    "claim_links": _link,
    "conflict_sets": _conflict_set,
    "conflict_set_members": _tie("conflict_set_id", "claim_id"),
    "aliases": _alias,
    "catalogs": _category,
}
