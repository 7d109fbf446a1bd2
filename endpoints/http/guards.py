"""Checks before every view: host, credentials, and cross-site requests."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import quote, unquote, urlsplit

from flask import Flask, Request, redirect
from werkzeug.exceptions import HTTPException
from werkzeug.http import parse_cookie
from werkzeug.wrappers import Response

from database.accounts.api_tokens import find_token, owners_of_tokens
from database.accounts.secret_tokens import Asking
from database.accounts.sessions import find_session, owners_of_sessions
from database.engine.database import Database

from .error_responses import USER_HEADER, is_of_page, wants_page
from .errors import (
    BadTokenError,
    ForbiddenError,
    InvalidRequestError,
    OtherAccountError,
    UnauthorizedError,
    UnsupportedMediaError,
)
from .scope import (
    EXTENSION,
    Access,
    AppState,
    asked_to_open,
    current_application,
    current_request,
    current_state,
    remember_access,
    request_id,
)
from .validation import FORM_TYPES, UPLOAD_TYPE, refuse_hostile_address
from .wsgi import MULTIPART_TYPE, Route

if TYPE_CHECKING:
    from settings import Settings

View = Callable[..., Any]
SESSION_COOKIE = "anaphora_session"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ASKED_BY_ANYBODY = frozenset({"health", "static_files"})
_ASKED_UNDER_ANY_NAME = frozenset({"health", "metrics"})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def register_guards(app: Flask) -> None:
    """Register the guards for every request of `app`."""
    app.before_request(check_request)
    app.teardown_request(_end_request)


def check_request() -> Response | None:
    """All guards, in their order; a response that takes the place of the view's, if there is one."""
    request, state = current_request(), current_state()
    view = current_application().view_functions.get(request.endpoint or "")
    refuse_foreign_host(request, state.settings)
    refuse_hostile_address(request)
    answer = find_out_who_asks(request, state, view)
    if answer is None:
        refuse_forged_requests(request, view)
    return answer


def refuse_foreign_host(request: Request, settings: Settings) -> None:
    """Refuse unknown host names: a web page may have rebound its name to this server's address (DNS rebinding).

    On a loopback address, or if ANAPHORA_ALLOWED_HOSTS is set, only loopback names and the allowed names pass.
    Health probes of container platforms use the server's address, and are exempt.
    """
    if request.blueprint in _ASKED_UNDER_ANY_NAME or not (_is_loopback(settings.host) or settings.allowed_hosts):
        return
    name = _host_name(request.host)
    if name in _LOOPBACK_NAMES or name in settings.allowed_hosts:
        return
    raise InvalidRequestError("This server does not answer for this host name. ANAPHORA_ALLOWED_HOSTS may list it.")


