"""A store, a person, and conversations that a scripted model answers in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Connection, update

from chat.context.knowledge import KnowledgeAccess, close_knowledge
from chat.exchange.ports import TurnServices
from chat.processes.metrics import Metrics
from chat.turns.runner import TurnRunner
from chat.turns.streams import LiveStream
from Conversation import Conversation
from database import schema
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation
from database.engine.database import Database
from language_models.testing import Reply, ScriptedChatModel
from tests.stores import put_empty_store
from truth_management_system import Claim

EMAIL = "ada@example.com"


@dataclass
class ScriptedModels:
    """A main and a cheap model, both scripted."""

    main_model: ScriptedChatModel = field(default_factory=lambda: ScriptedChatModel.saying("Fine, ", "thank you."))
    cheap_model: ScriptedChatModel = field(default_factory=lambda: ScriptedChatModel.saying("Talking About Things"))

    def main(self) -> ScriptedChatModel:
        return self.main_model

    def cheap(self) -> ScriptedChatModel:
        return self.cheap_model

    def for_name(self, setting: str) -> ScriptedChatModel:
        raise ValueError(f"no model {setting}")


class Talk:
    """Conversations of one store."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = database
        self.models = ScriptedModels()
        self.services = TurnServices(models=self.models, embedding_patience=60.0)
        self.loads: list[str] = []

    def new(self, *, email: str = EMAIL) -> Conversation:
        """An empty conversation."""
        row = create_conversation(database=self.database, user_email=email, domain="assistant")
        return Conversation(email, self.store, row.conversation_id)

    def again(self, conversation: Conversation) -> Conversation:
        """The same conversation, read anew."""
        return Conversation(conversation.user_id, self.store, conversation.conversation_id)

    def about(self, title: str, *turns: tuple[str, str], email: str = EMAIL) -> Conversation:
        """A conversation with finished turns (question, answer)."""
        conversation = self.new(email=email)
        for question, answer in turns:
            conversation.persist_current_turn(question, answer, title=title)
        return self.again(conversation)

    def set_hashes(self, conversation: Conversation, hashes: Sequence[str]) -> None:
        """Give the messages of a conversation these short hashes, in order, as an earlier version might have."""
        ids = [message["message_id"] for message in conversation.get_message_list()]

        def job(connection: Connection) -> None:
            for message_id, short_hash in zip(ids, hashes, strict=True):
                here = schema.messages.c.message_id == message_id
                connection.execute(update(schema.messages).where(here).values(message_short_hash=short_hash))

        self.store.write(job)

    def query(self, text: str, *, email: str = EMAIL, **more: Any) -> dict[str, Any]:
        """What an endpoint hands to `reply`."""

        def load(conversation_id: str) -> Conversation:
            self.loads.append(conversation_id)
            return Conversation(email, self.store, conversation_id)

        injected = {"_users_dir": str(self.database.folder), "_services": self.services, "_conversation_loader": load}
        return {"messageText": text, **injected, **more}

    def say(self, conversation: Conversation, text: str, **more: Any) -> list[dict[str, Any]]:
        """All events of the answer to `text`."""
        return list(conversation.reply(self.query(text, **more)))

    def configure(self, **changes: Any) -> None:
        """Other services from now on."""
        self.services = replace(self.services, **changes)

    @property
    def last_prompt(self) -> str:
        """The last message of the last prompt that the main model was given."""
        return self.models.main_model.prompts[-1][-1]["content"]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    """A store with a scripted model."""
    database = open_store(put_empty_store(tmp_path / "users"))
    yield Talk(database)
    close_knowledge(database.folder)
    close_store(database.folder)


@pytest.fixture
def runner(talk: Talk) -> Iterator[TurnRunner]:
    """Runs turns on a loop of its own; the test ends when they have."""
    runner = TurnRunner(database=talk.database, metrics=Metrics())
    yield runner
    wait_until(lambda: runner.running() == 0)
    if runner._loop is not None:
        loop = runner._loop
        asyncio.run_coroutine_threadsafe(_quiet(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        wait_until(lambda: not loop.is_running())
        loop.close()


async def _quiet() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=30)


def storing_held_back(runner: TurnRunner, monkeypatch: pytest.MonkeyPatch) -> Future[None]:
    """Let no event be stored before the future that is returned has a result."""
    let_go, submit = Future[None](), runner._submit

    def hold_back(rows: Any, writes: Any) -> asyncio.Future[None]:
        async def later() -> None:
            await asyncio.wrap_future(let_go)
            await submit(rows, writes)

        return asyncio.ensure_future(later())

    monkeypatch.setattr(runner, "_submit", hold_back)
    return let_go


def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Return once `condition` holds; a failure after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def wait_until_shown(stream: LiveStream, seq: int) -> None:
    """Return once watchers may see event number `seq`."""
    wait_until(lambda: stream.last_seq >= seq)


def parsed(chunks: Iterator[bytes]) -> list[dict[str, Any]]:
    """The events of streamed lines."""
    return [orjson.loads(line) for chunk in chunks for line in chunk.splitlines()]


def slowly(*words: str) -> ScriptedChatModel:
    """A model that takes 20 ms for each word."""
    return ScriptedChatModel(replies=[Reply(*words, delay=0.02)])


@pytest.fixture
def knowledge(talk: Talk) -> Iterator[KnowledgeAccess]:
    """The knowledge base that conversations of `talk` look into."""
    access = KnowledgeAccess(talk.database.folder)
    talk.configure(knowledge=access)
    yield access
    access.close()


def remember(knowledge: KnowledgeAccess, statement: str, *, email: str = EMAIL, **fields: Any) -> Claim:
    """A new memory."""
    added = knowledge.for_user(email).add_claim(statement, auto_extract=False, **fields)
    assert added.success, added.errors
    claim: Claim = added.data
    return claim


def joined(events: list[dict[str, Any]]) -> str:
    """The answer that the events spell."""
    return "".join(event["text"] for event in events)


def part(events: list[dict[str, Any]], name: str) -> Any:
    """The last event's field `name`."""
    return [event[name] for event in events if name in event][-1]


def fid(conversation: Conversation) -> str:
    """The friendly id."""
    return str(conversation.get_metadata()["conversation_friendly_id"])
