"""Registers the routes, guards, headers and error handlers of the application."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, Request
from flask.ctx import RequestContext
from flask.sessions import NullSession, SessionInterface
from werkzeug.routing import Map, MapAdapter, Rule

import tracing
from endpoints.accounts import login, one_time_links, openid_login
from endpoints.accounts import views as account_views
from endpoints.activities import views as activity_views
from endpoints.administration import views as administration_views
from endpoints.agents import views as agent_views
from endpoints.attachments import views as attachment_views
from endpoints.conversations import states
from endpoints.conversations import views as conversation_views
from endpoints.events import views as event_views
from endpoints.export import views as export_views
from endpoints.http import assets, openapi
from endpoints.http.error_responses import register_error_handlers
from endpoints.http.guards import register_guards
from endpoints.http.headers import adding_headers, register_response_headers, traced
from endpoints.http.languages import register_languages
from endpoints.http.scope import (
    EXTENSION,
    AppState,
    current_application,
    current_request,
    current_settings,
    new_request_id,
)
from endpoints.http.validation import BoundedInteger
from endpoints.http.wsgi import ROUTE, Route
from endpoints.imports import views as import_views
from endpoints.inbox import views as inbox_views
from endpoints.language_models import views as language_model_views
from endpoints.library import views as library_views
from endpoints.mcp import views as mcp_views
from endpoints.messages import views as message_views
from endpoints.operations import health, limits, metrics
from endpoints.pages import installation
from endpoints.pages import views as page_views
from endpoints.pkb import claims, duplicates, groups, history, intake, notes
from endpoints.proposals import views as proposal_views
from endpoints.references import views as reference_views
from endpoints.search import views as search_views
from endpoints.serving.bodies import MAX_BODY_BYTES, STRANGERS_BYTES, max_body_bytes
from endpoints.serving.work_queues import Work, works
from endpoints.sharing import public
from endpoints.sharing import views as share_views
from endpoints.tool_servers import views as tool_server_views
from endpoints.tools import views as tool_views
from endpoints.turns import views as turn_views
from endpoints.vault import conversations as conversation_documents
from endpoints.vault import views as vault_views
from endpoints.workspaces import views as workspace_views

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

log = logging.getLogger(__name__)
_UPLOADS = {"/api/vault/import": 2_000}
"""How many parts a form with files may have, by address."""
_STATIC = Path(__file__).resolve().parents[1] / "interface" / "static"
_NOUNS = (
    activity_views,
    administration_views,
    agent_views,
    attachment_views,
    account_views,
    login,
    claims,
    states,
    conversation_views,
    event_views,
    export_views,
    import_views,
    groups,
    health,
    limits,
    metrics,
    intake,
    notes,
    duplicates,
    history,
    inbox_views,
    one_time_links,
    library_views,
    mcp_views,
    message_views,
    language_model_views,
    openapi,
    openid_login,
    page_views,
    installation,
    proposal_views,
    reference_views,
    search_views,
    public,
    share_views,
    assets,
    tool_server_views,
    tool_views,
    turn_views,
    conversation_documents,
    vault_views,
    workspace_views,
)


class _NoSessions(SessionInterface):
    """Flask keeps no sessions: ours are in the store (`database.accounts.sessions`)."""

    _none = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:
        """The one empty session."""
        return self._none


class _RequestContext(RequestContext):
    """A request whose route the server may have found before: it queues requests by their views."""

    def match_request(self) -> None:
        """Take the route from the environment where it is there; find it otherwise."""
        found: Route | None = self.request.environ.get(ROUTE)
        if found is None:
            super().match_request()
        else:
            self.request.url_rule, view_args = found
            self.request.view_args = dict(view_args)


class _Rule(Rule):
    """A route, whose addresses are built by code that is compiled when the first one is built.

    Most never are, and compiling this code for all routes would take a third of `create_app`.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = cache(partial(super()._compile_builder, append_unknown))

        def build(rule: Rule, **values: Any) -> tuple[str, str]:
            return compiled()(rule, **values)

        return build


def rule_class() -> type[Rule]:
    """`_Rule`, or Werkzeug's own where that has changed what `_Rule` overrides, which is no part of its interface."""
    try:
        routes = Map([_Rule("/a/<int:b>", endpoint="a")]).bind("localhost")
        is_understood = routes.build("a", {"b": 1, "c": "d"}) == "/a/1?c=d" and routes.match("/a/2") == ("a", {"b": 2})
    except Exception:  # noqa: BLE001 - whatever another version raises
        is_understood = False
    if not is_understood:
        log.warning("The installed Werkzeug builds addresses in another way than known: starting takes longer.")
    return _Rule if is_understood else Rule


class Application(Flask):
    """Flask without its sessions and coroutines, with default headers on each response.

    A request that comes now and then pays for each call on its way (documentation/performance.md), so what we have no
    use for is left out where Flask lets applications do so.
    """

    session_interface = _NoSessions()
    url_rule_class = rule_class()

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        """Answer a request, with the default headers."""
        start = adding_headers(start_response)
        with tracing.of_request(new_request_id()):
            return traced(super().wsgi_app, environ, start) if tracing.is_on() else super().wsgi_app(environ, start)

    def request_context(self, environ: WSGIEnvironment) -> RequestContext:
        """The context of a request; its route may be known already."""
        return _RequestContext(self, environ)

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """What matches and builds addresses; of a request whose route is known, one for all: it builds them only."""
        if request is None or ROUTE not in request.environ or request.method == "OPTIONS":
            return super().create_url_adapter(request)
        return self._building

    @cached_property
    def _building(self) -> MapAdapter:
        return self.url_map.bind("localhost")

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """`func` as it is: no view and no guard is a coroutine, which Flask would look for at each call."""
        return func


def register(app: Flask, state: AppState) -> None:
    """Register guards, routes, error handlers and headers on `app`, over `state`."""
    app.extensions[EXTENSION] = state
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=STRANGERS_BYTES, MAX_FORM_PARTS=20)
    # With a slash behind it and without, an address is the same: a redirect would drop the body of a request.
    app.url_map.strict_slashes = False
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
    request = current_request()
    view = current_application().view_functions.get(request.endpoint or "")
    upload = getattr(view, "takes_upload", None)
    request.max_content_length = max_body_bytes(request.path) if upload is None else upload(current_settings())
    if (path := request.path.removesuffix("/")) in _UPLOADS:
        request.max_form_parts = _UPLOADS[path]
