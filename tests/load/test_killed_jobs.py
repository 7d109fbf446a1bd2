"""Of two servers, the one that works is killed within a step of a job: the other goes on, and does nothing twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fakes import RecordingModel
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.figures import record
from tests.load.invariants import broken_invariants
from tests.load.server_held_back import PROGRAM, Limit
from tests.load.test_failing_storage import eventually
from tests.load.test_killed_import import CONVERSATIONS, started
from tests.postgresql import NOW, PostgreSQLServer
from tests.valkey import ValkeyServer

pytestmark = pytest.mark.live
DOCUMENTS = 1_000
IMPORTS, JOBS = "imports", "jobs"


class Installation:
    """A server that has all duties, one beside it, and their store. Both work as far as `limit` lets them."""

    def __init__(self, folder: Path, url: str, environ: dict[str, str]) -> None:
        self.store = url.replace("postgresql+psycopg", "postgresql", 1)
        self.data_dir = folder / "data"
        self.limit = Limit(folder / "limit")
        environ |= {"DATABASE_URL": url, "ANAPHORA_DATA_DIR": str(self.data_dir), **self.limit.environ}
        self.working, self.waiting = (
            LiveServer(folder / name, environ, program=PROGRAM, is_preloaded=True) for name in ("working", "waiting")
        )
        self.working.start()
        for duty in (IMPORTS, JOBS):
            eventually(lambda duty=duty: self.owner(duty) is not None)
        ((self._first_owner,),) = self.asked("SELECT DISTINCT owner FROM duties WHERE name IN (%s, %s)", IMPORTS, JOBS)
        self.waiting.start()

    def asked(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What the store answers."""
        with psycopg.connect(self.store, options="-c search_path=anaphora") as connection:
            return connection.execute(query.encode(), values).fetchall()

    def owner(self, duty: str) -> str | None:
        """The server that has a duty now."""
        held = self.asked(f"SELECT owner FROM duties WHERE name = %s AND lease_until > {NOW}", duty)
        return held[0][0] if held else None

    def kill_the_working_one(self, duty: str) -> float:
        """Kill it, and let the other one do all; when that was."""
        self.working.kill()
        killed_at = time.monotonic()
        self.limit.lift()
        eventually(lambda: self.owner(duty) not in (None, self._first_owner))
        record(**{f"{duty} of a killed server: seconds until another has them": round(time.monotonic() - killed_at, 1)})
        return killed_at

    def end(self) -> None:
        """Kill both."""
        self.working.kill()
        self.waiting.kill()


@pytest.fixture
def installation(
    tmp_path: Path,
    postgresql_server: PostgreSQLServer,
    valkey: ValkeyServer,
    recording_model: RecordingModel,
    joined_page: None,
) -> Iterator[Installation]:
    url = postgresql_server.empty_store()
    made = Installation(tmp_path, url, recording_model.environ | {"REDIS_URL": valkey.url})
    yield made
    made.end()
    postgresql_server.take_back(url, of_killed=True)


def test_an_import_whose_server_is_killed_is_ended_by_the_other_and_nothing_is_doubled(
    installation: Installation,
) -> None:
    ada = installation.working.sign_up()
    there = Client(installation.waiting.port, cookies=dict(ada.cookies))
    installation.limit.allow(3)
    path = started(ada)
    eventually(lambda: there.get(path).json()["imported"] > 0)
    half_way = there.get(path).json()
    assert (half_way["state"], half_way["imported"] < CONVERSATIONS) == ("running", True)
    killed_at = installation.kill_the_working_one(IMPORTS)
    eventually(lambda: there.get(path).json()["state"] == "done")
    record(**{"import of a killed server: seconds until it is done": round(time.monotonic() - killed_at, 1)})
    done = there.get(path).json()
    assert (done["imported"], done["updated"], done["failed"]) == (CONVERSATIONS, 0, 0)
    (counted,) = installation.asked("SELECT count(*), count(DISTINCT text) FROM messages")
    assert counted == (2 * CONVERSATIONS, 2 * CONVERSATIONS)
    eventually(lambda: broken_invariants(installation.store) == {})


def test_indexing_whose_server_is_killed_within_a_step_is_ended_by_the_other(installation: Installation) -> None:
    ada = installation.working.sign_up()
    there = Client(installation.waiting.port, cookies=dict(ada.cookies))
    assert ada.get("/api/vault/documents").status == 200  # makes the folder
    (vault,) = (installation.data_dir / "users" / "vaults").iterdir()
    for number in range(DOCUMENTS):
        (vault / f"{number}.md").write_text(f"# Document {number}\n\nIt links to [[{number + 1}]].\n")
    job_id = ada.post("/api/vault/index", {"full": True}).json()["job_id"]
    job = "SELECT status, done, total, owner IS NOT NULL FROM jobs WHERE job_id = %s"
    eventually(lambda: installation.asked(job, job_id)[0][3])
    installation.kill_the_working_one(JOBS)
    eventually(lambda: installation.asked(job, job_id)[0][0] == "done")
    assert installation.asked(job, job_id)[0][1:3] == (DOCUMENTS, DOCUMENTS)
    (counted,) = installation.asked("SELECT count(*), count(DISTINCT path) FROM documents")
    assert counted == (DOCUMENTS, DOCUMENTS)
    assert [each["path"] for each in there.get("/api/vault/documents?query=Document+77").json()["documents"]][:1]
