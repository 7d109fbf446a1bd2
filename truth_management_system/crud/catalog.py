"""The types and domains that a user can choose from: those that come with the program, and the user's own."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import Integer, Select, Table, bindparam, cast, func, select

from sentences import say

from ..constants import ClaimStatus, ClaimType, ContextDomain
from ..database import PKBDatabase, Prepared
from ..database.audit_log import recording
from ..errors import InvalidKnowledgeError
from ..models import Claim
from ..schema.operators import among, in_order
from ..schema.tables import claim_domains, claim_types_catalog, claims, context_domains_catalog
from ..utils import now_iso
from .base import HOLDING, one_of, optional_text
from .claim_fields import category_name
from .groups import Holding, count_held, held_claims

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
    table: ClassVar[Table]
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

    def spellings(self, name: str) -> builtins.list[str]:
        """What `name` may be stored as: what adding makes of it, and as it is, since some were imported so."""
        try:
            return builtins.list(dict.fromkeys((category_name(name, self.noun), name)))
        except InvalidKnowledgeError:
            return [name]

    def lists(self, name: str) -> bool:
        """Whether one of this name, in whatever spelling, is listed."""
        return not {category.name for category in self.list()}.isdisjoint(self.spellings(name))

    def add(self, name: str, label: str | None = None) -> Category:
        """Add one of the user's own, in lower case with underscores; one that is there already stays as it is.

        Raises InvalidKnowledgeError for a name that is no word of 2 to 40 letters, digits and underscores.
        """
        stored = category_name(name, self.noun)
        if len(stored) < _SHORTEST_NAME:
            raise InvalidKnowledgeError(say("category_too_short", value=name, what=self.noun))
        shown = optional_text(label, "label", longest=_LONGEST_LABEL) or _label(stored)
        with recording(
            self.db, user_email=self.user_email, action="add", object_type=self.noun, object_id=stored, title=shown
        ) as changes:
            if stored not in self._labels():
                row = {"user_email": self.user_email, self.column: stored, "display_name": shown}
                changes.insert(self.table.name, {**row, "created_at": now_iso()})
        return next(category for category in self.list() if category.name == stored)

    def _labels(self) -> dict[str, str]:
        own = {name: label for name, label in self.db.rows(self._own(), user=self.user_email)}  # noqa: C416
        return {name: _label(name) for name in map(str, self.built_in)} | own

    @classmethod
    @cache
    def _own(cls) -> Prepared:
        names = cls.table.c[cls.column]
        query = select(names, cls.table.c.display_name).where(cls.table.c.user_email == bindparam("user"))
        return Prepared(query.order_by(names))

    @abstractmethod
    def _counts(self) -> dict[str, int]:
        """How many active and contested claims each has."""


class TypeCatalog(Catalog):
    """The types of claims; a claim counts for its primary type."""

    noun, table, column, built_in = "type", claim_types_catalog, "type_name", ClaimType

    def _counts(self) -> dict[str, int]:
        rows = self.db.rows(_BY_TYPE, user=self.user_email)
        return {name: count for name, count in rows}  # noqa: C416


class DomainCatalog(Catalog):
    """The domains that claims belong to; a claim counts for each of its domains."""

    noun, table, column, built_in = "domain", context_domains_catalog, "domain_name", ContextDomain

    def claims_of_domain(self, name: str, limit: int | None = None) -> builtins.list[Claim]:
        """The active and contested claims whose primary or further domains hold `name`, newest change first."""
        return held_claims(self.db, _OF_DOMAIN, user=self.user_email, identity=name.lower(), limit=limit)

    def count_claims(self, name: str) -> int:
        """How many `claims_of_domain` gives without a limit."""
        return count_held(self.db, _OF_DOMAIN, user=self.user_email, identity=name.lower())

    def _counts(self) -> dict[str, int]:
        return domain_counts(self.db, self.user_email)


def domain_counts(db: PKBDatabase, user: str, names: Iterable[str] | None = None) -> dict[str, int]:
    """How many of the user's active and contested claims each domain has: all domains, or those of these names."""
    given = {} if names is None else {"domains": names}
    rows = db.rows(_counting_domains(some=names is not None), user=user, **given)
    return {domain: int(number) for domain, number in rows}


@cache
def _counting_domains(*, some: bool) -> Prepared:
    # Most claims hold: counting all and taking away the others looks at few rows.
    restricted = [among(claim_domains.c.domain, "domains")] if some else []
    of_user = claim_domains.c.user_email == bindparam("user")
    every = select(claim_domains.c.domain, func.count().label("number")).where(of_user, *restricted)
    joined = in_order(claims, claim_domains, claim_domains.c.claim_rowid == claims.c.claim_rowid)
    others = [status for status in ClaimStatus if status not in HOLDING]
    not_holding = select(claim_domains.c.domain, (-func.count()).label("number")).select_from(joined)
    not_holding = not_holding.where(claims.c.user_email == bindparam("user"), one_of(claims.c.status, others))
    both = every.group_by(claim_domains.c.domain).union_all(not_holding.group_by(claim_domains.c.domain)).subquery()
    total = cast(func.sum(both.c.number), Integer)
    return Prepared(select(both.c.domain, total).group_by(both.c.domain).having(total > 0))


def in_domain(place: str = "") -> Select[Any]:
    """A query for the `claim_rowid`s of the domain `:identity` of `:user`. place: see `Groups.belonging`."""
    of_user = claim_domains.c.user_email == bindparam("user")
    return select(claim_domains.c.claim_rowid).where(of_user, claim_domains.c.domain == bindparam(f"identity{place}"))


_OF_DOMAIN = Holding(in_domain())
_BY_TYPE = Prepared(
    select(claims.c.claim_type, func.count())
    .where(claims.c.user_email == bindparam("user"), one_of(claims.c.status, HOLDING))
    .group_by(claims.c.claim_type)
)


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()
