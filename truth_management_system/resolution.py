"""From `@reference` to claims: the one place that knows in which order a reference is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .constants import ClaimStatus
from .crud.catalog import DomainCatalog
from .crud.claims import ClaimCRUD
from .crud.contexts import ContextCRUD
from .crud.entities import EntityCRUD
from .crud.links import supersession_heads
from .crud.tags import TagCRUD
from .database import PKBDatabase
from .errors import AmbiguousReferenceError, ReferenceNotFoundError
from .models import Claim, Context, Entity, Tag
from .utils import name_key

_NUMBER = re.compile(r"(?:claim_)?([0-9]{1,18})", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DOMAIN_SUFFIX = "_domain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What a reference names.

    type: claim, context, entity, tag or domain. claims: itself, or what is filed there, newest change first.
    source_id, source_name: of the claim or the group. notes: what a reader should know ("retracted", "superseded by
    @…").
    """

    type: str
    claims: Sequence[Claim]
    source_id: str
    source_name: str
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """As `resolve_reference` gives it."""
        return {
            "type": self.type,
            "claims": list(self.claims),
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
    _by_suffix: dict[str, Callable[[str], Resolved | None]] = field(init=False)

    def __post_init__(self) -> None:
        self._by_suffix = {
            "_context": self._context,
            "_entity": self._entity,
            "_tag": self._tag,
            _DOMAIN_SUFFIX: self._domain,
        }

    def resolve(self, reference: str) -> Resolved:
        """What `reference` names, with or without its "@" or "#".

        Raises ReferenceNotFoundError, AmbiguousReferenceError.
        """
        name = reference.strip()
        name = name[1:] if name[:1] in {"@", "#"} else name
        if name:
            with self.db.snapshot():
                steps = (self._group, self._claim, self._context, self._named)
                found = next((resolved for step in steps if (resolved := step(name)) is not None), None)
                if found is not None:
                    return found
        raise ReferenceNotFoundError(name)

    def claim(self, identifier: str) -> Claim | None:
        """The one claim that `42`, `#42`, `claim_42`, a UUID or a readable id names, whatever its status."""
        name = str(identifier).strip().lstrip("@#")
        number = _NUMBER.fullmatch(name)
        if number:
            found = self.claims.get_by_claim_number(int(number[1]))
            if found is not None:
                return found
        if _UUID.fullmatch(name):
            return self.claims.get(name.lower())
        return self.claims.get_by_friendly_id(name) if name else None

    def _group(self, name: str) -> Resolved | None:
        suffix = next((suffix for suffix in self._by_suffix if name.lower().endswith(suffix)), None)
        return self._by_suffix[suffix](name) if suffix else None

    def _claim(self, name: str) -> Resolved | None:
        claim = self.claim(name)
        if claim is None:
            return None
        return Resolved(
            type="claim",
            claims=[claim],
            source_id=claim.claim_id,
            source_name=claim.friendly_id,
            notes=self._notes(claim),
        )

    def _notes(self, claim: Claim) -> list[str]:
        if claim.status == ClaimStatus.SUPERSEDED:
            head = self.claims.get(supersession_heads(self.db, [claim.claim_id])[claim.claim_id])
            if head is not None and head.claim_id != claim.claim_id:
                return [f"superseded by @{head.friendly_id}"]
        return [] if claim.status == ClaimStatus.ACTIVE else [claim.status]

    def _context(self, name: str) -> Resolved | None:
        context = self.contexts.get_by_friendly_id(name)
        return None if context is None else self._filed_in_context(context)

    def _filed_in_context(self, context: Context) -> Resolved:
        claims = self.contexts.resolve_claims(context.context_id)
        return Resolved(type="context", claims=claims, source_id=context.context_id, source_name=context.name)

    def _entity(self, name: str) -> Resolved | None:
        entity = self.entities.get_by_friendly_id(name)
        return None if entity is None else self._filed_under_entity(entity)

    def _filed_under_entity(self, entity: Entity) -> Resolved:
        claims = self.entities.resolve_claims(entity.entity_id)
        return Resolved(type="entity", claims=claims, source_id=entity.entity_id, source_name=entity.name)

    def _tag(self, name: str) -> Resolved | None:
        tag = self.tags.get_by_friendly_id(name)
        return None if tag is None else self._filed_under_tag(tag)

    def _filed_under_tag(self, tag: Tag) -> Resolved:
        return Resolved(
            type="tag", claims=self.tags.resolve_claims(tag.tag_id), source_id=tag.tag_id, source_name=tag.name
        )

    def _domain(self, name: str) -> Resolved | None:
        domain = name.lower().removesuffix(_DOMAIN_SUFFIX)
        claims = self.domains.claims_of_domain(domain)
        if not claims and not self.domains.knows(domain):
            return None
        return Resolved(type="domain", claims=claims, source_id=domain, source_name=domain)

    def _named(self, name: str) -> Resolved | None:
        """By the name of a context at any depth, then of an entity or a tag."""
        key = name_key(name)
        contexts = self.contexts.find_by_name(key)
        if contexts:
            return self._filed_in_context(self._only(name, contexts))
        entities, tags = self.entities.find_by_name(key), self.tags.find_by_name(key)
        if not entities and not tags:
            return None
        only = self._only(name, [*entities, *tags])
        return self._filed_under_tag(only) if isinstance(only, Tag) else self._filed_under_entity(only)

    def _only(self, name: str, found: Sequence[Any]) -> Any:
        if len(found) == 1:
            return found[0]
        raise AmbiguousReferenceError(name, [_candidate(one) for one in found])


def _candidate(found: Context | Entity | Tag) -> dict[str, str]:
    kind = type(found).__name__.lower()
    return {"kind": kind, "ref": f"@{found.friendly_id}", "title": found.name}
