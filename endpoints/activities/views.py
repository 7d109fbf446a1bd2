"""Posting activities, finding them by their ids, and reading threads."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal

from flask import Blueprint
from pydantic import AfterValidator, Field, StringConstraints

from activity.posting import post_activity
from activity.recipes.formatting import one_line
from activity.resolving import resolve_activity
from activity.threads import activity_shapes, thread_shape, thread_titles
from database.activities.reading import Activity, activities_of_thread
from database.history import threads as store
from database.history.threads import Thread
from database.timeline.moving import move_activity
from database.timeline.posting import Actor
from database.timeline.transcript import placed_activities
from endpoints.http.models import LARGEST_NUMBER, Body, Done, Id, JsonObject, Query, Shape, Text
from endpoints.http.scope import current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes

_ActorType = Literal["user", "assistant", "agent", "system"]
_Name = Annotated[Text, Field(min_length=1, max_length=200)]
_Seq = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class ActorBody(Body):
    """Who did something. `id`: of an agent (or its slug), the name of a model, or any other. `name`: as it is shown."""

    type: _ActorType
    id: _Name
    name: _Name | None = None


class ActivityBody(Body):
    """An activity. A `chat_message` of general-discussion (`{"text": …}`) is a message that no model answers.

    `recipe`: may be left out where the `type` says enough. `actor`: the person where it is left out. `reply_to`: an id
    or short id of an activity of yours. `thread_id`: of a thread to join. `session_id`: of a game or a run, for
    recipes that have a thread for each session. `notify`: agents (ids or slugs) whose inboxes the activity goes to.
    """

    type: _Name
    recipe: _Name | None = None
    payload: JsonObject
    actor: ActorBody | None = None
    reply_to: Id | None = None
    thread_id: Id | None = None
    session_id: Id | None = None
    notify: Annotated[list[_Name], Field(max_length=20)] = Field(default_factory=list)


class Near(Query):
    """The conversation in which a short id was read: its activities come first, then those of its threads."""

    conversation_id: Id | None = None


class ActivityMove(Body):
    """The conversation of yours that an activity is moved to."""

    conversation_id: Id


class TranscriptWindow(Query):
    """Activities between two messages, each named by its id; without one, from the beginning, or up to the end.

    `before`: only activities whose `seq` is smaller.
    """

    first_message_id: Id | None = None
    last_message_id: Id | None = None
    before: _Seq | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 500


class ThreadWindow(Query):
    """The activities of a thread behind the one with the `seq` `after`, or the last ones before the `seq` `before`.

    `recipe`: only those of this domain.
    """

    after: _Seq = 0
    before: _Seq | None = None
    recipe: _Name | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class ThreadRename(Body):
    """The title of a thread; "" for its first words, until the cheap model has made one."""

    title: Annotated[Text, StringConstraints(max_length=500), AfterValidator(one_line)]


class ActorItem(Shape):
    """Who did something."""

    type: _ActorType
    id: str
    name: str


class ThreadMetadata(Shape):
    """What is counted of a thread's activities beside its root. `participant_ids`: `id` of each actor."""

    reply_count: int
    last_reply_at: str | None
    participant_ids: list[str]


class ActivityItem(Shape):
    """An activity. Messages are those with `is_message`; their text is the `content`.

    `reply_to_short_id`: null also where what it replies to was deleted. `line`, `heading`, `by` and `words`: how the
    activity reads by its recipe, in one line, and in parts; `line` and `words` are null for messages.
    `thread_metadata`: of the root of a thread.
    """

    id: str
    short_id: str
    seq: int
    conversation_id: str
    recipe: str
    type: str
    is_message: bool
    actor: ActorItem
    created_at: str
    session_id: str | None
    thread_id: str | None
    reply_to_id: str | None
    reply_to_short_id: str | None
    content: str | None
    payload: dict[str, Any]
    line: str | None
    heading: str
    by: str | None
    words: str | None
    thread_metadata: ThreadMetadata | None


