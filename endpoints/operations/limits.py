"""What this server is set to: figures that explain what a person sees, and no secrets."""

from __future__ import annotations

from flask import Blueprint

from database.messages.message import MAX_MESSAGE_CHARS
from endpoints.http.models import Shape
from endpoints.http.scope import current_access, current_state
from endpoints.http.validation import answers
from settings import SETTINGS_TABLE


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


blueprint = Blueprint("limits", __name__)
# By name, so that a setting that is added stays unsaid until somebody decides that it may be told.
_TOLD = (
    "ANAPHORA_DISTILL_BUDGET",
    "ANAPHORA_DISTILL_TIMEOUT",
    "ANAPHORA_TITLE_TIMEOUT",
    "ANAPHORA_BACKGROUND_TIMEOUT",
    "ANAPHORA_REFERENCE_CAP",
    "ANAPHORA_CONVERSATION_CAP",
    "ANAPHORA_MEMORIES_OF_GROUP",
    "ANAPHORA_MEMORIES_ATTACHED",
    "ANAPHORA_MEMORIES_PINNED",
    "ANAPHORA_MEMORIES_PINNED_TO_CONVERSATION",
    "ANAPHORA_MEMORIES_FOUND",
)


@blueprint.get("/limits")
@answers(Limits)
def list_limits() -> object:
    """What the server is set to: each limit with its setting; `value` null is "as the model allows"."""
    state = current_state()
    rows = {row.name: row for row in SETTINGS_TABLE}
    return {
        "message_characters": MAX_MESSAGE_CHARS,
        "context_window": state.models.main().context_window,
        "read_only": current_access().read_only,
        "settings": [
            {"setting": name, "value": getattr(state.settings, rows[name].field), "meaning": rows[name].meaning}
            for name in _TOLD
        ],
    }
