"""For those who keep the server running."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, Response

from database import users
from database.errors import StoreError

from . import shapes
from .replies import json_reply
from .request_scope import current_state
from .validation import answers, public

blueprint = Blueprint("health", __name__)
# A model behind an address is not asked before it is needed.
_ABLE = frozenset({"ready", "waiting"})


@blueprint.get("/healthz")
@public
@answers(shapes.Health)
def healthz() -> Response:
    """The process is alive."""
    return json_reply({"status": "ok"})


@blueprint.get("/readyz")
@public
@answers(shapes.Readiness)
def readyz() -> Response:
    """Whether store and main model can do their work, 503 where not; without memories it goes on, `degraded`."""
    store = "ok" if _store_answers() else "failed"
    knowledge = "ok" if current_state().knowledge.is_available() else "failed"
    model = current_state().models.states()["main"].phase
    parts = {"store": store, "knowledge": knowledge, "model": model}
    if store == "failed" or model not in _ABLE:
        return json_reply({"status": "not_ready", **parts}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return json_reply({"status": "ready" if knowledge == "ok" else "degraded", **parts})


@blueprint.get("/metrics")
@answers(None, media="text/plain")
def metrics() -> Response:
    """Counters in Prometheus' text format."""
    return Response(current_state().metrics.render(), content_type="text/plain; version=0.0.4; charset=utf-8")


def _store_answers() -> bool:
    try:
        users.any_user_exists(users_dir=current_state().users_dir)
    except StoreError:
        return False
    return True
