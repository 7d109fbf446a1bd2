"""Request and response models of shared conversations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from database.sharing.snapshots import MESSAGES_A_PAGE
from endpoints.http.models import LARGEST_NUMBER, Body, Id, OpenQuery, Shape

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

    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER, description="Only messages after this number.")] = 0
    limit: Annotated[int, Field(ge=1, le=MESSAGES_A_PAGE, description="How many messages at most.")] = MESSAGES_A_PAGE
