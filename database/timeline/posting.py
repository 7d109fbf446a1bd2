"""Posting: an activity is checked, placed in its thread and stored, all in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection

from database.activities.reading import Activity, find_activity, live_activities, read_activities
from database.activities.storing import NewActivity, Place, StoredActivity, insert_activities
from database.agents.inbox import deliver
from database.changes import ACTIVITY, CONVERSATION, MESSAGE, record
from database.conversations.conversation import ConversationHead, access_head, touch
from database.conversations.titles import heuristic_title
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import InvalidChangeError
from database.engine.text import storable
from database.history.references import add_to_report
from database.history.threads import place_below, place_in, thread_of_session
from database.messages.hashes import TakenHashes
from database.search.vectors import renew_vectors_of_title
from database.turns.leases import inserted_lease
from database.turns.turns import insert_messages, message_row, name_conversation
from sentences import say

ActorType = Literal["user", "assistant", "agent", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did something. id: the address of the person, the id of an agent, the name of a model, or any other.

    agent_id: of one of the person's agents; None for any other actor.
    """

    type: ActorType
    id: str
    name: str
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """An activity about to be posted.

    text: of a message, which is stored with it; None for any other activity. session_key: of the session whose thread
    the activity joins where it names neither a parent nor a thread. may_reply_to: raises where the activity may not
    reply to this one. notify: the ids of the agents whose inboxes it goes to, beside those whose rules take it.
    answer_config: of a message that answers from an inbox, who gives the answer; None for any other. references: what
    a message cites, in the shape of a report's entries. origin_id: of the activity with which the chain of agents that
    answer each other began; None: it begins here.
    """

    conversation_id: str
    recipe: str
    type: str
    payload: Mapping[str, Any]
    text: str | None
    actor: Actor
    reply_to: str | None
    thread_id: str | None
    session_id: str | None
    session_key: str | None
    may_reply_to: Callable[[Activity], None]
    notify: Collection[str] = ()
    answer_config: Mapping[str, Any] | None = None
    references: Sequence[Mapping[str, Any]] = ()
    origin_id: str | None = None


def store_post(*, database: Database, user_email: str, post: Post) -> Activity:
    """The activity as it was stored.

    Raises ConversationNotFoundError, InvalidChangeError (nothing of this conversation is kept), ActivityNotFoundError,
    AmbiguousReferenceError, ThreadNotFoundError, ThreadMismatchError, and what `may_reply_to` raises.
    """
    return database.write(partial(store_post_in, user_email=user_email, post=post), urgency=Urgency.ACCEPT)


def store_post_in(connection: Connection, *, user_email: str, post: Post) -> Activity:
    """`store_post` within a transaction."""
    head = access_head(connection, user_email=user_email, conversation_id=post.conversation_id)
    if head.stateless:
        raise InvalidChangeError(say("nothing_posted_unkept"))
    new = NewActivity(
        recipe=post.recipe,
        type=post.type,
        actor_type=post.actor.type,
        actor_id=post.actor.id,
        actor_name=post.actor.name,
        session_id=post.session_id,
        payload=dict(post.payload) if post.text is None else {},
        created_at=now_iso(),
    )
    new = replace(new, place=_place(connection, head, new, post))
    where = {"user_email": user_email, "conversation_id": post.conversation_id}
    (stored,) = insert_activities(connection, [new], **where)
    if post.text is not None:
        _store_message(connection, head, stored, post, created_at=new.created_at)
    deliver(connection, [stored.activity_id], user_email=user_email, named=post.notify, origin_id=post.origin_id)
    posted = read_activities(connection, live_activities(user_email, activity_id=stored.activity_id))[0]
    names = ("recipe", "type", "short_id", "reply_to_id", "thread_id")
    fields = {name: getattr(posted, name) for name in names}
    record(connection, ACTIVITY, "created", ids=[posted.activity_id], fields=fields, **where)
    return posted


def _place(connection: Connection, head: ConversationHead, new: NewActivity, post: Post) -> Place:
    if post.reply_to is not None:
        parent = find_activity(
            connection,
            user_email=head.user_email,
            reference=post.reply_to,
            conversation_id=head.conversation_id,
        )
        post.may_reply_to(parent)
        return place_below(connection, parent, thread_id=post.thread_id)
    if post.thread_id is None and post.session_key is not None:
        thread_id = thread_of_session(
            connection,
            user_email=head.user_email,
            session_key=post.session_key,
            root_activity_id=new.activity_id,
        )
        return Place(thread_id=thread_id)
    return place_in(connection, user_email=head.user_email, thread_id=post.thread_id)


def _store_message(
    connection: Connection, head: ConversationHead, stored: StoredActivity, post: Post, *, created_at: str
) -> None:
    """Store the message of an activity behind all others. The first message of a conversation names it."""
    text, actor, is_answer = storable(post.text or ""), post.actor, post.answer_config is not None
    # A first turn that is running names the conversation, and then gives all messages their hashes.
    is_first = head.friendly_id is None and head.running_message_id is None
    if is_first:
        head = name_conversation(connection, head, title=heuristic_title(text))
    short_hash = head.friendly_id and TakenHashes(connection, head.conversation_id).give(head.friendly_id, text)
    row = message_row(
        head,
        stored,
        ordinal=head.last_ordinal + 1,
        sender="model" if is_answer else "user",
        text=text,
        status="complete",
        config=dict(post.answer_config or {}),
        message_short_hash=short_hash,
        branch_id=head.branch_id,
        created_at=created_at,
        source_agent_id=None if is_answer else actor.agent_id,
        source_agent_title=None if is_answer or actor.type == "user" else actor.name,
        **inserted_lease(None),
    )
    insert_messages(connection, [row])
    counts = {"message_count": head.message_count + 1, "last_ordinal": head.last_ordinal + 1}
    touch(connection, head.conversation_id, title=head.title, **counts)
    where = {"user_email": head.user_email, "conversation_id": head.conversation_id}
    record(connection, MESSAGE, "created", ids=[stored.activity_id], fields={}, **where)
    if is_first:
        renew_vectors_of_title(connection, head.conversation_id)
        names = {"title": head.title, "conversation_friendly_id": head.friendly_id}
        record(
            connection, CONVERSATION, "changed", user_email=head.user_email, ids=[head.conversation_id], fields=names
        )
    if post.references:
        add_to_report(connection, post.references, message_id=stored.activity_id, user_email=head.user_email)
