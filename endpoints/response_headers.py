"""What every answer carries, and what is counted of it."""

from __future__ import annotations

from flask import Flask, Response, request

from .request_scope import current_state, request_id

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_DEFAULTS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def register_response_headers(app: Flask) -> None:
    """Finish every answer of `app`."""
    app.after_request(add_headers)
    app.after_request(count_request)


def add_headers(response: Response) -> Response:
    """Set what the view has not set itself."""
    for name, value in _DEFAULTS.items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-ID"] = request_id()
    return response


def count_request(response: Response) -> Response:
    """One more request of this route with this outcome."""
    route = request.url_rule.rule if request.url_rule else "unknown"
    current_state().metrics.count("requests", route=route, method=_method(), status=str(response.status_code))
    return response


def _method() -> str:
    # An invented method must not make a new series.
    return request.method if request.method in {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} else "other"
