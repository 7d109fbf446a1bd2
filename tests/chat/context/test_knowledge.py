"""Every change of a memory becomes one activity, and every memory gets its vector, behind all else."""

from __future__ import annotations

import asyncio
import itertools
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select

from chat.context.knowledge import EmbeddingUpkeep, KnowledgeAccess, tell_changes
from chat.runtime.upkeep import keep_up
from database.engine.backend import UNEXPLAINED, UNREACHABLE
from database.engine.errors import StorageFailedError
from database.schema import activities
from language_models.errors import ModelUnavailableError
from language_models.ports import ModelState
from search.meaning import MessageVectors
from tests.chat.conftest import EMAIL, Talk, remember, wait_until
from tests.live_server import ROOT, free_port
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.interface.structured_api import KnowledgeModels, KnowledgeUnavailableError
from vault.documents import Vaults

TELL = """
import sys
from database.connection import open_store
from chat.context.knowledge import KnowledgeAccess, tell_changes
knowledge = KnowledgeAccess(sys.argv[1])
knowledge.database()
print("ready", flush=True)
sys.stdin.readline()
print(tell_changes(database=open_store(sys.argv[1]), knowledge=knowledge))
"""


def activities_in(talk: Talk) -> Sequence[Any]:
    """The activities about memories, oldest first."""
    query = select(activities).where(activities.c.type == "pkb_change").order_by(activities.c.seq)
    with talk.store.reading() as connection:
        return connection.execute(query).all()


def told(talk: Talk, knowledge: KnowledgeAccess) -> int:
    return tell_changes(database=talk.database, knowledge=knowledge)


