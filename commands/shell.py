"""What the commands of a person's shell share: whose they are, how flags are spelled, and what exit codes say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import click

from activity.errors import ActivityError, RecipeNotFoundError
from database.accounts.users import get_user, list_users
from database.engine.database import Database
from database.errors import (
    AmbiguousReferenceError,
    InvalidChangeError,
    NotFoundError,
    StoreError,
    ThreadMismatchError,
    UserNotFoundError,
)

from .running_server import ServerRequestError

Command = TypeVar("Command", bound=Callable[..., Any])
USAGE, MISSING, REFUSED = 2, 3, 4
"""Exit codes: a wrong use; a thing that is not there or another person's; an account or token that may not do this."""
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (NotFoundError, MISSING),
    (RecipeNotFoundError, MISSING),
    (AmbiguousReferenceError, USAGE),
    (ThreadMismatchError, USAGE),
    (InvalidChangeError, USAGE),
    (ActivityError, USAGE),
)
_CODE_OF_STATUS = {403: REFUSED, 404: MISSING}
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def account_option(command: Command) -> Command:
    """The option that says whose account a command is for, as `email`."""
    return click.option(
        "--email", "--user", "email", envvar="ANAPHORA_USER", help="Whose; may be left out for the only account."
    )(command)


def flag(name: str, **settings: Any) -> Callable[[Command], Command]:
    """A click option of several words (`--reply-to`), which may also be spelled `--replyTo`."""
    first, *others = name.removeprefix("--").split("-")
    camel = f"--{first}{''.join(word.title() for word in others)}"
    return click.option(name, camel, name.removeprefix("--").replace("-", "_"), **settings)


def examples(*lines: str) -> str:
    """The epilog of a command's help: one example a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def find_account(database: Database, email: str | None) -> str:
    """The address of the account that is meant. Exits where there is none, or several without `email`."""
    if email is None:
        accounts = list_users(database=database)
        if len(accounts) != 1:
            raise click.UsageError("Say whose chat it is: --email, or the variable ANAPHORA_USER.")
        email = accounts[0]["user_email"]
    try:
        user = get_user(database=database, user_email=email)
    except UserNotFoundError as error:
        fail(error.message, code=MISSING)
    if user.disabled_at is not None:
        fail(f"The account {user.user_email} is switched off.", code=REFUSED)
    return user.user_email


def fail(message: str, *, code: int) -> NoReturn:
    """Exit with one line."""
    click.echo(f"Error: {printable(message)}", err=True)
    raise click.exceptions.Exit(code)


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Exit with one line, and the code that fits, where the block raises one of our errors."""
    try:
        yield
    except ServerRequestError as error:
        fail(error.message, code=_CODE_OF_STATUS.get(error.status or 0, 1))
    except (StoreError, ActivityError) as error:
        fail(error.message, code=next((code for kind, code in _CODES if isinstance(error, kind)), 1))


def printable(text: str) -> str:
    """`text` without control characters: what models and documents say moves no cursor and sets no title."""
    return text.translate(_CONTROLS)
