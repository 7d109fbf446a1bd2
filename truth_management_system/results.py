"""What an action on the knowledge base came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class ReadByName:
    """Attributes that can be read as items, too: `result["success"]` is `result.success`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None


@dataclass(slots=True)
class ActionResult:
    """The outcome of one action; errors are sentences for a person.

    action: "add", "edit", "search", "resolve", … object_type: "claim", "note", "reference", … object_id: of what was
    touched. data: what the action gives. warnings: what went less well than it could have. metadata: further data, such
    as `audit_id` of a change and `error_code` of a failure.
    """

    success: bool
    action: str
    object_type: str
    object_id: str | None = None
    data: Any = None
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
