"""From `@reference` to claims: the one place that knows in which order a reference is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, intersect, select

from conversation_reference_utils import joined_groups
from database.engine.clock import now
from database.engine.text import storable
from sentences import Sentence, say

from ..constants import ClaimStatus
from ..crud.catalog import DomainCatalog, in_domain
from ..crud.claims import ClaimCRUD
from ..crud.contexts import ContextCRUD
from ..crud.entities import EntityCRUD
from ..crud.friendly_ids import NUMBER, led_to
from ..crud.groups import Holding, count_held, held_claims
from ..crud.links import supersession_heads
from ..crud.tags import TagCRUD
from ..database import PKBDatabase
from ..errors import AmbiguousReferenceError, ReferenceNotFoundError
from ..models import Claim, Context, Entity, Tag
from ..schema.operators import in_order
from ..schema.tables import claims
from ..utils import name_key

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SIGN = re.compile(r"[@#]*(?:mem(?:ory)?:)?", re.IGNORECASE)
_DOMAIN_SUFFIX = "_domain"

Group = Context | Entity | Tag | str
"""What holds claims; a domain is its name."""
Found = Claim | Group
"""What a reference names."""
_GROUPS: dict[str, type[ContextCRUD | EntityCRUD | TagCRUD]] = {
    "context": ContextCRUD,
    "entity": EntityCRUD,
    "tag": TagCRUD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What a reference names.

    type: claim, context, entity, tag or domain. claims: itself, or what is filed there, newest change first.
    total_count: how many there are, also where not all were asked for.
    source_id, source_name: of the claim or the group. notes: what a reader should know ("retracted", "superseded by
    @…", "valid until 2026-02-08"); of a group, how many of `claims` `notes_of` has something to say of.
    joins: the types of several groups that "&" joins, the first of which is `type`; source_id is then a reference to
    them without "@", source_name their names.
    """

    type: str
    claims: Sequence[Claim]
    total_count: int
    source_id: str
    source_name: str
    notes: Sequence[str] = ()
    joins: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """As `resolve_reference` gives it; `joins` only of several groups."""
        return {
            "type": self.type,
            "claims": list(self.claims),
            "total_count": self.total_count,
            "source_id": self.source_id,
            "source_name": self.source_name,
            "notes": list(self.notes),
            **({"joins": list(self.joins)} if self.joins else {}),
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
                if parts := joined_groups(name):
                    return self._joined(parts, limit)
                found = self._identified(name) or self._named(name)
                if found is not None:
                    return self._resolved(found, limit)
        raise ReferenceNotFoundError(name)

    def claim(self, identifier: str) -> Claim | None:
        """The one claim that `42`, `#42`, `claim_42`, its id or its readable id names, whatever its status."""
        name = _bare(str(identifier))
        number = NUMBER.fullmatch(name)
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

    def former_claim(self, identifier: str) -> Claim | None:
        """The one claim that had this readable id once."""
        found = [each for each in self._formerly(_bare(identifier)) if isinstance(each, Claim)]
        return found[0] if len(found) == 1 else None

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
        """By the name of a context at any depth, then of an entity or a tag, then by what something was called once."""
        key = name_key(name)
        groups: list[Context | Entity | Tag] = [*self.contexts.find_by_name(key)]
        groups = groups or [*self.entities.find_by_name(key), *self.tags.find_by_name(key)]
        own = [group for group in groups if name_key(group.name) == key]
        found: Sequence[Claim | Context | Entity | Tag] = own or [*groups, *self._formerly(name)]
        if len(found) > 1:
            raise AmbiguousReferenceError(name, [_candidate(each) for each in found])
        return found[0] if found else None

    def _formerly(self, name: str) -> list[Claim | Context | Entity | Tag]:
        """What once had this id or name; an entity's former names are its own matter."""
        kinds: dict[str, ClaimCRUD | ContextCRUD | EntityCRUD | TagCRUD] = {
            kind.noun: kind for kind in (self.claims, self.contexts, self.entities, self.tags)
        }
        things = led_to(self.db, self.claims.user_email, name)
        found = (kinds[kind].get(thing_id) for kind, thing_id in things if kind in kinds)
        return [each for each in found if each is not None]

    def _joined(self, names: Sequence[str], limit: int | None) -> Resolved:
        """What all groups of these names hold."""
        groups = [self._part(names, place) for place in range(len(names))]
        if missing := [name for name, group in zip(names, groups, strict=True) if group is None]:
            raise ReferenceNotFoundError("&".join(names), missing=missing)
        found = [group for group in groups if group is not None]
        kinds = tuple(map(_kind, found))
        held = _held_by_all(kinds)
        given: dict[str, Any] = {f"identity{place}": _identity(group) for place, group in enumerate(found)}
        claims = held_claims(self.db, held, user=self.domains.user_email, limit=limit, **given)
        is_cut = len(claims) == limit
        total = count_held(self.db, held, user=self.domains.user_email, **given) if is_cut else len(claims)
        return Resolved(
            type=kinds[0],
            claims=claims,
            total_count=total,
            source_id="&".join(map(_joinable_id, found, names)),
            source_name=" & ".join(group if isinstance(group, str) else group.name for group in found),
            notes=_notes_of_group(claims),
            joins=kinds,
        )

    def _part(self, names: Sequence[str], place: int) -> Group | None:
        """One of the groups that are joined. Raises AmbiguousReferenceError, its candidates with the other names."""
        try:
            found = self._identified(names[place]) or self._named(names[place])
        except AmbiguousReferenceError as error:
            before, behind = names[:place], names[place + 1 :]
            candidates = [
                {**each, "ref": f"@{'&'.join([*before, each['ref'].removeprefix('@'), *behind])}"}
                for each in error.candidates
            ]
            raise AmbiguousReferenceError(names[place], candidates) from error
        return None if isinstance(found, Claim) else found

    def _resolved(self, found: Found, limit: int | None) -> Resolved:
        if isinstance(found, Claim):
            notes, name = self.notes_of([found])[found.claim_id], found.friendly_id
            return Resolved(
                type="claim", claims=[found], total_count=1, source_id=found.claim_id, source_name=name, notes=notes
            )
        if isinstance(found, str):
            claims = self.domains.claims_of_domain(found, limit=limit)
            total = len(claims) if len(claims) != limit else self.domains.count_claims(found)
            identity, name = found, found
        else:
            groups, identity = self._groups_of(found)
            claims = groups.resolve_claims(identity, limit=limit)
            total, name = len(claims) if len(claims) != limit else groups.count_resolved(identity), found.name
        return Resolved(
            type=_kind(found),
            claims=claims,
            total_count=total,
            source_id=identity,
            source_name=name,
            notes=_notes_of_group(claims),
        )

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


def _notes_of_group(claims: Sequence[Claim]) -> list[Sentence]:
    """How many of the claims that a group holds do not hold as they stand."""
    moment = now()
    contested = sum(claim.status == ClaimStatus.CONTESTED for claim in claims)
    invalid = sum(not claim.is_valid_at(moment) for claim in claims)
    counts = {"memories_contested": contested, "memories_not_valid": invalid}
    return [say(code, count=count) for code, count in counts.items() if count]


def _differs_in_case(found: Found, name: str) -> bool:
    """Whether it was found by its readable id, which is written differently."""
    known = found.friendly_id if isinstance(found, Claim) else _readable_id(found)
    return known != name and known.lower() == name.lower()


def _candidate(found: Claim | Context | Entity | Tag) -> dict[str, str]:
    title = found.statement if isinstance(found, Claim) else found.name
    return {"kind": _kind(found), "ref": f"@{found.friendly_id}", "title": title}


def _kind(group: Found) -> str:
    return "domain" if isinstance(group, str) else type(group).__name__.lower()


def _readable_id(group: Group) -> str:
    return f"{group}{_DOMAIN_SUFFIX}" if isinstance(group, str) else group.friendly_id


def _joinable_id(group: Group, name: str) -> str:
    """The readable id of a group, or where that has no ending, the `name` by which the group was found."""
    readable = _readable_id(group)
    return readable if joined_groups(f"{readable}&{readable}") else name


def _identity(group: Group) -> str:
    return group if isinstance(group, str) else str(getattr(group, f"{_kind(group)}_id"))


@cache
def _held_by_all(kinds: tuple[str, ...]) -> Holding:
    """The claims that groups of these kinds hold together: `:identity0`, `:identity1` and so on."""
    # As conditions of one SELECT, SQLite would look into some of the groups again for every claim of the others.
    in_all = intersect(*(_rows_of(kind, str(place)) for place, kind in enumerate(kinds))).subquery("in_all")
    return Holding(select(in_all.c.claim_rowid))


def _rows_of(kind: str, place: str) -> Select[Any]:
    """The `claim_rowid`s of the group `:identity` + `place`."""
    if kind == "domain":
        return in_domain(place)
    found, held = _GROUPS[kind].belonging(place).subquery(f"in_group{place}"), claims.alias(f"held{place}")
    return select(held.c.claim_rowid).select_from(in_order(found, held, held.c.claim_id == found.c.claim_id))
