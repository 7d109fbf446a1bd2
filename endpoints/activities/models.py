"""Request and response models of activities, threads and recipes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from activity.recipes.formatting import one_line
from endpoints.http.models import LARGEST_NUMBER, Body, Id, JsonObject, Query, Shape, Text

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
    """Where a short id was read."""

    conversation_id: Annotated[
        Id | None,
        Field(description="The conversation in which a short id was read: its activities come first."),
    ] = None


class ActivityMove(Body):
    """The conversation of yours that an activity is moved to."""

    conversation_id: Id


class TranscriptWindow(Query):
    """Activities between two messages."""

    first_message_id: Annotated[
        Id | None, Field(description="The message from which on activities are listed; else from the beginning.")
    ] = None
    last_message_id: Annotated[
        Id | None, Field(description="The message up to which activities are listed; else up to the end.")
    ] = None
    before: Annotated[_Seq | None, Field(description="Only activities whose `seq` is smaller.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many activities at most.")] = 500


class ThreadWindow(Query):
    """Activities of a thread."""

    after: Annotated[_Seq, Field(description="Only activities behind this `seq`.")] = 0
    before: Annotated[_Seq | None, Field(description="Only the last activities before this `seq`.")] = None
    recipe: Annotated[_Name | None, Field(description="Only activities of this domain.")] = None
    limit: Annotated[int, Field(ge=1, le=500, description="How many activities at most.")] = 100


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
