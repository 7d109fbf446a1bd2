"""A lost password: an administrator makes a one-time link, and its receiver sets a new password with it."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from database.accounts import password_links, throttle, users
from database.engine.errors import PasswordLinkNotFoundError
from endpoints.http.errors import ForbiddenError, InvalidRequestError, RateLimitedError
from endpoints.http.scope import current_access, current_actor, current_state, current_user_email
from endpoints.http.validation import answers, fails, public, takes
from endpoints.serving.work_queues import Work, works
from sentences import say

from . import models as account_models
from .login import refuse_password_sign_in, shown_again_in, signed_in
from .views import require_administrator

blueprint = Blueprint("password_links", __name__)


@blueprint.post("/users/<user_email>/password_link")
@answers(account_models.PasswordLinkItem)
@fails("conflict", "password_sign_in_off")
def create_password_link(user_email: str) -> object:
    """Make a one-time link that sets an account's password, valid for 24 hours; administrators only, by session."""
    require_administrator("Only an administrator makes password links.")
    if current_access().by != "session":
        raise ForbiddenError("A token can't make password links.")
    refuse_password_sign_in()
    if users.normalise_email(user_email) == current_user_email():
        raise InvalidRequestError(say("own_password"))
    database = current_state().database
    link = password_links.create_password_link(database=database, user_email=user_email, by=current_actor())
    return {"path": f"/reset/{link.token}", "expires_at": link.expires_at}


@blueprint.get("/reset/<token>")
@public
@answers(None, media="text/html")
@fails("password_link_not_found")
def reset_page(token: str) -> BaseResponse:
    """The page on which the receiver of a password link sets a new password; 404 for a link that is not valid."""
    owner = _owner_of(token)
    page = make_response(render_template("reset.html", error="", email=owner))
    page.headers["Referrer-Policy"] = "no-referrer"
    return page


@blueprint.post("/reset/<token>")
@public
@shown_again_in("reset.html")
@takes(account_models.PasswordReset, form=True)
@answers(account_models.UserInfo, redirect=HTTPStatus.SEE_OTHER)
@fails("password_link_not_found", "unauthorized", "password_sign_in_off")
@works(Work.PASSWORD)
def reset_password(token: str, body: account_models.PasswordReset) -> BaseResponse:
    """Set a new password by a link, which is used up, and log in; 404 for a link that is not valid.

    All sessions of the account end. Its API tokens are revoked unless `keep_tokens` is set.
    """
    refuse_password_sign_in()
    _owner_of(token)
    user = password_links.redeem_password_link(
        database=current_state().database, token=token, password=body.password, keep_tokens=body.keep_tokens
    )
    return signed_in(user)


def _owner_of(token: str) -> str:
    """Whose password the link sets. Failures are throttled by address, as those of logging in are."""
    database = current_state().database
    subject = throttle.login_subject("password link", request.remote_addr or "")
    seconds = throttle.seconds_to_wait(database=database, subject=subject)
    if seconds:
        raise RateLimitedError(say("too_many_attempts", seconds=seconds), retry_after=seconds)
    try:
        return password_links.password_link_owner(database=database, token=token)
    except PasswordLinkNotFoundError:
        throttle.record_failure(database=database, subject=subject)
        raise
