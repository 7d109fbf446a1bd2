"""Logging in by an OpenID provider: the way there, the way back, and connecting an account that exists.

What has to be remembered in between is in cookies that the server signs, so that any process answers.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, make_response, redirect, render_template, request
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.wrappers import Response as BaseResponse

from database.accounts import identities, throttle, users
from database.accounts.identities import Identity
from database.accounts.users import ADMINISTRATOR, MEMBER, Role
from database.engine.errors import LastAdministratorError, UserExistsError, UserNotFoundError
from endpoints.http.errors import (
    AccountConnectedError,
    AccountDisabledError,
    EmailNotVerifiedError,
    GroupNotAllowedError,
    NotInvitedError,
    RateLimitedError,
    SignInExpiredError,
    SignInRefusedError,
    UnauthorizedError,
)
from endpoints.http.scope import current_settings, current_state
from endpoints.http.validation import answers, asks, fails, public, takes
from endpoints.serving.work_queues import Work, works
from sentences import say
from settings import Settings

from . import models as account_models
from .forms import safe_next, shown_again_in
from .login import WRONG, begin_session, signed_in, themself, verified, way_on

if TYPE_CHECKING:
    from .openid import OpenIDProvider

log = logging.getLogger("anaphora.sign_in")

blueprint = Blueprint("openid", __name__)
ATTEMPT_COOKIE = "anaphora_oidc"
LINK_COOKIE = "anaphora_oidc_link"
_PATH = "/oidc"
_SECONDS = 600
_LONGEST_NAME = 200


@blueprint.get("/oidc/start")
@public
@asks(account_models.SignInStart)
@answers(None, media="text/html", redirect=HTTPStatus.SEE_OTHER)
@fails("provider_unavailable", "not_found")
@works(Work.PROVIDER)
def start(query: account_models.SignInStart) -> BaseResponse:
    """Send the browser to the OpenID provider, to log in there. 404 where the server has none."""
    from .openid import Attempt

    provider = _provider()
    _refuse_too_many()
    attempt = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "code_verifier")}
    answer = redirect(
        provider.authorization_url(Attempt(**attempt), redirect_uri=_redirect_uri()), code=HTTPStatus.SEE_OTHER
    )
    _keep(answer, ATTEMPT_COOKIE, {**attempt, "next": safe_next(query.next), "invitation": query.invitation})
    return answer


@blueprint.get("/oidc/callback")
@public
@asks(account_models.ProviderAnswer)
@answers(None, media="text/html", redirect=HTTPStatus.SEE_OTHER)
@fails(
    "provider_unavailable",
    "sign_in_expired",
    "sign_in_refused",
    "email_not_verified",
    "group_not_allowed",
    "not_invited",
    "account_disabled",
    "account_connected",
    "invitation_not_found",
    "not_found",
)
@works(Work.PROVIDER)
def callback(query: account_models.ProviderAnswer) -> BaseResponse:
    """Where the provider sends the browser back: log in to the account of the person, or make it.

    An account that has the same e-mail address and is not connected is connected at `/oidc/link`, by its password.
    """
    provider = _provider()
    _refuse_too_many()
    try:
        kept = _kept(ATTEMPT_COOKIE)
        claims = _claims(provider, query, kept)
    except (SignInExpiredError, SignInRefusedError):
        throttle.record_failures(database=current_state().database, limits=_limits())
        raise
    answer = _admitted(claims, next_page=str(kept["next"]), invitation=str(kept.get("invitation", "")))
    _forget(answer, ATTEMPT_COOKIE)
    return answer


@blueprint.get("/oidc/link")
@public
@answers(None, media="text/html")
@fails("sign_in_expired", "not_found")
def link_page() -> BaseResponse:
    """The page that asks for an account's password, to connect it with the provider's login."""
    _provider()
    return make_response(render_template("link.html", error="", email=_kept(LINK_COOKIE)["email"]))


@blueprint.post("/oidc/link")
@public
@shown_again_in("link.html")
@takes(account_models.LinkConfirmation, form=True)
@answers(account_models.UserInfo, redirect=HTTPStatus.SEE_OTHER)
@fails("unauthorized", "conflict", "sign_in_expired", "not_found")
@works(Work.PASSWORD)
def link(body: account_models.LinkConfirmation) -> BaseResponse:
    """Connect the account that has the person's e-mail address, confirmed by its password, and log in."""
    _provider()
    kept = _kept(LINK_COOKIE)
    user = verified(account_models.Credentials(email=str(kept["email"]), password=body.password))
    database = current_state().database
    identity = Identity(issuer=str(kept["issuer"]), subject=str(kept["subject"]))
    try:
        identities.link(database=database, identity=identity, proved=user, by=themself(user.user_email))
    except UserNotFoundError:  # its password was reset meanwhile
        raise UnauthorizedError(WRONG) from None
    user = _with_role(user, kept["role"])
    answer = signed_in(user, next_page=str(kept["next"]))
    _forget(answer, LINK_COOKIE)
    return answer


