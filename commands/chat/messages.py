"""Messages from the shell: `chat send` and `chat poll`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
from flask.cli import with_appcontext

from activity.export import find_anchor
from activity.posting import post_activity
from activity.recipes.formatting import words_in
from activity.resolving import find_room
from commands.answering_server import AnsweringServer, ServerRequestError
from commands.shell import account_option, errors_as_exit_codes, examples, find_account, flag, typed_text
from database.activities.reading import MESSAGE, Activity
from database.engine.database import Database
from database.timeline.exporting import Selection
from database.timeline.transcript import Arrivals, activity_with_id, newest_seq, read_arrivals
from endpoints.http.scope import current_state

from .answering import answering_server

_LOOK_SECONDS = 0.2
_room = click.option("--room", required=True, help="A conversation: its id, friendly id or exact title.")


@click.command(
    "send",
    epilog=examples(
        'chat send --user ada@example.org --room general --message "How should I pool connections?"',
        "git log -5 | chat send --room general --message - --reply-to '#a1b2c3'",
        'chat send --room general --message "For the record." --no-answer',
    ),
)
@account_option
@_room
@click.option("--message", required=True, help="The text; - reads it from standard input.")
@flag("--reply-to", help="The activity that it replies to: its short id or uuid.")
@flag("--thread-id", help="The thread that it goes on with.")
@flag("--no-answer", is_flag=True, help="Only store the message: nobody answers it.")
@with_appcontext
def send(
    email: str | None, room: str, message: str, reply_to: str | None, thread_id: str | None, no_answer: bool
) -> None:
    """Send a message and print `{messageId, shortId, threadId}` of it.

    A running server answers it, also when this command has ended; `chat poll` waits for the answer. Without a server
    this command answers it before it ends; Ctrl+C stops the answer.
    """
    state = current_state()
    text = typed_text().rstrip("\n") if message == "-" else message
    with errors_as_exit_codes():
        user_email = find_account(state.database, email, writes=True)
        conversation_id = find_room(room, database=state.database, user_email=user_email)
        own: dict[str, Any] = {"user_email": user_email, "conversation_id": conversation_id}
        own |= {"reply_to": reply_to, "thread_id": thread_id}
        if no_answer:
            _tell_ids(_stored(text, **own), user_email=user_email)
            return
        with answering_server(user_email=user_email) as server:
            _ask(server, text, **own)


@click.command(
    "poll",
    epilog=examples(
        "chat poll --room general --after '#a1b2c3' --timeout 60",
        "chat poll --room general --follow | jq -r .content",
    ),
)
@account_option
@_room
@click.option("--after", help="An activity, by its short id or uuid; when left out, what comes from now on.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Wait so many seconds for something to come.")
@click.option("--follow", is_flag=True, help="Go on until it is interrupted, or nothing came for --timeout seconds.")
@with_appcontext
def poll(email: str | None, room: str, after: str | None, timeout: float | None, follow: bool) -> None:
    """Print what came after an activity, one JSON object a line.

    An answer comes when it is complete. Without --timeout and --follow, only what is there already is printed.
    """
    database = current_state().database
    with errors_as_exit_codes():
        user_email = find_account(database, email)
        conversation_id = find_room(room, database=database, user_email=user_email)
        own: dict[str, Any] = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
        start = newest_seq(**own) if after is None else _place_of(after, **own)
        for activity in _coming(start, timeout=timeout, follow=follow, **own):
            click.echo(json.dumps(_shape(activity), ensure_ascii=False))
            sys.stdout.flush()


def _coming(after: int, *, timeout: float | None, follow: bool, **own: Any) -> Iterator[Activity]:
    """The activities that come after `after`, as they are complete."""
    arrivals = Arrivals(activities=(), after=after, unfinished=frozenset())
    is_endless, has_come = follow and timeout is None, False
    until = time.monotonic() + (timeout or 0)
    while True:
        looked_at = arrivals.after
        arrivals = read_arrivals(**own, after=looked_at, unfinished=arrivals.unfinished)
        if arrivals.activities:
            yield from arrivals.activities
            has_come, until = True, time.monotonic() + (timeout or 0)
        elif arrivals.after > looked_at:
            continue  # none of those that were looked at is shown, and more may have come
        elif (has_come and not follow) or (not is_endless and time.monotonic() >= until):
            return
        else:
            time.sleep(_LOOK_SECONDS)


def _place_of(reference: str, *, database: Database, user_email: str, conversation_id: str) -> int:
    here = Selection(user_email=user_email, conversation_id=conversation_id)
    return find_anchor(here, reference, database=database)


def _ask(
    server: AnsweringServer,
    text: str,
    *,
    user_email: str,
    conversation_id: str,
    reply_to: str | None,
    thread_id: str | None,
) -> None:
    """Send a message, and print its ids as soon as it is stored; the whole answer is awaited if it needs this process.

    Raises ServerRequestError, also for an answer that fails meanwhile.
    """
    is_stored = False
    with closing(server.send(conversation_id, text, reply_to=reply_to, thread_id=thread_id)) as events:
        for event in events:
            if "error" in event:
                raise ServerRequestError(str(event["error"]["message"]))
            if "message_ids" in event and not is_stored:
                is_stored = True
                _tell_ids(str(event["message_ids"]["user_message_id"]), user_email=user_email)
                if server.outlives_command:
                    return
    if not is_stored:
        raise ServerRequestError("The server has not said whether it stored the message.")


def _tell_ids(message_id: str, *, user_email: str) -> None:
    """Print the ids of a stored message."""
    sent = activity_with_id(database=current_state().database, user_email=user_email, activity_id=message_id)
    if sent is not None:
        ids = {"messageId": sent.activity_id, "shortId": f"#{sent.short_id}", "threadId": sent.thread_id}
        click.echo(json.dumps(ids))
        sys.stdout.flush()


def _stored(text: str, *, user_email: str, conversation_id: str, reply_to: str | None, thread_id: str | None) -> str:
    """Store a message that nobody answers; its id."""
    state = current_state()
    posted = post_activity(
        user_email,
        type=MESSAGE[1],
        recipe=MESSAGE[0],
        conversation_id=conversation_id,
        payload={"text": text},
        reply_to=reply_to,
        thread_id=thread_id,
        recipes=state.recipes,
        database=state.database,
    )
    return posted.activity_id


def _shape(activity: Activity) -> dict[str, Any]:
    """An activity as a line of JSON."""
    return {
        "id": activity.activity_id,
        "shortId": f"#{activity.short_id}",
        "type": activity.type,
        "recipe": activity.recipe,
        "actor": {"type": activity.actor_type, "id": activity.actor_id, "name": activity.actor_name},
        "createdAt": activity.created_at,
        "conversationId": activity.conversation_id,
        "replyToId": activity.reply_to_id,
        "threadId": activity.thread_id,
        "content": words_in(activity),
        "payload": activity.payload,
    }
