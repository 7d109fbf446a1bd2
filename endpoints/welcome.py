"""What somebody finds who comes for the first time."""

from __future__ import annotations

from flask import Blueprint, Response

from chat.welcome import welcome

from . import account_shapes, schemas
from .replies import json_reply
from .request_scope import own
from .validation import answers, takes

blueprint = Blueprint("welcome", __name__)


@blueprint.post("/welcome")
@takes(schemas.Nothing, optional=True)
@answers(account_shapes.Welcome)
def tell_newcomer(body: schemas.Nothing) -> Response:
    """Make the welcome conversation of an account that never had any; called again, the same answer.

    `conversation_id` is null for an account that has had conversations of its own, or has deleted the welcome.
    """
    return json_reply({"conversation_id": welcome(**own())})
