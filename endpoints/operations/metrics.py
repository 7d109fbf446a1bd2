"""`GET /metrics`: what Prometheus reads, and what is asked for it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from flask import Blueprint, Response

from chat.processes.metrics import Metrics, Reading
from database import duties, jobs
from database.engine.errors import StoreError
from endpoints.http.scope import AppState, current_access, current_request, current_settings, current_state
from endpoints.http.validation import answers, fails, public

blueprint = Blueprint("metrics", __name__)
_Values = Mapping[tuple[str, ...], float]


@blueprint.get("/metrics")
@public
@answers(None, media="text/plain")
@fails("unauthorized")
def metrics() -> Response:
    """Figures in Prometheus' text format; for whoever is logged in, and from the addresses of ANAPHORA_METRICS_FROM."""
    if not _comes_from_scraper():
        current_access()
    state = current_state()
    _read_from(state)
    return Response(state.metrics.render(), content_type="text/plain; version=0.0.4; charset=utf-8")


def _comes_from_scraper() -> bool:
    networks = current_settings().metrics_from
    if not networks:
        return False
    try:
        address = ipaddress.ip_address(current_request().remote_addr or "")
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(network) for network in networks)


def _read_from(state: AppState) -> None:
    """Have the metrics of `state` asked for what its parts know. What can't be read is left out."""
    database, found = state.database, state.metrics

    def by_status() -> _Values:
        return {(status,): count for status, count in jobs.count_by_status(database=database).items()}

    def held() -> _Values:
        return {(): sum(duties.owners(database=database).values())}

    _read(found, "watchers", lambda: {(): state.changes.count_watchers()})
    _read(found, "jobs", by_status)
    _read(found, "duties", held)
    _read(found, "store_connections_busy", lambda: {(): database.readers_in_use()[0]})
    _read(found, "store_connections", lambda: {(): database.readers_in_use()[1]})
    _read(found, "store_reads_waiting", lambda: {(): database.readers_in_use()[2]})
    if (broker := state.broker) is not None:
        _read(found, "broker_up", lambda: {(): float(broker.is_up)})


def _read(metrics: Metrics, name: str, reading: Reading) -> None:
    def read() -> _Values:
        try:
            return reading()
        except StoreError:
            return {}

    metrics.read(name, read)