class PlacedActivity(ActivityItem):
    """An activity in a transcript. `after_message_id`: of the message that it stands behind; null at the beginning."""

    after_message_id: str | None


class ThreadItem(Shape):
    """A thread. `title`: the person's own if it `is_renamed`, else the cheap model's or the first words of the root."""

    thread_id: str
    title: str
    is_renamed: bool
    root_activity_id: str
    created_at: str
    thread_metadata: ThreadMetadata


class ThreadRecipe(Shape):
    """A recipe that activities of a thread are of. `title`: the domain where the recipe is not installed any more."""

    domain: str
    title: str


class ThreadDetails(ThreadItem):
    """A thread with a window of its activities, in order, over all conversations.

    `recipes`: those of the whole thread, in order of their first activities.
    """

    recipes: list[ThreadRecipe]
    activities: list[ActivityItem]


class TypeItem(Shape):
    """A type of activities. `payload_schema`: JSON Schema of the payload. `section`: its heading in exports."""

    type: str
    icon: str
    section: str
    threading: Literal["conversation", "session", "reply_to"]
    payload_schema: dict[str, Any]


class RecipeItem(Shape):
    """A recipe. `source`: the package that it comes from."""

    domain: str
    title: str
    source: str
    is_built_in: bool
    cross_domain_replies: bool
    answer_type: str | None
    activity_types: list[TypeItem]


blueprint = Blueprint("activities", __name__)


@blueprint.get("/api/recipes")
@answers(list[RecipeItem])
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
@takes(ActivityBody)
@answers(ActivityItem, status=HTTPStatus.CREATED)
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
def post(conversation_id: str, body: ActivityBody) -> object:
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
@asks(TranscriptWindow)
@answers(list[PlacedActivity])
@fails("message_not_found")
def list_activities(conversation_id: str, query: TranscriptWindow) -> object:
    """The activities of a conversation that are no messages, each with its place between the messages; the newest."""
    placed = placed_activities(**current_user_scope(), conversation_id=conversation_id, **query.model_dump())
    items = _items([activity for activity, _ in placed])
    return [{**item, "after_message_id": after} for item, (_, after) in zip(items, placed, strict=True)]


@blueprint.get("/api/activities/<activity_reference>")
@asks(Near)
@answers(ActivityItem)
@fails("ambiguous")
def get_activity(activity_reference: str, query: Near) -> object:
    """One activity, by its id or short id, with or without `#`, in any case."""
    found = resolve_activity(
        current_user_email(), activity_reference, query.conversation_id, database=current_state().database
    )
    return _items([found])[0]


@blueprint.patch("/api/activities/<activity_reference>")
@asks(Near)
@takes(ActivityMove)
@answers(ActivityItem)
@fails("ambiguous", "conversation_not_found", "message_not_movable")
def move(activity_reference: str, query: Near, body: ActivityMove) -> object:
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
@answers(list[ThreadItem])
def list_threads(conversation_id: str) -> object:
    """The threads that have an activity in a conversation, those with the newest first; at most 200."""
    return _threads(store.list_threads(**current_user_scope(), conversation_id=conversation_id))


@blueprint.get("/api/threads/<thread_id>")
@asks(ThreadWindow)
@answers(ThreadDetails)
def get_thread(thread_id: str, query: ThreadWindow) -> object:
    """One thread, with a window of its activities."""
    who = current_user_scope()
    thread = store.get_thread(**who, thread_id=thread_id)
    activities = activities_of_thread(**who, thread_id=thread_id, **query.model_dump())
    recipes = current_state().recipes
    titles = [{"domain": domain, "title": recipes.title_of(domain)} for domain in thread.recipes]
    return {**_threads([thread])[0], "recipes": titles, "activities": _items(activities, known=[thread])}


@blueprint.patch("/api/threads/<thread_id>")
@takes(ThreadRename)
@answers(Done)
def rename_thread(thread_id: str, body: ThreadRename) -> None:
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
