"""What answers about contexts, entities, tags, types and domains look like."""

from __future__ import annotations

from ..shapes import Shape
from .shapes import Changed, Claims


class ContextItem(Shape):
    """A context."""

    context_id: str
    friendly_id: str
    name: str
    description: str | None
    parent_context_id: str | None
    created_at: str
    updated_at: str
    claim_count: int
    child_count: int


class ContextList(Shape):
    """Contexts."""

    contexts: list[ContextItem]


class OneContext(Shape):
    """One context."""

    context: ContextItem


class ChangedContext(Changed):
    """A context as it is now."""

    context: ContextItem


class ClaimsOfContext(Claims):
    """A part of the claims right in a context."""

    total_count: int


class EntityItem(Shape):
    """An entity."""

    entity_id: str
    friendly_id: str
    name: str
    entity_type: str
    claim_count: int


class EntityPage(Shape):
    """A part of the entities."""

    entities: list[EntityItem]
    total_count: int


class EntityWithRole(EntityItem):
    """An entity and its part in a claim."""

    role: str


class EntitiesOfClaim(Shape):
    """What a claim is about."""

    entities: list[EntityWithRole]


class ChangedEntity(Changed):
    """An entity as it is now."""

    entity: EntityItem


class TagItem(Shape):
    """A tag."""

    tag_id: str
    friendly_id: str
    name: str
    parent_tag_id: str | None
    claim_count: int


class TagList(Shape):
    """Tags."""

    tags: list[TagItem]


class TagPage(TagList):
    """A part of the tags."""

    total_count: int


class ChangedTag(Changed):
    """A tag as it is now."""

    tag: TagItem


class CategoryItem(Shape):
    """A type or domain, and how many claims have it."""

    name: str
    label: str
    count: int


class TypeList(Shape):
    """Types of claims."""

    types: list[CategoryItem]


class DomainList(Shape):
    """Domains."""

    domains: list[CategoryItem]
