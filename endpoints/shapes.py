"""What answers look like.

Views build plain dicts for speed; these models describe them in `/openapi.json`, and tests hold views to them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """An answer: of exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class Done(Shape):
    """It is done."""

    status: Literal["ok"]


class ErrorAnswer(Shape):
    """Any error. `details` are pydantic's field errors; `request_id` finds it in the log."""

    status: Literal["error"]
    code: str
    message: str
    request_id: str
    details: list[dict[str, Any]] | dict[str, Any] | None = None


class UserInfo(Shape):
    """The account that asks."""

    user_email: str
    name: str
    is_admin: bool


class SessionItem(Shape):
    """One place where the account is signed in."""

    session_id: str
    user_agent: str
    address: str
    created_at: str
    last_seen_at: str
    expires_at: str
    current: bool


class TokenItem(Shape):
    """A token, without its secret."""

    token_id: str
    name: str
    read_only: bool
    created_at: str
    last_used_at: str | None


class NewTokenItem(TokenItem):
    """A token just made; its secret is shown this once."""

    token: str


class ConversationItem(Shape):
    """A conversation in the list."""

    conversation_id: str
    user_id: str
    title: str
    summary_till_now: str
    domain: str
    flag: str
    last_updated: str
    created_at: str
    updated_at: str
    conversation_settings: dict[str, Any]
    conversation_friendly_id: str
    workspace_id: str
    workspace_name: str
    archived: bool
    stateless: bool
    pinned: bool
    temporary: bool
    message_count: int


class BinItem(Shape):
    """A conversation in the bin, and how many days it can still be brought back."""

    conversation_id: str
    title: str
    flag: str
    message_count: int
    deleted_at: str
    days_left: int


class Emptied(Done):
    """How many conversations are gone for good."""

    erased: int


class ConversationName(Shape):
    """How a conversation is addressed."""

    conversation_id: str
    conversation_friendly_id: str


class VariantItem(Shape):
    """One of the answers that a model gave to the same question; of those, the message has the chosen one's text."""

    number: int
    status: str
    created_at: str
    model: str | None
    chosen: bool


class MessageItem(Shape):
    """A message of a conversation."""

    message_id: str
    text: str
    sender: str
    user_id: str
    conversation_id: str
    message_short_hash: str | None
    message_index: int
    short_id: str
    reply_to_id: str | None
    thread_id: str | None
    created_at: str
    status: str
    show_hide: str
    config: dict[str, Any]
    references: list[dict[str, Any]]
    document_references: list[dict[str, Any]]
    backlink_count: int
    variants: list[VariantItem]
    pinned_at: str | None
    edited_at: str | None


class EarlierText(Shape):
    """What a message said until it was edited."""

    text: str
    replaced_at: str


class PinnedMessage(Shape):
    """A pinned message of a conversation."""

    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    pinned_at: str


class Cancelled(Done):
    """Whether there was an answer to stop."""

    cancelled: bool


class WorkspaceItem(Shape):
    """A workspace."""

    workspace_id: str
    workspace_name: str
    workspace_color: str
    domain: str
    expanded: bool
    parent_workspace_id: str | None
    conversation_count: int


class PathStep(Shape):
    """One workspace on the way from the top."""

    workspace_id: str
    workspace_name: str


class ConversationHit(Shape):
    """A conversation that fits what was typed."""

    friendly_id: str
    title: str
    conversation_id: str
    last_updated: str


class MessageHit(Shape):
    """A message to refer to."""

    index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str


class Backlink(Shape):
    """A message that refers to this one."""

    message_id: str
    conversation_id: str
    conversation_friendly_id: str | None
    title: str
    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    created_at: str


class ReportItem(BaseModel):
    """A reference and its fate."""

    model_config = ConfigDict(extra="allow")
    ref: str
    kind: str
    status: str


class ModelItem(Shape):
    """Whether a model can answer now; `progress` is the share of its download or loading that is done."""

    name: str
    phase: Literal["none", "waiting", "fetching", "loading", "ready", "failed"]
    progress: float | None
    detail: str


class ModelStates(Shape):
    """The models by role."""

    main: ModelItem
    cheap: ModelItem
    embedding: ModelItem | None = None


class Health(Shape):
    """The process is alive."""

    status: Literal["ok"]


class Readiness(Shape):
    """Whether the stores and the main model can do their work."""

    status: Literal["ready", "degraded", "not_ready"]
    store: Literal["ok", "failed", "damaged"]
    knowledge: Literal["ok", "failed"]
    model: str
