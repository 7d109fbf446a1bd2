"""Listing, creating, showing, naming, copying, deleting and restoring conversations."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response

from chat.tools.registry import ToolNotFoundError
from database.conversations import conversation, friendly_ids, listing
from database.conversations import repository as conversations
from database.sharing.copying import clone_conversation as clone
from database.workspaces.repository import is_domain
from endpoints.http.errors import InvalidRequestError
from endpoints.http.languages import translated
from endpoints.http.models import Done
from endpoints.http.responses import json_page
from endpoints.http.scope import check_model, current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works
from endpoints.tools.views import current_tools

from . import models as conversation_models

blueprint = Blueprint("conversations", __name__)


@blueprint.get("/list_conversation_by_user/<domain>")
@asks(conversation_models.ConversationPage)
@answers(list[conversation_models.ConversationItem] | list[conversation_models.BriefItem])
@fails("workspace_not_found")
def list_conversation_by_user(domain: str, query: conversation_models.ConversationPage) -> Response:
    """The conversations of a domain, newest first; a `Link` header with rel="next" leads to the next page."""
    check_domain(domain)
    friendly_ids.backfill_friendly_ids(**current_user_scope(), domain=domain)
    list_items = listing.list_brief_items if query.brief else listing.list_conversation_items
    items, cursor = list_items(
        **current_user_scope(),
        domain=domain,
        limit=query.limit,
        cursor=query.cursor,
        include_archived=query.include_archived,
        archived_only=query.archived_only,
        workspace_id=query.workspace_id,
        tag=query.tag,
        q=query.q,
    )
    return json_page(items, cursor=cursor)


@blueprint.post("/create_conversation/<domain>/")
@takes(conversation_models.NewConversation, optional=True)
@answers(conversation_models.ConversationItem, status=HTTPStatus.CREATED)
@fails("conflict")
def create_conversation(domain: str, body: conversation_models.NewConversation) -> object:
    """A new, empty conversation in the domain's default workspace."""
    return _created(domain, workspace_id=None, client_id=body.client_id)


@blueprint.post("/create_conversation/<domain>/<workspace_id>")
@takes(conversation_models.NewConversation, optional=True)
@answers(conversation_models.ConversationItem, status=HTTPStatus.CREATED)
@fails("conflict")
def create_conversation_in_workspace(
    domain: str, workspace_id: str, body: conversation_models.NewConversation
) -> object:
    """A new, empty conversation in a workspace."""
    return _created(domain, workspace_id=workspace_id, client_id=body.client_id)


@blueprint.get("/get_conversation_details/<conversation_id>")
@answers(conversation_models.ConversationDetails)
def get_conversation_details(conversation_id: str) -> object:
    """A conversation without its messages."""
    row = conversations.get_conversation(**current_user_scope(), conversation_id=conversation_id)
    return conversation.conversation_metadata(row) | {"agent_id": row.agent_id}


@blueprint.get("/get_conversation_settings/<conversation_id>")
@answers(dict[str, object])
def get_conversation_settings(conversation_id: str) -> object:
    """The conversation's own settings."""
    return conversations.get_conversation(**current_user_scope(), conversation_id=conversation_id).settings


@blueprint.put("/get_conversation_settings/<conversation_id>")
@takes(conversation_models.ConversationSettings)
@answers(dict[str, object])
def put_conversation_settings(conversation_id: str, body: conversation_models.ConversationSettings) -> object:
    """Replace the conversation's own settings. Those that the server reads are checked, others are kept as they are.

    A model that is not allowed is kept, too: the main model answers in its place, and the answer says so. 400
    `bad_request` where `tools` names one that there is not, and was not in the settings before.
    """
    read = conversation_models.SettingsChange.model_fields.keys() - {"suggestions"}
    conversation_models.SettingsChange.model_validate({name: body.root[name] for name in read & body.root.keys()})
    settings = _with_own_tools(conversation_id, body.root)
    _update(conversation_id, {"settings": settings})
    return settings


