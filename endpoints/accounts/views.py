"""The own account: details, preferences, password, sessions, tokens; and further accounts."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as BaseResponse

from database.accounts import api_tokens, listing, sessions, throttle, users
from database.accounts.audit import Actor
from database.accounts.users import set_role
from database.engine.errors import UserNotFoundError
from database.maintenance.account_erasure import close_account
from endpoints.http import models as http_models
from endpoints.http.errors import ForbiddenError, InvalidRequestError, RateLimitedError
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.languages import remember_language
from endpoints.http.responses import json_page, json_reply
from endpoints.http.scope import current_access, current_actor, current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works
from sentences import say

from . import models as account_models
from .login import signed_in, user_info

blueprint = Blueprint("accounts", __name__)


@blueprint.post("/users")
@takes(account_models.NewAccount)
@answers(account_models.UserInfo, status=HTTPStatus.CREATED)
@fails("conflict")
@works(Work.PASSWORD)
def create_user(body: account_models.NewAccount) -> object:
    """Make a further account; administrators only, and an administrator's by session only."""
    require_administrator("Only an administrator makes accounts.")
    if body.is_admin and current_access().by != "session":
        raise ForbiddenError("A token can't make administrators.")
    user = users.create_user(
        database=current_state().database,
        user_email=body.email,
        password=body.password,
        name=body.name,
        is_admin=body.is_admin,
        by=current_actor(),
    )
    return user_info(user)


@blueprint.get("/users")
@asks(account_models.AccountPage)
@answers(list[listing.Account])
@fails("forbidden")
def list_users(query: account_models.AccountPage) -> Response:
    """The accounts of this server, by address; administrators only.

    A page of at most 500; a `Link` header with rel="next" leads to the next page.
    """
    require_administrator("Only an administrator sees the accounts.")
    accounts, cursor = listing.list_accounts(database=current_state().database, **query.model_dump())
    return json_page(accounts, cursor=cursor)


@blueprint.put("/users/<user_email>")
@takes(account_models.AccountState)
@answers(http_models.Done)
@fails("conflict")
def change_user(user_email: str, body: account_models.AccountState) -> None:
    """Shut an account out, which stops its running answers, or let it in again; administrators only, never their own.

    By token no administrator's: whoever finds one must not keep those out who could revoke it.
    """
    require_administrator("Only an administrator changes accounts.")
    if users.normalise_email(user_email) == current_user_email():
        raise InvalidRequestError(say("own_account"))
    database = current_state().database
    if current_access().by != "session" and users.get_user(database=database, user_email=user_email).is_admin:
        raise ForbiddenError("A token can't shut administrators out, or let them in again.")
    users.set_disabled(database=database, user_email=user_email, disabled=body.disabled, by=current_actor())
    if body.disabled:
        _stop_answers(user_email)


@blueprint.put("/users/<user_email>/role")
@takes(account_models.AccountRole)
@answers(http_models.Done)
@fails("conflict")
def change_role(user_email: str, body: account_models.AccountRole) -> None:
    """Make an account an administrator's or a member's; administrators only, by session, and never for their own."""
    require_administrator("Only an administrator changes accounts.")
    if current_access().by != "session":
        raise ForbiddenError("A token can't change roles.")
    if users.normalise_email(user_email) == current_user_email():
        raise InvalidRequestError(say("own_account"))
    set_role(database=current_state().database, user_email=user_email, role=body.role, by=current_actor())


@blueprint.get("/get_user_info")
@answers(account_models.UserInfo)
def get_user_info() -> object:
    """Who is logged in."""
    return user_info(users.get_user(**current_user_scope()))


@blueprint.put("/get_user_info")
@takes(account_models.OwnName)
@answers(account_models.UserInfo)
def rename(body: account_models.OwnName) -> object:
    """Change the name that the account bears."""
    users.rename_user(**current_user_scope(), name=body.name)
    return user_info(users.get_user(**current_user_scope()))


@blueprint.put("/language")
@takes(account_models.OwnLanguage)
@answers(http_models.Done)
def choose_language(body: account_models.OwnLanguage) -> BaseResponse:
    """Choose the language of the account's pages; null for what the browser asks for.

    This browser remembers it for the login page.
    """
    users.choose_language(**current_user_scope(), language=body.language)
    answer = json_reply({"status": "ok"})
    remember_language(answer, body.language)
    return answer


@blueprint.get("/get_user_detail")
@answers(dict[str, Any])
def get_user_detail() -> object:
    """What the person told about themself."""
    return users.get_user_detail(**current_user_scope())


@blueprint.post("/modify_user_detail")
@takes(account_models.UserDetail)
@answers(http_models.Done)
def modify_user_detail(body: account_models.UserDetail) -> None:
    """Replace what the person told about themself."""
    users.modify_user_detail(**current_user_scope(), detail=body.model_dump(exclude_none=True))


@blueprint.get("/get_user_preference")
@answers(dict[str, Any])
def get_user_preference() -> object:
    """How the person wants to be answered."""
    return users.get_user_preference(**current_user_scope())


@blueprint.post("/modify_user_preference")
@takes(account_models.UserPreference)
@answers(http_models.Done)
def modify_user_preference(body: account_models.UserPreference) -> None:
    """Replace how the person wants to be answered."""
    users.modify_user_preference(**current_user_scope(), preference=body.model_dump(exclude_none=True))


