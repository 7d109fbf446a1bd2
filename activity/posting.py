"""Posting activities: events outside of a turn, stored by people, agents and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from activity.recipes import Recipe, RecipeRegistry
from activity.recipes.errors import CrossDomainReplyError, InvalidPayloadError
from conversation_reference_utils import mentioned_agents
from database.activities.reading import MESSAGE, Activity
from database.agents.repository import find_agents
from database.engine.database import Database
from database.engine.errors import AgentNotFoundError
from database.messages.message import MAX_MESSAGE_CHARS
from database.timeline.posting import Actor, Post, store_post


def post_activity(
    user_email: str,
    *,
    type: str,
    recipe: str | None = None,
    conversation_id: str,
    payload: Mapping[str, Any],
    actor: Actor | None = None,
    reply_to: str | None = None,
    thread_id: str | None = None,
    session_id: str | None = None,
    notify: Sequence[str] = (),
    recipes: RecipeRegistry,
    database: Database,
) -> Activity:
    """Store an activity in a conversation of `user_email`, and return it.

    A `chat_message` of general-discussion is a message: a question that no model answers.

    type, recipe: a type without a recipe is that of the built-in recipe that has it, else it must be unique. actor:
    None for the person. reply_to: an id or short id (see `resolve_activity`); the activity joins the thread of its
    parent, which becomes the root of one where it is in none. thread_id: of a thread to join without replying. Without
    either, the recipe's rule decides: `session` joins the thread of `session_id`. notify: agents (ids or slugs) whose
    inboxes the activity goes to; so does a message to those that it names, unless they answer only when asked.
    Raises RecipeNotFoundError, UnknownTypeError, AmbiguousTypeError, InvalidPayloadError, CrossDomainReplyError,
    AgentNotFoundError, and what `store_post` raises.
    """
    post = checked_post(
        user_email,
        type=type,
        recipe=recipe,
        conversation_id=conversation_id,
        payload=payload,
        actor=actor,
        reply_to=reply_to,
        thread_id=thread_id,
        session_id=session_id,
        notify=notify,
        recipes=recipes,
        database=database,
    )
    if len(post.text or "") > MAX_MESSAGE_CHARS:  # which holds for what is sent, and for no answer
        complaint = f"expected a text of at most {MAX_MESSAGE_CHARS:,} characters"
        raise InvalidPayloadError([{"loc": ["payload", "text"], "msg": complaint}])
    return store_post(database=database, user_email=user_email, post=post)


def checked_post(
    user_email: str,
    *,
    type: str,
    recipe: str | None = None,
    conversation_id: str,
    payload: Mapping[str, Any],
    actor: Actor | None,
    reply_to: str | None,
    thread_id: str | None = None,
    session_id: str | None = None,
    notify: Sequence[str] = (),
    recipes: RecipeRegistry,
    database: Database,
) -> Post:
    """The activity that `post_activity` will store, checked against its recipe. Raises the same errors."""
    found = recipes.recipe_with(type, recipe=recipe)
    recipes.check_payload(found, type, payload)
    _check_storable(payload)
    by_session = session_id is not None and found.rule_of(type) == "session"
    text = payload["text"] if (found.domain, type) == MESSAGE else None
    return Post(
        conversation_id=conversation_id,
        recipe=found.domain,
        type=type,
        payload=payload,
        text=text,
        actor=_known(database, user_email, actor),
        reply_to=reply_to,
        thread_id=thread_id,
        session_id=session_id,
        session_key=f"{found.domain}\n{session_id}" if by_session else None,
        may_reply_to=partial(_check_reply, found),
        notify=_notified(database, user_email, notify, text or ""),
    )


def _check_storable(payload: Mapping[str, Any]) -> None:
    """Raise InvalidPayloadError for what JSON can't hold here: integers beyond 64 bits, or far too deep nesting."""
    try:
        orjson.dumps(payload)
    except orjson.JSONEncodeError as error:
        raise InvalidPayloadError([{"loc": ("payload",), "msg": str(error)}]) from None


def _check_reply(recipe: Recipe, parent: Activity) -> None:
    if not recipe.cross_domain_replies and parent.recipe != recipe.domain:
        raise CrossDomainReplyError(
            f"Activities of “{recipe.domain}” reply to their own kind only, not to one of “{parent.recipe}”."
        )


def _notified(database: Database, user_email: str, notify: Sequence[str], text: str) -> list[str]:
    """The ids of the notified agents, and of those that a message mentions. Raises AgentNotFoundError."""
    named = mentioned_agents(text)
    if not (notify or named):
        return []
    found = find_agents(database=database, user_email=user_email, names={*notify, *named})
    if any(name not in found for name in notify):
        raise AgentNotFoundError
    waiting = [found[name] for name in named if name in found and found[name].service != "asked"]
    return list(dict.fromkeys(agent.agent_id for agent in [*(found[name] for name in notify), *waiting]))


def _known(database: Database, user_email: str, actor: Actor | None) -> Actor:
    """The actor; one of the person's agents gets its own id and title, whichever of its names was given."""
    if actor is None:
        return Actor(type="user", id=user_email, name=user_email)
    if actor.type != "agent":
        return actor
    agent = find_agents(database=database, user_email=user_email, names=[actor.id]).get(actor.id)
    if agent is None:
        return actor
    return replace(actor, id=agent.agent_id, name=agent.title, agent_id=agent.agent_id)
