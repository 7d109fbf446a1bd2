"""Claims: adding, changing, retracting, and the ways to name one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import bindparam, literal_column, select
from sqlalchemy.dialects.postgresql import insert

from ..constants import ClaimStatus, EntityRole, EntityType
from ..database import PKBDatabase, Prepared
from ..database.audit_log import ChangeSet
from ..errors import ClaimNotFoundError, ContextNotFoundError, InvalidKnowledgeError, StaleStatementError
from ..models import CLAIM_COLUMNS, Claim
from ..schema.operators import among, caseless
from ..schema.tables import claim_numbers, claims, contexts
from ..utils import LONGEST_GIVEN, now_iso
from .base import (
    EVERYTHING,
    HOLDING,
    OwnedRows,
    begins,
    counted,
    listed,
    listed_ids,
    one_of,
    owned,
    paged,
    prefix_bounds,
)
from .claim_fields import check_validity, checked_changes, checked_claim
from .conflicts import close_one_sided
from .entities import EntityCRUD
from .filters import Conditions, SearchFilters, in_sql, search_filters
from .friendly_ids import insert_named
from .links import entity_role, link_claim_tag
from .tags import TagCRUD

EntityNames = Mapping[str, str]
"""name, type (or entity_type), role."""

_Claims = list[Claim]
_ORDERS = frozenset({"updated_at", "created_at", "claim_number", "statement", "confidence", "valid_from", "status"})
_LARGEST_NUMBER = 2**62

_OWN = owned(claims, CLAIM_COLUMNS)
_BY_NUMBER = Prepared(_OWN.where(claims.c.claim_number == bindparam("number")))
_BY_BEGINNING = Prepared(
    _OWN.where(begins(claims.c.friendly_id), one_of(claims.c.status, HOLDING))
    .order_by(caseless(claims.c.friendly_id))
    .limit(bindparam("limit"))
)
_ANY = Prepared(select(literal_column("1")).where(claims.c.user_email == bindparam("user")).limit(1))
_OWN_CONTEXTS = Prepared(
    select(contexts.c.context_id).where(
        contexts.c.user_email == bindparam("user"), among(contexts.c.context_id, "context_ids")
    )
)
_NEXT_NUMBER = Prepared(
    insert(claim_numbers)
    .values(user_email=bindparam("user"), last_number=literal_column("1"))
    .on_conflict_do_update(
        index_elements=[claim_numbers.c.user_email],
        set_={"last_number": claim_numbers.c.last_number + literal_column("1")},
    )
    .returning(claim_numbers.c.last_number)
)


class ClaimCRUD(OwnedRows[Claim]):
    """The claims of one user."""

    noun, table, key, columns, model = "claim", claims, "claim_id", CLAIM_COLUMNS, Claim
    not_found = ClaimNotFoundError

    def __init__(self, db: PKBDatabase, user_email: str | None = None) -> None:
        super().__init__(db, user_email)
        self._tags = TagCRUD(db, user_email)
        self._entities = EntityCRUD(db, user_email)

    def add(
        self,
        claim: Claim,
        tags: Sequence[str] | None = None,
        entities: Sequence[EntityNames] | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Claim:
        """Store a new claim; returns it as it is stored, with its number and readable id.

        tags: names; entities: `{"name", "type", "role"}`; those that don't exist are born with it. contexts: ids.
        Raises InvalidKnowledgeError, FriendlyIdTakenError, ContextNotFoundError; then nothing is stored.
        """
        row = checked_claim(claim) | {"user_email": self.user_email}
        check_validity(row["valid_from"], row["valid_to"])
        with self._recording("add", claim.claim_id, row["statement"]) as changes:
            ((row["claim_number"],),) = self.db.run(_NEXT_NUMBER, user=self.user_email)
            row["friendly_id"] = insert_named(changes, "claims", row, text=row["statement"])
            filed = listed(tags, "tags"), listed(entities, "entities"), listed_ids(contexts)
            self._file(changes, claim.claim_id, *filed)
        for column, value in row.items():
            setattr(claim, column, value)
        return claim

    def edit(self, claim_id: str, changes: Mapping[str, Any], *, based_on: str | None = None) -> Claim | None:
        """Change columns of a claim; None where there is no such claim.

        What never changes: its ids, its number, its birth. based_on: the statement that the caller saw; None: don't
        check. Raises InvalidKnowledgeError, StaleStatementError.
        """
        with self.db.transaction():
            before = self.get(claim_id)
            if before is None:
                return None
            checked = checked_changes(before, changes)
            if {"valid_from", "valid_to"} & checked.keys():
                check_validity(*(checked.get(name, getattr(before, name)) for name in ("valid_from", "valid_to")))
            # The same statement sent again is no conflict: the answer to the first time may have been lost.
            if based_on is not None and before.statement not in (based_on, checked.get("statement")):
                raise StaleStatementError
            if "status" in checked and checked["status"] != before.status:
                checked["retracted_at"] = now_iso() if checked["status"] == ClaimStatus.RETRACTED else None
            return self._changed(before, checked, action="edit")

    def delete(self, claim_id: str) -> Claim | None:
        """Retract a claim: it stays, with status `retracted` and its time. None where there is no such claim."""
        with self.db.transaction():
            before = self.get(claim_id)
            if before is None or before.is_retracted:
                return before
            retracted = {"status": ClaimStatus.RETRACTED.value, "retracted_at": now_iso()}
            return self._changed(before, retracted, action="delete")

    def pin(self, claim_id: str, *, pinned: bool = True) -> Claim | None:
        """Let a claim go into every conversation, or no longer; None where there is no such claim."""
        with self.db.transaction():
            before = self.get(claim_id)
            if before is None:
                return None
            meta = {key: value for key, value in before.meta.items() if key != "pinned"}
            meta |= {"pinned": True} if pinned else {}
            changed = {"meta_json": json.dumps(meta, ensure_ascii=False) if meta else None}
            return self._changed(before, changed, action="pin" if pinned else "unpin")

    def tag(self, claim_id: str, name: str) -> None:
        """Give a claim the tag of this name, which is made where there is none."""
        with self._recording("link", claim_id):
            tag, _ = self._tags.get_or_create(name)
            link_claim_tag(self.db, claim_id, tag.tag_id, user_email=self.user_email)

    def list(
        self,
        filters: SearchFilters | Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        order_by: str = "-updated_at",
    ) -> _Claims:
        """Claims, newest change first unless `order_by` names another column ("-": descending).

        filters: also as `{"status": "active", "claim_types": [...]}`. Without filters, and where such ones name no
        status, every status is listed. Raises InvalidKnowledgeError for a filter that is none, and for a column that
        can't order.
        """
        column = str(order_by).removeprefix("-")
        if column not in _ORDERS:
            raise InvalidKnowledgeError(f"{order_by!r} is no order; use one of {', '.join(sorted(_ORDERS))}.")
        conditions, values = _conditions(filters)
        listing = _listing(conditions, column, order_by.startswith("-"))
        return self._found(listing, limit=EVERYTHING if limit < 0 else limit, offset=offset, **values)

    def get_active(self, context_domain: str | None = None, claim_type: str | None = None) -> _Claims:
        """All claims that are active, newest change first: of one domain and of one type, where these are given."""
        wanted = {"status": ClaimStatus.ACTIVE.value, "context_domain": context_domain, "claim_type": claim_type}
        return self.list({name: value for name, value in wanted.items() if value}, limit=-1)

    def count(self, filters: SearchFilters | Mapping[str, Any] | None = None) -> int:
        """How many claims the filters let through."""
        conditions, values = _conditions(filters)
        return self._number(_counting(conditions), **values)

    def has_any(self) -> bool:
        """Whether the user has any claim, of whatever status."""
        return self.db.row(_ANY, user=self.user_email) is not None

    def get_by_claim_number(self, number: int) -> Claim | None:
        """The user's claim with this number, or None."""
        return self._first(_BY_NUMBER, number=number) if 0 < number < _LARGEST_NUMBER else None

    def get_pinned(self, limit: int = 100) -> _Claims:
        """Active and contested claims that go into every conversation, newest change first."""
        return self.list(SearchFilters(pinned=True), limit=limit)

    def search_friendly_ids(self, prefix: str, limit: int = 10) -> _Claims:
        """Active and contested claims whose readable id begins with `prefix`, in any case, in order of the id."""
        if len(prefix) > LONGEST_GIVEN:
            return []
        return self._found(_BY_BEGINNING, limit=limit, **prefix_bounds(prefix))

    def _changed(self, before: Claim, changes: Mapping[str, Any], *, action: str) -> Claim:
        fields = {name: value for name, value in changes.items() if getattr(before, name) != value}
        if not fields:
            return before
        with self._recording(action, before.claim_id, before.statement, fields=fields) as recorded:
            key = {"claim_id": before.claim_id}
            recorded.update("claims", key, {**fields, "updated_at": now_iso()})
            if fields.get("status", HOLDING[0]) not in HOLDING:
                close_one_sided(self.db, recorded, [before.claim_id], user_email=self.user_email)
            after = self.get(before.claim_id)
        assert after is not None
        return after

    def _file(
        self,
        changes: ChangeSet,
        claim_id: str,
        tags: Sequence[str],
        entities: Sequence[EntityNames],
        contexts: Sequence[str],
    ) -> None:
        tag_ids = dict.fromkeys(self._tags.get_or_create(name)[0].tag_id for name in tags)
        changes.insert_many("claim_tags", [{"claim_id": claim_id, "tag_id": tag_id} for tag_id in tag_ids])
        parts = dict.fromkeys(self._part(entity) for entity in entities)
        rows = [{"claim_id": claim_id, "entity_id": entity_id, "role": role} for entity_id, role in parts]
        changes.insert_many("claim_entities", rows)
        self._check_contexts(contexts)
        groups = [{"context_id": context_id, "claim_id": claim_id} for context_id in dict.fromkeys(contexts)]
        changes.insert_many("context_claims", groups)

    def _part(self, named: EntityNames) -> tuple[str, str]:
        if not isinstance(named, Mapping):
            raise InvalidKnowledgeError('An entity is an object with "name", and with "type" and "role" if you like.')
        kind = named.get("type") or named.get("entity_type") or EntityType.OTHER
        entity, _ = self._entities.get_or_create(named.get("name", ""), kind)
        return entity.entity_id, entity_role(named.get("role") or EntityRole.MENTIONED)

    def _check_contexts(self, contexts: Sequence[str]) -> None:
        if not contexts:
            return
        rows = self.db.rows(_OWN_CONTEXTS, user=self.user_email, context_ids=contexts)
        own = {context_id for (context_id,) in rows}
        for context_id in contexts:
            if context_id not in own:
                raise ContextNotFoundError(context_id)


@cache
def _listing(conditions: Conditions, column: str, is_descending: bool) -> Prepared:
    columns = (claims.c[column], claims.c.claim_rowid)
    order = [each.desc() for each in columns] if is_descending else columns
    return paged(_OWN.where(*in_sql(conditions)).order_by(*order))


@cache
def _counting(conditions: Conditions) -> Prepared:
    return counted(claims, *in_sql(conditions))


def _conditions(filters: SearchFilters | Mapping[str, Any] | None) -> tuple[Conditions, Mapping[str, Any]]:
    if filters is None:
        return (), {}
    return search_filters({"statuses": [], **filters} if isinstance(filters, Mapping) else filters).conditions()
