"""What one can do with notes, entities, tags, contexts, and with conflicts between claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..constants import EntityRole
from ..crud.base import listed_ids, optional_text
from ..crud.links import get_claim_entities, get_claim_tags, link_claim_entity, link_claim_tag
from ..errors import (
    ContextNotFoundError,
    EntityNotFoundError,
    NoteNotFoundError,
    TagNotFoundError,
)
from ..models import Context, Entity, Note, Tag
from .parts import LONGEST_ID, ApiParts, Outcome, outcome, present_or


class NoteActions(ApiParts):
    """Notes."""

    @outcome("add", "note")
    def add_note(
        self, body: str, title: str | None = None, context_domain: str | None = None, meta_json: str | None = None
    ) -> Outcome:
        """Add a note; `.data` is the Note."""
        note = self.notes.add(Note.create(body, title, context_domain=context_domain, meta_json=meta_json))
        return Outcome(note, note.note_id)

    @outcome("edit", "note")
    def edit_note(self, note_id: str, **changes: Any) -> Outcome:
        """Change a note; `.data` is the Note as it is now."""
        return Outcome(present_or(NoteNotFoundError, note_id, self.notes.edit(note_id, changes)), note_id)

    @outcome("delete", "note")
    def delete_note(self, note_id: str) -> Outcome:
        """Delete a note."""
        present_or(NoteNotFoundError, note_id, self.notes.delete(note_id) or None)
        return Outcome(object_id=note_id)

    @outcome("get", "note")
    def get_note(self, note_id: str) -> Outcome:
        """`.data` is the Note."""
        return Outcome(self.notes.existing(note_id), note_id)


class LabelActions(ApiParts):
    """Entities and tags, and which claims have them."""

    @outcome("add", "entity")
    def add_entity(
        self, name: str, entity_type: str, meta_json: str | None = None, *, friendly_id: str | None = None
    ) -> Outcome:
        """Add an entity; `.data` is the Entity."""
        entity = self.entities.add(Entity.create(name, entity_type, friendly_id=friendly_id, meta_json=meta_json))
        return Outcome(entity, entity.entity_id)

    @outcome("edit", "entity")
    def edit_entity(self, entity_id: str, **changes: Any) -> Outcome:
        """Change an entity; `.data` is the Entity as it is now."""
        return Outcome(present_or(EntityNotFoundError, entity_id, self.entities.edit(entity_id, changes)), entity_id)

    @outcome("delete", "entity")
    def delete_entity(self, entity_id: str) -> Outcome:
        """Delete an entity; its claims stay."""
        present_or(EntityNotFoundError, entity_id, self.entities.delete(entity_id) or None)
        return Outcome(object_id=entity_id)

    @outcome("add", "tag")
    def add_tag(
        self,
        name: str,
        parent_tag_id: str | None = None,
        meta_json: str | None = None,
        *,
        friendly_id: str | None = None,
    ) -> Outcome:
        """Add a tag; `.data` is the Tag."""
        tag = self.tags.add(Tag.create(name, parent_tag_id, friendly_id=friendly_id, meta_json=meta_json))
        return Outcome(tag, tag.tag_id)

    @outcome("edit", "tag")
    def edit_tag(self, tag_id: str, **changes: Any) -> Outcome:
        """Change or move a tag; `.data` is the Tag as it is now."""
        return Outcome(present_or(TagNotFoundError, tag_id, self.tags.edit(tag_id, changes)), tag_id)

    @outcome("delete", "tag")
    def delete_tag(self, tag_id: str) -> Outcome:
        """Delete a tag; its claims stay, its sub-tags go up."""
        present_or(TagNotFoundError, tag_id, self.tags.delete(tag_id) or None)
        return Outcome(object_id=tag_id)

    @outcome("link", "claim_tag")
    def link_tag_to_claim(self, claim_id: str, tag_id: str) -> Outcome:
        """Tag a claim; a tag that it has stays."""
        claim = self._claim(claim_id)
        self.tags.existing(tag_id)
        link_claim_tag(self.db, claim_id, tag_id, user_email=self.owner)
        return Outcome(claim, claim_id)

    @outcome("unlink", "claim_tag")
    def unlink_tag_from_claim(self, claim_id: str, tag_id: str) -> Outcome:
        """Take a tag from a claim."""
        claim = self._claim(claim_id)
        with self._recording("unlink", "claim", claim_id, claim.statement) as changes:
            if not changes.delete("claim_tags", {"claim_id": claim_id, "tag_id": tag_id}):
                raise TagNotFoundError(tag_id)
        return Outcome(claim, claim_id)

    @outcome("link", "claim_entity")
    def link_entity_to_claim(self, claim_id: str, entity_id: str, role: str = EntityRole.MENTIONED.value) -> Outcome:
        """Link a claim to an entity; a link that is there stays."""
        claim = self._claim(claim_id)
        self.entities.existing(entity_id)
        link_claim_entity(self.db, claim_id, entity_id, role, user_email=self.owner)
        return Outcome(claim, claim_id)

    @outcome("unlink", "claim_entity")
    def unlink_entity_from_claim(self, claim_id: str, entity_id: str, role: str | None = None) -> Outcome:
        """Take an entity from a claim, in one role or in all."""
        claim = self._claim(claim_id)
        linked = [
            (entity, part)
            for entity, part in get_claim_entities(self.db, claim_id, user_email=self.owner)
            if entity.entity_id == entity_id
        ]
        parts = [part for _, part in linked if role in (None, part)]
        if not parts:
            raise EntityNotFoundError(entity_id)
        with self._recording("unlink", "claim", claim_id, claim.statement) as changes:
            for part in parts:
                changes.delete("claim_entities", {"claim_id": claim_id, "entity_id": entity_id, "role": part})
        return Outcome(claim, claim_id)

    @outcome("get", "claim_entity")
    def get_claim_entities_list(self, claim_id: str) -> Outcome:
        """`.data`: (Entity, role) pairs of a claim, by name."""
        self._claim(claim_id)
        return Outcome(get_claim_entities(self.db, claim_id, user_email=self.owner), claim_id)

    @outcome("get", "claim_tag")
    def get_claim_tags_list(self, claim_id: str) -> Outcome:
        """`.data`: the tags of a claim, by name."""
        self._claim(claim_id)
        return Outcome(get_claim_tags(self.db, claim_id, user_email=self.owner), claim_id)


class ContextActions(ApiParts):
    """Contexts and what is filed in them."""

    @outcome("add", "context")
    def add_context(
        self,
        name: str,
        friendly_id: str | None = None,
        description: str | None = None,
        parent_context_id: str | None = None,
        claim_ids: Sequence[str] | None = None,
    ) -> Outcome:
        """Add a context, with claims in it; `.data` is the Context."""
        context = Context.create(name, description, parent_context_id, friendly_id=friendly_id)
        with self._recording("add", "context", context.context_id, str(name)):
            added = self.contexts.add(context)
            for claim in self._claims(listed_ids(claim_ids)):
                self.contexts.add_claim(added.context_id, claim.claim_id)
        return Outcome(added, added.context_id)

    @outcome("edit", "context")
    def edit_context(self, context_id: str, **changes: Any) -> Outcome:
        """Change or move a context; `.data` is the Context as it is now."""
        return Outcome(
            present_or(ContextNotFoundError, context_id, self.contexts.edit(context_id, changes)), context_id
        )

    @outcome("delete", "context")
    def delete_context(self, context_id: str) -> Outcome:
        """Delete a context; what is below it goes up, its claims stay."""
        present_or(ContextNotFoundError, context_id, self.contexts.delete(context_id) or None)
        return Outcome(object_id=context_id)

    @outcome("get", "context")
    def get_context(self, context_id: str) -> Outcome:
        """`.data` is the Context."""
        return Outcome(self.contexts.existing(context_id), context_id)

    @outcome("resolve", "context")
    def resolve_context(self, context_id: str) -> Outcome:
        """`.data`: the active and contested claims of a context and of all below it, newest change first."""
        self.contexts.existing(context_id)
        return Outcome(self.contexts.resolve_claims(context_id), context_id)

    @outcome("link", "context_claim")
    def add_claim_to_context(self, context_id: str, claim_id: str) -> Outcome:
        """File a claim in a context; one that is there stays."""
        context = self.contexts.existing(context_id)
        self.contexts.add_claim(context_id, self._claim(claim_id).claim_id)
        return Outcome(context, context_id)

    @outcome("unlink", "context_claim")
    def remove_claim_from_context(self, context_id: str, claim_id: str) -> Outcome:
        """Take a claim out of a context."""
        context = self.contexts.existing(context_id)
        self.contexts.remove_claim(context_id, self._claim(claim_id).claim_id)
        return Outcome(context, context_id)


class ConflictActions(ApiParts):
    """Claims that contradict each other."""

    @outcome("create", "conflict_set")
    def create_conflict_set(self, claim_ids: Sequence[str], notes: str | None = None) -> Outcome:
        """Say that claims contradict each other; `.data` is the ConflictSet."""
        conflict = self.conflicts.create(listed_ids(claim_ids), notes)
        return Outcome(conflict, conflict.conflict_set_id)

    @outcome("resolve", "conflict_set")
    def resolve_conflict_set(
        self, conflict_set_id: str, resolution_notes: str = "", winning_claim_id: str | None = None
    ) -> Outcome:
        """Decide a conflict; without a winner all stay. `.data` is the ConflictSet."""
        winner = optional_text(winning_claim_id, "winner", longest=LONGEST_ID)
        conflict = self.conflicts.resolve(conflict_set_id, resolution_notes, winning_claim_id=winner)
        return Outcome(conflict, conflict_set_id)

    @outcome("list", "conflict_set")
    def get_open_conflicts(self) -> Outcome:
        """`.data`: the conflict sets that are not decided, newest first."""
        return Outcome(self.conflicts.get_open())
