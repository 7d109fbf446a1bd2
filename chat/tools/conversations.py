"""Tools that read the conversations of a person: the list of them, and the messages of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AliasChoices, Field

from database.agents.repository import get_agent
from database.conversations.overview import ConversationOverview, conversation_overviews
from database.conversations.repository import get_conversation
from database.engine.errors import ConversationNotFoundError
from database.history.reading import messages_between
from database.history.references import conversations_by_friendly_id
from database.messages.message import MessageRow
from search.query import conversation_name

from .ranges import LineEnd, LineRange, LineStart, line_range, numbered
from .registry import ToolContext, tool

_PREVIEW = 100
_MOST_LISTED = 200
_AT_ONCE = 500
# In a title, these would let it end what it stands in.
_BREAKS = re.compile(r"[\]\s]+")
Limit = Annotated[int, Field(ge=1, le=_MOST_LISTED)]
Shown = Annotated[str, Field(max_length=500, description="What this call is shown as.")]
Name = Annotated[str, Field(min_length=1, max_length=400)]


@tool(ignores=("driveId",))
def list_conversations(
    context: ToolContext,
    *,
    agent: Annotated[
        Name | None,
        Field(validation_alias=AliasChoices("agent", "pageId"), description="Only those of this agent: id or slug."),
    ] = None,
    query: Annotated[str, Field(max_length=500, description="Words of the title.")] = "",
    title: Shown = "",
    limit: Limit = 50,
    cursor: Annotated[str | None, Field(max_length=400, description="What `next` of the page before was.")] = None,
) -> dict[str, Any]:
    """List the person's earlier conversations, newest first, with how each begins."""
    del title
    found, further = conversation_overviews(
        **context.own,
        words=query.split(),
        agent_id=get_agent(**context.own, agent=agent).agent_id if agent is not None else None,
        limit=limit,
        cursor=cursor,
        preview=_PREVIEW,
    )
    listed = [_listed(each, context) for each in found]
    return {"success": True, "count": len(listed), "conversations": listed, "next": further}


@tool(ignores=("pageId", "driveId"))
def read_conversation(
    context: ToolContext,
    *,
    conversation_id: Annotated[
        Name, Field(alias="conversationId", description="The id or friendly id of the conversation.")
    ],
    title: Shown = "",
    line_start: LineStart = None,
    line_end: LineEnd = None,
) -> dict[str, Any]:
    """Read the messages of one conversation, each with its number; lineStart and lineEnd choose some of them."""
    del title
    conversation = get_conversation(
        **context.own,
        conversation_id=conversation_id_of(conversation_id, context),
    )
    wanted = line_range(line_start, line_end, total=conversation.message_count)
    shown = numbered(_lines(conversation.conversation_id, wanted, context), max_chars=context.max_chars)
    told = shown.told(wanted)
    returned = 0 if wanted.start is None else told["rangeEnd"] - wanted.start + 1
    return {
        "success": True,
        "conversationId": conversation.conversation_id,
        "title": conversation.title,
        "messageCount": conversation.message_count,
        "returnedCount": returned,
        **told,
    }


def conversation_id_of(name: str, context: ToolContext) -> str:
    """The id that `name` (an id, a friendly id or a reference) means; `name` itself for one that nobody bears."""
    friendly_id = conversation_name(name).lower()
    named = conversations_by_friendly_id(**context.own, friendly_ids=[friendly_id])
    found = named.get(friendly_id)
    if found is not None and found.deleted:
        raise ConversationNotFoundError
    return found.conversation_id if found is not None else name


def author(message: MessageRow) -> str:
    """Who wrote a message: "user", "assistant", or "user@" with the title of the agent that asked."""
    if message.sender != "user":
        return "assistant"
    title = _BREAKS.sub(" ", message.source_agent_title or "").strip()
    return f"user@{title}" if title else "user"


def body(message: MessageRow) -> str:
    """The text of a message; "" of one that is still being written or that the person hid from models."""
    return "" if message.status == "streaming" or message.show_hide == "hide" else message.text


def _lines(conversation_id: str, wanted: LineRange, context: ToolContext) -> Iterator[tuple[int, str]]:
    """The messages of a range, read piece by piece: whoever has enough reads no further."""
    if wanted.start is None or wanted.end is None:
        return
    for start in range(wanted.start, wanted.end + 1, _AT_ONCE):
        rows = messages_between(
            **context.own,
            conversation_id=conversation_id,
            start=start,
            end=min(start + _AT_ONCE - 1, wanted.end),
        )
        yield from ((row.index, f"[{author(row)}] {body(row)}".rstrip(" ")) for row in rows)


def _listed(conversation: ConversationOverview, context: ToolContext) -> dict[str, Any]:
    return {
        "conversationId": conversation.conversation_id,
        "friendlyId": conversation.friendly_id,
        "title": conversation.title,
        "messageCount": conversation.message_count,
        "lastActivity": conversation.updated_at,
        "firstMessagePreview": " ".join(conversation.beginning.split()),
        "participants": [context.user_email, *conversation.agent_ids],
    }
