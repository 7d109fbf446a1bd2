"""A conversation as it leaves the store, and as clients are shown it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, select

from .default_workspace import DEFAULT_WORKSPACE_NAME, default_workspace_id
from .schema import conversation_workspaces, conversations, workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    """One conversation with the workspace it lies in.

    Times are ISO 8601 in UTC. `conversation_friendly_id` is None until the first turn is stored; `running_message_id`
    names the answer that is being generated; `version` grows with every change of the conversation or its messages.
    """

    conversation_id: str
    user_email: str
    created_at: str
    updated_at: str
    conversation_friendly_id: str | None
    domain: str
    title: str
    title_force_set: bool
    running_summary: str
    summarised_ordinal: int
    flag: str
    settings: dict[str, Any]
    memory: dict[str, Any]
    archived: bool
    stateless: bool
    message_count: int
    last_ordinal: int
    running_message_id: str | None
    version: int
    deleted_at: str | None
    expires_at: str | None
    pinned_at: str | None
    workspace_id: str
    workspace_name: str


class ConversationListRow(NamedTuple):
    """What a list shows of a conversation: fewer columns, cheaper to build, for lists of ten thousand."""

    conversation_id: str
    created_at: str
    updated_at: str
    conversation_friendly_id: str | None
    title: str
    running_summary: str
    flag: str
    message_count: int
    settings: dict[str, Any]
    archived: bool
    stateless: bool
    pinned_at: str | None
    expires_at: str | None
    user_email: str
    domain: str
    workspace_id: str
    workspace_name: str


_FIELDS = tuple(ConversationRow.__dataclass_fields__)
_OWN_COLUMNS = tuple(name for name in _FIELDS if not name.startswith("workspace_"))
_PLACE = conversations.outerjoin(
    conversation_workspaces, conversation_workspaces.c.conversation_id == conversations.c.conversation_id
).outerjoin(
    workspaces,
    and_(
        workspaces.c.user_email == conversations.c.user_email,
        workspaces.c.workspace_id == conversation_workspaces.c.workspace_id,
    ),
)


def select_conversations() -> Select[Any]:
    """All columns that `conversation_row` needs, the workspace joined; the caller adds the owner and the rest."""
    columns = [conversations.c[name] for name in _OWN_COLUMNS]
    return select(*columns, workspaces.c.workspace_id, workspaces.c.workspace_name).select_from(_PLACE)


def conversation_row(row: Sequence[Any]) -> ConversationRow:
    """A row of `select_conversations`; what lies in no stored workspace lies in the default one."""
    fields = dict(zip(_FIELDS, row, strict=True))
    for flag in ("title_force_set", "archived", "stateless"):
        fields[flag] = bool(fields[flag])
    if fields["workspace_id"] is None:
        fields["workspace_id"] = default_workspace_id(fields["user_email"], fields["domain"])
        fields["workspace_name"] = DEFAULT_WORKSPACE_NAME
    return ConversationRow(**fields)


def conversation_metadata(row: ConversationRow | ConversationListRow) -> dict[str, Any]:
    """The JSON shape of a conversation in lists and details.

    `last_updated` is "YYYY-MM-DD HH:MM:SS" (UTC) beside the ISO times; `conversation_friendly_id` is "" while
    there is none.
    """
    return listed_shape(*(row if isinstance(row, ConversationListRow) else _as_listed(row)))


_as_listed: Callable[[ConversationRow], tuple[Any, ...]] = attrgetter(*ConversationListRow._fields)


# By position and in one go: ten thousand rows of a list come through here.
def listed_shape(
    conversation_id: str,
    created_at: str,
    updated_at: str,
    friendly_id: str | None,
    title: str,
    running_summary: str,
    flag: str,
    message_count: int,
    settings: dict[str, Any],
    archived: bool,
    stateless: bool,
    pinned_at: str | None,
    expires_at: str | None,
    user_email: str,
    domain: str,
    workspace_id: str,
    workspace_name: str,
) -> dict[str, Any]:
    """`conversation_metadata` of the fields of a `ConversationListRow`."""
    return {
        "conversation_id": conversation_id,
        "user_id": user_email,
        "title": title,
        "summary_till_now": running_summary,
        "domain": domain,
        "flag": flag,
        "last_updated": f"{updated_at[:10]} {updated_at[11:19]}",
        "created_at": created_at,
        "updated_at": updated_at,
        "conversation_settings": settings,
        "conversation_friendly_id": friendly_id or "",
        "workspace_id": workspace_id,
        "workspace_name": workspace_name,
        "archived": archived,
        "stateless": stateless,
        "pinned": pinned_at is not None,
        "temporary": expires_at is not None,
        "message_count": message_count,
    }
