"""The pages that a browser opens."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from flask import Blueprint, redirect, render_template
from werkzeug.wrappers import Response

from chat.welcome import DOMAIN, welcome
from conversation_reference_utils import message_index
from database.accounts import users
from database.changes import kept_range
from database.conversations import repository as conversations
from database.conversations.listing import domains_of
from database.engine.errors import ConversationNotFoundError, MessageNotFoundError
from database.history import reading
from database.messages.message import MAX_MESSAGE_CHARS
from database.proposals import count_open
from endpoints.http.assets import page_is_joined, static_version
from endpoints.http.languages import requested_language
from endpoints.http.models import Nothing
from endpoints.http.scope import current_request, current_state, current_user_scope
from endpoints.http.validation import answers, takes

from . import models as page_models

blueprint = Blueprint("pages", __name__)


@blueprint.get("/")
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
def home() -> Response:
    """Redirect to the interface."""
    return redirect("/interface/")


@blueprint.get("/interface/", strict_slashes=True)
@blueprint.get("/interface/<conversation_id>")
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
def interface(conversation_id: str | None = None) -> str:
    """The chat page, open at a conversation; `?message=` jumps to a message.

    Its lists are those of the conversation's domain. Without a conversation, they are of `?domain=`, if the person has
    conversations there.
    """
    if conversation_id is not None:
        found = conversations.get_conversation(**current_user_scope(), conversation_id=conversation_id)
        return _page("interface.html", domain=found.domain)
    return _page("interface.html", domain=current_request().args.get("domain", DOMAIN))


@blueprint.get("/settings")
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
def settings() -> str:
    """The settings page."""
    return _page("settings.html")


@blueprint.get("/account")
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
def account() -> Response:
    """Redirect to the settings, for old bookmarks."""
    return redirect("/settings")


@blueprint.get("/r/<friendly_id>/<identifier>")
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
def permalink(friendly_id: str, identifier: str) -> Response:
    """Redirect to a message, by its short hash or its index."""
    conversation_id = conversations.find_by_friendly_id(
        **current_user_scope(), conversation_friendly_id=friendly_id.lower()
    )
    if conversation_id is None:
        raise ConversationNotFoundError
    message_id = _message_id(conversation_id, identifier.lower())
    return redirect(f"/interface/{quote(conversation_id, safe='')}?{urlencode({'message': message_id})}")


@blueprint.post("/welcome")
@takes(Nothing, optional=True)
@answers(page_models.Welcome)
def tell_newcomer(body: Nothing) -> object:
    """Make the welcome conversation of an account that never had any; called again, the same answer.

    It is in the language of the page. `conversation_id` is null for an account that has had conversations of
    its own, or has deleted the welcome.
    """
    return {"conversation_id": welcome(**current_user_scope(), language=requested_language())}


def _message_id(conversation_id: str, identifier: str) -> str:
    row = None
    index = message_index(identifier)
    if index:
        row = reading.message_at(**current_user_scope(), conversation_id=conversation_id, index=index)
    row = row or reading.message_by_hash(**current_user_scope(), conversation_id=conversation_id, short_hash=identifier)
    if row is None or row.deleted_at is not None:
        raise MessageNotFoundError
    return row.message_id


def _page(template: str, *, domain: str = DOMAIN) -> str:
    """A page in the language of the account, else in that of the browser."""
    user = users.get_user(**current_user_scope())
    language = user.language or requested_language()
    return render_template(template, bootstrap=_bootstrap(user, domain), language=language)


def _bootstrap(user: users.UserRow, domain: str) -> dict[str, Any]:
    kept = kept_range(**current_user_scope())
    domains = sorted({DOMAIN, *domains_of(**current_user_scope())})
    return {
        "user_email": user.user_email,
        "name": user.name,
        "language": user.language,
        "domain": domain if domain in domains else DOMAIN,
        # Nobody chooses among one.
        "domains": domains if len(domains) > 1 else [],
        "is_admin": user.is_admin,
        "limits": {"message": MAX_MESSAGE_CHARS},
        "version": static_version(),
        # Single modules are for development: nothing keeps them for when there is no network.
        "is_installable": page_is_joined(),
        # The page watches what changes after this; the lists that it asks for are newer.
        "changes": {"seq": kept.newest, "epoch": kept.epoch},
        "open_proposals": count_open(**current_user_scope()),
        "tracks_documents": current_state().services.tracks_documents,
    }
