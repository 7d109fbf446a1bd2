"""Request and response models of inboxes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from endpoints.activities.models import ActivityItem
from endpoints.http.models import Body, Id, Query, Shape

_State = Literal["pending", "claimed", "done", "failed"]


class InboxWindow(Query):
    """Items of an inbox, the oldest first."""

    limit: Annotated[int, Field(ge=1, le=200, description="How many items at most, the oldest first.")] = 20
    state: Annotated[_State | None, Field(description="Only items in this state; else all that are not done.")] = None


class ItemError(Shape):
    """Why an item failed. `said`: what the message says in any language, where that is known."""

    code: str
    message: str
    said: list[dict[str, Any]] = Field(default_factory=list)


class Item(Shape):
    """An activity that waits for an agent.

    `is_automatic`: the agent may answer it by itself, if it is set to. `claimed_at`: when somebody last began, or went
    on, to answer it. `answer_id`: of the activity that answers it.
    """

    activity: ActivityItem
    state: _State
    is_automatic: bool
    claimed_at: str | None
    error: ItemError | None
    answer_id: str | None


class InboxCounts(Shape):
    """How many items of an agent are in each state."""

    agent_id: str
    pending: int
    claimed: int
    failed: int
    done: int


class Inbox(InboxCounts):
    """The inbox of an agent.

    `by_itself`: so many items it has answered, or tried to, by itself within the last hour; `hourly_limit`: so many it
    may, by its own limit and the server's.
    """

    service: Literal["asked", "later", "by_itself"]
    by_itself: int
    hourly_limit: int
    items: list[Item]


class Serviced(Shape):
    """What became of the oldest item.

    `activity`: what was answered; null: nothing was there. `answer`: null with an `error` where the agent could not
    answer, and without one where somebody else has answered meanwhile.
    """

    activity: ActivityItem | None
    answer: ActivityItem | None
    error: ItemError | None


class Retry(Body):
    """The activity of a failed item; null: of all."""

    activity_id: Id | None = None


class Retried(Shape):
    """How many items wait again."""

    count: int
