"""Messages of JSON-RPC 2.0: what is wrong with one, in a sentence, and the answer that says so."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError
from werkzeug.wrappers import Response as BaseResponse

from endpoints.http.errors import InvalidRequestError
from endpoints.http.responses import json_reply
from endpoints.http.validation import View

NOT_JSON, INVALID, INVALID_PARAMS = -32700, -32600, -32602
"""Codes of errors that JSON-RPC defines."""


def in_protocol(view: View) -> View:
    """Answer in JSON-RPC where the body of a request is no JSON, or no JSON object."""

    @wraps(view)
    def answered(**arguments: Any) -> Any:
        try:
            return view(**arguments)
        except ValidationError:
            return refusal(INVALID, "A message is a JSON object; several in an array are not taken.")
        except InvalidRequestError as error:
            return refusal(NOT_JSON, error.message)

    return answered  # type: ignore[return-value]


def refusal(code: int, message: str, *, of: Mapping[str, Any] | None = None) -> BaseResponse:
    """400 with an error of JSON-RPC. of: the message that is refused, whose id the error has, if that is one."""
    given = None if of is None else of.get("id")
    error = {"code": code, "message": message}
    return json_reply(
        {"jsonrpc": "2.0", "id": given if _is_id(given) else None, "error": error}, status=HTTPStatus.BAD_REQUEST
    )


def problem_of(message: Mapping[str, Any]) -> tuple[int, str] | None:
    """What is wrong with the form of a message, as code and sentence; None for one in order."""
    if message.get("jsonrpc") != "2.0":
        return INVALID, 'jsonrpc has to be "2.0".'
    if "method" not in message:
        return None if _is_answer(message) else (INVALID, "A message needs a method.")
    if not isinstance(message["method"], str):
        return INVALID, "method has to be a string."
    if "id" in message and not _is_id(message["id"]):
        return INVALID, "id has to be a string or a whole number; a notification has none."
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        return INVALID_PARAMS, "params has to be a JSON object."
    return None


def _is_id(given: object) -> bool:
    return isinstance(given, str | int) and not isinstance(given, bool)


def _is_answer(message: Mapping[str, Any]) -> bool:
    """Whether it is an answer to a request, which programs may send as well."""
    error = message.get("error")
    is_error = isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    return _is_id(message.get("id")) and (is_error or isinstance(message.get("result"), dict))
