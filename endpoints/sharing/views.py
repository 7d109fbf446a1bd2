"""Sharing one's own conversations by link, and taking the links back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint, url_for

from activity.parts import shared
from database.sharing import shares
from database.sharing.shares import Share
from endpoints.http.models import Done
from endpoints.http.scope import current_state, current_user_scope
from endpoints.http.validation import answers, fails, takes
from endpoints.serving.work_queues import Work, works

from . import models as share_models

blueprint = Blueprint("shares", __name__)


@blueprint.post("/share/<conversation_id>")
@takes(share_models.Sharing, optional=True)
@answers(share_models.ShareItem)
@fails("conflict", "attachment_not_found")
@works(Work.LONG)
def share(conversation_id: str, body: share_models.Sharing) -> object:
    """Share a conversation, read-only and as it is now; shared before, its link shows the new snapshot.

    404 `attachment_not_found` for a file that no message of the snapshot has.
    """
    made = shares.share_conversation(
        **current_user_scope(),
        conversation_id=conversation_id,
        secret_key=_secret_key(),
        show_part=shared,
        files=body.files,
    )
    return _item(made)


@blueprint.get("/share/<conversation_id>")
@answers(share_models.ShareState)
@fails("share_not_found")
def get_share(conversation_id: str) -> object:
    """Whether and since when a conversation is shared, and what sharing it now would show."""
    found = shares.preview_share(**current_user_scope(), conversation_id=conversation_id, secret_key=_secret_key())
    return {**asdict(found), "share": None if found.share is None else _item(found.share)}


@blueprint.delete("/share/<conversation_id>")
@answers(Done)
@fails("share_not_found")
def revoke_share(conversation_id: str) -> None:
    """Withdraw the link of a conversation: it leads nowhere, for good."""
    shares.revoke_share(**current_user_scope(), conversation_id=conversation_id)


@blueprint.get("/shares")
@answers(list[share_models.ShareItem])
def list_shares() -> object:
    """All own shares, the newest snapshot first."""
    return [_item(each) for each in shares.list_shares(**current_user_scope(), secret_key=_secret_key())]


def _item(made: Share) -> dict[str, Any]:
    # A path without a host: the host that a request names is not trusted enough to be handed out.
    url = url_for("shared_chats.shared_chat", token=made.token) if made.token else None
    return {**asdict(made), "url": url}


def _secret_key() -> str:
    return current_state().settings.secret_key