def shows_credentials(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether ASGI's headers contain credentials, valid or not."""
    cookie = f"{SESSION_COOKIE}=".encode()
    return any(name == b"authorization" or (name == b"cookie" and cookie in value) for name, value in headers)


class Views:
    """The views of an application by address."""

    def __init__(self, app: Flask) -> None:
        self._views = app.view_functions
        self._addresses = app.url_map.bind("")

    def at(self, *, path: str, method: str) -> Callable[..., Any] | None:
        """The view for `path`, which is not called; None: there is none."""
        route = self.route(path=path, method=method)
        return None if route is None else self.of(route)

    def of(self, route: Route) -> Callable[..., Any]:
        """The view that a route leads to."""
        return self._views[route[0].endpoint]

    def route(self, *, path: str, method: str) -> Route | None:
        """The rule that `path` follows, and the arguments in it; None: there is none."""
        try:
            return self._addresses.match(path, method, return_rule=True)
        except HTTPException:
            return None


def is_public(view: View | None) -> bool:
    """Whether `view` is public."""
    return _has(view, "is_public")


def who_asks(database: Database, headers: Iterable[tuple[bytes, bytes]]) -> Access | None:
    """The caller by the credentials in ASGI's headers; None for missing or invalid credentials.

    Raises StoreError.
    """
    authorization: str | None = None
    cookies = list[str]()
    for name, value in headers:
        if name == b"authorization":
            authorization = value.decode("latin-1")
        elif name == b"cookie":
            cookies.append(value.decode("latin-1"))
    session = parse_cookie("; ".join(cookies)).get(SESSION_COOKIE, "")
    return _access(database, authorization=authorization, session=session)


def is_still_valid(database: Database, access: Access) -> bool:
    """Whether the session or token of `access` is still valid for the same user. Raises StoreError."""
    if access.by == "session":
        found = _access(database, authorization=None, session=access.credential)
    else:
        found = _access(database, authorization=f"Bearer {access.credential}", session="")
    return found is not None and found.user_email == access.user_email


def still_valid(database: Database, accesses: Collection[Access]) -> set[Access]:
    """Those whose session or token is still valid, by one statement for each kind. Raises StoreError."""
    owners: dict[tuple[str, str], str] = {}
    for by, owners_of in (("session", owners_of_sessions), ("token", owners_of_tokens)):
        secrets = {access.credential for access in accesses if access.by == by}
        if secrets:
            found = owners_of(database=database, tokens=secrets)
            owners |= {(by, secret): owner for secret, owner in found.items()}
    return {access for access in accesses if owners.get((access.by, access.credential)) == access.user_email}


def find_out_who_asks(request: Request, state: AppState, view: View | None) -> Response | None:
    """Accept a bearer token or a session's cookie; redirect browsers without either to the login page."""
    if request.blueprint in _ASKED_BY_ANYBODY and is_public(view):
        return None  # nor does it take a store that can be read
    this, environ = request_id(), request.environ
    state.requests.begin(this)
    session = parse_cookie(environ.get("HTTP_COOKIE")).get(SESSION_COOKIE, "")
    beside = asked_to_open(request.view_args["conversation_id"]) if _has(view, "opens_conversation") else None  # type: ignore[index]
    authorization = environ.get("HTTP_AUTHORIZATION")
    access = _access(state.database, authorization=authorization, session=session, beside=beside)
    state.requests.belongs_to(this, None if access is None else access.user_email)
    remember_access(access)
    if access is None and request.endpoint is not None and not is_public(view):
        if wants_page():
            return redirect(f"/login?next={quote(request.full_path.rstrip('?'), safe='/')}")
        # A browser may send what a proxy asks for (`Basic …`) with every request of a page.
        raise UnauthorizedError if authorization is None or session or is_of_page() else BadTokenError
    if access is not None:
        _refuse_other_account(request, access, view)
        _refuse_change_by_reader(request, access, view)
    return None


def _refuse_change_by_reader(request: Request, access: Access, view: View | None) -> None:
    if not access.read_only or request.method in _SAFE_METHODS:
        return
    if not _has(view, "admits_read_only_tokens"):
        raise ForbiddenError("This token may only read.")


def _refuse_other_account(request: Request, access: Access, view: View | None) -> None:
    """Compare the account that the page was made for, percent-encoded in a header, with the caller's.

    All tabs of a browser share a cookie, so a page may be of another account than its requests.
    """
    expected = request.headers.get(USER_HEADER)
    if expected is not None and unquote(expected) != access.user_email and not is_public(view):
        raise OtherAccountError


def _end_request(_error: BaseException | None) -> None:
    state: AppState | None = current_application().extensions.get(EXTENSION)
    if state is not None:
        state.requests.end(request_id())


def refuse_forged_requests(request: Request, view: View | None) -> None:
    """Refuse cross-site requests: unsafe requests with a cookie must come from our pages, forms may not send JSON."""
    if request.method in _SAFE_METHODS or request.endpoint is None:
        return
    _refuse_foreign_body(request, view)
    if _is_bearer(request.environ.get("HTTP_AUTHORIZATION")):
        return
    own = comes_from_our_pages(request)
    # Browsers always send the origin of an unsafe request, and a preflight before cross-site JSON. A request without
    # an origin is a program that has the cookie; only a form could still come from a very old browser.
    if own is False or (own is None and request.mimetype in FORM_TYPES and SESSION_COOKIE in request.cookies):
        raise ForbiddenError("This request does not come from our own pages.")


def comes_from_our_pages(request: Request) -> bool | None:
    """Whether the browser says that the request comes from our own page; None if it says nothing."""
    site = request.environ.get("HTTP_SEC_FETCH_SITE")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.environ.get("HTTP_ORIGIN")
    if origin is not None:
        return bool(urlsplit(origin).netloc.lower() == request.host.lower())
    return None


def _refuse_foreign_body(request: Request, view: View | None) -> None:
    length, is_chunked = request.environ.get("CONTENT_LENGTH"), "HTTP_TRANSFER_ENCODING" in request.environ
    has_body = length not in {None, "", "0"} or is_chunked
    if not has_body:
        return
    allowed: tuple[str, ...] = ("application/json", *FORM_TYPES) if _has(view, "takes_form") else ("application/json",)
    if _has(view, "takes_upload"):
        allowed = (UPLOAD_TYPE, MULTIPART_TYPE) if _has(view, "takes_form_upload") else (UPLOAD_TYPE,)
    if request.mimetype not in allowed:
        raise UnsupportedMediaError(f"Send the body as {' or '.join(allowed)}.")


def _access(
    database: Database, *, authorization: str | None, session: str, beside: Asking | None = None
) -> Access | None:
    """Authenticate by the bearer token in `authorization`, or without one by the session's cookie.

    Other schemes are not ours: a proxy before the server may have asked the browser for a password (`Basic`), which the
    browser then sends with every request. beside: asks for something else together with the owner of the credentials.
    """
    if _is_bearer(authorization):
        return _access_by_token(database, authorization, beside=beside)
    user_email = find_session(database=database, token=session, beside=beside) if session else None
    return None if user_email is None else Access(user_email=user_email, by="session", credential=session)


def _access_by_token(database: Database, authorization: str, *, beside: Asking | None) -> Access | None:
    secret = authorization.partition(" ")[2]
    if not secret.strip():
        return None
    found = find_token(database=database, token=secret.strip(), beside=beside)
    if found is None:
        return None
    return Access(
        user_email=found.user_email,
        by="token",
        credential=secret.strip(),
        read_only=found.read_only,
        token_name=found.name,
    )


def _is_bearer(authorization: str | None) -> TypeGuard[str]:
    """Whether it is the scheme of API tokens, which no browser sends by itself."""
    return authorization is not None and authorization.partition(" ")[0].lower() == "bearer"


def _has(view: View | None, mark: str) -> bool:
    return bool(getattr(view, mark, False))


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


@cache
def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
