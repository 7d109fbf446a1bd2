"""What a person wrote as resources of the Model Context Protocol: conversations, memories and documents.

A new kind is one object with the shape of `ResourceKind` and one line in `KINDS`. Addresses are
`anaphora://<kind>/<name>`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import quote, unquote

from chat.tools.conversations import read_conversation
from chat.tools.registry import ToolContext
from database.conversations.overview import conversation_overviews
from database.engine.errors import InvalidChangeError, NotFoundError
from endpoints.pkb.common import unwrap
from truth_management_system import StructuredAPI
from truth_management_system.interface.structured_api import (
    ClaimNotFoundError,
    KnowledgeError,
    KnowledgeUnavailableError,
)
from vault.errors import VaultUnavailableError

log = logging.getLogger(__name__)
SCHEME = "anaphora"
_PAGE = 100
_PREVIEW = 100
_LONGEST = 1_000_000
"""Characters of one resource; a tool reads what lies behind them."""


class ResourceNotFoundError(NotFoundError):
    """The address names nothing of this person."""

    noun = "resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A resource in a list. name: what stands behind the kind in its address."""

    name: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some resources of one kind, and the cursor of the next ones; None behind the last."""

    resources: Sequence[Listed]
    next: str | None


class ResourceKind(Protocol):
    """Things of a person that other programs may list and read. argument: what its addresses name."""

    argument: str
    description: str
    media: str

    def page(self, context: ToolContext, cursor: str | None) -> Page:
        """Those of the person, a page at a time. Raises InvalidChangeError for an unknown cursor."""

    def read(self, context: ToolContext, name: str) -> str:
        """What one says. Raises NotFoundError and the errors of its store."""


class Conversations:
    """Conversations, newest first, as numbered lines."""

    argument = "friendly_id"
    description = "A conversation: each line is a message, numbered, with who wrote it."
    media = "text/plain"

    def page(self, context: ToolContext, cursor: str | None) -> Page:
        """See ResourceKind. What has no messages yet has no name, and is left out."""
        found, further = conversation_overviews(
            database=context.database,
            user_email=context.user_email,
            limit=_PAGE,
            cursor=cursor,
            preview=_PREVIEW,
        )
        named = [
            Listed(name=each.friendly_id, title=each.title, description=" ".join(each.beginning.split()))
            for each in found
            if each.friendly_id
        ]
        return Page(resources=named, next=further)

    def read(self, context: ToolContext, name: str) -> str:
        """See ResourceKind. A last line says where to go on if it is longer than a resource may be."""
        found = read_conversation.call(replace(context, max_chars=_LONGEST), {"conversationId": name})
        return str(found["content"]) + (f"\n[{found['rangeMessage']}]" if found.get("truncated") else "")


class Memories:
    """Memories, newest change first."""

    argument = "reference"
    description = "A memory: its statement, and how it is filed."
    media = "text/plain"

    def page(self, context: ToolContext, cursor: str | None) -> Page:
        """See ResourceKind. Without its store, a list goes on without memories."""
        offset = _offset(cursor)
        try:
            found = unwrap(_knowledge(context).list_claims(limit=_PAGE, offset=offset))
        except KnowledgeError:
            log.warning("a list of resources goes on without memories", exc_info=True)
            return Page(resources=(), next=None)
        listed = [
            Listed(name=claim.friendly_id, title=f"@{claim.friendly_id}", description=claim.statement[:_PREVIEW])
            for claim in found["claims"]
        ]
        further = offset + len(listed)
        return Page(resources=listed, next=str(further) if listed and further < found["total_count"] else None)

    def read(self, context: ToolContext, name: str) -> str:
        """See ResourceKind."""
        api = _knowledge(context)
        claim = api.resolve_claim_identifier(name)
        if claim is None:
            raise ClaimNotFoundError
        (described,) = api.describe_claims([claim])
        filed = {
            "Type": ", ".join(described["claim_types"]),
            "Domain": ", ".join(described["context_domains"]),
            "Status": str(described["status"]),
            "Tags": ", ".join(tag["name"] for tag in described["tags"]),
            "Reference": f"@{claim.friendly_id}",
        }
        return "\n".join([claim.statement, "", *(f"{label}: {text}" for label, text in filed.items() if text)])


class Documents:
    """Documents of the person's vault, by path."""

    argument = "+path"
    description = "A document of the person's vault, as it is written."
    media = "text/markdown"

    def page(self, context: ToolContext, cursor: str | None) -> Page:
        """See ResourceKind. Without its folder, a list goes on without documents."""
        if context.services.vaults is None:
            return Page(resources=(), next=None)
        try:
            found = context.services.vaults.of(context.user_email).documents(limit=_PAGE, cursor=cursor or "")
        except VaultUnavailableError:
            log.warning("a list of resources goes on without documents", exc_info=True)
            return Page(resources=(), next=None)
        listed = [Listed(name=each.path, title=each.title) for each in found.documents]
        return Page(resources=listed, next=found.next)

    def read(self, context: ToolContext, name: str) -> str:
        """See ResourceKind."""
        if context.services.vaults is None:
            raise ResourceNotFoundError
        return context.services.vaults.of(context.user_email).read(name).text


KINDS: dict[str, ResourceKind] = {"conversation": Conversations(), "memory": Memories(), "document": Documents()}
"""By the name in an address; a list shows them in this order."""


def address(kind: str, name: str) -> str:
    """The address of a resource."""
    return f"{SCHEME}://{kind}/{quote(name)}"


def page_of_all(context: ToolContext, cursor: str | None) -> tuple[list[tuple[str, Listed]], str | None]:
    """Resources with their kinds, kind after kind, and the cursor of the next page.

    A page has resources of one kind. Raises InvalidChangeError for an unknown cursor, and errors of the stores.
    """
    kinds = list(KINDS)
    kind, _, inner = (cursor or f"{kinds[0]}:").partition(":")
    if kind not in KINDS:
        raise InvalidChangeError("The cursor is not one of a list of resources.")
    page = KINDS[kind].page(context, inner or None)
    following = kinds[kinds.index(kind) + 1 :]
    further = f"{kind}:{page.next}" if page.next else (f"{following[0]}:" if following else None)
    return [(kind, each) for each in page.resources], further


def read(context: ToolContext, uri: str) -> tuple[str, str]:
    """The media type and the text of a resource.

    Raises ResourceNotFoundError for an address of another shape, and what its kind raises.
    """
    kind, _, name = uri.removeprefix(f"{SCHEME}://").partition("/")
    if not uri.startswith(f"{SCHEME}://") or kind not in KINDS or not name:
        raise ResourceNotFoundError
    return KINDS[kind].media, KINDS[kind].read(context, unquote(name))


def _knowledge(context: ToolContext) -> StructuredAPI:
    if context.services.knowledge is None:
        raise KnowledgeUnavailableError("There is no knowledge base.")
    return context.services.knowledge.for_user(context.user_email)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 9):
        raise InvalidChangeError("The cursor is not one of a list of memories.")
    return int(cursor)
