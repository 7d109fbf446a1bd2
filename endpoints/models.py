"""The models and whether they can answer."""

from __future__ import annotations

from dataclasses import asdict

from flask import Blueprint, Response

from . import shapes
from .replies import json_reply
from .request_scope import current_state
from .validation import answers

blueprint = Blueprint("models", __name__)


@blueprint.get("/models")
@answers(shapes.ModelStates)
def list_models() -> Response:
    """The models by role, with the progress of what is being fetched or loaded."""
    return json_reply({role: asdict(state) for role, state in current_state().models.states().items()})
