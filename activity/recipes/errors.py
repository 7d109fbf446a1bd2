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

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import ValidationError


_NOT_BLANK = r"\S"
_LONGEST = 300
_LONGEST_NAME = 100
_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class ActivityError(Exception):
    """Base of what is wrong with an activity. `message` is one sentence for a person, `code` is for programs."""

    code = "bad_request"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _suggestion(nearest: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(f'“{name}”' for name in nearest)}?" if nearest else ""


class RecipeNotFoundError(ActivityError):
    """No such recipe is installed. `details`: the installed ones with similar domains."""

    code = "recipe_not_found"

    def __init__(self, domain: str, *, nearest: Sequence[str] = ()) -> None:
        super().__init__(f"There is no recipe “{domain[:100]}”.{_suggestion(nearest)}")
        self.details = {"candidates": list(nearest)}


class UnknownTypeError(ActivityError):
    """No recipe, or not the one that was named, has activities of this type. `details`: types with similar names."""

    code = "unknown_type"

    def __init__(self, type_name: str, *, recipe: str | None = None, nearest: Sequence[str] = ()) -> None:
        subject = "No recipe has a type" if recipe is None else f"The recipe “{recipe}” has no type"
        super().__init__(f"{subject} “{type_name[:100]}”.{_suggestion(nearest)}")
        self.details = {"candidates": list(nearest)}


class AmbiguousTypeError(ActivityError):
    """Several recipes have activities of this type, and none was named. `details`: their domains."""

    code = "ambiguous_type"

    def __init__(self, type_name: str, *, candidates: Sequence[str]) -> None:
        super().__init__(f"Several recipes have the type “{type_name}”. Name one: {', '.join(candidates)}.")
        self.details = {"candidates": list(candidates)}


class InvalidPayloadError(ActivityError):
    """The payload does not fit the schema of its type.

    `details`: `{loc, msg}` for each thing that is wrong; the message tells the first.
    """

    code = "invalid_payload"

    def __init__(self, details: Sequence[Mapping[str, Any]]) -> None:
        first = details[0]
        where = ".".join(map(str, first["loc"]))
        super().__init__(f"The payload does not fit its type: {where}: {first['msg']}.")
        self.details = [dict(each) for each in details]


def complaint_of(error: ValidationError) -> str:
    """What is expected in the place of the error, one clause without a full stop."""
    complain = _COMPLAINTS.get(str(error.validator))
    return ((complain(error) if complain else None) or str(error.message))[:_LONGEST]


def _of_type(error: ValidationError) -> str:
    expected = error.validator_value
    kinds = [expected] if isinstance(expected, str) else list(expected)
    return f"expected {' or '.join(_TYPES.get(kind, kind) for kind in kinds)}"


def _of_missing(error: ValidationError) -> str | None:
    missing = [str(name) for name in error.validator_value if name not in error.instance]
    return f"“{missing[0]}” is missing" if missing else None


def _of_unknown(error: ValidationError) -> str | None:
    known = sorted(error.schema.get("properties", ()))
    unknown = sorted(set(error.instance) - set(known))
    return f"“{unknown[0][:_LONGEST_NAME]}” is unknown: expected {', '.join(known)}" if known and unknown else None


_COMPLAINTS: Mapping[str, Callable[[ValidationError], str | None]] = {
    "type": _of_type,
    "required": _of_missing,
    "additionalProperties": _of_unknown,
    "pattern": lambda error: "expected a text that is not blank" if error.validator_value == _NOT_BLANK else None,
    "maxLength": lambda error: f"expected a text of at most {error.validator_value:,} characters",
    "enum": lambda error: f"expected one of {', '.join(map(str, error.validator_value))}",
    "anyOf": lambda error: " or ".join(dict.fromkeys(complaint_of(each) for each in error.context or ())),
}


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
