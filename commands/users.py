"""Accounts from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, get_args

import click
import orjson
from pydantic import ValidationError

from chat.runtime.startup import ServerRunningError, bring_in_order, sole_process
from database.accounts import api_tokens, identities, listing, sessions, users
from database.accounts.audit import COMMAND_LINE, Act, list_acts
from database.accounts.invitations import DAYS, MOST_DAYS, MOST_USES, create_invitation
from database.accounts.users import ADMINISTRATOR, MEMBER, Role, set_role
from database.engine.errors import StoreError
from database.maintenance.account_erasure import close_account
from endpoints.accounts.models import NewAccount
from endpoints.http.error_responses import field_errors
from endpoints.http.scope import current_state
from truth_management_system.interface.structured_api import KnowledgeError

from .shell import CommandGroup, examples, one_line_errors, printable

group = CommandGroup("users", help="Accounts and their tokens.")
_PAGE = 500


@group.command(
    "create",
    epilog=examples('echo "$PASSWORD" | users create --email ada@example.org --name Ada --password-stdin --admin'),
)
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option("--name", default="", help="The person's name.")
@click.option(
    "--password-stdin", is_flag=True, required=True, expose_value=False, help="Read the password from standard input."
)
@click.option("--admin", is_flag=True, help="An administrator may make further accounts.")
def create(email: str, name: str, admin: bool) -> None:
    """Make an account."""
    password = _password_on_stdin()
    try:
        account = NewAccount(email=email, password=password, name=name, is_admin=admin)
        user = users.create_user(
            database=current_state().database,
            user_email=account.email,
            password=account.password,
            name=account.name,
            is_admin=account.is_admin,
            by=COMMAND_LINE,
        )
    except ValidationError as error:
        problems = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in field_errors(error))
        raise click.ClickException(problems) from None
    except StoreError as error:
        raise click.ClickException(error.message) from None
    click.echo(f"{user.user_email} has an account.")


@group.command(
    "password", epilog=examples('echo "$PASSWORD" | users password --email ada@example.org --password-stdin')
)
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option(
    "--password-stdin", is_flag=True, required=True, expose_value=False, help="Read the password from standard input."
)
@click.option("--keep-tokens", is_flag=True, help="Do not revoke the account's API tokens.")
def password(email: str, keep_tokens: bool) -> None:
    """Set a new password: all sessions of the account end, and its API tokens are revoked."""
    with one_line_errors():
        ended = users.set_password(
            database=current_state().database,
            user_email=email,
            password=_password_on_stdin(),
            keep_tokens=keep_tokens,
            by=COMMAND_LINE,
        )
    click.echo(f"The password is set. Sessions ended: {ended.sessions}. API tokens revoked: {ended.tokens}.")


@group.command("invite", epilog=examples("users invite --email bob@example.org", "users invite --uses 20 --days 30"))
@click.option("--email", help="Whom to invite; without, whoever has the link.")
@click.option("--uses", type=click.IntRange(1, MOST_USES), default=1, help="How many people may use it; 1.")
@click.option("--days", type=click.IntRange(1, MOST_DAYS), default=DAYS, help=f"How long it is valid; {DAYS}.")
@click.option("--admin", is_flag=True, help="The account is an administrator's.")
def invite(email: str | None, uses: int, days: int, admin: bool) -> None:
    """Make an invitation, and print where on the server its receiver makes an account; it is shown this once."""
    with one_line_errors():
        made = create_invitation(
            database=current_state().database,
            by=COMMAND_LINE,
            invited_email=email,
            role=ADMINISTRATOR if admin else MEMBER,
            uses=uses,
            days=days,
        )
    click.echo(f"/invite/{made.token}")


@group.command("role", epilog=examples("users role --email ada@example.org --role administrator"))
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option("--role", type=click.Choice([ADMINISTRATOR, MEMBER]), required=True, help="What it is to be.")
def role(email: str, role: Role) -> None:
    """Make an account an administrator's or a member's."""
    with one_line_errors():
        set_role(database=current_state().database, user_email=email, role=role, by=COMMAND_LINE)
    click.echo(f"{users.normalise_email(email)}: {role}.")


@group.command("list", epilog=examples("users list", "users list --json | jq -r .user_email"))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_all(as_json: bool) -> None:
    """List the accounts by address: role, whether it is disabled, when somebody or a program was last seen."""
    cursor: str | None = None
    while True:
        accounts, cursor = listing.list_accounts(database=current_state().database, limit=_PAGE, cursor=cursor)
        for account in accounts:
            click.echo(orjson.dumps(account) if as_json else _line_of(account))
        if cursor is None:
            return


def _line_of(account: listing.Account) -> str:
    role = ADMINISTRATOR if account["is_admin"] else MEMBER
    seen = f"last seen {account['last_seen_at']}" if account["last_seen_at"] else "never seen"
    state = f"disabled {account['disabled_at']}" if account["disabled_at"] else ""
    return "  ".join(part for part in (account["user_email"], role, seen, state, _on_one_line(account["name"])) if part)


def _on_one_line(name: str) -> str:
    """What people call themselves, as a part of a line: it moves no cursor, and begins no line of its own."""
    return " ".join(printable(name).split())


@group.command("disable", epilog=examples("users disable --email ada@example.org"))
@click.option("--email", required=True, help="The account's e-mail address.")
def disable(email: str) -> None:
    """Disable an account: its sessions end, its API tokens are refused; everything of it stays.

    A running server stops the answers that are being written for it, within a few seconds.
    """
    _set_disabled(email, disabled=True)
    click.echo(f"{users.normalise_email(email)} is disabled.")


@group.command("enable", epilog=examples("users enable --email ada@example.org"))
@click.option("--email", required=True, help="The account's e-mail address.")
def enable(email: str) -> None:
    """Enable an account that was disabled."""
    _set_disabled(email, disabled=False)
    click.echo(f"{users.normalise_email(email)} is enabled.")


def _set_disabled(email: str, *, disabled: bool) -> None:
    state = current_state()
    with one_line_errors():
        users.set_disabled(database=state.database, user_email=email, disabled=disabled, by=COMMAND_LINE)
        if disabled:
            state.turns.cancel_all(user_email=users.normalise_email(email))


@group.command("disconnect", epilog=examples("users disconnect --email ada@example.org"))
@click.option("--email", required=True, help="The account's e-mail address.")
def disconnect(email: str) -> None:
    """Disconnect an account from the logins of the OpenID provider that lead to it, and end its sessions.

    The next login by the provider asks for the account's password, and connects again.
    """
    with one_line_errors():
        count = identities.disconnect(database=current_state().database, user_email=email, by=COMMAND_LINE)
    click.echo(f"Logins of {users.normalise_email(email)} that were disconnected: {count}.")


@group.command("delete", epilog=examples("users delete --email ada@example.org"))
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option("--yes", is_flag=True, help="Don't ask.")
def delete(email: str, yes: bool) -> None:
    """Permanently delete an account and all of its data.

    Conversations, memories, shared links, settings, sessions and tokens are erased; backups are not touched. A running
    server erases them; without one this command does.
    Stores larger than ANAPHORA_COMPACT_UP_TO need `data compact` afterwards.
    """
    state = current_state()
    with one_line_errors():
        user = users.get_user(database=state.database, user_email=email)
    try:
        if not yes:
            click.confirm(f"Erase {user.user_email} and everything of it? This can't be undone", abort=True)
        close_account(database=state.database, user_email=user.user_email, by=COMMAND_LINE)
        with sole_process(state.settings.data_dir, database=state.database):
            bring_in_order(database=state.database)
            state.account_erasure.erase_closed()
    except ServerRunningError:
        click.echo(f"{user.user_email} is closed. The running server erases what it had.")
    except (StoreError, KnowledgeError) as error:
        raise click.ClickException(error.message) from None
    else:
        click.echo(f"{user.user_email} is erased.")
    if not state.account_erasure.compacts_itself():
        click.echo("The stores are large: run `flask --app server data compact` to clear the files of deleted text.")


@group.command("token", epilog=examples("users token --email ada@example.org --name backup-script --read-only"))
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option("--name", required=True, help="What will use the token.")
@click.option("--read-only", is_flag=True, help="The token may look, and change nothing.")
def token(email: str, name: str, read_only: bool) -> None:
    """Make an API token and print it; it is shown this once."""
    database = current_state().database
    with one_line_errors():
        user = users.get_user(database=database, user_email=email)
        _, secret = api_tokens.create_token(
            database=database, user_email=user.user_email, name=name, read_only=read_only, by=COMMAND_LINE
        )
    click.echo(secret)


@group.command(
    "tokens",
    epilog=examples("users tokens --email ada@example.org", "users tokens --email ada@example.org --revoke 5b0c…"),
)
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option("--revoke", "revoked", multiple=True, metavar="ID", help="Revoke this token; may be given several times.")
@click.option("--revoke-all", is_flag=True, help="Revoke all tokens of the account.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def tokens(email: str, revoked: tuple[str, ...], revoke_all: bool, as_json: bool) -> None:
    """List the API tokens of an account, or revoke some: id, what they may do, when they were last used, name."""
    if revoked and revoke_all:
        raise click.UsageError("Give --revoke or --revoke-all, not both.")
    own = _own(email)
    with one_line_errors():
        if revoke_all:
            click.echo(f"API tokens revoked: {api_tokens.revoke_all_tokens(**own, by=COMMAND_LINE)}.")
        elif revoked:
            _each(
                revoked,
                lambda token_id: api_tokens.revoke_token(**own, token_id=token_id, by=COMMAND_LINE),
                done="API tokens revoked",
            )
        else:
            _list(map(asdict, api_tokens.list_tokens(**own)), _line_of_token, as_json=as_json)


@group.command(
    "sessions",
    epilog=examples("users sessions --email ada@example.org", "users sessions --email ada@example.org --end-all"),
)
@click.option("--email", required=True, help="The account's e-mail address.")
@click.option("--end", "ended", multiple=True, metavar="ID", help="End this session; may be given several times.")
@click.option("--end-all", is_flag=True, help="End all sessions of the account.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_sessions(email: str, ended: tuple[str, ...], end_all: bool, as_json: bool) -> None:
    """List where an account is logged in, or end that: id, when last seen, since when, from which address, browser."""
    if ended and end_all:
        raise click.UsageError("Give --end or --end-all, not both.")
    own = _own(email)
    with one_line_errors():
        if end_all:
            click.echo(f"Sessions ended: {sessions.revoke_all_sessions(**own, by=COMMAND_LINE)}.")
        elif ended:
            _each(
                ended,
                lambda session_id: sessions.revoke_session(**own, session_id=session_id, by=COMMAND_LINE),
                done="Sessions ended",
            )
        else:
            found = sessions.list_sessions(**own)
            rows = [{name: value for name, value in each.items() if name != "current"} for each in found]
            _list(rows, _line_of_session, as_json=as_json)


def _own(email: str) -> dict[str, Any]:
    """Whose sessions and tokens are meant. Exits where there is no such account."""
    database = current_state().database
    with one_line_errors():
        return {"database": database, "user_email": users.get_user(database=database, user_email=email).user_email}


def _each(ids: tuple[str, ...], revoke: Callable[[str], object], *, done: str) -> None:
    """Revoke each of `ids` and say how many there were; an error names those before it. done: what was done to them."""
    revoked = list[str]()
    for each in dict.fromkeys(ids):
        try:
            revoke(each)
        except StoreError as error:
            before = f" {done} before that: {', '.join(revoked)}." if revoked else ""
            raise click.ClickException(f"{error.message} ({printable(each)}){before}") from None
        revoked.append(each)
    click.echo(f"{done}: {len(revoked)}.")


def _list(rows: Iterable[dict[str, Any]], line_of: Callable[[dict[str, Any]], str], *, as_json: bool) -> None:
    for row in rows:
        click.echo(orjson.dumps(row) if as_json else line_of(row))


def _line_of_token(token: dict[str, Any]) -> str:
    used = f"last used {token['last_used_at']}" if token["last_used_at"] else "never used"
    rights = "read-only" if token["read_only"] else "may write"
    return "  ".join((token["token_id"], rights, used, f"made {token['created_at']}", _on_one_line(token["name"])))


def _line_of_session(session: dict[str, Any]) -> str:
    seen, since = f"last seen {session['last_seen_at']}", f"since {session['created_at']}"
    told = (session["session_id"], seen, since, session["address"], _on_one_line(session["user_agent"]))
    return "  ".join(part for part in told if part)


@group.command("audit", epilog=examples("users audit --limit 20", "users audit --of ada@example.org"))
@click.option("--limit", default=100, type=click.IntRange(1, 10_000), show_default=True, help="How many acts.")
@click.option(
    "--act",
    type=click.Choice(get_args(Act)),
    default=None,
    metavar="ACT",
    help="Only this kind of act, such as account_disabled.",
)
@click.option("--of", "subject", default=None, help="Only what was done to this account.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def audit(limit: int, act: str | None, subject: str | None, as_json: bool) -> None:
    """List what administrators did, the latest first."""
    key = None if subject is None else users.account_key(subject)
    for done in list_acts(database=current_state().database, limit=limit, act=act, subject=key):
        if as_json:
            click.echo(orjson.dumps(done))
            continue
        who = done["actor_email"] or done["door"]
        details = orjson.dumps(done["details"]).decode() if done["details"] else ""
        told = (done["at"], who, done["address"], done["act"], done["subject"], details)
        click.echo("  ".join(part for part in told if part))


def _password_on_stdin() -> str:
    """The first line of standard input. Raises ClickException for characters that the login page can't send."""
    line = sys.stdin.buffer.readline().rstrip(b"\r\n")
    try:
        password = line.decode()
    except UnicodeDecodeError:
        raise click.ClickException("The password is not UTF-8.") from None
    if "\0" in password:
        raise click.ClickException("A password can't contain a NUL character.")
    return password
