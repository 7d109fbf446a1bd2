"""JSON responses, the headers that every response carries, and what is counted and logged of it."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

import orjson
from flask import Flask, Response, request

from .scope import current_state, error_code, request_id


def json_reply(data: Any, *, status: HTTPStatus | int = HTTPStatus.OK) -> Response:
    """`data` as JSON."""
    return Response(orjson.dumps(data), status=int(status), mimetype="application/json")


def ok(**more: Any) -> Response:
    """Done; `more` are fields beside `"status": "ok"`."""
    return json_reply({"status": "ok", **more})


log = logging.getLogger("anaphora.requests")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DEFAULT_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_WORTH_A_LOOK = (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)


def register_response_headers(app: Flask) -> None:
    """Finish every answer of `app`."""
    app.after_request(add_headers)
    app.after_request(count_request)
    app.after_request(log_refusal)


def add_headers(response: Response) -> Response:
    """Set what the view has not set itself."""
    own = set(response.headers.keys(lower=True))
    for name, value in DEFAULT_HEADERS.items():
        if name.lower() not in own:
            response.headers.add(name, value)
    response.headers["X-Request-ID"] = request_id()
    return response


def count_request(response: Response) -> Response:
    """One more request of this route with this outcome."""
    current_state().metrics.count("requests", **request_labels(), status=str(response.status_code))
    return response


def log_refusal(response: Response) -> Response:
    """One line for what was asked in a wrong way; what went wrong in here is logged where it is caught."""
    status = response.status_code
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        level = logging.WARNING if status in _WORTH_A_LOOK else logging.INFO
        fields = {"request_id": request_id(), **request_labels(), "status": status}
        log.log(level, error_code() or "refused", extra=fields)
    return response


def request_labels() -> dict[str, str]:
    """What may be told of this request: its route, never its address, which can be a secret or a person's."""
    return {"route": request.url_rule.rule if request.url_rule else "unknown", "method": _method()}


def _method() -> str:
    # An invented method must not make a new series.
    return request.method if request.method in {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} else "other"
