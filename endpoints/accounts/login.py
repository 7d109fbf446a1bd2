"""Logging in and out, and the first account."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from http import HTTPStatus

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from database.accounts import sessions, throttle, users
from database.accounts.audit import Actor
from database.engine.errors import StoreIncompleteError, UserNotFoundError
from database.imports.newcomers import had_conversations
from endpoints.http import models as http_models
from endpoints.http.errors import RateLimitedError, UnauthorizedError
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.languages import remember_language
from endpoints.http.responses import json_reply
from endpoints.http.scope import current_state
from endpoints.http.validation import answers, fails, public, takes
from portability.restoring import is_incomplete
from sentences import say

from . import models as account_models
from .forms import by_password, card_page, is_form, password_form, safe_next

blueprint = Blueprint("auth", __name__)
HOME = "/interface/"
WELCOME = "/interface/?welcome=1"
DEVICE_COOKIE = "anaphora_device"
_COOKIE_SECONDS = 30 * 24 * 3600
_DEVICE_SECONDS = 365 * 24 * 3600
WRONG = "The e-mail address or the password is wrong."


@blueprint.get("/login")
@public
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
@fails("store_incomplete")
def login_page() -> BaseResponse:
    """The login page; while there is no account, the way to `/setup`, where passwords are used."""
    if by_password() and not users.any_user_exists(database=current_state().database):
        return redirect("/setup")
    has_left = request.args.get("left") == "1"
    return card_page("login.html", next=safe_next(request.args.get("next", "")), has_left=has_left)


@blueprint.post("/login")
@password_form("login.html", account_models.Credentials, fails_with=("unauthorized",))
def login(body: account_models.Credentials) -> BaseResponse:
    """Log in with `{email, password}` as JSON or form; the answer sets the session's cookie."""
    return signed_in(verified(body), next_page=body.next)


@blueprint.post("/logout")
@public
@takes(http_models.Nothing, form=True, optional=True)
@answers(http_models.Done, redirect=HTTPStatus.SEE_OTHER)
def logout(body: http_models.Nothing) -> BaseResponse:
    """End this session. Where people log in by a provider, the page that follows offers to end the one there, too."""
    secret = request.cookies.get(SESSION_COOKIE)
    if secret:
        sessions.end_session(database=current_state().database, token=secret)
    page = "/login" if current_state().settings.oidc_issuer is None else "/login?left=1"
    answer: BaseResponse = redirect(page, code=HTTPStatus.SEE_OTHER) if is_form() else json_reply({"status": "ok"})
    answer.delete_cookie(SESSION_COOKIE, path="/", httponly=True, samesite="Lax", secure=request.is_secure)
    return answer


@blueprint.get("/setup")
@public
@answers(None, media="text/html", redirect=HTTPStatus.FOUND)
@fails("store_incomplete")
def setup_page() -> BaseResponse:
    """The page that makes the first account; afterwards the way to `/login`."""
    if not by_password() or users.any_user_exists(database=current_state().database):
        return redirect("/login")
    _refuse_incomplete_store()
    return card_page("setup.html", next=safe_next(request.args.get("next", "")))


@blueprint.post("/setup")
@password_form("setup.html", account_models.FirstAccount, fails_with=("conflict", "store_incomplete"))
def setup(body: account_models.FirstAccount) -> BaseResponse:
    """Make the first account, an administrator's, and log in; 409 once there is one.

    Also 409 (`store_incomplete`) while the data folder holds somebody's things and no account.
    """
    _refuse_incomplete_store()
    user = users.create_first_user(
        database=current_state().database, user_email=body.email, password=body.password, name=body.name
    )
    return signed_in(user, next_page=body.next)


def _refuse_incomplete_store() -> None:
    """Raise StoreIncompleteError where the first account would inherit data of somebody else."""
    state = current_state()
    if is_incomplete(state.settings.data_dir, database=state.database):
        raise StoreIncompleteError


