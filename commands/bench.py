"""Made-up history to measure with."""

from __future__ import annotations

import secrets

import click
from flask.cli import AppGroup

from database.errors import StoreError, UserExistsError
from database.fulltext import index_pending
from database.seeding import SeedPlan, seed
from database.users import create_user
from endpoints.request_scope import current_state

group = AppGroup("bench", help="Measuring.")
_SLICE_MS = 2_000


@group.command("seed")
@click.option("--email", default="bench@example.org", show_default=True, help="Whose history it will be.")
@click.option("--password", default=None, help="The account's password; a random one when left out.")
@click.option("--conversations", default=200, show_default=True, help="How many conversations.")
@click.option("--messages", default=20_000, show_default=True, help="How many messages, all together.")
@click.option("--chars", default=560, show_default=True, help="Characters of each message.")
@click.option("--workspaces", default=0, show_default=True, help="How many folders besides the default one.")
@click.option("--unnamed", is_flag=True, help="Without friendly ids and hashes, as before there were any.")
def seed_store(
    email: str, password: str | None, conversations: int, messages: int, chars: int, workspaces: int, unnamed: bool
) -> None:
    """Fill the store with made-up conversations; the same options make the same ones."""
    plan = SeedPlan(
        conversations=conversations, messages=messages, chars=chars, workspaces=workspaces, named=not unnamed
    )
    users_dir = current_state().users_dir
    try:
        try:
            create_user(
                users_dir=users_dir, user_email=email, password=password or secrets.token_urlsafe(), is_admin=True
            )
        except UserExistsError:
            click.echo(f"{email} has an account already; its password stays.")
        made = _seed_showing_progress(users_dir, email, plan)
        index_pending(users_dir=users_dir, slice_ms=_SLICE_MS)
    except StoreError as error:
        raise click.ClickException(error.message) from None
    click.echo(f"{conversations} conversations with {made} messages are {email}'s, and can be searched.")


def _seed_showing_progress(users_dir: str, email: str, plan: SeedPlan) -> int:
    made = 0
    with click.progressbar(length=plan.messages, label="Messages") as progress:
        for count in seed(users_dir=users_dir, user_email=email, plan=plan):
            progress.update(count - made)
            made = count
    return made
