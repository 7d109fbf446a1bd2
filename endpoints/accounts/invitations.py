"""Invitations: an administrator makes a one-time link, and its receiver makes an account with it."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, make_response, request
from werkzeug.wrappers import Response as BaseResponse

from database.accounts import invitations, throttle
from database.engine.errors import InvitationNotFoundError
from endpoints.http import models as http_models
from endpoints.http.errors import ForbiddenError, RateLimitedError
from endpoints.http.scope import current_access, current_actor, current_state
from endpoints.http.validation import answers, fails, public, takes
from endpoints.serving.work_queues import Work, works
from sentences import say

from . import models as account_models
from .login import card_page, refuse_password_sign_in, shown_again_in, signed_in, themself
from .views import require_administrator

blueprint = Blueprint("invitations", __name__)


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
@answers(http_models.Done)
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
    page = make_response(card_page("invite.html", invited=_invited(token) or ""))
    page.headers["Referrer-Policy"] = "no-referrer"
    return page


@blueprint.post("/invite/<token>")
@public
@shown_again_in("invite.html")
@takes(account_models.AcceptedInvitation, form=True)
@answers(account_models.UserInfo, redirect=HTTPStatus.SEE_OTHER)
@fails("invitation_not_found", "conflict", "password_sign_in_off")
@works(Work.PASSWORD)
def accept_invitation(token: str, body: account_models.AcceptedInvitation) -> BaseResponse:
    """Make an account by an invitation, which is used, and log in; 404 for an invitation that is not valid."""
    refuse_password_sign_in()
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


def _invited(token: str) -> str | None:
    """Whom the invitation is for. Failures are throttled by address, as those of logging in are."""
    database = current_state().database
    subject = throttle.login_subject("invitation", request.remote_addr or "")
    seconds = throttle.seconds_to_wait(database=database, subject=subject)
    if seconds:
        raise RateLimitedError(say("too_many_attempts", seconds=seconds), retry_after=seconds)
    try:
        return invitations.invited_email(database=database, token=token)
    except InvitationNotFoundError:
        throttle.record_failure(database=database, subject=subject)
        raise
