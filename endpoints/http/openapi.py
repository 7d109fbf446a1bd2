"""The API's description, OpenAPI 3.1, made from the routes and from the models that check requests."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Flask, Response, current_app
from pydantic import BaseModel, TypeAdapter

from version import api_version, product_version

from . import models as http_models
from .errors import status_of_code
from .responses import json_reply
from .scope import is_logged_in
from .validation import UPLOAD_TYPE, answers, public
from .wsgi import MULTIPART_TYPE

blueprint = Blueprint("openapi", __name__)
_ARGUMENT = re.compile(r"<(?:(\w+):)?(\w+)>")
_REFERENCE = "#/components/schemas/{model}"
_NOUN_OF_ARGUMENT = {
    "activity_reference": "activity",
    "audit_id": "change",
    "friendly_id": "conversation",
    "identifier": "message",
    "model_id": None,
    "reference": "reference",
    "server_name": "tool_server",
    "tool_name": "tool",
    "user_email": "user",
}
"""What arguments of addresses name, where that is not the noun in front of `_id`; None: nothing that is stored."""
_ANYBODYS_CODES = (
    "bad_request",
    "rate_limited",
    "search_index_damaged",
    "server_busy",
    "server_running",
    "storage_busy",
    "storage_checking",
    "storage_damaged",
    "storage_failed",
)
_WRITING_CODES = ("forbidden", "request_timeout", "too_large", "unsupported_media_type")
_FORM = "application/x-www-form-urlencoded"


@blueprint.get("/openapi.json")
@public
@answers(dict[str, Any])
def openapi() -> Response:
    """This description; its version is the server's: strangers read major and minor, accounts the whole."""
    return json_reply(describe(current_app, version=product_version() if is_logged_in() else api_version()))


