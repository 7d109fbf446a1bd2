"""Whether what is said in a conversation from now on is kept."""

from __future__ import annotations

from flask import Blueprint, Response

from database import conversations

from . import shapes
from .replies import json_reply
from .request_scope import own
from .validation import answers

blueprint = Blueprint("stateless", __name__)


@blueprint.put("/make_conversation_stateless/<conversation_id>")
@answers(shapes.ConversationItem)
def make_stateless(conversation_id: str) -> Response:
    """From now on, turns of a conversation are answered and not kept; what is there stays."""
    return _changed(conversation_id, stateless=True)


@blueprint.put("/make_conversation_stateful/<conversation_id>")
@answers(shapes.ConversationItem)
def make_stateful(conversation_id: str) -> Response:
    """From now on, turns of a conversation are kept again."""
    return _changed(conversation_id, stateless=False)


def _changed(conversation_id: str, *, stateless: bool) -> Response:
    conversations.update_conversation(**own(), conversation_id=conversation_id, changes={"stateless": stateless})
    row = conversations.get_conversation(**own(), conversation_id=conversation_id)
    return json_reply(conversations.conversation_metadata(row))
