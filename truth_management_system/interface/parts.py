"""What every part of the API stands on: the store, the tables' doors, the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from ..config import PKBConfig
from ..crud.catalog import DomainCatalog, TypeCatalog
from ..crud.claims import ClaimCRUD
from ..crud.conflicts import ConflictCRUD
from ..crud.contexts import ContextCRUD
from ..crud.entities import EntityCRUD
from ..crud.notes import NoteCRUD
from ..crud.tags import TagCRUD
from ..database import PKBDatabase
from ..errors import ClaimNotFoundError
from ..llm_helpers import KnowledgeModels, LLMHelpers
from ..models import Claim
from ..resolution import ReferenceResolver
from ..search.service import ClaimSearch

Keys = Mapping[str, str]
LONGEST_ID = 200


class ApiParts:
    """One user's view of a knowledge base.

    keys: of model services ("OPENROUTER_API_KEY", "OPENAI_API_KEY"), for programs without models of their own.
    models: used instead, where they are given. user_email: None for the one user of a program without users.
    """

    def __init__(
        self,
        db: PKBDatabase,
        keys: Keys | None = None,
        config: PKBConfig | None = None,
        user_email: str | None = None,
        *,
        models: KnowledgeModels | None = None,
    ) -> None:
        self.db = db
        self.keys = dict(keys or {})
        self.config = config or db.config
        self.user_email = user_email
        self.llm = LLMHelpers(self.keys, self.config, models=models)
        self.claims = ClaimCRUD(db, user_email)
        self.notes = NoteCRUD(db, user_email)
        self.entities = EntityCRUD(db, user_email)
        self.tags = TagCRUD(db, user_email)
        self.conflicts = ConflictCRUD(db, user_email)
        self.contexts = ContextCRUD(db, user_email)
        self.type_catalog = TypeCatalog(db, user_email)
        self.domain_catalog = DomainCatalog(db, user_email)

    @property
    def owner(self) -> str:
        """The user as stored."""
        return self.user_email or ""

    @cached_property
    def search_strategy(self) -> ClaimSearch:
        """All searches."""
        return ClaimSearch(self.db, self.user_email, config=self.config, models=self.llm.models)

    @cached_property
    def references(self) -> ReferenceResolver:
        """From a reference to what it names."""
        return ReferenceResolver(
            db=self.db,
            claims=self.claims,
            contexts=self.contexts,
            entities=self.entities,
            tags=self.tags,
            domains=self.domain_catalog,
        )

    def for_user(self, user_email: str) -> Self:
        """The same knowledge base as `user_email` sees it."""
        return type(self)(self.db, self.keys, self.config, user_email, models=self.llm.models)

    def _claim(self, claim_id: str) -> Claim:
        """A claim that has to be there. Raises ClaimNotFoundError."""
        claim = self.claims.get(claim_id)
        if claim is None:
            raise ClaimNotFoundError(claim_id)
        return claim

    def _claims(self, claim_ids: Sequence[str]) -> list[Claim]:
        found = {claim.claim_id: claim for claim in self.claims.get_many(claim_ids)}
        for claim_id in claim_ids:
            if claim_id not in found:
                raise ClaimNotFoundError(claim_id)
        return [found[claim_id] for claim_id in dict.fromkeys(claim_ids)]


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `values` that were given."""
    return {name: value for name, value in values.items() if value is not None}
