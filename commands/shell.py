"""What the commands of a person's shell share: whose they are, how flags are spelled, and what exit codes say."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import click
from flask.cli import AppGroup

from activity.recipes.errors import ActivityError, RecipeNotFoundError, UnknownTypeError
from chat.exchange.errors import TurnError
from chat.runtime.startup import ServerRunningError
from chat.tools.registry import ToolError
from commands.answering_server import ServerRequestError
from database.accounts.api_tokens import find_token
from database.accounts.listing import list_accounts
from database.accounts.users import UserRow, get_user
from database.engine.database import Database
from database.engine.errors import RoomNotFoundError, StoreError, UserNotFoundError
from endpoints.http.errors import code_of, row_of
from language_models.errors import ModelError
from portability.errors import BackupError
from truth_management_system.interface.structured_api import KnowledgeError

Command = TypeVar("Command", bound=Callable[..., Any])
USAGE, MISSING, REFUSED = 2, 3, 4
"""Exit codes: a wrong use; a thing that is not there or another person's; an account or token that may not do this."""
_LONGEST_SHOWN = 200
_CODE_OF_STATUS = {400: USAGE, 403: REFUSED, 404: MISSING, 413: USAGE, 422: USAGE}
_CODE_OF_ERROR = {"ambiguous": USAGE, "model_not_allowed": USAGE, "thread_mismatch": USAGE}
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


class CommandGroup(AppGroup):
    """A group of our commands: an error of an argument, a file or the output is told in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command of the group."""
        try:
            return super().invoke(ctx)
        except UnicodeEncodeError:
            fail("An argument is not UTF-8.", code=USAGE)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of a pipe has seen enough, which click knows
            name = f"{error.filename}: " if error.filename else ""
            fail(f"{name}{error.strerror or error}.", code=1)


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


def find_account(database: Database, email: str | None, *, writes: bool = False) -> str:
    """The address of the account that is meant: by `email`, by the API token in ANAPHORA_TOKEN, or the only one.

    writes: the command changes something. Exits where there is none, several without `email`, or one that may not do
    this.
    """
    secret = os.environ.get("ANAPHORA_TOKEN", "").strip()
    if secret:
        return _account_of_token(database, secret, email=email, writes=writes)
    user = _account(database, email or _only_account(database))
    if user.disabled_at is not None:
        fail(f"The account {user.user_email} is switched off.", code=REFUSED)
    return user.user_email


def _only_account(database: Database) -> str:
    accounts, _ = list_accounts(database=database, limit=2)
    if not accounts:
        fail(
            "There is no account yet. Make one in the browser, or with "
            "`flask --app server users create --email you@example.org --password-stdin --admin`.",
            code=MISSING,
        )
    if len(accounts) > 1:
        raise click.UsageError("There are several accounts. Name one: --email, or the variable ANAPHORA_USER.")
    return accounts[0]["user_email"]


def _account(database: Database, email: str) -> UserRow:
    try:
        return get_user(database=database, user_email=email)
    except UserNotFoundError:
        fail(f"There is no account {email[:_LONGEST_SHOWN]}.", code=MISSING)


def _account_of_token(database: Database, secret: str, *, email: str | None, writes: bool) -> str:
    owner = find_token(database=database, token=secret)
    if owner is None:
        fail("The token in ANAPHORA_TOKEN is not valid, or its account is switched off.", code=REFUSED)
    if email is not None and _account(database, email).user_email != owner.user_email:
        fail("The token in ANAPHORA_TOKEN is of another account.", code=REFUSED)
    if writes and owner.read_only:
        fail("The token in ANAPHORA_TOKEN may only read.", code=REFUSED)
    return owner.user_email


def agent_name(name: str) -> str:
    """The id or slug in `name`, which may be as messages name agents."""
    return name.removeprefix("@").removeprefix("agent_")


def typed_text() -> str:
    """What standard input holds. Raises ClickException where it is not UTF-8, whatever the locale."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise click.ClickException("The input is not UTF-8.") from None


def fail(message: str, *, code: int) -> NoReturn:
    """Exit with one line."""
    click.echo(f"Error: {printable(message)}", err=True)
    raise click.exceptions.Exit(code)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors of the stores into one sentence on the command line; an unknown account has a code of its own."""
    try:
        yield
    except UserNotFoundError as error:
        fail(error.message, code=MISSING)
    except (StoreError, KnowledgeError, BackupError) as error:
        raise click.ClickException(error.message) from None
    except ServerRunningError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Exit with one line, and the code that fits, where the block raises one of our errors."""
    try:
        yield
    except ServerRequestError as error:
        fail(error.message, code=_exit_code(error.status, error.code))
    except RoomNotFoundError as error:
        advice = "" if error.has_others else " Begin one in the browser, or with `flask --app server chat`."
        fail(f"{error.message}{advice}", code=MISSING)
    except (RecipeNotFoundError, UnknownTypeError) as error:
        advice = "`flask --app server recipes list` lists all."
        fail(f"{error.message} {advice}", code=_exit_code(row_of(error).status, error.code))
    except (StoreError, ActivityError, TurnError, ModelError, ToolError) as error:
        code = code_of(error)
        fail(error.message, code=_exit_code(row_of(error).status if code else None, code))


def _exit_code(status: int | None, code: str | None) -> int:
    """The exit code for an error that HTTP tells by this status and this code."""
    return _CODE_OF_ERROR.get(code or "") or _CODE_OF_STATUS.get(status or 0, 1)


def printable(text: str) -> str:
    """`text` without control characters: what models and documents say moves no cursor and sets no title."""
    return text.translate(_CONTROLS)
