"""Contexts: a tree of groups under which a person files claims."""

from __future__ import annotations

import builtins
from contextlib import AbstractContextManager
from typing import NamedTuple

from sqlalchemy import bindparam, literal_column, select

from ..database import Prepared
from ..database.audit_log import ChangeSet, recording
from ..errors import ClaimNotFoundError, ContextNotFoundError
from ..models import CONTEXT_COLUMNS, Claim, Context
from ..schema.tables import claims, context_claims, contexts
from .base import owned
from .groups import Holding, Trees, description, further_data, held_claims, one_line, parent_id

_FILED_HERE = Holding(
    select(context_claims.c.claim_id)
    .join(contexts, contexts.c.context_id == context_claims.c.context_id)
    .where(context_claims.c.context_id == bindparam("identity"), contexts.c.user_email == bindparam("user"))
)
_CONTEXTS_OF = Prepared(
    owned(contexts, CONTEXT_COLUMNS)
    .where(
        contexts.c.context_id.in_(
            select(context_claims.c.context_id).where(context_claims.c.claim_id == bindparam("claim_id"))
        )
    )
    .order_by(contexts.c.name_key, contexts.c.friendly_id)
)
_STATEMENT = Prepared(
    select(claims.c.statement).where(
        claims.c.claim_id == bindparam("claim_id"), claims.c.user_email == bindparam("user")
    )
)
_TIE = Prepared(
    select(literal_column("1"))
    .select_from(context_claims)
    .join(contexts, contexts.c.context_id == context_claims.c.context_id)
    .where(
        context_claims.c.context_id == bindparam("context_id"),
        context_claims.c.claim_id == bindparam("claim_id"),
        contexts.c.user_email == bindparam("user"),
    )
)


class CountedContext(NamedTuple):
    """A context with the number of active and contested claims it holds itself, and of contexts right below it."""

    context: Context
    claim_count: int
    child_count: int


class ContextCRUD(Trees[Context]):
    """The contexts of one user. Two may have the same name; a reference by that name is ambiguous."""

    table, key, columns, model = contexts, "context_id", CONTEXT_COLUMNS, Context
    noun, links, parent = "context", context_claims, "parent_context_id"
    not_found = ContextNotFoundError
    checks = {  # noqa: RUF012
        "name": one_line,
        "description": description,
        "parent_context_id": parent_id,
        "meta_json": further_data,
    }

    def get_children(self, parent_context_id: str | None = None) -> builtins.list[Context]:
        """The contexts right below one, or the roots, by name."""
        return self._children(parent_context_id)

    def list_all(self) -> builtins.list[CountedContext]:
        """All contexts by name, with their counts; two queries, however many there are."""
        contexts = self._page()
        children: dict[str | None, int] = {}
        for context in contexts:
            children[context.parent_context_id] = children.get(context.parent_context_id, 0) + 1
        counts = self._counted_claims()
        return [
            CountedContext(context, counts.get(context.context_id, 0), children.get(context.context_id, 0))
            for context in contexts
        ]

    def count(self) -> int:
        """How many contexts there are."""
        return self._count()

    def claims_of(self, context_id: str, limit: int = 100, offset: int = 0) -> builtins.list[Claim]:
        """The active and contested claims that are filed under this very context, newest change first."""
        return held_claims(self.db, _FILED_HERE, user=self.user_email, identity=context_id, limit=limit, offset=offset)

    def contexts_of(self, claim_id: str) -> builtins.list[Context]:
        """The contexts under which a claim is filed, by name."""
        return self._found(_CONTEXTS_OF, claim_id=claim_id)

    def add_claim(self, context_id: str, claim_id: str) -> bool:
        """File a claim under a context; False where it was there already.

        Raises ContextNotFoundError and ClaimNotFoundError.
        """
        with self.db.transaction():
            title = self._statement(claim_id)
            self.existing(context_id)
            if title is None:
                raise ClaimNotFoundError(claim_id)
            if self._holds(context_id, claim_id):
                return False
            with self._filing("link", claim_id, title) as changes:
                changes.insert("context_claims", {"context_id": context_id, "claim_id": claim_id})
        return True

    def remove_claim(self, context_id: str, claim_id: str) -> bool:
        """Take a claim out of a context; False where it was not in it."""
        with self.db.transaction():
            title = self._statement(claim_id)
            if title is None or self.get(context_id) is None or not self._holds(context_id, claim_id):
                return False
            with self._filing("unlink", claim_id, title) as changes:
                changes.delete("context_claims", {"context_id": context_id, "claim_id": claim_id})
        return True

    def _holds(self, context_id: str, claim_id: str) -> bool:
        return self.db.row(_TIE, user=self.user_email, context_id=context_id, claim_id=claim_id) is not None

    def _statement(self, claim_id: str) -> str | None:
        row = self.db.row(_STATEMENT, user=self.user_email, claim_id=claim_id)
        return row[0] if row else None

    def _filing(self, action: str, claim_id: str, title: str) -> AbstractContextManager[ChangeSet]:
        return recording(
            self.db, user_email=self.user_email, action=action, object_type="claim", object_id=claim_id, title=title
        )
