"""What entities, tags and contexts have in common: a name, a readable id, and claims that belong to them."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from typing import Any, ClassVar, TypeVar

from database.engine.clock import now_iso

from ..changes import ChangeSet, recording
from ..constants import ClaimStatus
from ..database import PKBDatabase
from ..models import CLAIM_COLUMNS, Claim, Context, Entity, Tag
from ..utils import name_key
from .base import MOST_AT_ONCE, OwnedRows, json_object, known_fields, like_prefix, marks, optional_text, required_text
from .friendly_ids import insert_named

LONGEST_NAME = 200
LONGEST_DESCRIPTION = 10_000

_CHANGED = itemgetter(CLAIM_COLUMNS.index("updated_at"), CLAIM_COLUMNS.index("claim_number"))

Group = TypeVar("Group", bound=Entity | Tag | Context)


class Groups(OwnedRows[Group], ABC):
    """One user's groups of one kind.

    Attributes:
        noun: What one is called; its readable id ends in it.
        links: The table that ties claims to groups of this kind.
        checks: The fields that can be given, each with what makes it storable or raises InvalidKnowledgeError.
    """

    noun: ClassVar[str]
    links: ClassVar[str]
    checks: ClassVar[Mapping[str, Callable[[Any], Any]]]

    def add(self, group: Group) -> Group:
        """Store a new one with its readable id; returns it.

        Raises InvalidKnowledgeError, FriendlyIdTakenError, DuplicateNameError; then nothing is stored.
        """
        given = group.to_dict()
        row = given | {"user_email": self.user_email} | self._checked({name: given[name] for name in self.checks})
        with self._recording("add", group) as changes:
            self._check_place(row)
            stored = row | {"name_key": name_key(row["name"])}
            row["friendly_id"] = insert_named(
                changes, self.table, stored, text=row["name"], suffix=f"_{self.noun}", kind=row.get("entity_type", "")
            )
        return self.model(**row)

    def edit(self, identity: str, changes: Mapping[str, Any]) -> Group | None:
        """Change fields of one; None where there is no such one.

        Raises InvalidKnowledgeError for fields that can't be changed and values that make no sense,
        DuplicateNameError for a name that another one has.
        """
        known_fields(changes, self.checks)
        checked = self._checked(changes)
        with self.db.transaction():
            before = self.get(identity)
            if before is None:
                return None
            fields = {name: value for name, value in checked.items() if getattr(before, name) != value}
            if fields:
                self._check_place(before.to_dict() | fields)
                with self._recording(self._action(fields), before, detail={"fields": fields}) as recorded:
                    self._update(recorded, identity, fields)
            return self.get(identity)

    def delete(self, identity: str) -> bool:
        """Delete one; its claims stay. False where there is no such one."""
        with self.db.transaction():
            group = self.get(identity)
            if group is None:
                return False
            with self._recording("delete", group) as changes:
                self._delete(changes, group)
        return True

    def find_by_name(self, name: str) -> builtins.list[Group]:
        """Those of this name, whatever its case, oldest first."""
        order = f"{self.table}.created_at, {self.table}.{self.key}"
        return self._where(f"{self.table}.name_key = ?", [name_key(name)], order=order)

    def search_friendly_ids(self, prefix: str, limit: int = 10) -> builtins.list[Group]:
        """Those whose readable id begins with `prefix`, in any case, in order of the id."""
        column = f"{self.table}.friendly_id"
        parameters = [like_prefix(prefix)]
        return self._where(f"{column} LIKE ? ESCAPE '!'", parameters, order=f"{column} COLLATE NOCASE", limit=limit)

    def claim_counts(self, identities: Sequence[str]) -> dict[str, int]:
        """How many active and contested claims each holds itself; one query for each 500."""
        counts = dict.fromkeys(identities, 0)
        for start in range(0, len(identities), MOST_AT_ONCE):
            some = identities[start : start + MOST_AT_ONCE]
            counts |= self._counted_claims(f"{self.table}.{self.key} IN ({marks(some)})", some)
        return counts

    def resolve_claims(self, identity: str, limit: int | None = None) -> builtins.list[Claim]:
        """The active and contested claims that belong to one, newest change first, each once, in one query.

        None where there is no such one; at most `limit`, where it is given.
        """
        return held_claims(self.db, self.user_email, *self._belonging(identity), limit=limit)

    def count_resolved(self, identity: str) -> int:
        """How many `resolve_claims` gives without a limit."""
        return count_held(self.db, self.user_email, *self._belonging(identity))

    @abstractmethod
    def _belonging(self, identity: str) -> tuple[str, builtins.list[Any]]:
        """A query for the `claim_id`s that belong to one of the user's, and its parameters."""

    @abstractmethod
    def _check_place(self, row: Mapping[str, Any]) -> None:
        """Raise where a row with this name, or in this place of the tree, can't be."""

    def _action(self, fields: Mapping[str, Any]) -> str:
        return "edit"

    def _delete(self, changes: ChangeSet, group: Group) -> None:
        changes.delete(self.table, {self.key: getattr(group, self.key)})

    def _update(self, changes: ChangeSet, identity: str, fields: Mapping[str, Any]) -> None:
        row = {**fields, "updated_at": now_iso()}
        if "name" in fields:
            row["name_key"] = name_key(fields["name"])
        changes.update(self.table, {self.key: identity}, row)

    def _checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.checks[name](value) for name, value in fields.items()}

    def _counted_claims(self, condition: str, parameters: Sequence[Any]) -> dict[str, int]:
        statuses = ClaimStatus.default_search_statuses()
        sql = (
            f"SELECT links.{self.key}, COUNT(DISTINCT links.claim_id) "
            f"FROM {self.table} CROSS JOIN {self.links} AS links CROSS JOIN claims "
            f"WHERE {self.table}.user_email = ? AND ({condition}) AND links.{self.key} = {self.table}.{self.key} "
            f"AND claims.claim_id = links.claim_id AND claims.status IN ({marks(statuses)}) GROUP BY links.{self.key}"
        )
        rows = self.db.select(sql, [self.user_email, *parameters, *statuses])
        return {identity: count for identity, count in rows}  # noqa: C416 (a row is no pair to the type checker)

    def _named(self, query: str) -> tuple[str, builtins.list[Any]]:
        """The condition that the name holds `query`, in any case; what is empty restricts nothing."""
        words = name_key(query)
        return (f"{self.table}.name_key LIKE ? ESCAPE '!'", [f"%{like_prefix(words)}"]) if words else ("1 = 1", [])

    def _page(
        self, condition: str, parameters: Sequence[Any], *, limit: int | None = None, offset: int = 0
    ) -> builtins.list[Group]:
        order = f"{self.table}.name_key, {self.table}.friendly_id"
        return self._where(condition, parameters, order=order, limit=limit, offset=offset)

    def _recording(
        self, action: str, group: Group, *, detail: Mapping[str, Any] | None = None
    ) -> AbstractContextManager[ChangeSet]:
        return recording(
            self.db,
            user_email=self.user_email,
            action=action,
            object_type=self.noun,
            object_id=getattr(group, self.key),
            title=group.name,
            detail=detail,
        )


