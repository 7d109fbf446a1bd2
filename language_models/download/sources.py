"""What the places that a model can be fetched from have in common."""

from __future__ import annotations

from collections.abc import Callable

# Gets the bytes that are there so far, at least a few times a second; may raise to break the fetch off.
Report = Callable[[int], None]


class SourceFailedError(Exception):
    """A source does not deliver; the message says which, and why."""
