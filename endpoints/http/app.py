"""Registers the routes, guards, headers and error handlers of the application."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask, request

from endpoints.accounts import password_reset, sign_in
from endpoints.accounts import views as account_views
from endpoints.conversations import states
from endpoints.conversations import views as conversation_views
from endpoints.events import views as event_views
from endpoints.export import views as export_views
from endpoints.language_models import views as language_model_views
from endpoints.languages import register_languages
from endpoints.library import views as library_views
from endpoints.messages import views as message_views
from endpoints.operations import health, limits
from endpoints.pages import views as page_views
from endpoints.pkb import claims, groups, history, intake, search
from endpoints.references import views as reference_views
from endpoints.search import views as search_views
from endpoints.sharing import public
from endpoints.sharing import views as share_views
from endpoints.turns import views as turn_views
from endpoints.workspaces import views as workspace_views

from . import assets, openapi
from .bodies import STRANGERS_BYTES
from .error_responses import register_error_handlers
from .guards import register_guards
from .headers import register_response_headers
from .scope import EXTENSION, AppState
from .validation import BoundedInteger
from .work_queues import Work, works

MAX_BODY_BYTES = 4 * 1024 * 1024
# A whole knowledge base is imported in one request, as it was exported.
_LARGER_BODIES = {"/pkb/import": 32 * 1024 * 1024}
_STATIC = Path(__file__).resolve().parents[2] / "interface" / "static"
_NOUNS = (
    account_views,
    sign_in,
    claims,
    states,
    conversation_views,
    event_views,
    export_views,
    search,
    groups,
    health,
    limits,
    intake,
    history,
    library_views,
    message_views,
    language_model_views,
    openapi,
    page_views,
    password_reset,
    reference_views,
    search_views,
    public,
    share_views,
    assets,
    turn_views,
    workspace_views,
)


class Application(Flask):
    """Flask, without the check at each call whether one of a request's dozen functions is a coroutine: none is."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """`func` as it is."""
        return func


def max_body_bytes(path: str) -> int:
    """The largest body of a request to `path`, in bytes."""
    return _LARGER_BODIES.get(path, MAX_BODY_BYTES)


def register(app: Flask, state: AppState) -> None:
    """Register guards, routes, error handlers and headers on `app`, over `state`."""
    app.extensions[EXTENSION] = state
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=STRANGERS_BYTES, MAX_FORM_PARTS=20)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    app.url_map.converters["int"] = BoundedInteger
    assets.register_assets(app, _STATIC, joined=state.settings.page == "joined")
    register_languages(app)
    app.before_request(_allow_larger_bodies)
    register_guards(app)
    register_response_headers(app)
    register_error_handlers(app)
    for noun in _NOUNS:
        app.register_blueprint(noun.blueprint)
    _mark_changes_of_memories(app)


def _mark_changes_of_memories(app: Flask) -> None:
    """Assign views that change memories to the pool of `Work.MEMORIES`, unless they name another kind of work."""
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
