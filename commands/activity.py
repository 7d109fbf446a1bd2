"""Activities from the shell: `activity post`, and the recipes that there are: `recipes list`."""

from __future__ import annotations

import json
from typing import Any

import click
from flask.cli import with_appcontext
from pydantic import TypeAdapter, ValidationError

from activity.posting import post_activity
from activity.resolving import find_room
from database.activities.reading import Activity
from database.timeline.moving import move_activity
from database.timeline.posting import Actor
from endpoints.http.models import JsonObject
from endpoints.http.scope import current_state

from .shell import (
    CommandGroup,
    account_option,
    agent_name,
    errors_as_exit_codes,
    examples,
    find_account,
    flag,
    typed_text,
)

group = CommandGroup("activity", help="What happened: activities of all domains.")
recipes_group = CommandGroup("recipes", help="Which types of activities there are.")
_PAYLOAD: TypeAdapter[dict[str, Any]] = TypeAdapter(JsonObject)


@group.command(
    "post",
    epilog=examples(
        """activity post --room general --type system_event --payload '{"description": "Deployed"}'""",
        """activity post --room general --recipe castle-defense-game --type game_action \\""",
        """    --payload '{"type": "spawn_minigame"}' --actor designer --reply-to '#a1b2c3'""",
        """activity post --room general --type system_event --payload '{"description": "Down"}' --notify helper_ai""",
        "jq -n '{description: now | todate}' | activity post --room general --type system_event --payload -",
    ),
)
@account_option
@click.option("--room", required=True, help="A conversation: its id, friendly id or exact title.")
@click.option("--type", "type_name", required=True, help="The type; `recipes list` lists all.")
@click.option("--recipe", help="The recipe of the type, where the type alone does not say it.")
@click.option("--payload", required=True, help="A JSON object; - reads it from standard input.")
@click.option("--actor", help="The agent or program that did it: one of your agents, or any name. Otherwise you.")
@flag("--reply-to", help="The activity that it replies to: its short id or uuid.")
@flag("--thread-id", help="The thread that it joins.")
@flag("--session-id", help="The game or run that it belongs to.")
@click.option("--notify", multiple=True, help="An agent whose inbox it goes to; give it once for each agent.")
@with_appcontext
def post(
    email: str | None,
    room: str,
    type_name: str,
    recipe: str | None,
    payload: str,
    actor: str | None,
    reply_to: str | None,
    thread_id: str | None,
    session_id: str | None,
    notify: tuple[str, ...],
) -> None:
    """Post an activity and print `{activityId, shortId, threadId}` of it."""
    state, told = current_state(), _parsed(payload)
    with errors_as_exit_codes():
        user_email = find_account(state.database, email, writes=True)
        posted = post_activity(
            user_email,
            type=type_name,
            recipe=recipe,
            conversation_id=find_room(room, database=state.database, user_email=user_email),
            payload=told,
            actor=Actor(type="agent", id=actor, name=actor) if actor else None,
            reply_to=reply_to,
            thread_id=thread_id,
            session_id=session_id,
            notify=[agent_name(each) for each in notify],
            recipes=state.recipes,
            database=state.database,
        )
    _print_ids(posted)


@group.command(
    "move",
    epilog=examples(
        "activity move '#a7f3e1' --to-room 'Castle defense'",
        "activity move '#a7f3e1' --room general --to-room 'Castle defense'",
    ),
)
@account_option
@click.argument("reference")
@flag("--to-room", required=True, help="The conversation that it goes to: its id, friendly id or exact title.")
@click.option("--room", help="The conversation in which you read the short id, where several activities have it.")
@with_appcontext
def move(email: str | None, reference: str, to_room: str, room: str | None) -> None:
    """Move an activity that is no message to another conversation, and print `{activityId, shortId, threadId}` of it.

    Its thread and its replies stay. The short id changes only where another activity of that conversation has it.
    """
    state = current_state()
    with errors_as_exit_codes():
        user_email = find_account(state.database, email, writes=True)
        own: dict[str, Any] = {"database": state.database, "user_email": user_email}
        moved = move_activity(
            **own,
            reference=reference,
            conversation_id=find_room(to_room, **own),
            near=find_room(room, **own) if room else None,
        )
    _print_ids(moved)


@recipes_group.command("list", epilog=examples("recipes list"))
@with_appcontext
def list_recipes() -> None:
    """List the recipes, each with the package that it comes from, and their types."""
    recipes = current_state().recipes
    for recipe in recipes.recipes():
        click.echo(f"{recipe.domain}: {recipe.title} ({recipes.source_of(recipe.domain)})")
        for name, kind in recipe.activity_types.items():
            click.echo(f"  {f'{kind.icon} ' if kind.icon else ''}{name}: {kind.section}, {recipe.rule_of(name)}")


def _print_ids(activity: Activity) -> None:
    ids = {"activityId": activity.activity_id, "shortId": f"#{activity.short_id}", "threadId": activity.thread_id}
    click.echo(json.dumps(ids))


def _parsed(payload: str) -> dict[str, Any]:
    """The JSON object. Raises UsageError."""
    try:
        return _PAYLOAD.validate_json(typed_text() if payload == "-" else payload)
    except ValidationError as error:
        raise click.UsageError(f"--payload is no JSON object: {error.errors()[0]['msg']}.") from None
