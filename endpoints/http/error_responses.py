"""Responses to errors, in one shape: `{"status": "error", "code", "message", "request_id", "details"?}`."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, render_template, request
from pydantic import ValidationError
from werkzeug.exceptions import HTTPException

from sentences import said, say

from .errors import ERROR_TABLE, code_of, row_of
from .headers import adding_headers, request_labels
from .languages import translated_or
from .responses import json_reply
from .scope import current_request, remember_error_code, request_id
from .wsgi import WsgiApp

log = logging.getLogger("anaphora.requests")

Details = Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""The invalid fields, or other data of an error for the client."""

USER_HEADER = "X-Anaphora-User"
_SHOWN_TO_PEOPLE = frozenset({"auth", "one_time_links", "openid", "pages", "shared_chats"})
_OBJECTS = frozenset({"dict_type", "mapping_type", "model_attributes_type", "model_type"})
_LENGTHS = {"too_short": ("least", "min_length"), "too_long": ("most", "max_length")}
_EMPTY = frozenset({"string_too_short", "too_short"})
_ONE_NEEDED = ("at least 1 character", "at least 1 item", "at least 1 item after validation, not 0")
_MOST_REASONS = 3
_LONGEST_REASONS = 600
_RETRY_SECONDS = {"storage_busy": 1, "knowledge_unavailable": 5, "shutting_down": 5}


def register_error_handlers(app: Flask) -> None:
    """Respond to every error of `app` by the table; errors outside of it are internal and reveal nothing."""
    for row in ERROR_TABLE:
        app.register_error_handler(row.error, _answer_known)
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(Exception, _answer_unknown)


def is_of_page() -> bool:
    """Whether a page of ours sent the request: it names the account that it was made for."""
    return USER_HEADER in request.headers


def wants_page() -> bool:
    """Whether the client is a browser that wants a page, not a program that wants JSON."""
    if request.method not in ("GET", "HEAD") or (request.endpoint and request.blueprint not in _SHOWN_TO_PEOPLE):
        return False
    accepted = request.accept_mimetypes
    return accepted["text/html"] > accepted["application/json"]


def refusing(app: Flask, error: Exception) -> WsgiApp:
    """A WSGI application that responds as `app` does when `error` is raised, without calling a view.

    A view's `show_form_again` renders the error on the page of a submitted form; it returns None for programs.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with app.request_context(environ):
            view = app.view_functions.get(request.endpoint or "")
            page = getattr(view, "show_form_again", _no_page)(error)
            response = app.process_response(app.make_response(page or app.handle_user_exception(error)))
            return response(environ, adding_headers(start_response))

    return answer


def _no_page(_error: Exception) -> None:
    return None


def say_when_to_retry(answer: Response, error: Exception) -> Response:
    """The response with a `Retry-After` header where it is known when a request that failed so may be retried."""
    seconds = getattr(error, "retry_after", None) or _RETRY_SECONDS.get(row_of(error).code)
    if seconds:
        answer.headers["Retry-After"] = str(math.ceil(seconds))
    return answer


def _answer_known(error: Exception) -> Response:
    row, code = row_of(error), code_of(error) or ""
    if row.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s: %s", code, error, extra={"request_id": request_id(), **request_labels(current_request())})
    answer = error_reply(row.status, code, _message(error), details=_details(error), reasons=_reasons(error))
    if row.status == HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return say_when_to_retry(answer, error)


def _answer_http(error: HTTPException) -> Response:
    if error.response is not None or error.code is None:
        return _answer_unknown(error)
    status = HTTPStatus(error.code)
    code = {413: "too_large", 415: "unsupported_media_type", 500: "internal_error"}.get(
        status, status.phrase.lower().replace(" ", "_")
    )
    answer = error_reply(status, code, _SENTENCES.get(status, f"{status.phrase}."))
    # 405 must list the allowed methods; werkzeug's other headers are not needed.
    for name, value in error.get_headers(request.environ):
        if name in ("Allow", "Retry-After"):
            answer.headers[name] = value
    return answer


_NOTHING_HERE = "There is nothing at this address."
_SENTENCES = {
    404: _NOTHING_HERE,
    405: "This address does not take that method.",
    413: say("request_too_large"),
}


def _answer_unknown(error: Exception) -> Response:
    log.error("internal_error", exc_info=error, extra={"request_id": request_id(), **request_labels(current_request())})
    return error_reply(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal_error",
        "Something went wrong in the server. Its log tells more under this request's id.",
    )


def error_reply(
    status: HTTPStatus, code: str, message: str, *, details: Details | None = None, reasons: str = ""
) -> Response:
    """An error as JSON, or as a page for browsers. reasons: behind the message, for programs; our pages do without."""
    remember_error_code(code)
    if wants_page():
        if status == HTTPStatus.NOT_FOUND:
            message = translated_or(message, _NOTHING_HERE)
        page = render_template("error.html", status=int(status), code=code, message=message, request_id=request_id())
        return Response(page, status=status, mimetype="text/html")
    told = f"{message} {reasons}" if reasons and not is_of_page() else message
    body: dict[str, Any] = {"status": "error", "code": code, "message": told, "request_id": request_id()}
    if details is not None:
        body["details"] = details
    if sayings := said(message):
        body["said"] = sayings
    return json_reply(body, status=status)


def field_errors(error: ValidationError) -> list[dict[str, Any]]:
    """Which fields are wrong and why: `loc`, `msg` and `type` of each, in words for whoever calls the API.

    Without the input: a response must not echo what was sent, such as a password.
    """
    items = error.errors(include_url=False, include_input=False)
    return [{"loc": list(item["loc"]), "msg": _reason(item), "type": item["type"]} for item in items]


def _reason(item: Mapping[str, Any]) -> str:
    if item["type"] in _OBJECTS:
        return "has to be a JSON object" if item["loc"] else "the body has to be a JSON object"
    told = str(item["msg"])
    if item["type"] in _EMPTY and told.endswith(_ONE_NEEDED):
        return "must not be empty"
    if item["type"] in _LENGTHS and told.startswith("Value "):  # a text whose length is counted after our own checks
        least_or_most, bound = _LENGTHS[item["type"]]
        number = item["ctx"][bound]
        return f"String should have at {least_or_most} {number} character{'' if number == 1 else 's'}"
    return told.removeprefix("Value error, ")


def _message(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fields = sorted({_name_of(item) for item in error.errors(include_url=False)} - {""})
        return say("fields_not_valid", fields=", ".join(fields)) if fields else say("request_not_valid")
    message = getattr(error, "message", "")
    return message if isinstance(message, str) and message else "The request can't be served."


def _reasons(error: Exception) -> str:
    """What is wrong with the first invalid fields, in one sentence; "" for an error of another kind."""
    if not isinstance(error, ValidationError):
        return ""
    told = [
        f"{name}: {item['msg']}" if (name := _name_of(item)) else f"{item['msg'][:1].upper()}{item['msg'][1:]}"
        for item in field_errors(error)[:_MOST_REASONS]
    ]
    return "; ".join(told)[:_LONGEST_REASONS].rstrip(".") + "."


def _name_of(item: Mapping[str, Any]) -> str:
    return ".".join(str(part) for part in item["loc"])


def _details(error: Exception) -> Details | None:
    return field_errors(error) if isinstance(error, ValidationError) else getattr(error, "details", None) or None
