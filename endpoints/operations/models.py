"""Response models of health checks and limits."""

from __future__ import annotations

from typing import Literal

from endpoints.http.models import Shape


class Health(Shape):
    """The process is alive."""

    status: Literal["ok"]


class Readiness(Shape):
    """Whether the stores and the main model can do their work.

    checking: the file is looked through before anything is read from it. broker: Valkey at REDIS_URL; where it failed,
    processes look into the store instead.
    """

    status: Literal["ready", "degraded", "not_ready"]
    store: Literal["ok", "failed", "damaged", "checking"]
    knowledge: Literal["ok", "failed", "checking"]
    model: str
    broker: Literal["ok", "failed", "none"]


class Limit(Shape):
    """One limit; the server's administrator changes it by its setting."""

    setting: str
    value: int | float | None
    meaning: str


class Limits(Shape):
    """What the server is set to.

    context_window: of the main model, in tokens. read_only: the caller may only read.
    """

    message_characters: int
    context_window: int
    read_only: bool
    settings: list[Limit]