class TestTelling:
    """The outbox: from the audit log to activities."""

    def test_each_change_is_told_once_as_it_happened(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        claim = remember(knowledge, "Tea is good")
        api = knowledge.for_user(EMAIL)
        edited = api.edit_claim(claim.claim_id, statement="Tea is fine")
        assert told(talk, knowledge) == 2
        added, changed = activities_in(talk)
        assert (added.recipe, added.type, added.user_email) == ("knowledge", "pkb_change", EMAIL)
        assert changed.activity_id == edited.metadata["audit_id"]
        assert changed.short_id == changed.activity_id.replace("-", "")[-6:]
        assert changed.payload["action"] == "edit"
        assert (changed.payload["object_id"], added.payload["title"]) == (claim.claim_id, "Tea is good")
        assert changed.payload["detail"] == {"fields": {"statement": "Tea is fine"}}

    def test_what_was_told_is_not_told_again(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "Tea is good")
        assert [told(talk, knowledge), told(talk, knowledge)] == [1, 0]
        assert len(activities_in(talk)) == 1

    def test_a_crash_before_the_mark_doubles_nothing(
        self, talk: Talk, knowledge: KnowledgeAccess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Crash(BaseException):
            pass

        def crash(*_: Any) -> None:
            raise Crash

        remember(knowledge, "Tea is good")
        with monkeypatch.context() as patched:
            patched.setattr("chat.context.knowledge.mark_delivered", crash)
            with pytest.raises(Crash):
                told(talk, knowledge)
        remember(knowledge, "Milk too")
        assert told(talk, knowledge) == 2
        assert [row.payload["title"] for row in activities_in(talk)] == ["Tea is good", "Milk too"]
        assert told(talk, knowledge) == 0

    def test_many_are_told_in_portions_and_in_order(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        titles = [f"Fact {number}" for number in range(250)]
        for title in titles:
            remember(knowledge, title)
        assert [told(talk, knowledge), told(talk, knowledge), told(talk, knowledge)] == [200, 50, 0]
        rows = activities_in(talk)
        assert [row.payload["title"] for row in rows] == titles
        assert len({row.short_id for row in rows}) == 250

    def test_each_person_hears_of_their_own(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "Tea is good")
        remember(knowledge, "Tea is bad", email="eve@example.com")
        told(talk, knowledge)
        by_user = {row.user_email: row for row in activities_in(talk)}
        assert by_user[EMAIL].payload["title"] == "Tea is good"
        assert by_user["eve@example.com"].payload["title"] == "Tea is bad"
        assert by_user[EMAIL].conversation_id != by_user["eve@example.com"].conversation_id

    @pytest.mark.parametrize("email", ["", "gone@example.com"])
    def test_changes_of_nobody_hold_nobody_up(self, email: str, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "Whose is this?", email=email)
        remember(knowledge, "Tea is good")
        assert told(talk, knowledge) == 2
        assert EMAIL in {row.user_email for row in activities_in(talk)}
        assert told(talk, knowledge) == 0

    @pytest.mark.live
    def test_two_processes_at_once_tell_each_change_once(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        for number in range(150):
            remember(knowledge, f"Fact {number}")
        command = [sys.executable, "-c", TELL, str(talk.database.folder)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT, "text": True}
        with subprocess.Popen(command, **pipes) as one, subprocess.Popen(command, **pipes) as other:
            for process in (one, other):
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            for process in (one, other):
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
            assert [process.wait(60) for process in (one, other)] == [0, 0]
        assert len(activities_in(talk)) == len({row.activity_id for row in activities_in(talk)}) == 150
        assert told(talk, knowledge) == 0


class TestEmbedding:
    """Vectors are made behind, and only where there is something to make."""

    @pytest.fixture
    def model(self) -> WordVectors:
        return WordVectors()

    @pytest.fixture
    def embedding(self, talk: Talk, model: WordVectors) -> Iterator[KnowledgeAccess]:
        access = KnowledgeAccess(talk.database.folder, models=lambda: KnowledgeModels(embedding=model))
        yield access
        access.close()

    @pytest.fixture
    def upkeep(self, embedding: KnowledgeAccess, monkeypatch: pytest.MonkeyPatch) -> EmbeddingUpkeep:
        monkeypatch.setattr("chat.context.knowledge._EMBED_SECONDS", 60.0)
        return EmbeddingUpkeep(embedding)

    def test_pending_memories_of_everybody_get_their_vectors(
        self, embedding: KnowledgeAccess, upkeep: EmbeddingUpkeep, model: WordVectors
    ) -> None:
        remember(embedding, "Tea is good")
        remember(embedding, "Tea is bad", email="eve@example.com")
        assert upkeep.embed_pending() == 2
        vectors = embedding.for_user(EMAIL).statistics().data["vectors"]
        assert vectors == {"embedded": 1, "pending": 0, "model": "words", "state": "ready"}
        assert {"Tea is bad", "Tea is good"} <= set(model.embedded)

    def test_the_model_is_left_alone_when_nothing_is_pending(
        self, embedding: KnowledgeAccess, upkeep: EmbeddingUpkeep, model: WordVectors
    ) -> None:
        remember(embedding, "Tea is good")
        upkeep.embed_pending()
        model.fails_with = ModelUnavailableError("It must not be asked.")
        assert upkeep.embed_pending() == 0

    def test_a_changed_statement_is_embedded_again(
        self, embedding: KnowledgeAccess, upkeep: EmbeddingUpkeep, model: WordVectors
    ) -> None:
        claim = remember(embedding, "Tea is good")
        upkeep.embed_pending()
        api = embedding.for_user(EMAIL)
        api.pin_claim(claim.claim_id)
        assert upkeep.embed_pending() == 0
        api.edit_claim(claim.claim_id, statement="Tea is fine")
        assert upkeep.embed_pending() == 1
        assert model.embedded.count("Tea is fine") == 1

    def test_a_model_that_failed_is_asked_again_later(
        self, embedding: KnowledgeAccess, upkeep: EmbeddingUpkeep, model: WordVectors
    ) -> None:
        remember(embedding, "Tea is good")
        model.fails_with = ModelUnavailableError("Out to lunch.")
        with pytest.raises(ModelUnavailableError):
            upkeep.embed_pending()
        model.fails_with = None
        assert upkeep.embed_pending() == 1

    def test_while_nothing_is_changed_one_statement_says_so(
        self, embedding: KnowledgeAccess, upkeep: EmbeddingUpkeep, model: WordVectors
    ) -> None:
        claim = remember(embedding, "Tea is good")
        api = embedding.for_user(EMAIL)
        tag = api.add_tag("drinks").data
        assert [upkeep.embed_pending() for _ in range(3)] == [2, 0, 0]
        before = embedding.database().statements
        assert [upkeep.embed_pending() for _ in range(10)] == [0] * 10
        assert embedding.database().statements == before + 10
        api.edit_claim(claim.claim_id, statement="Tea is fine")
        assert upkeep.embed_pending() == 1
        api.edit_tag(tag.tag_id, name="hot drinks")
        assert upkeep.embed_pending() == 1
        model.name = "other words"
        assert upkeep.embed_pending() == 2
        models = "SELECT DISTINCT model FROM claim_embeddings ORDER BY model"
        assert embedding.database().select(models) == [("other words",), ("words",)]
        assert upkeep.embed_pending() == 0
        assert embedding.database().select(models) == [("other words",)]

    def test_what_was_begun_is_gone_on_with_without_a_change(
        self, embedding: KnowledgeAccess, upkeep: EmbeddingUpkeep, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chat.context.knowledge._EMBED_SECONDS", 0.0)
        for number in range(70):
            remember(embedding, f"Tea number {number}")
        assert [upkeep.embed_pending() for _ in range(3)] == [64, 6, 0]

    def test_a_model_that_loads_when_needed_is_loaded_before_a_question_needs_it(
        self, embedding: KnowledgeAccess, model: WordVectors, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model, "state", lambda: ModelState(name="words", phase="waiting"))
        EmbeddingUpkeep(embedding).embed_pending()
        assert model.embedded == []  # nothing is known that it could be needed for
        remember(embedding, "Tea is good")
        EmbeddingUpkeep(embedding).embed_pending()
        loaded_again = WordVectors()
        monkeypatch.setattr(loaded_again, "state", model.state)
        access = KnowledgeAccess(talk.database.folder, models=lambda: KnowledgeModels(embedding=loaded_again))
        after_a_restart = EmbeddingUpkeep(access)
        assert [after_a_restart.embed_pending() for _ in range(3)] == [0, 0, 0]
        assert "Tea is good" not in loaded_again.embedded
        assert len(loaded_again.embedded) == 48  # sentences that say what "unrelated" means for this model
        access.close()

    @pytest.mark.parametrize("phase", ["loading", "downloading", "failed"])
    def test_a_model_that_is_not_there_yet_is_not_asked(
        self,
        phase: Any,
        embedding: KnowledgeAccess,
        upkeep: EmbeddingUpkeep,
        model: WordVectors,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        remember(embedding, "Tea is good")
        monkeypatch.setattr(model, "state", lambda: ModelState(name="words", phase=phase))
        before = embedding.database().statements
        assert upkeep.embed_pending() == 0
        assert (model.embedded, embedding.database().statements) == ([], before)

    def test_without_a_model_the_store_is_not_even_asked(self, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "Tea is good")
        before = knowledge.database().statements
        assert EmbeddingUpkeep(knowledge).embed_pending() == 0
        assert knowledge.database().statements == before


class TestKeepingUp:
    """The server's loop over both."""

    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("chat.runtime.upkeep._EVERY", 0.01)
        monkeypatch.setattr("chat.runtime.upkeep._EMBED_AFTER", 0.0)
        monkeypatch.setattr("chat.runtime.upkeep._AFTER_FAILURE", 0.01)

    @staticmethod
    def until(condition: Callable[[], bool], talk: Talk, knowledge: KnowledgeAccess) -> None:
        """Keep up until the condition holds."""

        async def keep() -> None:
            vectors = MessageVectors(database=talk.database, model=lambda: None)
            vaults = Vaults(database=talk.database)
            keeping = keep_up(database=talk.database, knowledge=knowledge, vectors=vectors, vaults=vaults)
            task = asyncio.create_task(keeping)
            async with asyncio.timeout(120):
                while not condition() and not task.done():
                    await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(keep())

    def test_changes_are_told_as_they_come(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "Tea is good")
        self.until(lambda: len(activities_in(talk)) == 1, talk, knowledge)
        assert activities_in(talk)[0].payload["title"] == "Tea is good"

    def test_a_model_that_hangs_keeps_no_change_from_being_told(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = WordVectors()
        access = KnowledgeAccess(talk.database.folder, models=lambda: KnowledgeModels(embedding=model))
        remember(access, "Tea is good")
        asked, released = Event(), Event()

        def hanging(texts: Sequence[str]) -> Any:
            asked.set()
            released.wait(60)
            raise ModelUnavailableError("Too late.")

        def told_meanwhile() -> bool:
            if not asked.is_set():
                return False
            if api.claims.count() == 1:
                remember(access, "Tea is fine")
            if len(activities_in(talk)) < 2:
                return False
            released.set()
            return True

        api = access.for_user(EMAIL)
        monkeypatch.setattr(model, "embed", hanging)
        self.until(told_meanwhile, talk, access)
        access.close()
        assert [row.payload["title"] for row in activities_in(talk)] == ["Tea is good", "Tea is fine"]

    def test_no_fault_of_memories_or_models_ends_it(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        model = WordVectors()
        access = KnowledgeAccess(talk.database.folder, models=lambda: KnowledgeModels(embedding=model))
        remember(access, "Tea is good")
        faults: list[Exception] = [ModelUnavailableError("Out to lunch."), RuntimeError("A bug.")]
        embed = model.embed

        def faulty(texts: Sequence[str]) -> Any:
            if faults:
                raise faults.pop()
            return embed(texts)

        monkeypatch.setattr(model, "embed", faulty)
        with caplog.at_level(logging.WARNING):
            self.until(lambda: bool(model.embedded), talk, access)
        access.close()
        assert "Tea is good" in model.embedded
        assert "upkeep of vectors of memories has to wait: Out to lunch." in caplog.messages
        assert "upkeep of vectors of memories failed" in caplog.messages


def test_only_an_open_store_can_tell_that_somebody_has_no_memories(talk: Talk) -> None:
    access = KnowledgeAccess(talk.database.folder)
    assert not access.is_empty(EMAIL)
    access.for_user(EMAIL)
    assert access.is_empty(EMAIL)
    access.for_user(EMAIL).add_claim("I prefer tea", "preference", "personal", auto_extract=False)
    assert not access.is_empty(EMAIL)
    assert access.is_empty("ben@example.org")
    access.set_damage("page 3 is damaged")
    assert not access.is_empty("ben@example.org")
    access.close()


@pytest.mark.parametrize(("reason", "is_kept"), [(UNREACHABLE, True), (UNEXPLAINED, False)])
def test_memories_whose_server_was_away_are_not_opened_anew(
    talk: Talk, knowledge: KnowledgeAccess, monkeypatch: pytest.MonkeyPatch, reason: str, is_kept: bool
) -> None:
    monkeypatch.setattr("chat.context.knowledge._TRY_AGAIN_AFTER", 0.0)
    opened = knowledge.database()
    monkeypatch.setattr(type(opened.store.backend), "store_error", lambda *_: StorageFailedError(reason))
    with pytest.raises(KnowledgeUnavailableError):
        opened.fetchall("SELECT 1 FROM nowhere")
    assert knowledge.is_available()
    assert (knowledge.database() is opened) is is_kept


def test_a_store_that_could_not_be_opened_is_opened_for_whoever_asks_whether_it_can_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "pkb.sqlite"
    file.mkdir()
    access = KnowledgeAccess(tmp_path)
    for _ in range(3):
        assert not access.is_available()
    file.rmdir()
    wait_until(access.is_available)
    assert access._opening is not None
    access.close()
    told = [record for record in caplog.records if record.name == "chat.context.knowledge"]
    assert [record.getMessage().partition(":")[0] for record in told] == [
        "the knowledge base can't be opened",
        "the knowledge base is open again",
    ]


def test_a_server_that_is_away_is_logged_once_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"postgresql://nobody:x@127.0.0.1:{free_port()}/nothing"
    monkeypatch.setattr("chat.context.knowledge.database_url_of", lambda _folder: address)
    moments = itertools.count(0.0, 10.0)
    monkeypatch.setattr("chat.context.knowledge.time", SimpleNamespace(monotonic=lambda: next(moments)))
    access = KnowledgeAccess(tmp_path)
    openings = list[object]()
    for _ in range(5):
        assert not access.is_available()
        openings.append(access._opening)
    access.close()
    assert len(set(map(id, openings))) == 5
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "reading nothing failed",
        "the knowledge base can't be opened",
    ]


def test_whoever_asks_often_begins_no_attempt_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkb.sqlite").mkdir()
    now = [100.0]
    monkeypatch.setattr("chat.context.knowledge.time", SimpleNamespace(monotonic=lambda: now[-1]))
    access = KnowledgeAccess(tmp_path)
    openings = list[object]()
    for later in (0.0, 0.5, 0.9, 1.0):
        now.append(100.0 + later)
        assert not access.is_available()
        openings.append(access._opening)
    access.close()
    assert [opening is openings[0] for opening in openings] == [True, True, True, False]


@pytest.mark.parametrize(("is_writing", "doing"), [(False, "reading"), (True, "writing")])
def test_a_failure_counts_where_its_work_belongs(
    talk: Talk, knowledge: KnowledgeAccess, monkeypatch: pytest.MonkeyPatch, is_writing: bool, doing: str
) -> None:
    assert talk
    opened = knowledge.database()
    monkeypatch.setattr(type(opened.store.backend), "store_error", lambda *_: StorageFailedError(UNREACHABLE))
    with pytest.raises(KnowledgeUnavailableError):
        (opened.execute if is_writing else opened.fetchall)("SELECT 1 FROM nowhere")
    pools = {"reading": opened.store._readers, "writing": opened.store._writer}
    assert [name for name, pool in pools.items() if pool.outage.is_on] == [doing]
