"""A server whose full-text indexes are damaged while it runs: it mends them by itself, and all goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.test_failing_storage import eventually

pytestmark = [pytest.mark.live, pytest.mark.only_sqlite]
INDEXES = {"users.db": ("messages_fts", "document_terms", "passage_terms"), "pkb.sqlite": ("claims_fts", "notes_fts")}
DAMAGES = ("UPDATE {index}_data SET block = x'00ff00ff' WHERE id > 10", "DELETE FROM {index}_data")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_server_with_damaged_indexes_answers_everybody_and_makes_them_anew(
    live_server: LiveServer, recording_model: RecordingModel, damage: str
) -> None:
    recording_model.scripts["main"] = saying("So be it.")
    ada = live_server.sign_up()
    conversation_id = ada.create_conversation()
    list(ada.send(conversation_id, "A whale sings"))
    assert ada.put("/api/vault/document?path=whales.md", {"text": "A whale in a document"}).status in (200, 201)
    assert ada.post("/pkb/claims", {"statement": "I like whales", "claim_type": "fact"}).status in (200, 201)
    eventually(lambda: in_index(live_server) == 2)
    spoil(live_server, damage)

    assert_all_is_found(ada)
    list(ada.send(conversation_id, "And another whale"))
    spoil(live_server, damage)
    for path in (
        "/list_conversation_by_user/assistant",
        f"/list_messages_by_conversation/{conversation_id}",
        "/interface/",
    ):
        assert ada.get(path).status == 200, path
    assert list(ada.send(conversation_id, "And a third whale"))[-1]["done"] is True
    assert ada.post("/pkb/claims", {"statement": "I like dolphins", "claim_type": "fact"}).status in (200, 201)
    assert_all_is_found(ada)
    ready = ada.get("/readyz")
    assert (ready.status, ready.json()["store"]) == (200, "ok"), ready.text
    eventually(lambda: in_index(live_server) == 6)
    assert_all_is_found(ada)
    assert "A full-text index is damaged. messages_fts is made anew." in live_server.log()
    assert "backup" not in live_server.log()


def assert_all_is_found(person: Client) -> None:
    everything = person.get("/search?q=whale")
    assert everything.status == 200, everything.text
    assert "A whale sings" in everything.text
    assert "whales.md" in everything.text
    memories = person.get("/pkb/claims?query=whales")
    assert memories.status == 200, memories.text
    assert "I like whales" in memories.text


def spoil(server: LiveServer, damage: str) -> None:
    """Damage all indexes behind the back of the server."""
    for file, indexes in INDEXES.items():
        with closing(sqlite3.connect(Path(server.users_dir) / file, timeout=60)) as other, other:
            for index in indexes:
                other.execute(damage.format(index=index))


def in_index(server: LiveServer) -> int:
    """How many messages the index holds."""
    with closing(sqlite3.connect(Path(server.users_dir) / "users.db", timeout=60)) as other:
        return int(other.execute("SELECT COUNT(*) FROM messages_fts_docsize").fetchone()[0])
