"""The models and whether they can answer."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from flask import Blueprint, Response

from database.accounts.audit import record_act
from endpoints.http.errors import InvalidRequestError
from endpoints.http.models import Saying, Shape
from endpoints.http.responses import json_reply
from endpoints.http.scope import allowed_models, current_actor, current_state
from endpoints.http.validation import answers
from sentences import said


class ModelItem(Shape):
    """Whether a model can answer now; `progress` is the share of its download or loading that is done."""

    name: str
    phase: Literal["none", "waiting", "fetching", "loading", "ready", "failed"]
    progress: float | None
    detail: str
    said: list[Saying]


class ModelStates(Shape):
    """The models by role."""

    main: ModelItem
    cheap: ModelItem
    embedding: ModelItem | None = None


Kind = Literal["embedded", "openai", "anthropic", "scripted", "none"]


class ChoiceState(Shape):
    """Whether a model can answer now; "absent" is one that is fetched when it is chosen.

    `progress` is the share of its download or loading that is done; `detail` a sentence.
    """

    phase: Literal["none", "absent", "waiting", "fetching", "loading", "ready", "failed"]
    progress: float | None
    detail: str
    said: list[Saying]


class ModelChoice(Shape):
    """A model that a conversation may be answered by.

    `id` is what a message's `model` and a conversation's `model_overrides` take; `role` says which of the server's own
    models it is; `size_bytes` is what is fetched of an embedded one; `context_window` is in tokens, null where unknown.
    """

    id: str
    name: str
    kind: Kind
    role: Literal["main", "cheap"] | None
    state: ChoiceState
    size_bytes: int | None
    context_window: int | None


class ProviderState(Shape):
    """Whether a provider has said which models it offers; it is asked behind the answer, and again after a failure."""

    kind: Kind
    phase: Literal["loading", "ready", "failed"]
    detail: str
    said: list[Saying]


class Models(ModelStates):
    """The models by role, and what conversations may choose from."""

    choices: list[ModelChoice]
    providers: list[ProviderState]


class Begun(Shape):
    """The fetching has begun, or was under way; `GET /models` tells how far it is."""

    status: Literal["ok"]


blueprint = Blueprint("models", __name__)


@blueprint.get("/models")
@answers(Models)
def list_models() -> object:
    """The models by role and those that conversations may choose, with the progress of what is fetched or loaded."""
    models = current_state().models
    states = {role: _told(asdict(state)) for role, state in models.states().items()}
    menu = asdict(allowed_models().menu())
    for choice in menu["choices"]:
        choice["state"] = _told(choice["state"])
    menu["providers"] = [_told(provider) for provider in menu["providers"]]
    return {**states, **menu}


def _told(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a model or a provider, with what its `detail` says in any language."""
    return {**state, "said": said(state["detail"])}


@blueprint.post("/models/<path:model_id>/fetch")
@answers(Begun, status=HTTPStatus.ACCEPTED)
def fetch_model(model_id: str) -> Response:
    """Begin to fetch and load an embedded model; a fetch that broke off goes on where it was.

    403 `model_not_allowed` where the model is not here yet and the caller is no administrator.
    """
    try:
        is_absent = any(
            each.id == model_id and each.state.phase == "absent" for each in allowed_models().menu().choices
        )
        allowed_models().begin(model_id)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
    if is_absent:
        act = partial(record_act, by=current_actor(), act="model_fetched", subject=model_id)
        current_state().database.write(act)
    return json_reply({"status": "ok"}, status=HTTPStatus.ACCEPTED)
