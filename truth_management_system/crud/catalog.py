"""The types and domains that a user can choose from: those that come with the program, and the user's own."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from database.engine.clock import now_iso

from ..changes import recording
from ..constants import ClaimStatus, ClaimType, ContextDomain
from ..database import PKBDatabase
from ..errors import InvalidKnowledgeError
from ..models import Claim
from .base import marks, optional_text
from .claim_fields import category_name
from .groups import count_held, held_claims

_HOLDING = ClaimStatus.default_search_statuses()
_SHORTEST_NAME = 2
_LONGEST_LABEL = 80


class Category(NamedTuple):
    """A type or domain; claim_count: the user's active and contested claims of it."""

    name: str
    label: str
    claim_count: int


class Catalog(ABC):
    """The categories of one kind that one user has.

    Attributes:
        noun: What one is called.
        table, column: Where the user's own are.
        built_in: The names of those that come with the program.
    """

    noun: ClassVar[str]
    table: ClassVar[str]
    column: ClassVar[str]
    built_in: ClassVar[Iterable[str]]

    def __init__(self, db: PKBDatabase, user_email: str | None = None) -> None:
        self.db = db
        self.user_email = user_email or ""

    def list(self) -> builtins.list[Category]:
        """The built-in ones, then the user's own by name, those included that only claims name."""
        labels, counts = self._labels(), self._counts()
        labels |= {name: _label(name) for name in sorted(counts) if name not in labels}
        return [Category(name, label, counts.get(name, 0)) for name, label in labels.items()]

    def knows(self, name: str) -> bool:
        """Whether there is one of this name, built in or the user's own; what only claims name does not count."""
        return name in self._labels()

    def add(self, name: str, label: str | None = None) -> Category:
        """Add one of the user's own, in lower case with underscores; one that is there already stays as it is.

        Raises InvalidKnowledgeError for a name that is no word of 2 to 40 letters, digits and underscores.
        """
        stored = category_name(name, self.noun)
        if len(stored) < _SHORTEST_NAME:
            raise InvalidKnowledgeError(f"{name!r} is too short for a {self.noun}: use two letters or more.")
        shown = optional_text(label, "label", longest=_LONGEST_LABEL) or _label(stored)
        with recording(
            self.db, user_email=self.user_email, action="add", object_type=self.noun, object_id=stored, title=shown
        ) as changes:
            if stored not in self._labels():
                row = {"user_email": self.user_email, self.column: stored, "display_name": shown}
                changes.insert(self.table, {**row, "created_at": now_iso()})
        return next(category for category in self.list() if category.name == stored)

    def _labels(self) -> dict[str, str]:
        sql = f"SELECT {self.column}, display_name FROM {self.table} WHERE user_email = ? ORDER BY {self.column}"
        own = {name: label for name, label in self.db.select(sql, [self.user_email])}  # noqa: C416
        return {name: _label(name) for name in map(str, self.built_in)} | own

    @abstractmethod
    def _counts(self) -> dict[str, int]:
        """How many active and contested claims each has."""


class TypeCatalog(Catalog):
    """The types of claims; a claim counts for its primary type."""

    noun, table, column, built_in = "type", "claim_types_catalog", "type_name", ClaimType

    def _counts(self) -> dict[str, int]:
        sql = (
            "SELECT claim_type, COUNT(*) FROM claims WHERE user_email = ? "
            f"AND status IN ({marks(_HOLDING)}) GROUP BY claim_type"
        )
        return {name: count for name, count in self.db.select(sql, [self.user_email, *_HOLDING])}  # noqa: C416


class DomainCatalog(Catalog):
    """The domains that claims belong to; a claim counts for each of its domains."""

    noun, table, column, built_in = "domain", "context_domains_catalog", "domain_name", ContextDomain

    def claims_of_domain(self, name: str, limit: int | None = None) -> builtins.list[Claim]:
        """The active and contested claims whose primary or further domains hold `name`, newest change first."""
        return held_claims(self.db, self.user_email, *self._belonging(name), key="claim_rowid", limit=limit)

    def count_claims(self, name: str) -> int:
        """How many `claims_of_domain` gives without a limit."""
        return count_held(self.db, self.user_email, *self._belonging(name), key="claim_rowid")

    def _belonging(self, name: str) -> tuple[str, builtins.list[str]]:
        found = "SELECT claim_rowid FROM claim_domains WHERE user_email = ? AND domain = ?"
        return found, [self.user_email, name.lower()]

    def _counts(self) -> dict[str, int]:
        # Most claims hold: counting all and taking away the others looks at few rows.
        others = [status.value for status in ClaimStatus if status not in _HOLDING]
        sql = (
            "SELECT domain, SUM(number) FROM ("
            "SELECT domain, COUNT(*) AS number FROM claim_domains WHERE user_email = ? GROUP BY domain "
            "UNION ALL SELECT domain, -COUNT(*) FROM claims CROSS JOIN claim_domains "
            f"WHERE claims.user_email = ? AND claims.status IN ({marks(others)}) "
            "AND claim_domains.claim_rowid = claims.claim_rowid GROUP BY domain"
            ") AS counted GROUP BY domain HAVING SUM(number) > 0"
        )
        rows = self.db.select(sql, [self.user_email, self.user_email, *others])
        return {name: count for name, count in rows}  # noqa: C416


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()
