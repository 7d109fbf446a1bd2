"""What claims are filed under."""

from __future__ import annotations

from dataclasses import dataclass, field

from database.engine.clock import now_iso

from ..utils import generate_uuid
from .stored import Stored, columns_of


@dataclass(slots=True)
class Entity(Stored):
    """A person, place, organisation or other thing that claims are about."""

    entity_id: str
    user_email: str = ""
    friendly_id: str = ""
    entity_type: str = ""
    name: str = ""
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(
        cls,
        name: str,
        entity_type: str,
        *,
        user_email: str | None = None,
        friendly_id: str | None = None,
        meta_json: str | None = None,
    ) -> Entity:
        """A new entity, not stored yet."""
        return cls(
            entity_id=generate_uuid(),
            name=name,
            entity_type=entity_type,
            user_email=user_email or "",
            friendly_id=friendly_id or "",
            meta_json=meta_json,
        )


@dataclass(slots=True)
class Tag(Stored):
    """A label; labels form a tree."""

    tag_id: str
    user_email: str = ""
    friendly_id: str = ""
    name: str = ""
    parent_tag_id: str | None = None
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(
        cls,
        name: str,
        parent_tag_id: str | None = None,
        *,
        user_email: str | None = None,
        friendly_id: str | None = None,
        meta_json: str | None = None,
    ) -> Tag:
        """A new tag, not stored yet."""
        return cls(
            tag_id=generate_uuid(),
            name=name,
            parent_tag_id=parent_tag_id,
            user_email=user_email or "",
            friendly_id=friendly_id or "",
            meta_json=meta_json,
        )


@dataclass(slots=True)
class Context(Stored):
    """A group of claims; groups form a tree."""

    context_id: str
    user_email: str = ""
    friendly_id: str = ""
    name: str = ""
    description: str | None = None
    parent_context_id: str | None = None
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(
        cls,
        name: str,
        description: str | None = None,
        parent_context_id: str | None = None,
        *,
        user_email: str | None = None,
        friendly_id: str | None = None,
        meta_json: str | None = None,
    ) -> Context:
        """A new context, not stored yet."""
        return cls(
            context_id=generate_uuid(),
            name=name,
            description=description,
            parent_context_id=parent_context_id,
            user_email=user_email or "",
            friendly_id=friendly_id or "",
            meta_json=meta_json,
        )


ENTITY_COLUMNS = columns_of(Entity)
TAG_COLUMNS = columns_of(Tag)
CONTEXT_COLUMNS = columns_of(Context)
