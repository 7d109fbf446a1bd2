"""Whether what is said in a conversation from now on is kept."""

from __future__ import annotations

from flask import Blueprint, Response

from database.conversations import conversation
from database.conversations import repository as conversations
from endpoints.http.responses import json_reply
from endpoints.http.scope import own
from endpoints.http.validation import answers

from . import models as conversation_models

blueprint = Blueprint("stateless", __name__)


@blueprint.put("/make_conversation_stateless/<conversation_id>")
@answers(conversation_models.ConversationItem)
def make_stateless(conversation_id: str) -> Response:
    """From now on, turns of a conversation are answered and not kept; what is there stays."""
    return _changed(conversation_id, stateless=True)


@blueprint.put("/make_conversation_stateful/<conversation_id>")
@answers(conversation_models.ConversationItem)
def make_stateful(conversation_id: str) -> Response:
    """From now on, turns of a conversation are kept again."""
    return _changed(conversation_id, stateless=False)


def _changed(conversation_id: str, *, stateless: bool) -> Response:
    conversations.update_conversation(**own(), conversation_id=conversation_id, changes={"stateless": stateless})
    row = conversations.get_conversation(**own(), conversation_id=conversation_id)
    return json_reply(conversation.conversation_metadata(row))
