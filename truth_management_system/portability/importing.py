"""Merging an export into a knowledge base: what is there already stays as it is, so importing twice adds nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..changes import ChangeSet, recording
from ..constants import ClaimType, ContextDomain
from ..database import PKBDatabase
from ..errors import InvalidKnowledgeError
from .identities import Wish, free_friendly_ids, free_numbers, identify, stored_where
from .payload import Row, read_payload
from .placing import Kind, place

_KINDS = (
    Kind("entities", "entity_id", suffix="_entity", within="entity_type", is_tree=False),
    Kind("tags", "tag_id", suffix="_tag", within="parent_tag_id"),
    Kind("contexts", "context_id", suffix="_context", within="parent_context_id", names_differ=False),
)
_CATALOGS: dict[str, tuple[str, str, Collection[str]]] = {
    "type": ("claim_types_catalog", "type_name", set(ClaimType)),
    "domain": ("context_domains_catalog", "domain_name", set(ContextDomain)),
}


def import_data(
    db: PKBDatabase, user_email: str | Mapping[str, Any] | None = None, payload: Any = None, mode: str = "merge"
) -> dict[str, Any]:
    """Put an export into the knowledge base of one user, as one change; without a user, `import_data(db, payload)`.

    What has an id, or a name in its place, that the user has already is that very thing and stays as it is. Numbers and
    readable ids are kept where they are free. Gives `{"counts": {table: rows added}, "skipped": {table: rows left out},
    "audit_id": str or None}`. Raises InvalidKnowledgeError for a payload that makes no sense; then nothing is stored.
    """
    if not isinstance(user_email, str | None):
        return import_data(db, None, user_email, mode if payload is None else payload)
    if mode != "merge":
        raise InvalidKnowledgeError(f'{mode!r} is no way to import; there is "merge".')
    rows = read_payload(payload)
    with recording(db, user_email=user_email or "", action="import", object_type="knowledge_base") as changes:
        counts = _Merge(changes, user_email or "", rows).run()
        skipped = {table: len(given) - counts[table] for table, given in rows.items()}
        changes.title = f"{counts['claims']:,} memories"
        changes.detail |= {"counts": counts, "skipped": skipped}
    return {"counts": counts, "skipped": skipped, "audit_id": changes.audit_id if any(counts.values()) else None}


@dataclass(slots=True)
class _Merge:
    """One import on its way. `ids`: for each key column, what became of the ids in the payload."""

    changes: ChangeSet
    owner: str
    rows: Mapping[str, list[Row]]
    ids: dict[str, dict[str, str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def db(self) -> PKBDatabase:
        return self.changes.db

    def run(self) -> dict[str, int]:
        """Insert what is new, in an order in which each row finds those that it needs; rows added by table."""
        for kind in _KINDS:
            self.ids[kind.key], new = place(self.db, self.owner, kind, self.rows[kind.table])
            self._insert(kind.table, new)
        self._claims()
        for table, key in (("notes", "note_id"), ("conflict_sets", "conflict_set_id")):
            self._insert(table, self._new(table, key, self.rows[table]))
        self._links()
        self._ties("claim_tags", "claim_id", "tag_id")
        self._ties("claim_entities", "claim_id", "entity_id")
        self._ties("context_claims", "claim_id", "context_id")
        self._ties("conflict_set_members", "conflict_set_id", "claim_id")
        self._categories()
        return {table: self.counts[table] for table in self.rows}

    def _new(self, table: str, key: str, rows: Sequence[Row]) -> list[Row]:
        """Those of `rows` that are not there yet, with the owner and the id that they will have."""
        ids, present = identify(self.db, self.owner, table, key, [row[key] for row in rows])
        self.ids[key] = ids
        new: dict[str, Row] = {}
        for row in rows:
            if ids[row[key]] not in present:
                new.setdefault(ids[row[key]], row | {"user_email": self.owner, key: ids[row[key]]})
        return list(new.values())

    def _claims(self) -> None:
        rows = sorted(self.rows["claims"], key=lambda row: row["claim_number"] or float("inf"))
        new = self._new("claims", "claim_id", rows)
        numbers = free_numbers(self.db, self.owner, [row["claim_number"] for row in new])
        names = free_friendly_ids(
            self.db, self.owner, "claims", [Wish(row["friendly_id"], row["statement"]) for row in new]
        )
        given = zip(new, numbers, names, strict=True)
        self._insert("claims", [row | {"claim_number": n, "friendly_id": name} for row, n, name in given])

    def _links(self) -> None:
        columns = ("from_claim_id", "to_claim_id", "link_type")
        rows = self._ours("claim_links", from_claim_id="claim_id", to_claim_id="claim_id")
        between = [row for row in rows if row["from_claim_id"] != row["to_claim_id"]]
        self._insert("claim_links", self._unseen("claim_links", columns, self._new("claim_links", "link_id", between)))

    def _ties(self, table: str, *keys: str) -> None:
        rows = self._ours(table, **{key: key for key in keys})
        self._insert(table, self._unseen(table, tuple(rows[0]) if rows else keys, rows))

    def _ours(self, table: str, **ends: str) -> list[Row]:
        """Rows whose ends are there, with the ids that these have here."""
        return [
            row | {column: self.ids[key][row[column]] for column, key in ends.items()}
            for row in self.rows[table]
            if all(row[column] in self.ids[key] for column, key in ends.items())
        ]

    def _unseen(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> list[Row]:
        """The first of `rows` with its values in `columns`, unless such a row is stored."""
        seen = set(stored_where(self.db, table, columns, columns[0], [row[columns[0]] for row in rows]))
        new = []
        for row in rows:
            values = tuple(row[column] for column in columns)
            if values not in seen:
                seen.add(values)
                new.append(row)
        return new

    def _categories(self) -> None:
        self.counts["catalogs"] = 0
        for kind, (table, column, built_in) in _CATALOGS.items():
            rows_of_user = stored_where(self.db, table, (column,), "user_email", [self.owner])
            stored = {name for (name,) in rows_of_user}
            named = {row["name"]: row for row in self.rows["catalogs"] if row["kind"] == kind}
            rows = [
                {
                    "user_email": self.owner,
                    column: name,
                    "display_name": row["display_name"],
                    "created_at": row["created_at"],
                }
                for name, row in named.items()
                if name not in stored and name not in built_in
            ]
            self._insert(table, rows, counted_as="catalogs")

    def _insert(self, table: str, rows: Sequence[Row], *, counted_as: str = "") -> None:
        self.changes.insert_many(table, rows)
        name = counted_as or table
        self.counts[name] = self.counts.get(name, 0) + len(rows)
