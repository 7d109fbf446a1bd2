"""Forms of people who are not logged in yet: their pages, and what all that log in by a password have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from flask import Response, make_response, render_template, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException

from database.accounts.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD
from database.engine.errors import StoreError
from endpoints.http.error_responses import say_when_to_retry
from endpoints.http.errors import PasswordSignInOffError, RequestError, row_of
from endpoints.http.languages import translated
from endpoints.http.scope import current_state
from endpoints.http.validation import FORM_TYPES, View, answers, fails, public, takes
from endpoints.serving.work_queues import Work, works
from settings import Settings

from . import models as account_models

_FIELD_PROBLEMS = {
    "email": "That is not an e-mail address.",
    "password": f"The password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters.",
}
_SECRET_ADDRESSES = frozenset({"invite.html", "reset.html"})
"""Forms whose addresses are one-time links: no other site is told where a person comes from."""


def password_form(template: str, body: type[BaseModel], *, fails_with: Sequence[str]) -> Callable[[View], View]:
    """Make a view that of a form by which people log in with a password, or of a program that sends the same as JSON.

    Errors of a form are shown on its page, `template`. fails_with: the codes of the view's own.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def form(**arguments: Any) -> Any:
            refuse_password_sign_in()
            return view(**arguments)

        taken = fails(*fails_with, "password_sign_in_off")(works(Work.PASSWORD)(form))
        answered = answers(account_models.UserInfo, redirect=HTTPStatus.SEE_OTHER)(taken)
        return public(shown_again_in(template)(takes(body, form=True)(answered)))  # type: ignore[return-value]

    return decorate


def shown_again_in(template: str) -> Callable[[View], View]:
    """Render errors of a submitted form on the form's page; programs get them as JSON."""

    def decorate(view: View) -> View:
        @wraps(view)
        def shown(**arguments: Any) -> Any:
            try:
                return view(**arguments)
            except (RequestError, StoreError, ValidationError) as error:
                if not is_form():
                    raise
                return _form_again(template, error)

        # Requests are also refused before a view is called, for example when the queue for passwords is full.
        shown.show_form_again = lambda error: _refused_form(template, error)  # type: ignore[attr-defined]
        return shown  # type: ignore[return-value]

    return decorate


def by_password() -> bool:
    """Whether people log in with passwords here."""
    return current_state().settings.password_sign_in == "on"


def refuse_password_sign_in() -> None:
    """Raises PasswordSignInOffError where people don't log in with passwords."""
    if not by_password():
        raise PasswordSignInOffError


def safe_next(target: str) -> str:
    """`target` if it is a local address, else "": logging in must not redirect to other sites."""
    parts = urlsplit(target) if target.isprintable() else None
    if parts is None or parts.scheme or parts.netloc or not target.startswith("/"):
        return ""
    # Browsers treat a backslash as a slash, and "//host" as another host.
    return "" if target.replace("\\", "/").startswith("//") else target


def is_form() -> bool:
    """Whether the request is a submitted form, not a program's."""
    return request.mimetype in FORM_TYPES


def card_page(template: str, **values: str | bool) -> Response:
    """The page of a form before there is a session, with the ways to log in."""
    settings = current_state().settings
    ways = {"by_password": by_password(), "provider": _provider_name(settings)}
    page = make_response(render_template(template, **{"error": "", "email": "", "next": "", **ways, **values}))
    if template in _SECRET_ADDRESSES:
        page.headers["Referrer-Policy"] = "no-referrer"
    return page


def _provider_name(settings: Settings) -> str:
    """What the OpenID provider is called on the page; "" without one."""
    if settings.oidc_issuer is None:
        return ""
    return settings.oidc_name or urlsplit(settings.oidc_issuer).hostname or ""


def _refused_form(template: str, error: Exception) -> Response | None:
    try:
        return _form_again(template, error) if is_form() else None
    except HTTPException:
        return None  # the form can't be read


def _form_again(template: str, error: Exception) -> Response:
    message = str(getattr(error, "message", ""))
    if isinstance(error, ValidationError):
        fields = {str(item["loc"][0]) for item in error.errors(include_input=False) if item["loc"]}
        message = " ".join(translated(text) for field, text in _FIELD_PROBLEMS.items() if field in fields)
    status = row_of(error).status
    answer = card_page(
        template,
        error=message or "That does not work.",
        email=request.form.get("email", ""),
        next=safe_next(request.form.get("next", "")),
        gone=status == HTTPStatus.NOT_FOUND,
        invited="",
    )
    answer.status_code = status
    return say_when_to_retry(answer, error)