@blueprint.patch("/conversations/<conversation_id>/settings")
@takes(conversation_models.SettingsChange)
@answers(dict[str, object])
@fails("model_not_allowed")
def patch_conversation_settings(conversation_id: str, body: conversation_models.SettingsChange) -> object:
    """Change single settings of a conversation and keep the others; the settings that result.

    400 `bad_request` where `tools` names one that there is not, and was not in the settings before.
    """
    if body.model_overrides is not None:
        check_model(body.model_overrides.main)
    return conversations.change_settings(
        **current_user_scope(),
        conversation_id=conversation_id,
        changes=_with_own_tools(conversation_id, body.model_dump(exclude_unset=True)),
    )


def _with_own_tools(conversation_id: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with their tools by their own names. What a package offered that is gone may stay.

    Raises InvalidRequestError for a tool that there is not.
    """
    tools = settings.get("tools")
    if not tools:
        return settings
    before = conversations.get_conversation(**current_user_scope(), conversation_id=conversation_id).settings
    kept = before.get("tools")
    stored = set(kept) if isinstance(kept, dict) else set[str]()  # an imported file may say anything
    registry, own = current_tools(), dict[str, bool]()
    for name, is_on in tools.items():
        try:
            [own_name] = registry.own_names([name], known={name} & stored)
        except ToolNotFoundError as error:
            raise InvalidRequestError(f"tools: {error.message}") from None
        own[own_name] = is_on
    return {**settings, "tools": own}


@blueprint.put("/conversations/<conversation_id>/title")
@takes(conversation_models.TitleChange)
@answers(Done)
def set_title(conversation_id: str, body: conversation_models.TitleChange) -> None:
    """Set the title of a conversation; it is never overwritten."""
    _update(conversation_id, {"title": body.title, "title_force_set": True})


@blueprint.post("/clone_conversation/<conversation_id>")
@takes(conversation_models.NewConversation, optional=True)
@answers(conversation_models.ConversationName, status=HTTPStatus.CREATED)
@fails("conflict", "turn_in_progress")
@works(Work.LONG)
def clone_conversation(conversation_id: str, body: conversation_models.NewConversation) -> object:
    """Copy a conversation with its messages; the copy has ids of its own."""
    row = clone(
        **current_user_scope(), conversation_id=conversation_id, client_id=body.client_id, kind=translated("copy")
    )
    return {
        "conversation_id": row.conversation_id,
        "conversation_friendly_id": row.conversation_friendly_id or "",
    }


@blueprint.delete("/delete_conversation/<conversation_id>")
@answers(Done)
@fails("turn_in_progress")
def delete_conversation(conversation_id: str) -> None:
    """Move a conversation to the bin for 30 days; a running answer is stopped."""
    current_state().turns.cancel(user_email=current_user_email(), conversation_id=conversation_id)
    conversations.delete_conversation(**current_user_scope(), conversation_id=conversation_id)


@blueprint.post("/restore_conversation/<conversation_id>")
@answers(Done)
def restore_conversation(conversation_id: str) -> None:
    """Restore a conversation from the bin."""
    conversations.restore_conversation(**current_user_scope(), conversation_id=conversation_id)


def check_domain(domain: str) -> str:
    """`domain` if valid. Raises InvalidRequestError."""
    if not is_domain(domain):
        raise InvalidRequestError("A domain is a word of letters, digits, '-' and '_'.")
    return domain


def _created(domain: str, *, workspace_id: str | None, client_id: str | None) -> object:
    row = conversations.create_conversation(
        **current_user_scope(), domain=check_domain(domain), workspace_id=workspace_id, client_id=client_id
    )
    return conversation.conversation_metadata(row)


def _update(conversation_id: str, changes: dict[str, object]) -> None:
    conversations.update_conversation(**current_user_scope(), conversation_id=conversation_id, changes=changes)
