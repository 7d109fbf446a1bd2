"""The models and whether they can answer."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus

from flask import Blueprint, Response

from . import model_shapes
from .errors import InvalidRequestError
from .replies import json_reply
from .request_scope import allowed_models, current_state
from .validation import answers

blueprint = Blueprint("models", __name__)


@blueprint.get("/models")
@answers(model_shapes.Models)
def list_models() -> Response:
    """The models by role and those that conversations may choose, with the progress of what is fetched or loaded."""
    models = current_state().models
    states = {role: asdict(state) for role, state in models.states().items()}
    return json_reply({**states, **asdict(allowed_models().menu())})


@blueprint.post("/models/<path:model_id>/fetch")
@answers(model_shapes.Begun, status=HTTPStatus.ACCEPTED)
def fetch_model(model_id: str) -> Response:
    """Begin to fetch and load an embedded model; a fetch that broke off goes on where it was.

    403 `model_not_allowed` where the model is not here yet and the caller is no administrator.
    """
    try:
        allowed_models().begin(model_id)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
    return json_reply({"status": "ok"}, status=HTTPStatus.ACCEPTED)