@blueprint.put("/password")
@takes(account_models.PasswordChange)
@answers(account_models.UserInfo)
@fails("conflict")
@works(Work.PASSWORD)
def change_password(body: account_models.PasswordChange) -> BaseResponse:
    """Change the password; every session ends, and this one is begun anew."""
    user = _proved_again(body.current_password, refusal="A token can't change the password.")
    try:
        ended = users.set_password(**current_user_scope(), password=body.new_password, proved=user)
    except UserNotFoundError:  # it was reset meanwhile
        raise ForbiddenError(say("current_password_wrong")) from None
    return signed_in(ended.user)


@blueprint.delete("/account")
@takes(account_models.AccountDeletion)
@answers(account_models.ClosedAccount)
@works(Work.PASSWORD)
@fails("conflict")
def delete_account(body: account_models.AccountDeletion) -> Response:
    """Delete the own account with everything of it, for good; by session, with the password.

    409 for the only administrator while there are other accounts.
    """
    _proved_again(body.password, refusal="A token can't delete the account.")
    answer = _closed(current_user_email(), by=None)
    answer.delete_cookie(SESSION_COOKIE, path="/", httponly=True, samesite="Lax", secure=request.is_secure)
    return answer


@blueprint.delete("/users/<user_email>")
@answers(account_models.ClosedAccount)
@fails("conflict")
def delete_user(user_email: str) -> Response:
    """Delete an account with everything of it, for good; administrators only, by session, and never their own."""
    require_administrator("Only an administrator deletes accounts.")
    if current_access().by != "session":
        raise ForbiddenError("A token can't delete accounts.")
    if users.normalise_email(user_email) == current_user_email():
        raise InvalidRequestError(say("own_account_deleted"))
    return _closed(user_email, by=current_actor())


@blueprint.get("/sessions")
@answers(list[sessions.Session])
def list_sessions() -> object:
    """Where the account is logged in, this session marked."""
    access = current_access()
    secret = access.credential if access.by == "session" else None
    return sessions.list_sessions(**current_user_scope(), current_token=secret)


@blueprint.delete("/sessions/<session_id>")
@answers(http_models.Done)
def revoke_session(session_id: str) -> None:
    """Log out one place."""
    sessions.revoke_session(**current_user_scope(), session_id=session_id)


# With a slash behind it, this would be the address of a session whose id a program has left empty.
@blueprint.delete("/sessions", strict_slashes=True)
@answers(http_models.Done)
def revoke_other_sessions() -> None:
    """Log out every place but this one."""
    access = current_access()
    kept = access.credential if access.by == "session" else None
    sessions.revoke_all_sessions(**current_user_scope(), except_token=kept)


@blueprint.get("/api_tokens")
@answers(list[api_tokens.TokenRow])
def list_tokens() -> object:
    """The account's tokens, without their secrets."""
    return api_tokens.list_tokens(**current_user_scope())


@blueprint.post("/api_tokens")
@takes(account_models.NewToken)
@answers(account_models.NewTokenItem, status=HTTPStatus.CREATED)
def create_token(body: account_models.NewToken) -> object:
    """Make a token for a program, by session; this answer alone holds its secret."""
    if current_access().by != "session":
        # Whoever has found a token could go on after it is revoked.
        raise ForbiddenError("A token can't make tokens.")
    row, secret = api_tokens.create_token(**current_user_scope(), name=body.name, read_only=body.read_only)
    return {**asdict(row), "token": secret}


@blueprint.delete("/api_tokens/<token_id>")
@answers(http_models.Done)
def revoke_token(token_id: str) -> None:
    """Revoke a token; it fails from now on."""
    api_tokens.revoke_token(**current_user_scope(), token_id=token_id)


def require_administrator(refusal: str) -> None:
    """Raises ForbiddenError with `refusal` unless an administrator is asking."""
    if not users.get_user(**current_user_scope()).is_admin:
        raise ForbiddenError(refusal)


def _proved_again(password: str, *, refusal: str) -> users.UserRow:
    """The account that asks, after its password was checked once more. Raises ForbiddenError, RateLimitedError."""
    me = current_user_scope()
    if current_access().by != "session":
        raise ForbiddenError(refusal)
    subject = throttle.login_subject(me["user_email"], "password-change")
    seconds = throttle.seconds_to_wait(database=me["database"], subject=subject)
    if seconds:
        raise RateLimitedError(say("too_many_attempts", seconds=seconds), retry_after=seconds)
    user = users.verify_password(**me, password=password)
    if user is None:
        throttle.record_failure(database=me["database"], subject=subject)
        raise ForbiddenError(say("current_password_wrong"))
    return user


def _closed(user_email: str, *, by: Actor | None) -> Response:
    """Close an account; upkeep erases it as soon as its running answers have stopped."""
    state = current_state()
    close_account(database=state.database, user_email=user_email, by=by)
    _stop_answers(user_email)
    return json_reply({"status": "ok", "compacts_itself": state.account_erasure.compacts_itself()})


def _stop_answers(user_email: str) -> None:
    """Stop what is being written for an account that nobody may use any more; what was said is kept."""
    current_state().turns.cancel_all(user_email=users.normalise_email(user_email))
