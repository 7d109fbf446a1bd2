"""The caller of the current request and the parts of the server; the only module that uses Flask's `g`."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from flask import Flask, Request, current_app, g, request
from flask.ctx import _AppCtxGlobals

import tracing
from database.accounts.audit import Actor, Door
from database.accounts.secret_tokens import Asking
from database.accounts.users import get_user
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from language_models.roles.menu import AllowedModels, AllowedNames

from .errors import InvalidRequestError, UnauthorizedError

if TYPE_CHECKING:
    from activity.recipes import RecipeRegistry
    from attachments.storage import Attachments
    from chat.agents.inbox import InboxDesk
    from chat.context.knowledge import KnowledgeAccess
    from chat.exchange.ports import TurnServices
    from chat.processes.announcements import Broker
    from chat.processes.metrics import Metrics
    from chat.runtime.account_erasure import AccountErasure
    from chat.runtime.cache import DefaultDictQueue
    from chat.runtime.changes import ChangeFeed
    from chat.runtime.startup import ServerProcess
    from chat.tools.foreign.personal import PersonalServers
    from chat.tools.registry import ToolRegistry
    from chat.turns.runner import TurnRunner
    from Conversation import Conversation
    from language_models.roles import ModelRoles
    from search.meaning import MessageVectors
    from settings import Settings
    from vault.documents import Vaults


EXTENSION = "anaphora"
SETTINGS = "anaphora.settings"


class RequestsUnderWay:
    """The running requests by user. Thread-safe.

    A request counts from before its credentials are checked until its view has returned: until then it may write for
    an account that was closed meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[object, str | None] = {}
        self._began_at = time.monotonic()

    def begin(self, request: object) -> None:
        """Add a request whose user is not known yet."""
        with self._lock:
            self._of[request] = None
            self._began_at = time.monotonic()

    def is_quiet(self, seconds: float) -> bool:
        """Whether no request is running, and none has begun for `seconds`."""
        with self._lock:
            return not self._of and time.monotonic() - self._began_at >= seconds

    def belongs_to(self, request: object, user_email: str | None) -> None:
        """Assign a request to its user; None: it is anonymous, and writes for no account."""
        with self._lock:
            if user_email is None:
                self._of.pop(request, None)
            else:
                self._of[request] = user_email

    def end(self, request: object) -> None:
        """Remove a request; a no-op for an unknown one."""
        with self._lock:
            self._of.pop(request, None)

    def has_any(self, user_email: str) -> bool:
        """Whether a running request is, or may turn out to be, of this account."""
        with self._lock:
            return any(owner is None or owner == user_email for owner in self._of.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """The parts of one server; `server.create_app` builds it and `app.extensions["anaphora"]` holds it.

    asked_for_conversation: asks in a reading transaction; what it returns opens the conversation from the answer.
    """

    settings: Settings
    database: Database
    conversation_cache: DefaultDictQueue[str, Conversation]
    asked_for_conversation: Callable[[Any, str], Callable[[], Conversation]]
    turns: TurnRunner
    changes: ChangeFeed
    models: ModelRoles
    metrics: Metrics
    services: TurnServices
    tools: ToolRegistry
    recipes: RecipeRegistry
    inboxes: InboxDesk
    broker: Broker | None
    tool_servers: PersonalServers
    knowledge: KnowledgeAccess
    vectors: MessageVectors
    vaults: Vaults
    attachments: Attachments
    account_erasure: AccountErasure
    requests: RequestsUnderWay
    server: ServerProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The caller and how they authenticated. `credential` is the session's or the token's secret, never logged.

    token_name: what the token is called; None for a session.
    """

    user_email: str
    by: Literal["session", "token"]
    credential: str
    read_only: bool = False
    token_name: str | None = None


# Behind Flask's proxies: each use of a proxy costs three calls, and a request uses them fifty times.
current_application: Callable[[], Flask] = current_app._get_current_object  # type: ignore[attr-defined]
_g: Callable[[], _AppCtxGlobals] = g._get_current_object
current_request: Callable[[], Request] = request._get_current_object  # type: ignore[attr-defined]


def current_state() -> AppState:
    """The parts of the running server."""
    state: AppState = current_application().extensions[EXTENSION]
    return state


def current_settings() -> Settings:
    """The settings of this application, available even if its store can't be opened."""
    settings: Settings = current_application().extensions[SETTINGS]
    return settings


def remember_access(access: Access | None) -> None:
    """Set the caller for the rest of this request."""
    _g().access = access


def current_access() -> Access:
    """The caller. Raises UnauthorizedError for an anonymous request."""
    access: Access | None = _g().get("access")
    if access is None:
        raise UnauthorizedError
    return access


def is_logged_in() -> bool:
    """Whether the caller has shown whose account they act for."""
    return _g().get("access") is not None


def current_user_email() -> str:
    """The e-mail address of the caller's account."""
    return current_access().user_email


def request_id() -> str:
    """The id of this request in its response and in the log."""
    this = _g()
    found: str | None = this.get("request_id")
    if found is None:
        found = this.request_id = tracing.began_by.get() or new_request_id()
    return found


def new_request_id() -> str:
    """A random id for a request."""
    return secrets.token_hex(8)


def remember_error_code(code: str) -> None:
    """Set the error code of this request, for the log."""
    _g().error_code = code


def error_code() -> str | None:
    """The error code of this request, if it was refused."""
    code: str | None = _g().get("error_code")
    return code


def access_conversation(conversation_id: str) -> Conversation:
    """The conversation, if it is the caller's. Raises ConversationNotFoundError."""
    opened: Conversation | None = _g().pop("opened", None)
    if opened is None or opened.conversation_id != conversation_id:
        return conversation_loader(current_user_email())(conversation_id)
    return _own(opened, current_user_email())


def asked_to_open(conversation_id: str) -> Asking:
    """Asks for what a conversation is now, so that the first `access_conversation` of this request need not."""
    state = current_state()
    known = state.conversation_cache.get(conversation_id)

    def ask(connection: Any) -> Callable[[], None]:
        if known is None:
            return partial(_open, state.asked_for_conversation(connection, conversation_id))
        is_there = known.asked_to_keep_up(connection)

        def read() -> None:
            if is_there():
                _g().opened = known

        return read

    return ask


def _open(read: Callable[[], Conversation]) -> None:
    """Take a conversation that was not cached into the cache, and for this request."""
    with suppress(ConversationNotFoundError):
        conversation = read()
        kept = current_state().conversation_cache.keep(conversation.conversation_id, conversation)
        if kept is conversation:  # one that another request has loaded meanwhile may be older
            _g().opened = conversation


@dataclass(frozen=True, slots=True)
class OwnConversations:
    """Opens the conversations of one person, by the cache of all. A `chat.exchange.ports.VersionedLoader`."""

    user_email: str
    cache: DefaultDictQueue[str, Conversation]

    def __call__(self, conversation_id: str) -> Conversation:
        """Raises ConversationNotFoundError, also for somebody else's."""
        return _own(self.cache[conversation_id], self.user_email)

    def at_version(self, conversation_id: str, version: int) -> Conversation:
        """The conversation at this version or a later one; the store is asked only where an older one is cached."""
        known = self.cache.get(conversation_id)
        if known is None or not known.is_at(version):
            return self(conversation_id)
        return _own(known, self.user_email)


def _own(conversation: Conversation, user_email: str) -> Conversation:
    if conversation.user_id != user_email:
        raise ConversationNotFoundError
    return conversation


def conversation_loader(user_email: str) -> OwnConversations:
    """A loader of the conversations of `user_email` only; works outside of a request too."""
    return OwnConversations(user_email, current_state().conversation_cache)


def allowed_models() -> AllowedModels:
    """The models that the caller may use; works outside of the request too."""
    state, caller = current_state(), current_user_scope()
    names = AllowedNames(everybody=state.settings.allowed_models, administrators=state.settings.admin_models)
    return AllowedModels(state.models, names, is_admin=lambda: get_user(**caller).is_admin)


def check_model(name: str | None) -> None:
    """Raises InvalidRequestError for an unknown model, ModelNotAllowedError for one that the caller may not use."""
    try:
        if name:
            allowed_models().for_name(name)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error


def current_actor() -> Actor:
    """The caller as the audit log names them."""
    access = current_access()
    door: Door = "page" if access.by == "session" else "token"
    return Actor(user_email=access.user_email, door=door, address=current_request().remote_addr or "")


class UserScope(TypedDict):
    """The arguments that every function on user data takes."""

    database: Database
    user_email: str


def current_user_scope() -> UserScope:
    """Where the store is, and whose things may be seen."""
    return UserScope(database=current_state().database, user_email=current_user_email())
