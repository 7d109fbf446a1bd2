"""What every part of the API stands on: the store, the tables, the models, and how an action's end becomes a result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, ParamSpec, Self, TypeVar

from sentences import say
from truth_management_system.models import ActionResult

from ..analysis.model_questions import KnowledgeModels, LLMHelpers
from ..config import PKBConfig
from ..crud.catalog import DomainCatalog, TypeCatalog
from ..crud.claims import ClaimCRUD
from ..crud.conflicts import ConflictCRUD
from ..crud.contexts import ContextCRUD
from ..crud.entities import EntityCRUD
from ..crud.notes import NoteCRUD
from ..crud.tags import TagCRUD
from ..database import PKBDatabase
from ..database.audit_log import ChangeSet, recording, watching
from ..errors import ClaimNotFoundError, KnowledgeError, KnowledgeIndexDamagedError, KnowledgeNotFoundError
from ..models import Claim
from ..resolution import ReferenceResolver
from ..search.service import ClaimSearch

log = logging.getLogger(__name__)
P = ParamSpec("P")
UNEXPECTED = "internal_error"
"""The `error_code` of an unexpected exception."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action that succeeded gives."""

    data: Any = None
    object_id: str | None = None
    warnings: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def outcome(action: str, object_type: str) -> Callable[[Callable[P, Outcome]], Callable[P, ActionResult]]:
    """Make a method that gives an Outcome, or raises, give an ActionResult.

    Its metadata has `audit_id` where something was changed; where it failed, `error_code`, `details` and the `error`
    itself. Any other exception than a KnowledgeError is a fault of the program, and is logged. What met a damaged index
    is done again with the new one; within a transaction, all of which is to be done again, that is raised.
    """

    def decorate(method: Callable[P, Outcome]) -> Callable[P, ActionResult]:
        @wraps(method)
        def act(*args: P.args, **kwargs: P.kwargs) -> ActionResult:
            try:
                with watching() as written:
                    done = _done(method, args, kwargs)
            except KnowledgeError as error:
                if isinstance(error, KnowledgeIndexDamagedError) and _database(args).is_in_transaction:
                    raise
                return _failed(action, object_type, error.message, error, error.code, error.details)
            except Exception as error:
                log.exception("%s %s failed", action, object_type)
                sentence = say("not_done_with_this")
                return _failed(action, object_type, sentence, error, UNEXPECTED, {})
            audit = {"audit_id": written[-1]} if written else {}
            return ActionResult(
                True,
                action,
                object_type,
                object_id=done.object_id,
                data=done.data,
                warnings=list(done.warnings),
                metadata={**audit, **done.metadata},
            )

        return act

    return decorate


def _done(method: Callable[..., Outcome], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Outcome:
    try:
        return method(*args, **kwargs)
    except KnowledgeIndexDamagedError:
        if not _database(args).is_mended():
            raise
        return method(*args, **kwargs)


def _database(args: Sequence[Any]) -> PKBDatabase:
    api: ApiParts = args[0]
    return api.db


def _failed(
    action: str, object_type: str, sentence: str, error: Exception, code: str, details: Mapping[str, Any]
) -> ActionResult:
    metadata = {"error_code": code, "details": details, "error": error}
    return ActionResult(False, action, object_type, errors=[sentence], metadata=metadata)


Keys = Mapping[str, str]
LONGEST_ID = 200
T = TypeVar("T")


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

    def _recording(
        self,
        action: str,
        object_type: str,
        object_id: str | None,
        title: str = "",
        *,
        audit_id: str | None = None,
        **detail: Any,
    ) -> AbstractContextManager[ChangeSet]:
        """One change by this user, with one undo. audit_id: the id of its entry in the audit log."""
        return recording(
            self.db,
            user_email=self.owner,
            action=action,
            object_type=object_type,
            object_id=object_id,
            title=title,
            detail=detail,
            audit_id=audit_id,
        )

    def _claim(self, claim_id: str) -> Claim:
        """A claim that has to be there. Raises ClaimNotFoundError."""
        return self.claims.existing(claim_id)

    def _claims(self, claim_ids: Sequence[str]) -> list[Claim]:
        found = {claim.claim_id: claim for claim in self.claims.get_many(claim_ids)}
        for claim_id in claim_ids:
            if claim_id not in found:
                raise ClaimNotFoundError(claim_id)
        return [found[claim_id] for claim_id in dict.fromkeys(claim_ids)]


def present_or(error: type[KnowledgeNotFoundError], identity: str, found: T | None) -> T:
    """What was found. Raises the error, about `identity`, where that is nothing."""
    if found is None:
        raise error(identity)
    return found


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `values` that were given."""
    return {name: value for name, value in values.items() if value is not None}
