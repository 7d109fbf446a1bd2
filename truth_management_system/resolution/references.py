"""From `@reference` to claims: the one place that knows in which order a reference is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from database.engine.clock import now
from database.engine.text import storable
from sentences import Sentence, say

from ..constants import ClaimStatus
from ..crud.catalog import DomainCatalog
from ..crud.claims import ClaimCRUD
from ..crud.contexts import ContextCRUD
from ..crud.entities import EntityCRUD
from ..crud.links import supersession_heads
from ..crud.tags import TagCRUD
from ..database import PKBDatabase
from ..errors import AmbiguousReferenceError, ReferenceNotFoundError
from ..models import Claim, Context, Entity, Tag
from ..utils import name_key

_NUMBER = re.compile(r"(?:claim_)?([0-9]{1,18})", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SIGN = re.compile(r"[@#]*(?:mem(?:ory)?:)?", re.IGNORECASE)
_DOMAIN_SUFFIX = "_domain"

Found = Claim | Context | Entity | Tag | str
"""What a reference names; a domain is its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What a reference names.

    type: claim, context, entity, tag or domain. claims: itself, or what is filed there, newest change first.
    total_count: how many there are, also where not all were asked for.
    source_id, source_name: of the claim or the group. notes: what a reader should know ("retracted", "superseded by
    @…", "valid until 2026-02-08").
    """

    type: str
    claims: Sequence[Claim]
    total_count: int
    source_id: str
    source_name: str
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """As `resolve_reference` gives it."""
        return {
            "type": self.type,
            "claims": list(self.claims),
            "total_count": self.total_count,
            "source_id": self.source_id,
            "source_name": self.source_name,
            "notes": list(self.notes),
        }


@dataclass(slots=True, kw_only=True)
class ReferenceResolver:
    """Resolves references of one user."""

    db: PKBDatabase
    claims: ClaimCRUD
    contexts: ContextCRUD
    entities: EntityCRUD
    tags: TagCRUD
    domains: DomainCatalog
    _by_suffix: dict[str, Callable[[str], Found | None]] = field(init=False)

    def __post_init__(self) -> None:
        self._by_suffix = {
            "_context": self.contexts.get_by_friendly_id,
            "_entity": self.entities.get_by_friendly_id,
            "_tag": self.tags.get_by_friendly_id,
            _DOMAIN_SUFFIX: self._domain,
        }

    def resolve(self, reference: str, *, limit: int | None = None) -> Resolved:
        """What `reference` names, with or without its "@", "#" or "@memory:"; of a group, the newest `limit` claims.

        Raises ReferenceNotFoundError, AmbiguousReferenceError.
        """
        name = _bare(reference)
        if name:
            with self.db.snapshot():
                found = self._identified(name) or self._named(name)
                if found is not None:
                    return self._resolved(found, limit)
        raise ReferenceNotFoundError(name)

    def claim(self, identifier: str) -> Claim | None:
        """The one claim that `42`, `#42`, `claim_42`, its id or its readable id names, whatever its status."""
        name = _bare(str(identifier))
        number = _NUMBER.fullmatch(name)
        if number:
            found = self.claims.get_by_claim_number(int(number[1]))
            if found is not None:
                return found
        if _UUID.fullmatch(name):
            found = self.claims.get(name.lower())
            if found is not None:
                return found
        # An imported claim has the id that it had elsewhere, which may be any text.
        return (self.claims.get_by_friendly_id(name) or self.claims.get(name)) if name else None

    def notes_of(self, claims: Sequence[Claim]) -> dict[str, list[Sentence]]:
        """For each claim, by its id, what a reader should know of it: see `Resolved.notes`."""
        replaced = [claim.claim_id for claim in claims if claim.status == ClaimStatus.SUPERSEDED]
        heads = supersession_heads(self.db, replaced, user_email=self.claims.user_email)
        successors = {claim.claim_id: claim for claim in self.claims.get_many(list(heads.values()))}
        moment = now()
        notes: dict[str, list[Sentence]] = {}
        for claim in claims:
            successor = successors.get(heads.get(claim.claim_id, ""))
            if successor is not None and successor.claim_id != claim.claim_id:
                notes[claim.claim_id] = [say("memory_superseded_by", reference=f"@{successor.friendly_id}")]
            else:
                status = [] if claim.status == ClaimStatus.ACTIVE else [say(f"memory_{claim.status}")]
                notes[claim.claim_id] = [*status, *_validity(claim, moment)]
        return notes

    def _identified(self, name: str) -> Found | None:
        """By an id: the first kind that has it in exactly this case, else the first that has it in another case."""
        in_another_case: Found | None = None
        kinds = (self.contexts, self.entities, self.tags)
        for look_up in (self._group, self.claim, *(kind.get_by_friendly_id for kind in kinds)):
            found = look_up(name)
            if found is not None and not _differs_in_case(found, name):
                return found
            in_another_case = in_another_case or found
        return in_another_case

    def _group(self, name: str) -> Found | None:
        suffix = next((suffix for suffix in self._by_suffix if name.lower().endswith(suffix)), None)
        return self._by_suffix[suffix](name) if suffix else None

    def _domain(self, name: str) -> str | None:
        domain = name.lower().removesuffix(_DOMAIN_SUFFIX)
        return domain if self.domains.knows(domain) or self.domains.claims_of_domain(domain, limit=1) else None

    def _named(self, name: str) -> Found | None:
        """By the name of a context at any depth, then of an entity or a tag."""
        key = name_key(name)
        groups: list[Context | Entity | Tag] = [*self.contexts.find_by_name(key)]
        groups = groups or [*self.entities.find_by_name(key), *self.tags.find_by_name(key)]
        if len(groups) > 1:
            raise AmbiguousReferenceError(name, [_candidate(group) for group in groups])
        return groups[0] if groups else None

    def _resolved(self, found: Found, limit: int | None) -> Resolved:
        if isinstance(found, Claim):
            notes, name = self.notes_of([found])[found.claim_id], found.friendly_id
            return Resolved(
                type="claim", claims=[found], total_count=1, source_id=found.claim_id, source_name=name, notes=notes
            )
        if isinstance(found, str):
            claims = self.domains.claims_of_domain(found, limit=limit)
            total = len(claims) if len(claims) != limit else self.domains.count_claims(found)
            return Resolved(type="domain", claims=claims, total_count=total, source_id=found, source_name=found)
        groups, identity = self._groups_of(found)
        claims = groups.resolve_claims(identity, limit=limit)
        total = len(claims) if len(claims) != limit else groups.count_resolved(identity)
        return Resolved(type=_kind(found), claims=claims, total_count=total, source_id=identity, source_name=found.name)

    def _groups_of(self, found: Context | Entity | Tag) -> tuple[ContextCRUD | EntityCRUD | TagCRUD, str]:
        if isinstance(found, Context):
            return self.contexts, found.context_id
        if isinstance(found, Entity):
            return self.entities, found.entity_id
        return self.tags, found.tag_id


def _bare(reference: str) -> str:
    return _SIGN.sub("", storable(reference).strip(), count=1)


def _validity(claim: Claim, moment: datetime) -> list[Sentence]:
    """What there is to say about a claim that is not valid now."""
    if claim.is_valid_at(moment):
        return []
    has_begun = replace(claim, valid_to=None).is_valid_at(moment)
    if has_begun:
        return [say("memory_valid_until", date=str(claim.valid_to))]
    return [say("memory_valid_from", date=str(claim.valid_from))]


def _differs_in_case(found: Found, name: str) -> bool:
    """Whether it was found by its readable id, which is written differently."""
    known = f"{found}{_DOMAIN_SUFFIX}" if isinstance(found, str) else found.friendly_id
    return known != name and known.lower() == name.lower()


def _candidate(found: Context | Entity | Tag) -> dict[str, str]:
    return {"kind": _kind(found), "ref": f"@{found.friendly_id}", "title": found.name}


def _kind(group: Context | Entity | Tag) -> str:
    return type(group).__name__.lower()
