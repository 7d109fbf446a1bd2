"""For those who keep the server running."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

import orjson
from flask import Blueprint, Response

from database.engine.errors import DatabaseDamagedError, StoreBeingCheckedError, StoreError
from database.maintenance.soundness import require_usable
from endpoints.http.headers import DEFAULT_HEADERS
from endpoints.http.models import Shape
from endpoints.http.responses import json_reply
from endpoints.http.scope import AppState, current_state, new_request_id
from endpoints.http.validation import answers, public
from endpoints.http.wsgi import Answer, Scope


class Health(Shape):
    """The process is alive."""

    status: Literal["ok"]


class Readiness(Shape):
    """Whether the stores and the main model can do their work.

    checking: the file is looked through before anything is read from it. broker: Valkey at REDIS_URL; where it failed,
    processes look into the store instead, as they do until it is reached for the first time after a start: "starting".
    """

    status: Literal["ready", "degraded", "not_ready"]
    store: Literal["ok", "failed", "damaged", "checking"]
    knowledge: Literal["ok", "failed", "checking"]
    model: str
    broker: Literal["ok", "starting", "failed", "none"]


blueprint = Blueprint("health", __name__)
_COMING = frozenset({"fetching", "loading"})
"""Phases of a model that will be able to answer, without anybody's doing."""
# A model behind an address is not asked before it is needed. One that failed is tried with the next message: a server
# that were sent none would never learn that its provider is back.
_ABLE = frozenset({"ready", "waiting"})
_ALIVE = {"status": "ok"}
_ALIVE_BODY = orjson.dumps(_ALIVE)


def answer_on_loop(scope: Scope, state: AppState, *, version: str) -> Answer | None:
    """The answer to `GET /healthz`, which no thread is needed for; None for any other request. version: of the page."""
    if scope["path"] != "/healthz" or scope["method"] not in ("GET", "HEAD"):
        return None
    state.metrics.count("requests", route="/healthz", method=scope["method"], status="200")
    own = {
        "Content-Type": "application/json",
        "Content-Length": str(len(_ALIVE_BODY)),
        "X-Request-ID": new_request_id(),
        "X-Anaphora-Version": version,
    }
    headers = [(name.lower().encode(), value.encode()) for name, value in {**DEFAULT_HEADERS, **own}.items()]
    return Answer(200, headers, _ALIVE_BODY)


@blueprint.get("/healthz")
@public
@answers(Health)
def healthz() -> object:
    """The process is alive."""
    return _ALIVE


@blueprint.get("/readyz")
@public
@answers(Readiness, unable=Readiness)
def readyz() -> Response:
    """Whether the store can do its work and the main model is not being fetched or loaded, 503 where not.

    What works without memories, Valkey or a model that answers is `degraded`.
    """
    found = readiness()
    is_ready = found["status"] != "not_ready"
    return json_reply(found) if is_ready else json_reply(found, status=HTTPStatus.SERVICE_UNAVAILABLE)


def readiness() -> dict[str, str]:
    """What `/readyz` says."""
    store = _store_state()
    knowledge = _knowledge_state()
    model = current_state().models.states()["main"].phase
    parts = {"store": store, "knowledge": knowledge, "model": model, "broker": (broker := _broker_state())}
    if store != "ok" or model in _COMING:
        return {"status": "not_ready", **parts}
    is_whole = knowledge == "ok" and broker in ("ok", "none") and model in _ABLE
    return {"status": "ready" if is_whole else "degraded", **parts}


def _broker_state() -> str:
    """Whether other processes are heard by Valkey; "none" where REDIS_URL names none."""
    broker = current_state().broker
    if broker is None:
        return "none"
    if broker.is_up:
        return "ok"
    return "starting" if broker.is_starting else "failed"


def _knowledge_state() -> str:
    """Whether memories can be read."""
    knowledge = current_state().knowledge
    if knowledge.is_being_checked:
        return "checking"
    return "ok" if knowledge.is_available() else "failed"


def _store_state() -> str:
    """Whether the store can be read and written, and whether its file is whole."""
    try:
        require_usable(database=current_state().database)
    except StoreBeingCheckedError:
        return "checking"
    except DatabaseDamagedError:
        return "damaged"
    except StoreError:
        return "failed"
    return "ok"
