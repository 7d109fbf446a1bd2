"""Headers of every response, security headers first, and what is counted and logged of it."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from flask import Flask, Request, Response

import tracing

from .assets import static_version
from .scope import current_request, current_state, error_code, request_id
from .wsgi import ROUTE, Route

log = logging.getLogger("anaphora.requests")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DEFAULT_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
    "Cache-Control": "no-store",
}
# Below, the headers weigh as much as what compressing saves.
_MIN_BYTES = 2000
_DEFAULTS = [(name.lower(), (name, value)) for name, value in DEFAULT_HEADERS.items()]
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NO_ROOM = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_WORTH_A_LOOK = (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)


def register_response_headers(app: Flask) -> None:
    """Register the entity tags, metrics and logs of every response of `app`; see also `adding_headers`."""
    app.after_request(finish_response)


def finish_response(response: Response) -> Response:
    """Log and count the request; its response with an entity tag, and compressed where that is worth it."""
    request = current_request()
    log_refusal(request, response)
    count_request(request, response)
    return compress_text(request, add_entity_tag(request, response))


def adding_headers(start_response: Callable[..., Any]) -> Callable[..., Any]:
    """WSGI's `start_response`, with the default headers that a response has not set. Used within a request."""

    def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        own = {name.lower() for name, _ in headers}
        headers += [header for name, header in _DEFAULTS if name not in own]
        headers.append(("X-Request-ID", request_id()))
        # A page that was made by another version offers to reload.
        headers.append(("X-Anaphora-Version", static_version()))
        return start_response(status, headers, *exc_info)

    return start


def traced(app: Callable[..., Any], environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    """The answer of a WSGI application within a span; of a stream, until it begins."""
    found: Route | None = environ.get(ROUTE)
    route = "unknown" if found is None else found[0].rule
    method = environ["REQUEST_METHOD"] if environ["REQUEST_METHOD"] in _METHODS else "other"
    about = {"http.request.method": method, "http.route": route}
    with tracing.request_span(f"{method} {route}", about, traceparent=environ.get("HTTP_TRACEPARENT")) as span:

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            span.set_attribute("http.response.status_code", int(status.partition(" ")[0]))
            span.set_attribute("anaphora.request_id", request_id())
            return start_response(status, headers, *exc_info)

        return app(environ, start)


def add_entity_tag(request: Request, response: Response) -> Response:
    """Give a JSON answer to a GET an ETag, and answer 304 without a body where the client has it already."""
    if request.method != "GET" or response.status_code != HTTPStatus.OK:
        return response
    if response.is_sequence and response.mimetype == "application/json":
        response.add_etag()
        response.make_conditional(request)
    return response


def compress_text(request: Request, response: Response) -> Response:
    """Compress pages and JSON answers that come whole, for clients that take gzip; the ETag is that of the content."""
    is_text = response.is_sequence and response.mimetype in {"application/json", "text/html"}
    if not is_text or "Content-Encoding" in response.headers or len(content := response.get_data()) < _MIN_BYTES:
        return response
    response.vary.add("Accept-Encoding")
    if request.accept_encodings["gzip"] > 0:
        # The quickest level: lists of a megabyte are made for each request anew.
        response.set_data(gzip.compress(content, compresslevel=1, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response


def count_request(request: Request, response: Response) -> None:
    """Count the request by route and status."""
    metrics = current_state().metrics
    metrics.count("requests", 1, **request_labels(request), status=str(response.status_code))
    if response.status_code in _NO_ROOM:
        metrics.count("refusals", code=error_code() or "refused")


def log_refusal(request: Request, response: Response) -> None:
    """Log refused requests; internal errors are logged where they are caught."""
    status = response.status_code
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        level = logging.WARNING if status in _WORTH_A_LOOK else logging.INFO
        fields = {"request_id": request_id(), **request_labels(request), "status": status}
        log.log(level, error_code() or "refused", extra=fields)


def request_labels(request: Request) -> dict[str, str]:
    """Labels of a request for metrics and logs: its route, never its address, which may contain secrets."""
    # An invented method must not create a new metric series.
    method = request.method if request.method in _METHODS else "other"
    return {"route": request.url_rule.rule if request.url_rule else "unknown", "method": method}
