"""One-time links that an administrator makes: to an account (an invitation), or to a new password for one."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from flask import Blueprint, request
from werkzeug.wrappers import Response as BaseResponse

from database.accounts import invitations, password_links, throttle, users
from database.engine.errors import InvitationNotFoundError, PasswordLinkNotFoundError
from endpoints.http.errors import ForbiddenError, InvalidRequestError, RateLimitedError
from endpoints.http.models import Done
from endpoints.http.scope import current_access, current_actor, current_state, current_user_email
from endpoints.http.validation import answers, fails, public, takes
from sentences import say

from . import models as account_models
from .forms import card_page, password_form, refuse_password_sign_in
from .login import signed_in, themself
from .views import require_administrator

T = TypeVar("T")
blueprint = Blueprint("one_time_links", __name__)


@blueprint.post("/invitations")
@takes(account_models.NewInvitation)
@answers(account_models.NewInvitationItem, status=HTTPStatus.CREATED)
@fails("conflict")
def create_invitation(body: account_models.NewInvitation) -> object:
    """Invite somebody by a link that makes an account; administrators only, by session.

    With `email` it is for the owner of that address, who has no account yet, once; without, `uses` people can use it.
    """
    _require_administrator_in_session()
    made = invitations.create_invitation(
        database=current_state().database,
        by=current_actor(),
        invited_email=body.email,
        role=body.role,
        uses=body.uses,
        days=body.days,
    )
    return {
        "invitation_id": made.invitation_id,
        "path": f"/invite/{made.token}",
        "expires_at": made.expires_at,
    }


@blueprint.get("/invitations")
@answers(list[invitations.Invitation])
@fails("forbidden")
def list_invitations() -> object:
    """The invitations that can be used, the newest first, without their links; administrators only."""
    require_administrator(say("administrators_invite"))
    return invitations.list_invitations(database=current_state().database)


@blueprint.delete("/invitations/<invitation_id>")
@answers(Done)
def withdraw_invitation(invitation_id: str) -> None:
    """Withdraw an invitation; administrators only, by session."""
    _require_administrator_in_session()
    invitations.withdraw_invitation(database=current_state().database, invitation_id=invitation_id, by=current_actor())


@blueprint.get("/invite/<token>")
@public
@answers(None, media="text/html")
@fails("invitation_not_found")
def invitation_page(token: str) -> BaseResponse:
    """The page on which a person who was invited makes an account; 404 for an invitation that is not valid."""
    return card_page("invite.html", invited=_invited(token) or "")


@blueprint.post("/invite/<token>")
@password_form("invite.html", account_models.AcceptedInvitation, fails_with=("invitation_not_found", "conflict"))
def accept_invitation(token: str, body: account_models.AcceptedInvitation) -> BaseResponse:
    """Make an account by an invitation, which is used, and log in; 404 for an invitation that is not valid."""
    _invited(token)
    user = invitations.accept_invitation(
        database=current_state().database,
        token=token,
        user_email=body.email,
        password=body.password,
        name=body.name,
        by=themself(body.email),
    )
    return signed_in(user)


def _require_administrator_in_session() -> None:
    require_administrator(say("administrators_invite"))
    if current_access().by != "session":
        raise ForbiddenError("A token can't invite people.")


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
    return card_page("reset.html", email=_owner_of(token))


@blueprint.post("/reset/<token>")
@password_form("reset.html", account_models.PasswordReset, fails_with=("password_link_not_found", "unauthorized"))
def reset_password(token: str, body: account_models.PasswordReset) -> BaseResponse:
    """Set a new password by a link, which is used up, and log in; 404 for a link that is not valid.

    All sessions of the account end. Its API tokens are revoked unless `keep_tokens` is set.
    """
    _owner_of(token)
    user = password_links.redeem_password_link(
        database=current_state().database, token=token, password=body.password, keep_tokens=body.keep_tokens
    )
    return signed_in(user)


def _invited(token: str) -> str | None:
    """Whom the invitation is for."""
    database = current_state().database
    return _throttled("invitation", lambda: invitations.invited_email(database=database, token=token))


def _owner_of(token: str) -> str:
    """Whose password the link sets."""
    database = current_state().database
    return _throttled("password link", lambda: password_links.password_link_owner(database=database, token=token))


def _throttled(kind: str, find: Callable[[], T]) -> T:
    """What a link leads to. Failures are throttled by address, as those of logging in are."""
    database = current_state().database
    subject = throttle.login_subject(kind, request.remote_addr or "")
    seconds = throttle.seconds_to_wait(database=database, subject=subject)
    if seconds:
        raise RateLimitedError(say("too_many_attempts", seconds=seconds), retry_after=seconds)
    try:
        return find()
    except (InvitationNotFoundError, PasswordLinkNotFoundError):
        throttle.record_failure(database=database, subject=subject)
        raise
