"""Plain answers: JSON, encoded once, fast."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from flask import Response


def json_reply(data: Any, *, status: HTTPStatus | int = HTTPStatus.OK) -> Response:
    """`data` as JSON."""
    return Response(orjson.dumps(data), status=int(status), mimetype="application/json")


def ok(**more: Any) -> Response:
    """Done; `more` are fields beside `"status": "ok"`."""
    return json_reply({"status": "ok", **more})
