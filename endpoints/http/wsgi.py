"""Between ASGI's request and WSGI's."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from werkzeug.routing import Rule

from .streams import StreamBody

BODY = "anaphora.body"
"""The key in WSGI's environment of a body that was read already."""

UPLOAD = "anaphora.upload"
"""The key in WSGI's environment of the path of a body that was written to a file already."""

UPLOAD_NAME = "anaphora.upload_name"
"""The key in WSGI's environment of the name that a form gives to its file."""

ROUTE = "anaphora.route"
"""The key in WSGI's environment of a request's rule and arguments, where they are known already."""

MULTIPART_TYPE = "multipart/form-data"
"""The media type of a form with a file."""

Route = tuple[Rule, Mapping[str, Any]]
Scope = MutableMapping[str, Any]
WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A WSGI application's response: whole, or a stream to tail."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | StreamBody


def answer_of(app: WsgiApp, environ: dict[str, Any]) -> Answer:
    """Call `app`; a streamed body is handed on untouched, any other is read whole."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        if exc_info is not None:
            started.clear()
        started.append((status, headers))
        return _refuse_write

    result = app(environ, start_response)
    body = result if isinstance(result, StreamBody) else _read(result)
    status, headers = started[-1]
    named = [(name.lower(), value) for name, value in headers]
    # The server writes the time of each answer itself, and a second one is no valid HTTP.
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named if name != "date"]
    return Answer(int(status.split(" ", 1)[0]), encoded, body)


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    """The WSGI environment of an ASGI request whose body was read."""
    server, client = scope.get("server") or ("localhost", 80), scope.get("client") or ("", 0)
    raw_path = scope.get("raw_path") or scope["path"].encode()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(raw_path).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REQUEST_URI": raw_path.decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1] or 80),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": io.BytesIO(body),
        BODY: body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }
    _add_headers(environ, scope["headers"])
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    return environ


def _add_headers(environ: dict[str, Any], headers: Iterable[tuple[bytes, bytes]]) -> None:
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        # In WSGI form, a header with an underscore could be mistaken for one with a hyphen.
        if "_" in name or name == "transfer-encoding":
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        separator = "; " if key == "HTTP_COOKIE" else ","
        environ[key] = f"{environ[key]}{separator}{value}" if key in environ else value


def _read(result: Iterable[bytes]) -> bytes:
    try:
        return b"".join(result)
    finally:
        close = getattr(result, "close", None)
        if close is not None:
            close()


def _refuse_write(_data: bytes) -> None:
    raise RuntimeError("write() is not offered")
