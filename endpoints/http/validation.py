"""Validation of requests before a view is called, and declarations for the API's description."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from flask import Request, request
from pydantic import BaseModel
from werkzeug.routing import IntegerConverter, ValidationError
from werkzeug.wrappers import Response as BaseResponse

from sentences import say
from settings import Settings

from .errors import InvalidRequestError, TooLargeError, UnsupportedMediaError
from .models import LARGEST_NUMBER
from .responses import reply
from .scope import AppState, current_request
from .wsgi import BODY

View = TypeVar("View", bound=Callable[..., Any])
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_MAX_PART = 2_000
_LONGEST_LIST = 200
_MOST_CONTAINERS = 1_000_000
"""The most objects and arrays of one body: each takes at least 64 bytes of memory."""
_COUNTED_AT_ONCE = 1024 * 1024
_WHOLE_BYTES = 256 * 1024
"""Longer bodies are parsed in steps."""
_STEPPED_LEVELS = 4
"""The depth of an import's rows: in a list, in `data`, in `payload`, in the body."""
_SPACE = re.compile(r"[ \t\n\r]*")


def takes(model: type[BaseModel], *, form: bool = False, optional: bool = False) -> Callable[[View], View]:
    """Pass the validated JSON body to the view as `body`; `form`: or an HTML form; `optional`: or no body."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(**arguments: Any) -> Any:
            return view(body=_body(model, form=form, optional=optional), **arguments)

        checked.body_model = model  # type: ignore[attr-defined]
        checked.takes_form = form  # type: ignore[attr-defined]
        checked.body_optional = optional  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


def asks(model: type[BaseModel]) -> Callable[[View], View]:
    """Pass the validated query parameters to the view as `query`."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(**arguments: Any) -> Any:
            given = query_parameters(request.query_string)
            _refuse_unknown(model, given)
            return view(query=model.model_validate(given), **arguments)

        checked.query_model = model  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


def query_parameters(query: bytes) -> dict[str, str]:
    """The parameters in a request's query. Raises InvalidRequestError for one that is given more than once.

    The choice of the threads for a request reads them by this function as well: both see the same.
    """
    if not query:
        return {}
    # As werkzeug reads them: what is no UTF-8 stays percent-encoded.
    pairs = parse_qsl(query.decode(errors="replace"), keep_blank_values=True, errors="werkzeug.url_quote")
    given = dict(pairs)
    if len(given) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        doubled = [name for name, count in counts.items() if count > 1]
        message = say("query_doubled", names=", ".join(doubled)[:_LONGEST_LIST])
        raise InvalidRequestError(
            message, details=[{"loc": [name], "msg": "given more than once", "type": "doubled"} for name in doubled]
        )
    return given


def _refuse_unknown(model: type[BaseModel], given: Mapping[str, str]) -> None:
    """Raise InvalidRequestError for query parameters that a model that forbids others does not have."""
    known = [field.alias or name for name, field in model.model_fields.items()]
    unknown = [name for name in given if name not in known]
    if not unknown or model.model_config.get("extra") != "forbid":
        return
    message = say("query_unknown", names=", ".join(unknown)[:_LONGEST_LIST], known=", ".join(known))
    told = {"msg": f"unknown; known: {', '.join(known)}", "type": "extra_forbidden"}
    raise InvalidRequestError(message, details=[{"loc": [name], **told} for name in unknown])


def takes_files(view: View) -> View:
    """Mark a view that reads an HTML form with files (`request.files`)."""
    view.takes_form = True  # type: ignore[attr-defined]
    view.takes_files = True  # type: ignore[attr-defined]
    return view


UPLOAD_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class UploadQuota:
    """How much a person may upload. room: bytes that are left of it. error: what is raised where more comes."""

    room: Callable[[AppState, str], int]
    error: Callable[[AppState], Exception]


