"""The models and whether they can answer."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response

from database.accounts.audit import record_act
from endpoints.http.errors import InvalidRequestError
from endpoints.http.responses import json_reply
from endpoints.http.scope import allowed_models, current_actor, current_state
from endpoints.http.validation import answers
from sentences import said

from . import models as language_model_models

blueprint = Blueprint("models", __name__)


@blueprint.get("/models")
@answers(language_model_models.Models)
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
@answers(language_model_models.Begun, status=HTTPStatus.ACCEPTED)
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