def signed_in(user: users.UserRow, *, next_page: str = "") -> BaseResponse:
    """Begin a session for `user` and set its cookie; forms are redirected to the next page, programs get the user.

    Raises UnauthorizedError if the account has another password now.
    """
    answer: BaseResponse = (
        redirect(way_on(user, next_page), code=HTTPStatus.SEE_OTHER) if is_form() else json_reply(user_info(user))
    )
    return begin_session(user, answer)


def begin_session(user: users.UserRow, answer: BaseResponse, *, by_password: bool = True) -> BaseResponse:
    """`answer` with the cookie of a new session for `user`.

    by_password: the password was proved or set. Raises UnauthorizedError if the account has another one now.
    """
    try:
        secret = sessions.create_session(
            database=current_state().database,
            user_email=user.user_email,
            password_hash=user.password_hash if by_password else None,
            user_agent=request.user_agent.string[:300],
            address=request.remote_addr or "",
        )
    except UserNotFoundError:
        raise UnauthorizedError(WRONG) from None
    _set_cookie(answer, SESSION_COOKIE, secret, seconds=_COOKIE_SECONDS)
    if _known_device(user.user_email) is None:
        device = _device(user.user_email, secrets.token_hex(16))
        _set_cookie(answer, DEVICE_COOKIE, device, seconds=_DEVICE_SECONDS)
    if user.language is not None:
        remember_language(answer, user.language)
    return answer


def themself(user_email: str) -> Actor:
    """Somebody who makes or connects their own account by the page, before they are logged in."""
    return Actor(user_email=users.account_key(user_email), door="page", address=request.remote_addr or "")


def _set_cookie(answer: BaseResponse, name: str, value: str, *, seconds: int) -> None:
    answer.set_cookie(name, value, max_age=seconds, path="/", httponly=True, samesite="Lax", secure=request.is_secure)


def way_on(user: users.UserRow, next_page: str) -> str:
    """The page after the form; users who never had a conversation get the welcome, by the page's script."""
    target = safe_next(next_page) or HOME
    if target not in ("/", HOME):
        return target
    return HOME if had_conversations(database=current_state().database, user_email=user.user_email) else WELCOME


def user_info(user: users.UserRow) -> dict[str, object]:
    """The account's own public fields."""
    fields = ("user_email", "name", "is_admin", "language")
    return {name: getattr(user, name) for name in fields}


def verified(body: account_models.Credentials) -> users.UserRow:
    """The account, after its password was checked. Raises UnauthorizedError, RateLimitedError."""
    database = current_state().database
    limits = throttle.login_limits(body.email, request.remote_addr or "", device=_known_device(body.email))
    seconds = throttle.longest_wait(database=database, limits=limits)
    if seconds:
        raise RateLimitedError(say("too_many_attempts", seconds=seconds), retry_after=seconds)
    user = users.verify_password(database=database, user_email=body.email, password=body.password)
    if user is None:
        throttle.record_failures(database=database, limits=limits)
        raise UnauthorizedError(WRONG)
    throttle.clear_failures(database=database, subject=limits[0].subject)
    return user


def _known_device(user_email: str) -> str | None:
    """The name of the browser that asks, where `user_email` has logged in from it before."""
    nonce, _, _ = request.cookies.get(DEVICE_COOKIE, "").partition(".")
    valid = nonce and hmac.compare_digest(request.cookies[DEVICE_COOKIE].encode(), _device(user_email, nonce).encode())
    return nonce if valid else None


def _device(user_email: str, nonce: str) -> str:
    """The cookie that says that `user_email` has logged in from the browser named `nonce`; it logs nobody in."""
    said = f"device\0{users.normalise_email(user_email)}\0{nonce}".encode("utf-8", "surrogatepass")
    secret = current_state().settings.secret_key.encode()
    return f"{nonce}.{hmac.new(secret, said, hashlib.sha256).hexdigest()}"
