"""The vocabulary of the knowledge base. Types and domains may be extended by each user; these come with it."""

from __future__ import annotations

from enum import StrEnum


class ClaimType(StrEnum):
    """What kind of thing a claim says."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    MEMORY = "memory"
    TASK = "task"
    REMINDER = "reminder"
    HABIT = "habit"
    OBSERVATION = "observation"


class ClaimStatus(StrEnum):
    """Where a claim is in its life."""

    ACTIVE = "active"
    CONTESTED = "contested"
    HISTORICAL = "historical"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    DRAFT = "draft"
    EXPIRED = "expired"

    @classmethod
    def default_search_statuses(cls) -> list[str]:
        """What searches and groups give unless asked for more."""
        return [cls.ACTIVE.value, cls.CONTESTED.value]


class ContextDomain(StrEnum):
    """Areas of a life."""

    PERSONAL = "personal"
    HEALTH = "health"
    RELATIONSHIPS = "relationships"
    LEARNING = "learning"
    LIFE_OPS = "life_ops"
    WORK = "work"
    FINANCE = "finance"


class EntityType(StrEnum):
    """What kind of thing an entity is."""

    PERSON = "person"
    ORG = "org"
    PLACE = "place"
    TOPIC = "topic"
    PROJECT = "project"
    SYSTEM = "system"
    OTHER = "other"


class EntityRole(StrEnum):
    """The part an entity plays in a claim."""

    SUBJECT = "subject"
    OBJECT = "object"
    MENTIONED = "mentioned"
    ABOUT_PERSON = "about_person"


class ConflictStatus(StrEnum):
    """Where a conflict set is in its life."""

    OPEN = "open"
    RESOLVED = "resolved"
    IGNORED = "ignored"
