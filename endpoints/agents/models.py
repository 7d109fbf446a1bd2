"""Request and response models of agents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from chat.prompting.options import LONGEST_SYSTEM_PROMPT
from database.agents.repository import HOURLY_LIMIT, LONGEST_SLUG
from endpoints.conversations.models import ModelName
from endpoints.http.models import Body, Done, Id, Query, Shape, Text, Title

_Word = Annotated[Text, Field(min_length=1, max_length=100)]
_Service = Literal["asked", "later", "by_itself"]


class InboxRule(Body):
    """Activities that an agent's inbox takes.

    `conversation_id`: an id, friendly id or exact title; null: of every conversation. `from_agents`: also what agents
    and models do.
    """

    conversation_id: Id | None = None
    recipe: _Word
    type: _Word
    from_agents: bool = False


class AgentBody(Body):
    """An agent. `slug`: what stands behind `@agent_` in messages; empty: derived from the title, or as it was.

    `system_prompt`: what it is told; empty: the server's own instructions. `model`: an `id` of `GET /models`; null:
    that of the conversation. `enabled_tools`: names of `GET /api/tools`; null for those that are on by default.
    `service`, `rules` and `hourly_limit`: of its inbox.
    """

    title: Annotated[Title, Field(max_length=100)]
    slug: Annotated[Text, Field(max_length=LONGEST_SLUG)] = ""
    system_prompt: Annotated[Text, Field(max_length=LONGEST_SYSTEM_PROMPT)] = ""
    enabled_tools: Annotated[list[_Word], Field(max_length=200)] | None = None
    model: ModelName | None = None
    service: _Service = "asked"
    rules: Annotated[list[InboxRule], Field(max_length=50)] = Field(default_factory=list)
    hourly_limit: Annotated[int, Field(ge=0, le=1000)] = HOURLY_LIMIT


class AgentItem(Shape):
    """An agent. `reference`: how a message names it. `is_global`: the one that everybody has.

    `conversations`: the titles of those that its rules name, by their ids; deleted ones are left out.
    """

    agent_id: str
    slug: str
    reference: str
    title: str
    system_prompt: str
    enabled_tools: list[str] | None
    model: str | None
    service: _Service
    rules: list[InboxRule]
    conversations: dict[str, str]
    hourly_limit: int
    is_global: bool
    created_at: str
    updated_at: str


class Deletion(Query):
    """Whether the agent is deleted for good, also one that was deleted before."""

    for_good: Annotated[bool, Field(description="Erase the agent, also one that was deleted before.")] = False


class Assignment(Body):
    """The agent (id or slug) that answers in a conversation; null: the conversation's own model."""

    agent: Id | None


class Assigned(Done):
    """The id of the agent that answers in the conversation."""

    agent_id: str | None
