"""A server whose packets to PostgreSQL or Valkey vanish in a network of its own: it notices, and goes on by itself."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.http_client import Client
from tests.load.crash import messages_of
from tests.load.figures import record
from tests.load.test_failing_storage import eventually
from tests.load.test_faults import (
    Installation,
    ada,
    answers_again,
    begun,
    broker_of,
    check_cancelled,
    installed,
    there,
    watching,
)
from tests.load.wires import NoNamespaceError, Wire

__all__ = ["ada", "there"]

pytestmark = [pytest.mark.live, pytest.mark.proof]
_ESTABLISHED = "01"


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, joined_page: None) -> Iterator[Installation]:
    """The first server reaches PostgreSQL and Valkey by wires."""
    with ExitStack() as stack:
        try:
            installation = stack.enter_context(installed(tmp_path_factory.mktemp("wires"), Wire))
        except NoNamespaceError as error:
            pytest.skip(f"no network namespaces can be made here: {error}")
        yield installation


def connections_to(address: str) -> int:
    """How many connections to this address the system takes for alive."""
    host, _, port = address.rpartition(":")
    sought = f"{socket.inet_aton(host)[::-1].hex()}:{int(port):04x}".upper()
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(remote == sought and state == _ESTABLISHED for _, _, remote, state, *_ in rows)


def test_a_server_whose_packets_to_postgresql_vanish_takes_no_connection_for_alive_and_comes_back(
    installation: Installation, ada: Client, there: Client
) -> None:
    wire = installation.to_postgresql
    conversation_id, answer, sender = begun(ada)
    watcher = watching(there, answer)
    assert connections_to(wire.address) > 0
    wire.cut()
    cut_at = time.monotonic()
    eventually(lambda: messages_of(there, conversation_id)[-1]["status"] == "interrupted")
    record(**{"packets to PostgreSQL vanish: seconds until its turns are closed": round(time.monotonic() - cut_at, 1)})
    assert watcher.ends()["answer_status"] == "interrupted"
    answers_again(there, conversation_id)
    eventually(lambda: connections_to(wire.address) == 0)
    record(**{"packets to PostgreSQL vanish: seconds until it is noticed": round(time.monotonic() - cut_at, 1)})
    reply = installation.one.client().get("/readyz")
    assert (reply.status, reply.json()["status"]) == (503, "not_ready")
    assert sender.ends()["answer_status"] == "interrupted"
    assert watcher.text.startswith(sender.text)
    wire.mend()
    mended_at = time.monotonic()
    answers_again(ada, conversation_id)
    record(**{"packets to PostgreSQL come again: seconds until it answers": round(time.monotonic() - mended_at, 1)})


def test_a_server_whose_packets_to_valkey_vanish_watches_by_the_store_and_reaches_it_again(
    installation: Installation, ada: Client, there: Client
) -> None:
    wire = installation.to_valkey
    conversation_id, answer, sender = begun(there)
    watcher = watching(ada, answer)
    wire.cut()
    cut_at = time.monotonic()
    watcher.hears_more()
    eventually(lambda: broker_of(installation.one) == "failed")
    record(**{"packets to Valkey vanish: seconds until it is told": round(time.monotonic() - cut_at, 1)})
    assert broker_of(installation.two) == "ok"
    watcher.hears_more()
    wire.mend()
    eventually(lambda: broker_of(installation.one) == "ok")
    check_cancelled(ada, conversation_id, sender, watcher)