def describe(app: Flask, *, version: str) -> dict[str, Any]:
    """The OpenAPI document of `app`."""
    schemas: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for path, method, view in routes(app):
        operation = _operation(path, method, view, schemas)
        paths.setdefault(path_of(path), {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Anaphora", "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "anaphora_session"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def path_of(rule: str) -> str:
    """The path of the description for a route's pattern: "/r/<fid>" is "/r/{fid}"."""
    return _ARGUMENT.sub(r"{\2}", rule)


def routes(app: Flask) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Every route of `app`: its pattern, its method, its view; sorted."""
    found = [
        (rule.rule, method, app.view_functions[rule.endpoint])
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    yield from sorted(found, key=lambda route: route[:2])


def _operation(path: str, method: str, view: Callable[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": (inspect.getdoc(view) or "").partition("\n")[0],
        "parameters": [*_path_parameters(path), *_query_parameters(view, schemas)],
        "responses": {**_successes(view, schemas), **_errors(path, method, view, schemas)},
    }
    body = getattr(view, "body_model", None)
    if body is not None:
        medias = ["application/json", *([_FORM] if getattr(view, "takes_form", False) else [])]
        schema = _schema(body, schemas, "validation")
        operation["requestBody"] = {
            "content": {media: {"schema": schema} for media in medias},
            "required": not getattr(view, "body_optional", False),
        }
    if getattr(view, "takes_files", False):
        files = {"type": "array", "items": {"type": "string", "format": "binary"}}
        form = {"type": "object", "properties": {"files": files}, "required": ["files"]}
        operation["requestBody"] = {"content": {"multipart/form-data": {"schema": form}}, "required": True}
    if hasattr(view, "takes_upload"):
        content: dict[str, Any] = {UPLOAD_TYPE: {"schema": {}}}
        if getattr(view, "takes_form_upload", False):
            file = {"file": {"type": "string", "format": "binary"}}
            content[MULTIPART_TYPE] = {"schema": {"type": "object", "properties": file, "required": ["file"]}}
        operation["requestBody"] = {"content": content, "required": True}
    operation["security"] = [] if getattr(view, "is_public", False) else [{"session": []}, {"token": []}]
    return operation


def _successes(view: Callable[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    shape, medias = getattr(view, "answer_shape", None), getattr(view, "answer_media", ("application/json",))
    schema = {} if shape is None else _schema(shape, schemas, "serialization")
    content = {media: {"schema": schema if media == "application/json" else {}} for media in medias}
    found = {str(int(getattr(view, "answer_status", HTTPStatus.OK))): {"description": "Success.", "content": content}}
    redirect = getattr(view, "answer_redirect", None)
    if redirect is not None:
        location = {"required": True, "schema": {"type": "string"}}
        found[str(int(redirect))] = {"description": "The way to another page.", "headers": {"Location": location}}
    without_body = getattr(view, "answer_without_body", None)
    if without_body is not None:
        found[str(int(without_body))] = {"description": "Success, without a body."}
    return found


def _errors(path: str, method: str, view: Callable[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    codes: dict[int, list[str]] = {}
    for code in error_codes(path, method, view):
        codes.setdefault(int(status_of_code(code)), []).append(code)
    return {
        str(status): {
            "description": ", ".join(f"`{code}`" for code in sorted(found)),
            "content": _error_content(status, view, schemas),
        }
        for status, found in sorted(codes.items())
    }


def _error_content(status: int, view: Callable[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    schema = _schema(http_models.ErrorAnswer, schemas, "serialization")
    further = getattr(view, "own_errors", None)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        further = getattr(view, "answer_unable", None) or further
    if further is not None:
        schema = {"anyOf": [_schema(further, schemas, "serialization"), schema]}
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if "text/html" in getattr(view, "answer_media", ()) or getattr(view, "takes_form", False):
        content["text/html"] = {"schema": {"type": "string"}}
    return content


def error_codes(path: str, method: str, view: Callable[..., Any]) -> set[str]:
    """Codes of all errors that this operation answers with: its own, and those that its address and body bring."""
    named = {name for _, name in _ARGUMENT.findall(path)}
    nouns = {_NOUN_OF_ARGUMENT.get(name, name.removesuffix("_id")) for name in named if name.endswith("_id")}
    nouns |= {noun for name, noun in _NOUN_OF_ARGUMENT.items() if name in named}
    codes = {f"{noun}_not_found" for noun in nouns if noun}
    codes.update(_ANYBODYS_CODES, getattr(view, "error_codes", ()))
    if not getattr(view, "is_public", False):
        codes.update(("unauthorized", "other_account"))
    if method not in ("GET", "HEAD"):
        codes.update(_WRITING_CODES)
    if named or getattr(view, "query_model", None) is not None:
        codes.add("uri_too_long")
    if path.startswith("/pkb/"):
        codes.add("knowledge_unavailable")
    return codes


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if kind == "int" else "string"},
        }
        for kind, name in _ARGUMENT.findall(path)
    ]


def _query_parameters(view: Callable[..., Any], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    model: type[BaseModel] | None = getattr(view, "query_model", None)
    if model is None:
        return []
    schema = model.model_json_schema(ref_template=_REFERENCE)
    schemas.update(schema.pop("$defs", {}))
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "description": part.pop("description", ""),
            "required": name in required,
            "schema": part,
        }
        for name, part in schema["properties"].items()
    ]


def _schema(shape: Any, schemas: dict[str, Any], mode: Any) -> dict[str, Any]:
    """A reference to `shape` among `schemas`, where it is put; what is no model is described in place."""
    schema, used = _generated(shape, mode)
    schemas.update(used)
    is_model = isinstance(shape, type) and (issubclass(shape, BaseModel) or is_dataclass(shape))
    if not (is_model and getattr(shape, "is_named", True)):
        return schema
    schemas[shape.__name__] = schema
    return {"$ref": _REFERENCE.format(model=shape.__name__)}


@cache
def _generated(shape: Any, mode: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON schema of `shape`, and those it refers to by name. Generating one costs pydantic a millisecond."""
    schema = TypeAdapter(shape).json_schema(ref_template=_REFERENCE, mode=mode)
    return schema, schema.pop("$defs", {})
