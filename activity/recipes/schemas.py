"""JSON Schemas of payloads."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
_CHANGE = {
    "type": "object",
    "properties": {"field": TEXT, "old": {}, "new": {}},
    "required": ["field", "old", "new"],
}
CHANGE: dict[str, Any] = {
    "type": "object",
    "properties": {"type": TEXT, "changes": {"type": "array", "items": _CHANGE, "minItems": 1}},
    "anyOf": [_CHANGE, {"type": "object", "required": ["changes"]}],
}
"""One change (`field`, `old`, `new`), or a list `changes` of them."""


def payload(**required: Any) -> dict[str, Any]:
    """Of an object that has these properties and may have others."""
    return {"type": "object", "properties": required, "required": list(required)}


def closed_payload(**required: Any) -> dict[str, Any]:
    """Of an object that has these properties and no others."""
    return {**payload(**required), "additionalProperties": False}
