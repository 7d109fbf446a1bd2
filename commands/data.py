"""The store from the command line."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from database.errors import StoreError
from database.friendly_ids import backfill_friendly_ids
from database.users import get_user
from endpoints.request_scope import current_state

group = AppGroup("data", help="What is stored.")


@group.command("backfill")
@click.option("--email", required=True, help="Whose conversations.")
@click.option("--domain", default="assistant", show_default=True, help="Of which domain.")
def backfill(email: str, domain: str) -> None:
    """Give old conversations their friendly ids, and old messages their hashes."""
    users_dir = current_state().users_dir
    try:
        user = get_user(users_dir=users_dir, user_email=email)
        count = backfill_friendly_ids(users_dir=users_dir, user_email=user.user_email, domain=domain)
    except StoreError as error:
        raise click.ClickException(error.message) from None
    click.echo(f"{count} conversations were given what they lacked.")
