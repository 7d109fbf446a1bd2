"""The inboxes of agents from the shell: `inbox peek`, `inbox service`, `inbox retry`."""

from __future__ import annotations

import json
from typing import Any

import click
from flask.cli import with_appcontext

from database.activities.reading import Activity
from database.agents.inbox import InboxItem, peek, retry_items
from database.agents.repository import get_agent
from endpoints.http.scope import AppState, current_state

from .shell import CommandGroup, account_option, agent_name, errors_as_exit_codes, examples, fail, find_account

group = CommandGroup("inbox", help="What waits for a person's agents.")
_named = click.argument("agent")
_FAILED = 1


@group.command("peek", epilog=examples("inbox peek helper_ai", "inbox peek helper_ai -n 50 | jq -r .line"))
@account_option
@_named
@click.option("--number", "-n", type=click.IntRange(1, 1000), default=10, show_default=True, help="So many at most.")
@with_appcontext
def peek_inbox(email: str | None, agent: str, number: int) -> None:
    """Print what waits for an AGENT, one JSON object a line, the oldest first.

    The AGENT is named by its id, or by what stands behind @agent_ in messages.
    """
    state = current_state()
    with errors_as_exit_codes():
        user_email = find_account(state.database, email)
        who: dict[str, Any] = {"database": state.database, "user_email": user_email}
        items = peek(**who, agent_id=get_agent(**who, agent=agent_name(agent)).agent_id, limit=number)
    for item in items:
        click.echo(json.dumps(_shape(state, item), ensure_ascii=False))


@group.command("service", epilog=examples("inbox service helper_ai", "inbox service helper_ai --all"))
@account_option
@_named
@click.option("--all", "all_items", is_flag=True, help="Go on until nothing waits.")
@with_appcontext
def service(email: str | None, agent: str, all_items: bool) -> None:
    """Have an AGENT answer the oldest item of its inbox, and print which and how.

    Exit code 1 where it could not answer; nothing is printed where nothing waits.
    """
    state = current_state()
    with errors_as_exit_codes():
        user_email = find_account(state.database, email, writes=True)
        while (served := state.inboxes.service(user_email, agent_name(agent))) is not None:
            if served.error is not None:
                fail(f"#{served.activity.short_id}: {served.error['message']}", code=_FAILED)
            answer = None if served.answer is None else _ids(served.answer)
            click.echo(json.dumps({**_ids(served.activity), "answer": answer}, ensure_ascii=False))
            if not all_items:
                return


@group.command("retry", epilog=examples("inbox retry helper_ai", "inbox retry helper_ai --email ada@example.org"))
@account_option
@_named
@with_appcontext
def retry(email: str | None, agent: str) -> None:
    """Let the failed items of an AGENT wait again."""
    state = current_state()
    with errors_as_exit_codes():
        who: dict[str, Any] = {
            "database": state.database,
            "user_email": find_account(state.database, email, writes=True),
        }
        count = retry_items(**who, agent_id=get_agent(**who, agent=agent_name(agent)).agent_id)
    click.echo(json.dumps({"count": count}))


def _ids(activity: Activity) -> dict[str, Any]:
    return {
        "activityId": activity.activity_id,
        "shortId": f"#{activity.short_id}",
        "threadId": activity.thread_id,
        "recipe": activity.recipe,
        "type": activity.type,
    }


def _shape(state: AppState, item: InboxItem) -> dict[str, Any]:
    error = None if item.error is None else item.error["message"]
    return {
        **_ids(item.activity),
        "state": item.state,
        "claimedAt": item.claimed_at,
        "error": error,
        "line": state.recipes.format_line(item.activity),
    }
