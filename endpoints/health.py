"""For those who keep the server running."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, Response

from database.errors import DatabaseDamagedError, StoreError
from database.soundness import require_usable

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
    store = _store_state()
    knowledge = "ok" if current_state().knowledge.is_available() else "failed"
    model = current_state().models.states()["main"].phase
    parts = {"store": store, "knowledge": knowledge, "model": model}
    if store != "ok" or model not in _ABLE:
        return json_reply({"status": "not_ready", **parts}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return json_reply({"status": "ready" if knowledge == "ok" else "degraded", **parts})


@blueprint.get("/metrics")
@answers(None, media="text/plain")
def metrics() -> Response:
    """Counters in Prometheus' text format."""
    return Response(current_state().metrics.render(), content_type="text/plain; version=0.0.4; charset=utf-8")


def _store_state() -> str:
    """Whether the store can be read and written, and whether its file is whole."""
    try:
        require_usable(users_dir=current_state().users_dir)
    except DatabaseDamagedError:
        return "damaged"
    except StoreError:
        return "failed"
    return "ok"