def takes_upload(
    most: Callable[[Settings], int], *, quota: UploadQuota | None = None, form: bool = False
) -> Callable[[View], View]:
    """Mark a view whose body is a file of any type, of at most `most(settings)` bytes; see `wsgi.UPLOAD`.

    quota: bounds what one person may have uploaded; it is asked before the body is read. form: the file may also come
    in a form, as browsers and programs send them.
    """

    def decorate(view: View) -> View:
        view.takes_upload = most  # type: ignore[attr-defined]
        view.upload_quota = quota  # type: ignore[attr-defined]
        view.takes_form_upload = form  # type: ignore[attr-defined]
        return view

    return decorate


def answers(
    shape: Any,
    *,
    media: str | Sequence[str] = "application/json",
    status: HTTPStatus = HTTPStatus.OK,
    redirect: HTTPStatus | None = None,
    unable: Any = None,
    without_body: HTTPStatus | None = None,
    own_errors: Any = None,
) -> Callable[[Callable[..., object]], Callable[..., BaseResponse]]:
    """Turn what the view returns into a response with `status`, and declare it for the API's description.

    A view returns data for JSON, None for `{"status": "ok"}`, or a finished response; of another media type, whatever
    Flask takes.

    shape: of the JSON; None for other media. redirect: the status of a possible redirect. unable: the shape of a 503
    that is not a usual error. without_body: the status of a possible response without a body. own_errors: the shape of
    errors of another protocol, beside the usual ones.
    """

    def decorate(view: Callable[..., object]) -> Callable[..., BaseResponse]:
        @wraps(view)
        def answered(**arguments: Any) -> Any:
            result = view(**arguments)
            return result if shape is None else reply(result, status=status)

        answered.answer_shape = shape  # type: ignore[attr-defined]
        answered.answer_media = (media,) if isinstance(media, str) else tuple(media)  # type: ignore[attr-defined]
        answered.answer_status = status  # type: ignore[attr-defined]
        answered.answer_redirect = redirect  # type: ignore[attr-defined]
        answered.answer_unable = unable  # type: ignore[attr-defined]
        answered.answer_without_body = without_body  # type: ignore[attr-defined]
        answered.own_errors = own_errors  # type: ignore[attr-defined]
        return answered

    return decorate


def fails(*codes: str) -> Callable[[View], View]:
    """Declare the error codes specific to this view, for the API's description.

    Codes that follow from its address, its body and its authentication need not be named (see `openapi`).
    """

    def decorate(view: View) -> View:
        view.error_codes = codes  # type: ignore[attr-defined]
        return view

    return decorate