def held_claims(
    db: PKBDatabase,
    user_email: str,
    found: str,
    parameters: Sequence[Any],
    *,
    key: str = "claim_id",
    limit: int | None = None,
    offset: int = 0,
) -> list[Claim]:
    """The user's active and contested claims that the query `found` names by `key`, newest change first, each once."""
    names = ", ".join(f"claims.{column}" for column in CLAIM_COLUMNS)
    statuses = ClaimStatus.default_search_statuses()
    # The "+" keeps SQLite from beginning with all claims of the user, however few the group holds.
    own = f"+claims.user_email = ? AND +claims.status IN ({marks(statuses)})"
    values = [*parameters, user_email, *statuses]
    if limit is None and not offset:
        # SQLite would carry every column along while it sorts and leaves out what it has twice.
        held = f"({found}) AS held CROSS JOIN claims ON claims.{key} = held.{key}"
        rows = db.select(f"SELECT {names} FROM {held} WHERE {own}", values)
        return [Claim(*row) for row in sorted({row[0]: row for row in rows}.values(), key=_CHANGED, reverse=True)]
    order = "ORDER BY claims.updated_at DESC, claims.claim_number DESC"
    page = f"SELECT claim_rowid FROM claims WHERE claims.{key} IN ({found}) AND {own} {order} LIMIT ? OFFSET ?"
    sql = f"SELECT {names} FROM ({page}) AS page CROSS JOIN claims USING (claim_rowid) {order}"
    return [Claim(*row) for row in db.select(sql, [*values, -1 if limit is None else limit, offset])]


def count_held(
    db: PKBDatabase, user_email: str, found: str, parameters: Sequence[Any], *, key: str = "claim_id"
) -> int:
    """How many claims `held_claims` gives without a limit."""
    statuses = ClaimStatus.default_search_statuses()
    sql = (
        f"SELECT COUNT(*) FROM (SELECT DISTINCT {key} FROM ({found})) AS held CROSS JOIN claims "
        f"ON claims.{key} = held.{key} WHERE +claims.user_email = ? AND +claims.status IN ({marks(statuses)})"
    )
    return int(db.select(sql, [*parameters, user_email, *statuses])[0][0])


def one_line(value: Any) -> str:
    """A name as stored: text on one line. Raises InvalidKnowledgeError."""
    return " ".join(required_text(value, "name", longest=LONGEST_NAME).split())


def description(value: Any) -> str | None:
    """A description as stored. Raises InvalidKnowledgeError."""
    return optional_text(value, "description", longest=LONGEST_DESCRIPTION)


def further_data(value: Any) -> str | None:
    """`meta_json` as stored. Raises InvalidKnowledgeError."""
    return json_object(value, "further data")
