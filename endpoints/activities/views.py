"""Posting activities, finding them by their ids, and reading threads."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from flask import Blueprint

from activity.posting import post_activity
from activity.resolving import resolve_activity
from activity.threads import activity_shapes, thread_shape, thread_titles
from database.activities.reading import Activity, activities_of_thread
from database.history import threads as store
from database.history.threads import Thread
from database.timeline.moving import move_activity
from database.timeline.posting import Actor
from database.timeline.transcript import placed_activities
from endpoints.http.models import Done
from endpoints.http.scope import current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes

from . import models as activity_models

blueprint = Blueprint("activities", __name__)


@blueprint.get("/api/recipes")
@answers(list[activity_models.RecipeItem])
def list_recipes() -> object:
    """The recipes, by domain: which types of activities there are."""
    recipes = current_state().recipes
    return [
        {
            "domain": recipe.domain,
            "title": recipe.title,
            "source": recipes.source_of(recipe.domain),
            "is_built_in": recipes.is_built_in(recipe.domain),
            "cross_domain_replies": recipe.cross_domain_replies,
            "answer_type": recipe.answer_type,
            "activity_types": [
                {
                    "type": name,
                    "icon": kind.icon,
                    "section": kind.section,
                    "threading": recipe.rule_of(name),
                    "payload_schema": dict(kind.schema),
                }
                for name, kind in recipe.activity_types.items()
            ],
        }
        for recipe in recipes.recipes()
    ]


@blueprint.post("/api/conversations/<conversation_id>/activities")
@takes(activity_models.ActivityBody)
@answers(activity_models.ActivityItem, status=HTTPStatus.CREATED)
@fails(
    "activity_not_found",
    "agent_not_found",
    "ambiguous",
    "ambiguous_type",
    "cross_domain_reply",
    "invalid_payload",
    "recipe_not_found",
    "thread_mismatch",
    "thread_not_found",
    "unknown_type",
)
def post(conversation_id: str, body: activity_models.ActivityBody) -> object:
    """Post an activity to a conversation.

    A reply joins the thread of what it replies to, which begins one where it is in none.
    """
    state, given = current_state(), body.actor
    actor = Actor(type=given.type, id=given.id, name=given.name or given.id) if given else None
    posted = post_activity(
        current_user_email(),
        conversation_id=conversation_id,
        **body.model_dump(exclude={"actor"}),
        actor=actor,
        recipes=state.recipes,
        database=state.database,
    )
    return _items([posted])[0]


@blueprint.get("/api/conversations/<conversation_id>/activities")
@asks(activity_models.TranscriptWindow)
@answers(list[activity_models.PlacedActivity])
@fails("message_not_found")
def list_activities(conversation_id: str, query: activity_models.TranscriptWindow) -> object:
    """The activities of a conversation that are no messages, each with its place between the messages; the newest."""
    placed = placed_activities(**current_user_scope(), conversation_id=conversation_id, **query.model_dump())
    items = _items([activity for activity, _ in placed])
    return [{**item, "after_message_id": after} for item, (_, after) in zip(items, placed, strict=True)]


@blueprint.get("/api/activities/<activity_reference>")
@asks(activity_models.Near)
@answers(activity_models.ActivityItem)
@fails("ambiguous")
def get_activity(activity_reference: str, query: activity_models.Near) -> object:
    """One activity, by its id or short id, with or without `#`, in any case."""
    found = resolve_activity(
        current_user_email(), activity_reference, query.conversation_id, database=current_state().database
    )
    return _items([found])[0]


@blueprint.patch("/api/activities/<activity_reference>")
@asks(activity_models.Near)
@takes(activity_models.ActivityMove)
@answers(activity_models.ActivityItem)
@fails("ambiguous", "conversation_not_found", "message_not_movable")
def move(activity_reference: str, query: activity_models.Near, body: activity_models.ActivityMove) -> object:
    """Move an activity that is no message to another conversation. Its thread, its replies and its place in time stay.

    Its short id changes only where another activity of that conversation has it; where it was read before, it still
    leads here. The query names the conversation in which a short id was read, the body the one to move to.
    """
    moved = move_activity(
        **current_user_scope(),
        reference=activity_reference,
        conversation_id=body.conversation_id,
        near=query.conversation_id,
    )
    return _items([moved])[0]


@blueprint.get("/api/conversations/<conversation_id>/threads")
@answers(list[activity_models.ThreadItem])
def list_threads(conversation_id: str) -> object:
    """The threads that have an activity in a conversation, those with the newest first; at most 200."""
    return _threads(store.list_threads(**current_user_scope(), conversation_id=conversation_id))


@blueprint.get("/api/threads/<thread_id>")
@asks(activity_models.ThreadWindow)
@answers(activity_models.ThreadDetails)
@fails("recipe_not_found")
def get_thread(thread_id: str, query: activity_models.ThreadWindow) -> object:
    """One thread, with a window of its activities."""
    who = current_user_scope()
    thread = store.get_thread(**who, thread_id=thread_id)
    recipes = current_state().recipes
    if query.recipe is not None and query.recipe not in thread.recipes:
        recipes.get(query.recipe)
    activities = activities_of_thread(**who, thread_id=thread_id, **query.model_dump())
    titles = [{"domain": domain, "title": recipes.title_of(domain)} for domain in thread.recipes]
    return {**_threads([thread])[0], "recipes": titles, "activities": _items(activities, known=[thread])}


@blueprint.patch("/api/threads/<thread_id>")
@takes(activity_models.ThreadRename)
@answers(Done)
def rename_thread(thread_id: str, body: activity_models.ThreadRename) -> None:
    """Give a thread a title of your own, or its first words until the cheap model has made one."""
    store.rename_thread(**current_user_scope(), thread_id=thread_id, title=body.title)


def _items(activities: list[Activity], *, known: Sequence[Thread] = ()) -> list[dict[str, Any]]:
    state = current_state()
    return activity_shapes(
        current_user_email(), activities, recipes=state.recipes, database=state.database, known=known
    )


def _threads(threads: list[Thread]) -> list[dict[str, Any]]:
    state = current_state()
    titles = thread_titles(current_user_email(), threads, recipes=state.recipes, database=state.database)
    return [thread_shape(each, title=titles[each.thread_id]) for each in threads]