def public(view: View) -> View:
    """Mark a view that needs no authentication."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def opens_conversation(view: View) -> View:
    """Mark a view that opens the conversation of its address: the store is asked for it and for the caller at once."""
    view.opens_conversation = True  # type: ignore[attr-defined]
    return view


def admits_read_only_tokens(view: View) -> View:
    """Mark a view that itself holds read-only tokens to reading, whatever its method."""
    view.admits_read_only_tokens = True  # type: ignore[attr-defined]
    return view


class BoundedInteger(IntegerConverter):
    """An integer in an address; one that is too large to be stored matches no route."""

    def to_python(self, value: str) -> int:
        """The number that `value` is."""
        number: int = super().to_python(value)
        if number > LARGEST_NUMBER:
            raise ValidationError
        return number


def refuse_hostile_address(this: Request) -> None:
    """Refuse addresses with NUL characters or very long parts, and queries that are no UTF-8."""
    parts: list[object] = list((this.view_args or {}).values())
    if this.query_string:
        try:
            parts += chain.from_iterable(this.args.items(multi=True))
        except UnicodeDecodeError:
            raise InvalidRequestError("The query of the address is no UTF-8.") from None
    for part in map(str, parts):
        if "\x00" in part:
            raise InvalidRequestError("The address contains a NUL character.")
        if len(part) > _MAX_PART:
            raise InvalidRequestError(f"A part of the address is longer than {_MAX_PART:,} characters.")


def _body(model: type[BaseModel], *, form: bool, optional: bool) -> BaseModel:
    request = current_request()
    if form and request.mimetype in FORM_TYPES:
        return model.model_validate(request.form.to_dict())
    raw: bytes | None = request.environ.get(BODY)
    if raw is None:
        raw = request.get_data(cache=False)
    if not raw and optional:
        return model()
    if raw and request.mimetype != "application/json":
        raise UnsupportedMediaError("Send the body as application/json.")
    return model.model_validate(_decoded(raw))


def _decoded(raw: bytes) -> Any:
    if len(raw) > _MOST_CONTAINERS and _count_containers(raw) > _MOST_CONTAINERS:
        raise TooLargeError(f"The body has more than {_MOST_CONTAINERS:,} objects and arrays.")
    try:
        return _parsed(raw)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError(
            "The body is not valid JSON.",
            details=[{"loc": ["body"], "msg": str(error).partition(":")[0], "type": "json_invalid"}],
        ) from error


def _count_containers(raw: bytes) -> int:
    """How many objects and arrays begin in it, at most; counted in pieces, between which other threads run."""
    pieces = ((at, at + _COUNTED_AT_ONCE) for at in range(0, len(raw), _COUNTED_AT_ONCE))
    return sum(raw.count(b"{", *piece) + raw.count(b"[", *piece) for piece in pieces)


def _parsed(raw: bytes) -> Any:
    """Raises orjson.JSONDecodeError."""
    if len(raw) > _WHOLE_BYTES:
        with suppress(ValueError, RecursionError):
            return _JsonInSteps(raw).parsed()
    return orjson.loads(raw)  # of a malformed body, it says what is wrong


class _JsonInSteps:
    """A long JSON text, parsed value by value below its outermost arrays and objects.

    orjson holds the GIL while it parses: half a second for 32 MB in one piece. `json` finds the end of each value, and
    orjson parses it.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        # One character per byte, so that offsets are equal. Non-ASCII bytes occur only in strings.
        self._text = raw.decode("latin-1")
        self._decoder = json.JSONDecoder()

    def parsed(self) -> Any:
        """What the text says. Raises ValueError or RecursionError for malformed text."""
        value, at = self._value(0, depth=0)
        if self._skip_space(at) != len(self._text):
            raise ValueError("something follows the value")
        return value

    def _value(self, at: int, *, depth: int) -> tuple[Any, int]:
        """The value that begins at `at`, and the place after it."""
        at = self._skip_space(at)
        opening = self._text[at : at + 1]
        if depth < _STEPPED_LEVELS and opening == "{":
            return self._object(at, depth=depth)
        if depth < _STEPPED_LEVELS and opening == "[":
            return self._array(at, depth=depth)
        _, end = self._decoder.raw_decode(self._text, at)
        return orjson.loads(self._raw[at:end]), end

    def _array(self, at: int, *, depth: int) -> tuple[list[Any], int]:
        found = list[Any]()
        at, goes_on = self._begun(at, closing="]")
        while goes_on:
            value, at = self._value(at, depth=depth + 1)
            found.append(value)
            at, goes_on = self._next(at, closing="]")
        return found, at

    def _object(self, at: int, *, depth: int) -> tuple[dict[str, Any], int]:
        found = dict[str, Any]()
        at, goes_on = self._begun(at, closing="}")
        while goes_on:
            key, at = self._value(at, depth=_STEPPED_LEVELS)
            at = self._skip_space(at)
            if not isinstance(key, str) or self._text[at : at + 1] != ":":
                raise ValueError("an object's key is malformed")
            found[key], at = self._value(at + 1, depth=depth + 1)
            at, goes_on = self._next(at, closing="}")
        return found, at

    def _begun(self, at: int, *, closing: str) -> tuple[int, bool]:
        at = self._skip_space(at + 1)
        return (at + 1, False) if self._text[at : at + 1] == closing else (at, True)

    def _next(self, at: int, *, closing: str) -> tuple[int, bool]:
        at = self._skip_space(at)
        sign = self._text[at : at + 1]
        if sign not in {",", closing}:
            raise ValueError("a comma is missing")
        return at + 1, sign == ","

    def _skip_space(self, at: int) -> int:
        space = _SPACE.match(self._text, at)
        return space.end() if space else at
