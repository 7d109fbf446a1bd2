"""States of conversations: flagged, pinned, archived, stateless, temporary, in the bin; also of many at once."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint

from database.conversations import bulk, conversation, deletion, tags
from database.conversations import repository as conversations
from database.conversations.repository import create_temporary_conversation as create_temporary
from endpoints.http import models as http_models
from endpoints.http.scope import current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, fails, takes
from endpoints.serving.work_queues import Work, works

from . import models as conversation_models
from .views import check_domain

blueprint = Blueprint("conversation_states", __name__)


@blueprint.post("/set_flag/<conversation_id>/<flag>")
@answers(http_models.Done)
def set_flag(conversation_id: str, flag: str) -> None:
    """Flag a conversation: none, red, orange, yellow, green, blue or purple; anything else is a 400."""
    conversations.set_flag(**current_user_scope(), conversation_id=conversation_id, flag=flag)


@blueprint.post("/archive_conversation/<conversation_id>")
@takes(conversation_models.Archiving, optional=True)
@answers(http_models.Done)
def archive_conversation(conversation_id: str, body: conversation_models.Archiving) -> None:
    """Put a conversation into the archive, or take it out: there it is kept, found and referred to, but not listed."""
    conversations.update_conversation(
        **current_user_scope(), conversation_id=conversation_id, changes={"archived": body.archived}
    )


@blueprint.put("/conversations/<conversation_id>/pin")
@answers(http_models.Done)
def pin_conversation(conversation_id: str) -> None:
    """Pin a conversation: it is shown above the others."""
    conversations.set_pinned(**current_user_scope(), conversation_id=conversation_id, pinned=True)


@blueprint.delete("/conversations/<conversation_id>/pin")
@answers(http_models.Done)
def unpin_conversation(conversation_id: str) -> None:
    """Take a conversation's pin away."""
    conversations.set_pinned(**current_user_scope(), conversation_id=conversation_id, pinned=False)


@blueprint.put("/conversations/<conversation_id>/tags")
@takes(conversation_models.Tags)
@answers(conversation_models.ConversationTags)
def put_tags(conversation_id: str, body: conversation_models.Tags) -> object:
    """Replace the tags of a conversation; the tags as they are stored, each once."""
    return {"tags": tags.set_tags(**current_user_scope(), conversation_id=conversation_id, tags=body.tags)}


@blueprint.get("/conversation_tags/<domain>")
@answers(list[tags.TagCount])
def list_tags(domain: str) -> object:
    """The tags of your conversations of a domain, with the number of conversations that have each."""
    return tags.count_tags(**current_user_scope(), domain=check_domain(domain))


@blueprint.put("/make_conversation_stateless/<conversation_id>")
@answers(conversation_models.ConversationItem)
def make_stateless(conversation_id: str) -> object:
    """From now on, turns of a conversation are answered and not kept; what is there stays."""
    return _set_stateless(conversation_id, True)


@blueprint.put("/make_conversation_stateful/<conversation_id>")
@answers(conversation_models.ConversationItem)
def make_stateful(conversation_id: str) -> object:
    """From now on, turns of a conversation are kept again."""
    return _set_stateless(conversation_id, False)


@blueprint.post("/conversations/bulk")
@takes(conversation_models.BulkChange)
@answers(conversation_models.BulkResults)
@fails("conversation_not_found", "workspace_not_found")
@works(Work.LONG)
def change_conversations(body: conversation_models.BulkChange) -> object:
    """Move, flag, tag, pin, archive, delete or restore many conversations at once, as the routes for one do."""
    ids = body.conversation_ids
    if body.change == "delete":
        for conversation_id in bulk.being_answered(**current_user_scope(), conversation_ids=ids):
            current_state().turns.cancel(user_email=current_user_email(), conversation_id=conversation_id)
    fates = bulk.change_conversations(
        **current_user_scope(), conversation_ids=ids, change=body.change, value=body.value
    )
    results = [{"conversation_id": conversation_id, "status": fate} for conversation_id, fate in fates.items()]
    return {"results": results}


@blueprint.post("/create_temporary_conversation/<domain>")
@takes(conversation_models.NewConversation, optional=True)
@answers(conversation_models.ConversationItem, status=HTTPStatus.CREATED)
@fails("conflict")
def create_temporary_conversation(domain: str, body: conversation_models.NewConversation) -> object:
    """A new conversation that no list shows: gone when it is deleted, or after a day."""
    row = create_temporary(**current_user_scope(), domain=check_domain(domain), client_id=body.client_id)
    return conversation.conversation_metadata(row)


@blueprint.get("/bin/<domain>")
@answers(list[deletion.BinnedConversation])
def list_bin(domain: str) -> object:
    """The conversations in the bin, the newest deletion first, with the days that they can still be brought back."""
    return deletion.list_bin(**current_user_scope(), domain=check_domain(domain))


@blueprint.delete("/bin/<conversation_id>")
@answers(http_models.Done)
@works(Work.LONG)
def erase_binned(conversation_id: str) -> None:
    """Erase a conversation for good; it has to be in the bin."""
    deletion.erase_binned(**current_user_scope(), conversation_id=conversation_id)


@blueprint.post("/empty_bin/<domain>")
@answers(conversation_models.Emptied)
@works(Work.LONG)
def empty_bin(domain: str) -> object:
    """Erase all that is in the bin of a domain, for good."""
    return {"status": "ok", "erased": deletion.empty_bin(**current_user_scope(), domain=check_domain(domain))}


def _set_stateless(conversation_id: str, stateless: bool) -> object:
    conversations.update_conversation(
        **current_user_scope(), conversation_id=conversation_id, changes={"stateless": stateless}
    )
    row = conversations.get_conversation(**current_user_scope(), conversation_id=conversation_id)
    return conversation.conversation_metadata(row)
