"""The inboxes of agents: what waits for them, and answering it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from activity.threads import activity_shapes
from database.activities.reading import Activity
from database.agents import inbox
from database.agents.repository import get_agent
from endpoints.http.scope import current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works

from . import models as inbox_models

blueprint = Blueprint("inbox", __name__)
_NOTHING = {"pending": 0, "claimed": 0, "failed": 0, "done": 0}


@blueprint.get("/api/inbox")
@answers(list[inbox_models.InboxCounts])
def count_items() -> object:
    """How many items your agents have in each state; agents without any are left out."""
    counted = inbox.count_items(**current_user_scope())
    return [{"agent_id": agent_id, **_NOTHING, **counts} for agent_id, counts in counted.items()]


@blueprint.get("/api/inbox/<agent_id>")
@asks(inbox_models.InboxWindow)
@answers(inbox_models.Inbox)
def peek(agent_id: str, query: inbox_models.InboxWindow) -> object:
    """What waits for an agent (its id or slug): mixed activities, the oldest first."""
    state, who = current_state(), current_user_scope()
    agent = get_agent(**who, agent=agent_id)
    states = inbox.WAITING if query.state is None else (query.state,)
    items = inbox.peek(**who, agent_id=agent.agent_id, states=states, limit=query.limit)
    shapes = _shapes([item.activity for item in items])
    return {
        "agent_id": agent.agent_id,
        "service": agent.service,
        "by_itself": inbox.count_by_itself(database=state.database, agent_id=agent.agent_id),
        "hourly_limit": state.inboxes.hourly_limit(agent),
        "items": [_item(item, shape) for item, shape in zip(items, shapes, strict=True)],
        **_NOTHING,
        **inbox.count_items(**who).get(agent.agent_id, {}),
    }


@blueprint.post("/api/inbox/<agent_id>/service")
@answers(inbox_models.Serviced)
@fails("conflict", "quota_reached")
@works(Work.MODEL)
def service(agent_id: str) -> object:
    """Have an agent answer the oldest item of its inbox, and wait for the answer.

    409 `conflict` while it answers another one.
    """
    served = current_state().inboxes.service(current_user_email(), agent_id)
    if served is None:
        return {"activity": None, "answer": None, "error": None}
    answer = None if served.answer is None else _shapes([served.answer])[0]
    return {"activity": _shapes([served.activity])[0], "answer": answer, "error": served.error}


@blueprint.post("/api/inbox/<agent_id>/retry")
@takes(inbox_models.Retry, optional=True)
@answers(inbox_models.Retried)
@fails("activity_not_found")
def retry(agent_id: str, body: inbox_models.Retry) -> object:
    """Let failed items of an agent wait again, one or all."""
    who = current_user_scope()
    agent = get_agent(**who, agent=agent_id)
    return {"count": inbox.retry_items(**who, agent_id=agent.agent_id, activity_id=body.activity_id)}


def _shapes(activities: list[Activity]) -> list[dict[str, Any]]:
    state = current_state()
    return activity_shapes(current_user_email(), activities, recipes=state.recipes, database=state.database)


def _item(item: inbox.InboxItem, shape: dict[str, Any]) -> dict[str, Any]:
    names = ("state", "is_automatic", "claimed_at", "error", "answer_id")
    return {"activity": shape, **{name: getattr(item, name) for name in names}}
