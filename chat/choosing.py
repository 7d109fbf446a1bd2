"""Which model answers a turn: the one the turn names, else the one its conversation has chosen, else the main one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from language_models.errors import ModelNotAllowedError
from language_models.ports import ChatModel
from language_models.unavailable import UnavailableChatModel

from .ports import TurnServices

_OVERRIDES = "model_overrides"
"""The conversation's setting that names models by role, as a turn's `model` does: `{"main": "embedded:small"}`."""

_ANSWER_TOKENS = "answer_tokens"
"""The conversation's setting that limits its answers, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """A model; `notice` says why it is not the one that the conversation has chosen, `is_own` that it is that one.

    answer_tokens: the most tokens of an answer, as the conversation's settings say.
    """

    model: ChatModel
    is_own: bool = False
    notice: str = ""
    answer_tokens: int | None = None


def chosen_model(query: Mapping[str, Any], settings: Any, *, services: TurnServices) -> ChosenModel:
    """The model for a turn of a conversation with these `settings`.

    What the conversation has chosen may be gone since, and then the main model answers. Raises ValueError for a name
    in the turn itself that makes no sense, ModelNotAllowedError for one that this person may not use.
    """
    return replace(_chosen(query, settings, services=services), answer_tokens=_answer_tokens(settings))


def _chosen(query: Mapping[str, Any], settings: Any, *, services: TurnServices) -> ChosenModel:
    if name := query.get("model"):
        return ChosenModel(model=services.models.for_name(name))
    own = _own_choice(settings)
    if not own:
        return ChosenModel(model=services.models.main())
    try:
        model = services.models.for_name(own)
    except (ValueError, ModelNotAllowedError):
        return instead_of(own, services=services)
    # Its key is gone from the server's settings.
    if isinstance(model, UnavailableChatModel):
        return instead_of(own, services=services)
    return ChosenModel(model=model, is_own=True)


def instead_of(gone: str, *, services: TurnServices) -> ChosenModel:
    """The main model in the place of one that is not to be had any more."""
    main = services.models.main()
    return ChosenModel(
        model=main,
        notice=f"{gone}, which this conversation has chosen, is not there any more: {main.name} answers instead.",
    )


def _answer_tokens(settings: Any) -> int | None:
    tokens = settings.get(_ANSWER_TOKENS) if isinstance(settings, Mapping) else None
    return tokens if type(tokens) is int and tokens > 0 else None


def _own_choice(settings: Any) -> str | None:
    """The settings are the client's: there may be anything in them."""
    overrides = settings.get(_OVERRIDES) if isinstance(settings, Mapping) else None
    own = overrides.get("main") if isinstance(overrides, Mapping) else None
    return own if isinstance(own, str) and own != "main" else None
