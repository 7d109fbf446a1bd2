"""A knowledge base as a document that a person reads: by domain, then by context, each memory with its references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import bindparam, select

from ..constants import ClaimStatus
from ..crud.catalog import DomainCatalog
from ..crud.claims import ClaimCRUD
from ..crud.contexts import ContextCRUD
from ..crud.notes import NoteCRUD
from ..database import PKBDatabase, Prepared
from ..models import Claim, Context
from ..schema.tables import claim_entities, claim_tags, claims, context_claims, entities, tags
from ..utils import now_iso

_ALL = 10**9
_DEEPEST_HEADING = 6
_MARKUP = re.compile(r"([\\`*_\[\]<>&|~$])")
_LINE_MARKUP = re.compile(r"^([#+=-]|\d+(?=[.)]))")
_FILED = Prepared(
    select(context_claims.c.context_id, context_claims.c.claim_id)
    .join(claims, claims.c.claim_id == context_claims.c.claim_id)
    .where(claims.c.user_email == bindparam("user"))
    .order_by(claims.c.claim_number)
)
_TAGS = Prepared(
    select(claim_tags.c.claim_id, tags.c.name)
    .join(tags, tags.c.tag_id == claim_tags.c.tag_id)
    .where(tags.c.user_email == bindparam("user"))
    .group_by(claim_tags.c.claim_id, tags.c.name, tags.c.name_key)
    .order_by(tags.c.name_key)
)
_ENTITIES = Prepared(
    select(claim_entities.c.claim_id, entities.c.name)
    .join(entities, entities.c.entity_id == claim_entities.c.entity_id)
    .where(entities.c.user_email == bindparam("user"))
    .group_by(claim_entities.c.claim_id, entities.c.name, entities.c.name_key)
    .order_by(entities.c.name_key)
)


def export_markdown(db: PKBDatabase, user_email: str | None = None) -> str:
    """What one user's knowledge base holds now, as Markdown; what was retracted is left out.

    Whatever a person wrote stays text within its list item or heading: it can't begin a block, a link or HTML.
    """
    with db.snapshot():
        parts = _Parts(db, user_email)
        lines = ["# Memories", "", f"{len(parts.claims):,} memories, exported at {now_iso()}."]
        for section in (parts.domains(), parts.contexts(), parts.notes()):
            lines += section
    return "\n".join(lines) + "\n"


class _Parts:
    def __init__(self, db: PKBDatabase, user_email: str | None) -> None:
        self.db, self.user_email = db, user_email
        listed = ClaimCRUD(db, user_email).list(limit=_ALL, order_by="claim_number")
        self.claims = {claim.claim_id: claim for claim in listed if not claim.is_retracted}
        self._tags = self._names(_TAGS)
        self._entities = self._names(_ENTITIES)

    def domains(self) -> Iterator[str]:
        """A chapter for each domain, with the claims whose primary domain it is."""
        labels = {category.name: category.label for category in DomainCatalog(self.db, self.user_email).list()}
        by_domain: dict[str, list[Claim]] = {}
        for claim in self.claims.values():
            by_domain.setdefault(claim.context_domain, []).append(claim)
        for name in sorted(by_domain, key=lambda name: labels.get(name, name)):
            yield from _heading(2, labels.get(name, name), f"{name}_domain")
            yield from map(self._item, by_domain[name])

    def contexts(self) -> Iterator[str]:
        """A chapter with the tree of contexts, and below each the claims filed under it."""
        listed = [entry.context for entry in ContextCRUD(self.db, self.user_email).list_all()]
        if not listed:
            return
        filed: dict[str, list[str]] = {}
        for context_id, claim_id in self.db.rows(_FILED, user=self.user_email or ""):
            filed.setdefault(context_id, []).append(claim_id)
        yield from _heading(2, "Contexts")
        for depth, context in _tree(listed):
            yield from _heading(min(3 + depth, _DEEPEST_HEADING), context.name, context.friendly_id)
            if context.description:
                yield from (_text(context.description), "")
            claims = (
                self.claims[claim_id] for claim_id in filed.get(context.context_id, ()) if claim_id in self.claims
            )
            yield from (f"- {_text(claim.statement)} ({_reference(claim.friendly_id)})" for claim in claims)

    def notes(self) -> Iterator[str]:
        """A chapter with the notes, each as one item."""
        notes = NoteCRUD(self.db, self.user_email).list(limit=_ALL)
        if notes:
            yield from _heading(2, "Notes")
            yield from (f"- {_text(f'{note.title}: {note.body}' if note.title else note.body)}" for note in notes)

    def _item(self, claim: Claim) -> str:
        facts = [_reference(claim.friendly_id), f"\\#{claim.claim_number}", *map(_text, claim.all_types)]
        if claim.status != ClaimStatus.ACTIVE:
            facts.append(claim.status)
        for what, names in (("tags", self._tags), ("about", self._entities)):
            if claim.claim_id in names:
                facts.append(f"{what}: {', '.join(map(_text, names[claim.claim_id]))}")
        return f"- {_text(claim.rendered())} ({'; '.join(facts)})"

    def _names(self, statement: Prepared) -> Mapping[str, list[str]]:
        names: dict[str, list[str]] = {}
        for claim_id, name in self.db.rows(statement, user=self.user_email or ""):
            names.setdefault(claim_id, []).append(name)
        return names


def _tree(contexts: Iterable[Context]) -> Iterator[tuple[int, Context]]:
    """Contexts in the order of their tree, each with its depth."""
    children: dict[str | None, list[Context]] = {}
    for context in contexts:
        children.setdefault(context.parent_context_id, []).append(context)
    waiting = [(0, context) for context in reversed(children.get(None, []))]
    while waiting:
        depth, context = waiting.pop()
        yield depth, context
        waiting += [(depth + 1, child) for child in reversed(children.get(context.context_id, []))]


def _heading(level: int, text: str, friendly_id: str = "") -> Iterator[str]:
    reference = f" ({_reference(friendly_id)})" if friendly_id else ""
    yield from ("", f"{'#' * level} {_text(text)}{reference}", "")


def _reference(friendly_id: str) -> str:
    # Readable ids hold letters, digits, "_" and "-" only, so nothing can end the code.
    return f"`@{friendly_id}`"


def _text(text: str) -> str:
    """`text` on one line, with everything escaped that Markdown would read."""
    escaped = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    return _LINE_MARKUP.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", escaped)
