"""The Model Context Protocol over standard input and output, for one account."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import click
from flask.cli import with_appcontext

from chat.tools.registry import NotSignedInError, ToolContext
from database.accounts.users import get_user
from database.engine.errors import UserNotFoundError
from endpoints.http.scope import conversation_loader, current_state
from endpoints.mcp.server import Account, server_for

from .shell import account_option, examples, find_account

T = TypeVar("T")


@click.command("mcp", epilog=examples("mcp --email ada@example.org", "mcp --email ada@example.org --write"))
@account_option
@click.option("--write", is_flag=True, help="Offer tools that change something, too.")
@with_appcontext
def command(email: str | None, write: bool) -> None:
    """Serve one account's tools and resources to the program that runs this command (Model Context Protocol)."""
    state = current_state()
    user_email = find_account(state.database, email, writes=write)
    context = ToolContext(
        user_email=user_email,
        database=state.database,
        services=state.services,
        load=conversation_loader(user_email),
    )
    account = Account(context=context, tools=state.tools, may_write=write)
    asyncio.run(_serve(account, threads=state.settings.mcp_threads))


async def _serve(account: Account, *, threads: int) -> None:
    """Answer until standard input ends. Blocking work runs in threads, so a slow call holds up no other one."""
    from mcp.server.stdio import stdio_server

    pool = ThreadPoolExecutor(threads, thread_name_prefix="mcp")

    async def run(work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, partial(_run_for, account, work))

    server = server_for(account, run=run)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    pool.shutdown(cancel_futures=True)


def _run_for(account: Account, work: Callable[[], T]) -> T:
    """Run `work` while the account exists. Raises NotSignedInError once it was closed or disabled."""
    try:
        found = get_user(database=account.context.database, user_email=account.context.user_email)
    except UserNotFoundError:
        raise NotSignedInError from None
    if found.disabled_at is not None:
        raise NotSignedInError
    return work()
