"""Suggestions for a statement, and how they are read out of what a model answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .asking import items_in, list_of, object_of, one_of, text_in
from .constants import EntityRole, EntityType
from .ingestion.rules import MOST_ENTITIES, MOST_TAGS, grounded_entities, rule_tags

Named = dict[str, str]

_LONGEST_TAG, _LONGEST_NAME, _LONGEST_QUESTION = 40, 120, 300
TEXT = {"type": "string"}
TAGS = list_of(TEXT, most=MOST_TAGS)
ENTITIES = list_of(object_of(name=TEXT, type={"enum": [kind.value for kind in EntityType]}), most=MOST_ENTITIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Suggestions for a statement. entities: `{"name", "type", "role"}`. by: who made them."""

    claim_type: str
    context_domain: str
    tags: list[str]
    entities: list[Named]
    possible_questions: list[str]
    by: Literal["model", "rules"]
    warnings: list[str] = field(default_factory=list)


def analysis_schema(types: Sequence[str], domains: Sequence[str]) -> dict[str, Any]:
    """The shape of an answer that `analysis_in` reads."""
    return object_of(
        type={"enum": [str(kind) for kind in types]},
        domain={"enum": [str(domain) for domain in domains]},
        tags=TAGS,
        entities=ENTITIES,
        question=TEXT,
    )


def analysis_in(answer: Any, statement: str, *, types: Sequence[str], domains: Sequence[str]) -> Analysis:
    """A model's suggestions. Raises ValueError and KeyError for what is none."""
    question = text_in(answer["question"], longest=_LONGEST_QUESTION)
    return Analysis(
        claim_type=one_of(answer["type"], types),
        context_domain=one_of(answer["domain"], domains),
        tags=tags_in(answer["tags"]) or rule_tags(statement),
        entities=entities_in(answer["entities"], statement),
        possible_questions=[question] if question else [],
        by="model",
    )


def tags_in(value: Any) -> list[str]:
    """At most four tags, lowercase, each once."""
    tags = [text_in(tag, longest=_LONGEST_TAG).lower().replace("_", " ").lstrip("#").strip() for tag in items_in(value)]
    return list(dict.fromkeys(filter(None, tags)))[:MOST_TAGS]


def entities_in(value: Any, statement: str) -> list[Named]:
    """Those that the statement really names: small models like to add some."""
    read = [
        {
            "name": text_in(item["name"], longest=_LONGEST_NAME),
            "type": one_of(item["type"], tuple(EntityType)),
            "role": EntityRole.MENTIONED.value,
        }
        for item in items_in(value)
    ]
    return grounded_entities(statement, [entity for entity in read if entity["name"]])