@blueprint.get("/oidc/log_out")
@public
@answers(None, media="text/html", redirect=HTTPStatus.SEE_OTHER)
@fails("provider_unavailable", "not_found")
@works(Work.PROVIDER)
def log_out() -> BaseResponse:
    """Send the browser to where the OpenID provider ends its own session; to `/login` where it has no such page."""
    return redirect(_provider().log_out_url() or "/login", code=HTTPStatus.SEE_OTHER)


def _provider() -> OpenIDProvider:
    """The provider of this server; 404 where it has none."""
    settings = current_settings()
    if settings.oidc_issuer is None:
        abort(HTTPStatus.NOT_FOUND)
    from .openid import provider_of

    return provider_of(settings)


def _redirect_uri() -> str:
    return f"{request.host_url}oidc/callback"


def _claims(
    provider: OpenIDProvider, query: account_models.ProviderAnswer, kept: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What the provider says about the person who comes back. Raises SignInExpiredError, SignInRefusedError."""
    from .openid import Attempt, refused

    attempt = Attempt(**{name: str(kept[name]) for name in ("state", "nonce", "code_verifier")})
    if not hmac.compare_digest(query.state.encode(), attempt.state.encode()):
        raise SignInExpiredError
    if query.error or not query.code:
        raise refused(f"the provider says {query.error[:100]!r}")
    return provider.redeem(query.code, attempt, redirect_uri=_redirect_uri(), issuer=query.iss)


def _admitted(claims: Mapping[str, Any], *, next_page: str, invitation: str) -> BaseResponse:
    """Log in to the person's account, which is made where they may have one; or ask for the password of another.

    invitation: the token of one that leads here, or "".

    Raises GroupNotAllowedError, NotInvitedError, InvitationNotFoundError, AccountDisabledError, AccountConnectedError.
    """
    settings, database = current_settings(), current_state().database
    email, identity = _verified_email(claims), Identity(issuer=str(claims["iss"]), subject=str(claims["sub"]))
    groups = groups_of(claims, settings.oidc_groups_claim)
    _refuse_other_groups(settings, groups)
    role = _role(settings, groups)
    user = identities.find_account(database=database, identity=identity)
    has_password = None if user else users.has_password(database=database, user_email=email)
    if has_password is False:
        raise AccountConnectedError
    if has_password:
        return _asked_for_password(identity, email, role, next_page)
    if user is None:
        user = _new_account(settings, claims, identity, email, role, invitation)
    if user.disabled_at is not None:
        raise AccountDisabledError
    user = _with_role(user, role)
    return begin_session(user, redirect(way_on(user, next_page), code=HTTPStatus.SEE_OTHER), by_password=False)


def _verified_email(claims: Mapping[str, Any]) -> str:
    """The person's e-mail address. Raises EmailNotVerifiedError unless the provider says that it is theirs."""
    email = claims.get("email")
    # Some providers send claims as texts.
    is_verified = claims.get("email_verified") is True or claims.get("email_verified") == "true"
    if not isinstance(email, str) or not is_verified:
        raise EmailNotVerifiedError
    return users.account_key(email)


def groups_of(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """The groups that the claim `name` lists; dots in it lead into objects."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    listed = [found] if isinstance(found, str) else found
    return frozenset(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else frozenset()


def _refuse_other_groups(settings: Settings, groups: frozenset[str]) -> None:
    allowed = settings.oidc_allowed_groups
    if allowed and groups.isdisjoint({*allowed, *settings.oidc_admin_groups}):
        raise GroupNotAllowedError


def _role(settings: Settings, groups: frozenset[str]) -> Role | None:
    """The role that the person's groups give them; None where groups decide on no roles."""
    if not settings.oidc_admin_groups:
        return None
    return MEMBER if groups.isdisjoint(settings.oidc_admin_groups) else ADMINISTRATOR


def _new_account(
    settings: Settings, claims: Mapping[str, Any], identity: Identity, email: str, role: Role | None, invitation: str
) -> users.UserRow:
    domains = settings.oidc_allowed_domains
    by_domain = "*" in domains or email.rpartition("@")[2] in domains
    if not invitation and not (by_domain if domains else settings.oidc_allowed_groups):
        raise NotInvitedError
    name = claims.get("name")
    try:
        return identities.create_account(
            database=current_state().database,
            identity=identity,
            user_email=email,
            name=name[:_LONGEST_NAME] if isinstance(name, str) else "",
            by=themself(email),
            role=role,
            invitation=invitation or None,
        )
    except UserExistsError as error:  # made at the same moment
        raise SignInExpiredError from error


def _with_role(user: users.UserRow, role: Role | None) -> users.UserRow:
    """The account with the role that its groups give it; the only administrator stays one."""
    if role is None:
        return user
    database = current_state().database
    # Nobody else does it: the person logs in, and the groups decide.
    by = themself(user.user_email)
    try:
        users.set_role(database=database, user_email=user.user_email, role=role, by=by, details={"because": "groups"})
    except LastAdministratorError:
        log.warning("The only administrator is in none of ANAPHORA_OIDC_ADMIN_GROUPS, and stays administrator")
    return replace(users.get_user(database=database, user_email=user.user_email), password_hash=user.password_hash)


def _asked_for_password(identity: Identity, email: str, role: Role | None, next_page: str) -> BaseResponse:
    """The way to the page that asks for the password of the account that has the person's e-mail address."""
    answer = redirect("/oidc/link", code=HTTPStatus.SEE_OTHER)
    link = {"issuer": identity.issuer, "subject": identity.subject, "email": email, "role": role, "next": next_page}
    _keep(answer, LINK_COOKIE, link)
    return answer


def _limits() -> tuple[throttle.Limit, ...]:
    return throttle.provider_limits(request.remote_addr or "")


def _refuse_too_many() -> None:
    """Answers that are not valid are throttled by address. Raises RateLimitedError."""
    seconds = throttle.longest_wait(database=current_state().database, limits=_limits())
    if seconds:
        raise RateLimitedError(say("too_many_attempts", seconds=seconds), retry_after=seconds)


def _seal(cookie: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(current_settings().secret_key, salt=cookie)


def _keep(answer: BaseResponse, cookie: str, values: Mapping[str, object]) -> None:
    text = _seal(cookie).dumps(dict(values))
    answer.set_cookie(
        cookie, str(text), max_age=_SECONDS, path=_PATH, httponly=True, samesite="Lax", secure=request.is_secure
    )


def _kept(cookie: str) -> Mapping[str, Any]:
    """The values of a cookie of ours. Raises SignInExpiredError for one that is missing, forged or too old."""
    try:
        values: Mapping[str, Any] = _seal(cookie).loads(request.cookies.get(cookie, ""), max_age=_SECONDS)
    except BadData as error:
        raise SignInExpiredError from error
    return values


def _forget(answer: BaseResponse, cookie: str) -> None:
    answer.delete_cookie(cookie, path=_PATH, httponly=True, samesite="Lax", secure=request.is_secure)
