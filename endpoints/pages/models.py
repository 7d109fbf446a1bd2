"""The response model of the first visit."""

from __future__ import annotations

from endpoints.http.models import Shape


class Welcome(Shape):
    """The welcome conversation."""

    conversation_id: str | None
