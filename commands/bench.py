"""Made-up history, knowledge and documents to measure with."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from database.accounts.users import create_user
from database.engine.errors import UserExistsError
from database.search.indexing import index_pending
from endpoints.http.scope import current_state

from .shell import CommandGroup, examples, one_line_errors

if TYPE_CHECKING:
    from benchmarks.made_up.history import SeedPlan
    from benchmarks.made_up.knowledge import KnowledgePlan

group = CommandGroup("bench", help="Measuring.")
_SLICE_MS = 2_000
_CHARACTERS = 3_000
"""Of a document."""
_NOT_HERE = (
    "What is made up comes from the folder `benchmarks` of the source code, which the container image does not have. "
    "Run this command in a copy of the whole source code, with ANAPHORA_DATA_DIR (or DATABASE_URL) of this server."
)


@group.command("seed", epilog=examples("bench seed --conversations 20 --messages 2000 --claims 1000"))
@click.option("--email", default="bench@example.org", show_default=True, help="Whose history it will be.")
@click.option("--password", default=None, help="The account's password; a random one when left out.")
@click.option(
    "--conversations",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    help="How many conversations; 0 for none.",
)
@click.option(
    "--messages", type=click.IntRange(min=0), default=20_000, show_default=True, help="How many messages, all together."
)
@click.option("--chars", type=click.IntRange(min=1), default=560, show_default=True, help="Characters of each message.")
@click.option(
    "--workspaces",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many folders besides the default one.",
)
@click.option("--unnamed", is_flag=True, help="Without friendly ids and hashes, as before there were any.")
@click.option(
    "--claims",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many memories, a thousandth of them a neighbour's.",
)
@click.option("--documents", type=click.IntRange(min=0), default=0, show_default=True, help="How many documents.")
def seed_store(
    email: str,
    password: str | None,
    conversations: int,
    messages: int,
    chars: int,
    workspaces: int,
    unnamed: bool,
    claims: int,
    documents: int,
) -> None:
    """Fill the stores with made-up conversations, memories and documents; the same options make the same ones."""
    try:
        from benchmarks.made_up.history import SeedPlan  # a server does without them
        from benchmarks.made_up.knowledge import KnowledgePlan
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "benchmarks":
            raise
        raise click.ClickException(_NOT_HERE) from None

    plan = SeedPlan(
        conversations=conversations, messages=messages, chars=chars, workspaces=workspaces, named=not unnamed
    )
    with one_line_errors():
        if conversations:
            plan.turns()  # a plan that makes no sense leaves nothing behind
        _create_account(email, password)
        if conversations:
            _seed_conversations(email, plan)
        if claims:
            _seed_claims(email, KnowledgePlan(claims=claims))
        if documents:
            _seed_documents(email, documents)


def _create_account(email: str, password: str | None) -> None:
    database = current_state().database
    try:
        create_user(database=database, user_email=email, password=password or secrets.token_urlsafe(), is_admin=True)
    except UserExistsError:
        click.echo(f"{email} has an account already; its password stays.")


def _seed_conversations(email: str, plan: SeedPlan) -> None:
    from benchmarks.made_up.history import seed

    database = current_state().database
    made = _showing_progress(seed(database=database, user_email=email, plan=plan), plan.messages, "Messages")
    index_pending(database=database, slice_ms=_SLICE_MS)
    click.echo(f"{plan.conversations} conversations with {made} messages are {email}'s, and can be searched.")


def _seed_claims(email: str, plan: KnowledgePlan) -> None:
    from benchmarks.made_up.knowledge import seed_knowledge

    database = current_state().knowledge.database()
    _showing_progress(seed_knowledge(database, user_email=email, plan=plan), plan.claims, "Memories")
    click.echo(f"{plan.own} memories are {email}'s, {plan.neighbours} a neighbour's.")


def _seed_documents(email: str, count: int) -> None:
    from benchmarks.made_up.documents import make_documents

    own = current_state().vaults.of(email)
    make_documents(own.root, documents=count, characters=_CHARACTERS)
    _showing_progress((scanned.seen for scanned in own.refresh()), count, "Documents")
    click.echo(f"{own.progress().documents} documents are {email}'s.")


def _showing_progress(counts: Iterator[int], total: int, label: str) -> int:
    """Go through `counts`, of what is there so far; the last one."""
    made = 0
    with click.progressbar(length=total, label=label) as progress:
        for count in counts:
            progress.update(count - made)
            made = count
    return made
