"""Fills a knowledge base with made-up claims for measuring: the same from the same plan, whole like those of years.

What is measured has a known size, whatever else there is: a tree of contexts, a tag, an entity, a domain. Their claims
lie as far apart as what is filed over the years does. A thousandth of all claims is a neighbour's.
"""

from __future__ import annotations

import json
import string
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import insert

from database.engine.clock import iso
from truth_management_system.constants import ClaimStatus
from truth_management_system.crud.claims import ClaimCRUD
from truth_management_system.crud.links import LINK_SUPERSEDES
from truth_management_system.database import PKBDatabase, Prepared
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.models import Claim
from truth_management_system.schema import metadata
from truth_management_system.utils import generate_friendly_id

from .groups import GroupMaker, MadeGroups
from .statements import StatementMaker

SEED = 20260208
DOMAIN = "measured"
_NEIGHBOURS_SHARE = 1_000
_LARGEST_TREE, _LARGEST_GROUP = 2_000, 200
_NOT_ACTIVE = 0.05
_FILED, _TAGGED, _ABOUT = 0.3, 0.6, 0.5
_BEGIN = datetime(2024, 1, 1, 8, tzinfo=UTC)
_SPAN = timedelta(days=760)
_LATEST_CHANGE = 60 * 24 * 60
_CHARACTERS = string.ascii_lowercase + string.digits

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgePlan:
    """What to make; claims: of the user and of the neighbour together. at_once: how many a transaction stores."""

    claims: int
    at_once: int = 2_000

    @property
    def neighbours(self) -> int:
        """How many of them are the neighbour's."""
        return self.claims // _NEIGHBOURS_SHARE

    @property
    def own(self) -> int:
        """How many of them are the user's."""
        return self.claims - self.neighbours

    @property
    def tree(self) -> int:
        """How many the measured tree of 111 contexts holds."""
        return min(_LARGEST_TREE, self.claims // 5)

    @property
    def group(self) -> int:
        """How many the measured tag (with those below it), entity and domain hold each."""
        return min(_LARGEST_GROUP, self.claims // 10)


@dataclass(slots=True)
class _Batch:
    """Rows on their way into the store, by table."""

    rows: dict[str, list[Row]] = field(default_factory=dict)

    def add(self, table: str, row: Row) -> None:
        self.rows.setdefault(table, []).append(row)

    def store(self, db: PKBDatabase) -> None:
        """Insert them in one transaction, the tables in the order in which they were named first."""
        with db.transaction():
            for table, rows in self.rows.items():
                db.run_each(Prepared(insert(metadata.tables[table]), columns=list(rows[0])), rows)
        self.rows.clear()


def seed_knowledge(db: PKBDatabase, *, user_email: str, plan: KnowledgePlan) -> Iterator[int]:
    """Store what `plan` says as `user_email`'s; yields, after each transaction, how many claims are there.

    Nothing is recorded, since nobody would undo it. Raises InvalidKnowledgeError for a user who has memories already.
    """
    if ClaimCRUD(db, user_email).has_any():
        raise InvalidKnowledgeError("This account has memories already; seeding is for one that has none.")
    random = Random(f"{SEED} {user_email}")
    owner = _Owner(random, user_email, plan.own, measured=plan)
    neighbour = _Owner(random, f"neighbour.{user_email}", plan.neighbours)
    batch = _Batch()
    for one in (owner, neighbour):
        one.add_groups(batch)
    for number in range(1, plan.claims + 1):
        one = owner if number % _NEIGHBOURS_SHARE else neighbour
        one.add_claim(batch, _BEGIN + _SPAN * (number / plan.claims))
        if number % plan.at_once == 0:
            batch.store(db)
            yield number
    for one in (owner, neighbour):
        batch.add("claim_numbers", {"user_email": one.user_email, "last_number": one.count})
    batch.store(db)
    yield plan.claims


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filing:
    """How claims are filed in groups of one kind.

    measured: the groups of known size, as one. ordinals: which of the claims, by number, are in there, counted.
    share: the share of all claims that is in one of the others.
    """

    table: str
    key: str
    measured: Sequence[Row]
    ordinals: Mapping[int, int]
    others: Sequence[Row]
    share: float

    def links(self, random: Random, claim: Claim) -> Iterator[Row]:
        """What ties the claim to its groups."""
        if claim.claim_number in self.ordinals:
            yield self._link(claim, self.measured[self.ordinals[claim.claim_number] % len(self.measured)])
        if random.random() < self.share:
            yield self._link(claim, random.choice(self.others))

    def _link(self, claim: Claim, group: Row) -> Row:
        return {"claim_id": claim.claim_id, self.key: group[self.key]}


class _Owner:
    """Makes the rows of one user, claim by claim."""

    def __init__(self, random: Random, user_email: str, claims: int, *, measured: KnowledgePlan | None = None) -> None:
        self.user_email = user_email
        self.count = 0
        self._random = random
        self._statements = StatementMaker(random)
        maker = GroupMaker(random, user_email=user_email, born=iso(_BEGIN))
        self._groups = maker.make(claims=claims, is_measured=measured is not None)
        tree, group = (measured.tree, measured.group) if measured else (0, 0)
        # Each begins elsewhere, so that few claims are in two of them.
        in_tag, in_entity, self._in_domain = (_spread(group, claims, begin=begin) for begin in (2, 3, 4))
        self._filings = _filings(self._groups, _spread(tree, claims, begin=1), in_tag, in_entity)
        self._names = set[str]()
        self._superseded: Claim | None = None

    def add_groups(self, batch: _Batch) -> None:
        for table, rows in self._groups.rows().items():
            for row in rows:
                batch.add(table, row)
        if self._in_domain:
            named = {"domain_name": DOMAIN, "display_name": DOMAIN.capitalize(), "created_at": iso(_BEGIN)}
            batch.add("context_domains_catalog", {"user_email": self.user_email, **named})

    def add_claim(self, batch: _Batch, moment: datetime) -> None:
        self.count += 1
        claim = self._claim(self.count, moment)
        batch.add("claims", claim.to_dict())
        for filing in self._filings:
            for link in filing.links(self._random, claim):
                batch.add(filing.table, link)
        self._supersede(batch, claim)

    def _claim(self, number: int, moment: datetime) -> Claim:
        made = self._statements.statement()
        changed = iso(moment + timedelta(minutes=self._random.randint(0, _LATEST_CHANGE)))
        status = self._status(number)
        domains = [made.domain, *([DOMAIN] if number in self._in_domain else [])]
        return Claim(
            claim_id=self._id(),
            user_email=self.user_email,
            claim_number=number,
            friendly_id=self._friendly_id(made.statement),
            claim_type=made.claim_type,
            claim_types=json.dumps([made.claim_type]),
            statement=f"{made.statement}.",
            context_domain=made.domain,
            context_domains=json.dumps(domains),
            status=status.value,
            confidence=round(self._random.uniform(0.5, 1.0), 2),
            created_at=iso(moment),
            updated_at=changed,
            retracted_at=changed if status == ClaimStatus.RETRACTED else None,
            possible_questions=json.dumps([made.question]) if made.question else None,
        )

    def _status(self, number: int) -> ClaimStatus:
        is_measured = number in self._in_domain or any(number in filing.ordinals for filing in self._filings)
        if is_measured or self._random.random() >= _NOT_ACTIVE:
            return ClaimStatus.ACTIVE
        return self._random.choice([ClaimStatus.SUPERSEDED, ClaimStatus.RETRACTED, ClaimStatus.HISTORICAL])

    def _supersede(self, batch: _Batch, claim: Claim) -> None:
        """The next active claim after a superseded one is what took its place."""
        if claim.status == ClaimStatus.SUPERSEDED:
            self._superseded = claim
        elif claim.status == ClaimStatus.ACTIVE and self._superseded is not None:
            link = {
                "link_id": self._id(),
                "user_email": self.user_email,
                "from_claim_id": claim.claim_id,
                "to_claim_id": self._superseded.claim_id,
                "link_type": LINK_SUPERSEDES,
                "created_at": claim.created_at,
            }
            batch.add("claim_links", link)
            self._superseded = None

    def _friendly_id(self, statement: str) -> str:
        words, _, _ = generate_friendly_id(statement).rpartition("_")
        while (name := f"{words}_{''.join(self._random.choices(_CHARACTERS, k=4))}") in self._names:
            pass
        self._names.add(name)
        return name

    def _id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _filings(
    groups: MadeGroups, in_tree: Mapping[int, int], in_tag: Mapping[int, int], in_entity: Mapping[int, int]
) -> tuple[_Filing, ...]:
    return (
        _Filing(
            table="context_claims",
            key="context_id",
            measured=groups.tree,
            ordinals=in_tree,
            others=groups.contexts,
            share=_FILED,
        ),
        _Filing(
            table="claim_tags",
            key="tag_id",
            measured=groups.tag,
            ordinals=in_tag,
            others=groups.tags,
            share=_TAGGED,
        ),
        _Filing(
            table="claim_entities",
            key="entity_id",
            measured=groups.entity,
            ordinals=in_entity,
            others=groups.entities,
            share=_ABOUT,
        ),
    )


def _spread(count: int, claims: int, *, begin: int) -> dict[int, int]:
    """Numbers of `count` of so many claims, evenly spread from `begin` on, counted from 0."""
    return {begin + place * claims // count: place for place in range(count)}
