"""The API's description, OpenAPI 3.1, made from the routes and from the models that check requests."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Flask, Response, current_app
from pydantic import BaseModel, TypeAdapter

from . import shapes
from .replies import json_reply
from .validation import answers, public

blueprint = Blueprint("openapi", __name__)
_ARGUMENT = re.compile(r"<(?:(\w+):)?(\w+)>")
_REFERENCE = "#/components/schemas/{model}"
_CREATED = frozenset(
    {
        "add_claim",
        "add_domain",
        "add_type",
        "clone_conversation",
        "create_conflict",
        "create_context",
        "create_conversation",
        "create_entity",
        "create_tag",
        "create_temporary_conversation",
        "create_token",
        "create_user",
        "create_workspace",
    }
)


@blueprint.get("/openapi.json")
@public
@answers(dict[str, Any])
def openapi() -> Response:
    """This description."""
    return json_reply(describe(current_app))


def describe(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of `app`."""
    schemas: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for path, method, view in routes(app):
        operation = _operation(path, view, schemas)
        paths.setdefault(_ARGUMENT.sub(r"{\2}", path), {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Anaphora", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "anaphora_session"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def routes(app: Flask) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Every route of `app`: its pattern, its method, its view; sorted."""
    found = [
        (rule.rule, method, app.view_functions[rule.endpoint])
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    yield from sorted(found, key=lambda route: route[:2])


def _operation(path: str, view: Callable[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": (inspect.getdoc(view) or "").partition("\n")[0],
        "parameters": [*_path_parameters(path), *_query_parameters(view, schemas)],
        "responses": {"default": _content(shapes.ErrorAnswer, "application/json", schemas, "What went wrong.")},
    }
    status = HTTPStatus.CREATED if view.__name__ in _CREATED else HTTPStatus.OK
    shape, media = getattr(view, "answer_shape", None), getattr(view, "answer_media", "application/json")
    operation["responses"][str(int(status))] = _content(shape, media, schemas, "All went well.")
    body = getattr(view, "body_model", None)
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": _schema(body, schemas, "validation")}}}
    operation["security"] = [] if getattr(view, "is_public", False) else [{"session": []}, {"token": []}]
    return operation


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
        {"name": name, "in": "query", "required": name in required, "schema": part}
        for name, part in schema["properties"].items()
    ]


def _content(shape: Any, media: str, schemas: dict[str, Any], description: str) -> dict[str, Any]:
    schema = _schema(shape, schemas, "serialization") if shape is not None else {"type": "string"}
    return {"description": description, "content": {media: {"schema": schema}}}


def _schema(shape: Any, schemas: dict[str, Any], mode: Any) -> dict[str, Any]:
    """A reference to `shape` among `schemas`, where it is put; what is no model is described in place."""
    schema = TypeAdapter(shape).json_schema(ref_template=_REFERENCE, mode=mode)
    schemas.update(schema.pop("$defs", {}))
    if not (isinstance(shape, type) and issubclass(shape, BaseModel)):
        return schema
    schemas[shape.__name__] = schema
    return {"$ref": _REFERENCE.format(model=shape.__name__)}
