"""Responses with JSON, encoded once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from anyascii import anyascii
from flask import Response, request
from werkzeug.wrappers import Response as BaseResponse

from sentences import said

_ITEMS_AT_ONCE = 100


def json_reply(data: Any, *, status: HTTPStatus | int = HTTPStatus.OK) -> Response:
    """`data` as JSON."""
    return Response(orjson.dumps(data), status=int(status), mimetype="application/json")


def json_page(items: Iterable[Any], *, cursor: str | None) -> Response:
    """`items` as JSON; a `Link` header with rel="next" leads to the page of `cursor`, None after the last one."""
    encoded, waiting = [], iter(items)
    # Items that are made when they are asked for use the same memory again and again, which stays in the cache.
    while few := list(islice(waiting, _ITEMS_AT_ONCE)):
        encoded.append(orjson.dumps(few)[1:-1])
    answer = Response(b"[%b]" % b",".join(encoded), mimetype="application/json")
    if cursor is not None:
        following = urlencode({**request.args.to_dict(), "cursor": cursor})
        answer.headers["Link"] = f'<{request.path}?{following}>; rel="next"'
    return answer


def warned(warnings: Sequence[str]) -> dict[str, Any]:
    """The fields of `Warned`."""
    return {"warnings": warnings, "warnings_said": [said(warning) for warning in warnings]}


def reply(result: object, *, status: HTTPStatus) -> BaseResponse:
    """The response to what a view returned: data as JSON, None as `{"status": "ok"}`, a response as it is."""
    if isinstance(result, BaseResponse):
        return result
    return json_reply({"status": "ok"} if result is None else result, status=status)


def saved_as(name: str) -> str:
    """`Content-Disposition` (RFC 6266): the name as it is for who reads RFC 5987, and one in ASCII for who doesn't."""
    plain = "".join(each for each in anyascii(name) if each.isprintable() and each not in '"\\%;/')
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
