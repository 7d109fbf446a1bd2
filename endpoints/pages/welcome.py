"""What somebody finds who comes for the first time."""

from __future__ import annotations

from flask import Blueprint, Response

from chat.welcome import welcome
from endpoints.http import models as http_models
from endpoints.http.responses import json_reply
from endpoints.http.scope import own
from endpoints.http.validation import answers, takes

from . import models as page_models

blueprint = Blueprint("welcome", __name__)


@blueprint.post("/welcome")
@takes(http_models.Nothing, optional=True)
@answers(page_models.Welcome)
def tell_newcomer(body: http_models.Nothing) -> Response:
    """Make the welcome conversation of an account that never had any; called again, the same answer.

    `conversation_id` is null for an account that has had conversations of its own, or has deleted the welcome.
    """
    return json_reply({"conversation_id": welcome(**own())})
