"""Conflict sets: claims that contradict each other, until a person decides."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, literal, select

from sentences import say

from ..constants import ClaimStatus, ConflictStatus
from ..database import PKBDatabase, Prepared
from ..database.audit_log import ChangeSet
from ..errors import ClaimNotFoundError, ConflictNotFoundError, InvalidKnowledgeError
from ..models import CONFLICT_SET_COLUMNS, ConflictSet
from ..schema.operators import among
from ..schema.tables import claims, conflict_set_members, conflict_sets
from ..utils import generate_uuid, now_iso
from .base import HOLDING, OwnedRows, counted, one_of, optional_text, owned, paged
from .links import link_successor

_FEWEST_MEMBERS, _MOST_MEMBERS = 2, 500
_LONGEST_NOTES = 10_000

_IS_OPEN = conflict_sets.c.status == literal(ConflictStatus.OPEN.value)
_OPEN = paged(
    owned(conflict_sets, CONFLICT_SET_COLUMNS)
    .where(_IS_OPEN)
    .order_by(conflict_sets.c.created_at.desc(), conflict_sets.c.conflict_set_id)
)
_NUMBER_OPEN = counted(conflict_sets, _IS_OPEN)
_JOINED = conflict_set_members.join(claims, claims.c.claim_id == conflict_set_members.c.claim_id)
_MEMBERS = Prepared(
    select(conflict_set_members.c.conflict_set_id, conflict_set_members.c.claim_id)
    .select_from(_JOINED)
    .where(among(conflict_set_members.c.conflict_set_id, "ids"), claims.c.user_email == bindparam("user"))
    .order_by(claims.c.claim_number)
)
_HOLDING_MEMBERS = Prepared(
    select(claims.c.claim_id, claims.c.statement)
    .select_from(_JOINED)
    .where(
        conflict_set_members.c.conflict_set_id == bindparam("conflict_set_id"),
        claims.c.user_email == bindparam("user"),
        one_of(claims.c.status, HOLDING),
    )
    .order_by(claims.c.claim_number)
)
_CLAIMS = Prepared(
    select(claims.c.claim_id, claims.c.status, claims.c.statement).where(
        claims.c.user_email == bindparam("user"), among(claims.c.claim_id, "claim_ids")
    )
)
_IN_OPEN_SETS = Prepared(
    select(conflict_set_members.c.claim_id)
    .join(conflict_sets, conflict_sets.c.conflict_set_id == conflict_set_members.c.conflict_set_id)
    .where(
        _IS_OPEN,
        conflict_sets.c.user_email == bindparam("user"),
        among(conflict_set_members.c.claim_id, "claim_ids"),
    )
)


_OPEN_SETS_OF = Prepared(
    select(conflict_sets.c.conflict_set_id, conflict_sets.c.resolution_notes, claims.c.friendly_id, claims.c.status)
    .select_from(_JOINED.join(conflict_sets, conflict_sets.c.conflict_set_id == conflict_set_members.c.conflict_set_id))
    .where(_IS_OPEN, conflict_sets.c.user_email == bindparam("user"), among(claims.c.claim_id, "claim_ids"))
    .order_by(conflict_sets.c.conflict_set_id, claims.c.claim_number)
)


def close_one_sided(db: PKBDatabase, changes: ChangeSet, claim_ids: Sequence[str], *, user_email: str) -> None:
    """Close the open conflicts of claims that do not hold any more, where fewer than two others do; notes say why.

    The one that is left holds again, unless it is in another open conflict.
    """
    found = db.rows(_OPEN_SETS_OF, user=user_email, claim_ids=claim_ids) if claim_ids else ()
    for conflict_set_id, notes, friendly_id, status in found:
        given = {"user": user_email, "conflict_set_id": conflict_set_id}
        left = [claim_id for claim_id, _ in db.rows(_HOLDING_MEMBERS, **given)]
        if len(left) >= _FEWEST_MEMBERS:
            continue
        reason = f"Closed: @{friendly_id} is {status}."
        said = f"{notes[: _LONGEST_NOTES - len(reason) - 1]}\n{reason}" if notes else reason
        closed = {"status": ConflictStatus.RESOLVED.value, "resolution_notes": said, "updated_at": now_iso()}
        changes.update("conflict_sets", {"conflict_set_id": conflict_set_id}, closed)
        elsewhere = (
            {claim_id for (claim_id,) in db.rows(_IN_OPEN_SETS, user=user_email, claim_ids=left)} if left else set()
        )
        for claim_id in left:
            if claim_id not in elsewhere:
                _set_status(changes, claim_id, ClaimStatus.ACTIVE)


class ConflictCRUD(OwnedRows[ConflictSet]):
    """The conflict sets of one user. Members that were retracted or superseded stay in it and keep their status.

    A conflict of which fewer than two members hold is closed (`close_one_sided`).
    """

    noun, table, key, columns, model = "conflict", conflict_sets, "conflict_set_id", CONFLICT_SET_COLUMNS, ConflictSet
    not_found = ConflictNotFoundError

    def create(self, claim_ids: Sequence[str], notes: str | None = None) -> ConflictSet:
        """Say that claims contradict each other: they become contested; returns the set.

        Raises InvalidKnowledgeError for fewer than two claims and for one that does not hold any more,
        ClaimNotFoundError.
        """
        members = list(dict.fromkeys(claim_ids))
        if not _FEWEST_MEMBERS <= len(members) <= _MOST_MEMBERS:
            raise InvalidKnowledgeError(say("conflict_members", most=_MOST_MEMBERS))
        conflict = ConflictSet(
            conflict_set_id=generate_uuid(), user_email=self.user_email, resolution_notes=_notes(notes)
        )
        with self.db.transaction():
            title = self._contestable(members)[members[0]]
            with self._recording("add", conflict.conflict_set_id, title) as changes:
                changes.insert("conflict_sets", conflict.to_dict())
                self._join(changes, conflict.conflict_set_id, members)
            return self.existing(conflict.conflict_set_id)

    def add_member(self, conflict_set_id: str, claim_id: str) -> ConflictSet:
        """Let one more claim take part in an open conflict; one that does already stays.

        Raises ConflictNotFoundError, ClaimNotFoundError, InvalidKnowledgeError for a conflict that is resolved.
        """
        with self.db.transaction():
            conflict = self._open(conflict_set_id)
            if claim_id not in conflict.member_claim_ids:
                title = self._contestable([claim_id])[claim_id]
                with self._recording("link", conflict_set_id, title) as changes:
                    self._join(changes, conflict_set_id, [claim_id])
            return self.existing(conflict_set_id)

    def resolve(
        self, conflict_set_id: str, resolution_notes: str | None = None, winning_claim_id: str | None = None
    ) -> ConflictSet:
        """End a conflict: the winner supersedes the others; without one all hold again.

        Who takes part in another open conflict stays contested. Raises ConflictNotFoundError, InvalidKnowledgeError for
        a conflict that is resolved or a winner that is no member or does not hold any more.
        """
        with self.db.transaction():
            conflict = self._open(conflict_set_id)
            contested = self._contested(conflict)
            if winning_claim_id is not None and winning_claim_id not in contested:
                raise InvalidKnowledgeError(say("conflict_winner"))
            title = next(iter(contested.values()), "")
            with self._recording("resolve", conflict_set_id, title, winning_claim_id=winning_claim_id) as changes:
                fields: dict[str, Any] = {"status": ConflictStatus.RESOLVED.value, "updated_at": now_iso()}
                if resolution_notes is not None:
                    fields["resolution_notes"] = _notes(resolution_notes)
                changes.update("conflict_sets", {"conflict_set_id": conflict_set_id}, fields)
                self._settle(changes, list(contested), winning_claim_id)
                if winning_claim_id is not None:
                    superseded = [claim_id for claim_id in contested if claim_id != winning_claim_id]
                    close_one_sided(self.db, changes, superseded, user_email=self.user_email)
            return self.existing(conflict_set_id)

    def get_open(self, limit: int = 100, offset: int = 0) -> builtins.list[ConflictSet]:
        """Open conflicts, newest first."""
        return self._found(_OPEN, limit=limit, offset=offset)

    def count_open(self) -> int:
        """How many conflicts are open."""
        return self._number(_NUMBER_OPEN)

    def has_open(self, claim_id: str) -> bool:
        """Whether a claim takes part in an open conflict."""
        return claim_id in self._contested_elsewhere([claim_id])

    def _found(self, statement: Prepared, **given: Any) -> builtins.list[ConflictSet]:
        found = super()._found(statement, **given)
        by_id = {conflict.conflict_set_id: conflict for conflict in found}
        rows = self.db.rows(_MEMBERS, user=self.user_email, ids=by_id) if by_id else ()
        for conflict_set_id, claim_id in rows:
            by_id[conflict_set_id].member_claim_ids.append(claim_id)
        return found

    def _first(self, statement: Prepared, **given: Any) -> ConflictSet | None:
        return next(iter(self._found(statement, **given)), None)

    def _settle(self, changes: ChangeSet, contested: Sequence[str], winner: str | None) -> None:
        elsewhere = self._contested_elsewhere(contested)
        for claim_id in contested:
            if winner not in (None, claim_id):
                _set_status(changes, claim_id, ClaimStatus.SUPERSEDED)
                link_successor(self.db, str(winner), claim_id, user_email=self.user_email)
            elif claim_id not in elsewhere:
                _set_status(changes, claim_id, ClaimStatus.ACTIVE)

    def _join(self, changes: ChangeSet, conflict_set_id: str, claim_ids: Sequence[str]) -> None:
        rows = [{"conflict_set_id": conflict_set_id, "claim_id": claim_id} for claim_id in claim_ids]
        changes.insert_many("conflict_set_members", rows)
        for claim_id in claim_ids:
            _set_status(changes, claim_id, ClaimStatus.CONTESTED)

    def _contestable(self, claim_ids: Sequence[str]) -> dict[str, str]:
        """The statements of claims that can take part in a conflict, by id."""
        rows = self.db.rows(_CLAIMS, user=self.user_email, claim_ids=claim_ids)
        found = {row[0]: row for row in rows}
        for claim_id in claim_ids:
            if claim_id not in found:
                raise ClaimNotFoundError(claim_id)
            if found[claim_id][1] not in ClaimStatus.default_search_statuses():
                raise InvalidKnowledgeError(say("conflict_member_status", status=found[claim_id][1]))
        return {claim_id: statement for claim_id, _, statement in found.values()}

    def _contested(self, conflict: ConflictSet) -> dict[str, str]:
        """The statements of the members that are still contested, by id."""
        given = {"user": self.user_email, "conflict_set_id": conflict.conflict_set_id}
        return {claim_id: statement for claim_id, statement in self.db.rows(_HOLDING_MEMBERS, **given)}  # noqa: C416

    def _contested_elsewhere(self, claim_ids: Sequence[str]) -> set[str]:
        rows = self.db.rows(_IN_OPEN_SETS, user=self.user_email, claim_ids=claim_ids)
        return {claim_id for (claim_id,) in rows}

    def _open(self, conflict_set_id: str) -> ConflictSet:
        conflict = self.existing(conflict_set_id)
        if conflict.status != ConflictStatus.OPEN:
            raise InvalidKnowledgeError(say("conflict_resolved"))
        return conflict


def _set_status(changes: ChangeSet, claim_id: str, status: ClaimStatus) -> None:
    changes.update("claims", {"claim_id": claim_id}, {"status": status.value, "updated_at": now_iso()})


def _notes(value: Any) -> str | None:
    return optional_text(value, "notes", longest=_LONGEST_NOTES)
