"""Sharing one's own conversations by link, and taking the links back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from flask import Blueprint, url_for
from pydantic import Field

from activity.parts import shared
from database.sharing import shares
from database.sharing.shares import Share
from database.sharing.snapshots import MESSAGES_A_PAGE
from endpoints.http.models import LARGEST_NUMBER, Body, Done, Id, OpenQuery, Shape
from endpoints.http.scope import current_state, current_user_scope
from endpoints.http.validation import answers, fails, takes
from endpoints.serving.work_queues import Work, works

_MOST_FILES = 1_000


class Sharing(Body):
    """What the link shows beside the words. `files`: the ids of attachments; those that are not named stay out."""

    files: Annotated[list[Id], Field(max_length=_MOST_FILES)] = Field(default_factory=list)


class ShareItem(Shape):
    """A share as its owner sees it.

    `title` and `message_count` are those of the snapshot, made at `created_at`. `url` is the link on this server,
    beginning with a slash; it and `token` are null where the server's secret key has changed since: the link works, and
    sharing again makes one that can be shown. `in_bin`: the link leads nowhere until the conversation is restored.
    """

    conversation_id: str
    title: str
    created_at: str
    message_count: int
    token: str | None
    url: str | None
    in_bin: bool


class ShareableFile(Shape):
    """A file that a new snapshot could show. `size`: in bytes; `is_shared`: the link shows it now."""

    attachment_id: str
    name: str
    media_type: str
    size: int
    is_shared: bool


class ShareState(Shape):
    """The share of a conversation, null where it has none; what a new snapshot would show, and leave out as hidden.

    `files`: those that can be chosen for it.
    """

    share: ShareItem | None
    message_count: int
    hidden_count: int
    files: list[ShareableFile]


class SharedWindow(OpenQuery):
    """Which messages: at most `limit` after number `after`."""

    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] = 0
    limit: Annotated[int, Field(ge=1, le=MESSAGES_A_PAGE)] = MESSAGES_A_PAGE


blueprint = Blueprint("shares", __name__)


@blueprint.post("/share/<conversation_id>")
@takes(Sharing, optional=True)
@answers(ShareItem)
@fails("conflict", "attachment_not_found")
@works(Work.LONG)
def share(conversation_id: str, body: Sharing) -> object:
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
@answers(ShareState)
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
@answers(list[ShareItem])
def list_shares() -> object:
    """All own shares, the newest snapshot first."""
    return [_item(each) for each in shares.list_shares(**current_user_scope(), secret_key=_secret_key())]


def _item(made: Share) -> dict[str, Any]:
    # A path without a host: the host that a request names is not trusted enough to be handed out.
    url = url_for("shared_chats.shared_chat", token=made.token) if made.token else None
    return {**asdict(made), "url": url}


def _secret_key() -> str:
    return current_state().settings.secret_key
