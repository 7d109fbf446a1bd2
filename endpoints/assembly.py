"""Puts the routes together."""

from __future__ import annotations

from pathlib import Path

from flask import Flask, request

from . import (
    accounts,
    auth,
    conversation_states,
    conversations,
    exports,
    health,
    limits,
    messages,
    models,
    openapi,
    pages,
    password_links,
    references,
    search,
    shared_chats,
    shares,
    stateless,
    static_files,
    turns,
    welcome,
    workspaces,
)
from .error_answers import register_error_handlers
from .guards import register_guards
from .pkb import claims, finding, groups, intake, keeping
from .pools import Work, works
from .request_bodies import STRANGERS_BYTES
from .request_scope import EXTENSION, AppState
from .response_headers import register_response_headers
from .validation import BoundedInteger

MAX_BODY_BYTES = 4 * 1024 * 1024
# A whole knowledge base comes in at once, as it went out.
_LARGER_BODIES = {"/pkb/import": 32 * 1024 * 1024}
_STATIC = Path(__file__).resolve().parent.parent / "interface" / "static"
_NOUNS = (
    accounts,
    auth,
    claims,
    conversation_states,
    conversations,
    exports,
    finding,
    groups,
    health,
    intake,
    keeping,
    limits,
    messages,
    models,
    openapi,
    pages,
    password_links,
    references,
    search,
    shared_chats,
    shares,
    stateless,
    static_files,
    turns,
    welcome,
    workspaces,
)


def max_body_bytes(path: str) -> int:
    """How much a request to `path` may carry."""
    return _LARGER_BODIES.get(path, MAX_BODY_BYTES)


def register(app: Flask, state: AppState) -> None:
    """Make `app` answer for `state`: guards, routes, errors, headers."""
    app.extensions[EXTENSION] = state
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=STRANGERS_BYTES, MAX_FORM_PARTS=20)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    app.url_map.converters["int"] = BoundedInteger
    static_files.register_assets(app, _STATIC)
    app.before_request(_allow_larger_bodies)
    register_guards(app)
    register_response_headers(app)
    register_error_handlers(app)
    for noun in _NOUNS:
        app.register_blueprint(noun.blueprint)
    _mark_changes_of_memories(app)


def _mark_changes_of_memories(app: Flask) -> None:
    """Note of each view that changes memories, and says nothing else of its work, that it waits for their writer."""
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        if (
            rule.endpoint.startswith("pkb_")
            and not {"GET", "HEAD"} & (rule.methods or set())
            and not hasattr(view, "work")
        ):
            works(Work.MEMORIES)(view)


def _allow_larger_bodies() -> None:
    request.max_content_length = max_body_bytes(request.path)
