"""Puts the routes together."""

from __future__ import annotations

from pathlib import Path

from flask import Flask

from . import (
    accounts,
    auth,
    conversations,
    health,
    messages,
    models,
    openapi,
    pages,
    references,
    static_files,
    turns,
    workspaces,
)
from .error_answers import register_error_handlers
from .guards import register_guards
from .pkb import claims, finding, groups, intake, keeping
from .request_scope import EXTENSION, AppState
from .response_headers import register_response_headers

MAX_BODY_BYTES = 4 * 1024 * 1024
_STATIC = Path(__file__).resolve().parent.parent / "interface" / "static"
_NOUNS = (
    accounts,
    auth,
    claims,
    conversations,
    finding,
    groups,
    health,
    intake,
    keeping,
    messages,
    models,
    openapi,
    pages,
    references,
    static_files,
    turns,
    workspaces,
)


def register(app: Flask, state: AppState) -> None:
    """Make `app` answer for `state`: guards, routes, errors, headers."""
    app.extensions[EXTENSION] = state
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=64 * 1024, MAX_FORM_PARTS=20)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    static_files.register_assets(app, _STATIC)
    register_guards(app)
    register_response_headers(app)
    register_error_handlers(app)
    for noun in _NOUNS:
        app.register_blueprint(noun.blueprint)
