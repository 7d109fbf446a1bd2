"""What activities and recipes may answer instead of a result.

ActivityError
 ├─ RecipeNotFoundError
 ├─ UnknownTypeError
 ├─ AmbiguousTypeError        holds the recipes that have the type
 ├─ InvalidPayloadError       holds what is wrong
 └─ CrossDomainReplyError
RecipePluginError             at start
 ├─ RecipeClashError
 └─ BrokenRecipeError
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ActivityError(Exception):
    """Base of what is wrong with an activity. `message` is one sentence for a person, `code` is for programs."""

    code = "bad_request"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RecipeNotFoundError(ActivityError):
    """No such recipe is installed."""

    code = "recipe_not_found"

    def __init__(self, domain: str) -> None:
        super().__init__(f"There is no recipe “{domain[:100]}”.")


class UnknownTypeError(ActivityError):
    """No recipe, or not the one that was named, has activities of this type."""

    code = "unknown_type"


class AmbiguousTypeError(ActivityError):
    """Several recipes have activities of this type, and none was named. `details`: their domains."""

    code = "ambiguous_type"

    def __init__(self, type_name: str, *, candidates: Sequence[str]) -> None:
        super().__init__(f"Several recipes have the type “{type_name}”. Name one: {', '.join(candidates)}.")
        self.details = {"candidates": list(candidates)}


class InvalidPayloadError(ActivityError):
    """The payload does not fit the schema of its type. `details`: `{loc, msg}` for each thing that is wrong."""

    code = "invalid_payload"

    def __init__(self, details: Sequence[Mapping[str, Any]]) -> None:
        first = details[0]
        where = ".".join(map(str, first["loc"]))
        super().__init__(f"The payload does not fit its type: {where}: {first['msg']}.")
        self.details = [dict(each) for each in details]


class CrossDomainReplyError(ActivityError):
    """Activities of this recipe reply to activities of their own recipe only."""

    code = "cross_domain_reply"


class RecipePluginError(Exception):
    """The recipes that are installed can't be used together. `message` is one sentence for an operator."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RecipeClashError(RecipePluginError):
    """Two recipes have one domain."""


class BrokenRecipeError(RecipePluginError):
    """A recipe can't be loaded, or is none."""
