"""The product that answers: the application in this process, with a store of its own that holds the histories."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from flask import Flask
from flask.testing import FlaskClient

from chat.context.knowledge import EmbeddingUpkeep
from chat.exchange.services import models_from
from conversation_reference_utils import canonical_reference
from database.accounts.sessions import create_session
from database.accounts.users import create_user
from database.connection import close_store
from database.conversations.friendly_ids import friendly_id_candidates
from database.conversations.titles import heuristic_title
from database.engine.clock import iso
from database.imports.importing import import_conversation
from database.search.indexing import index_pending
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION, AppState
from language_models.ports import ChatModel
from language_models.roles import ModelRoles
from server import create_app
from settings import Settings, load_settings
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

from .arms import Arm
from .generator import AnswerHistory, AskedQuestion, Source, Talk
from .metering import MeteredModel, cpu_seconds

_ORIGIN = {"Origin": "http://localhost"}
_PATIENCE = 300.0
_FROM_ENVIRONMENT = ("OPENAI_", "ANTHROPIC_", "ANAPHORA_MODEL_DIR", "ANAPHORA_CONTEXT_WINDOW", "HOME", "XDG_CACHE_HOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What became of a question.

    references: what the model was given with it, each with its status. tool_calls: name, arguments, status and result
    of each. figures: requests, tokens and seconds.
    """

    text: str
    status: str
    error: str
    references: list[str]
    tool_calls: list[dict[str, Any]]
    figures: dict[str, Any]


@contextmanager
def running_product(
    model: str, *, override: ChatModel | None = None, embedding: str = "embedded", reading: float | None = None
) -> Iterator[Product]:
    """The product with this main model (a setting, or `override`), its data in a folder that is removed at the end.

    reading: see `MeteredModel`.
    """
    with TemporaryDirectory(prefix="answers-") as folder:
        settings = _settings(Path(folder), model=model, embedding=embedding)
        models = models_from(settings)
        meter = MeteredModel(override or models.main(), reading=reading)
        app = create_app(settings, models=_with_main(settings, meter), serves=False)
        try:
            yield Product(app, meter)
        finally:
            app.extensions[EXTENSION].knowledge.close()
            close_store(settings.users_dir)
            asyncio.run(models.aclose())


class Product:
    """Asks the application as the page does. Each history belongs to an account of its own."""

    def __init__(self, app: Flask, meter: MeteredModel) -> None:
        # A busy machine may need longer for the question's vector than a person waits.
        state: AppState = app.extensions[EXTENSION]
        state = replace(state, services=replace(state.services, embedding_patience=_PATIENCE))
        app.extensions[EXTENSION] = state
        self._app = app
        self._state = state
        self._meter = meter
        self._people: dict[int, _Person] = {}

    def ask(self, question: AskedQuestion, history: AnswerHistory, arm: Arm) -> Answered:
        """Ask in a new conversation, which is deleted afterwards: no question is to find another one."""
        person = self._person(history)
        conversation_id = person.post("/create_conversation/assistant/").json["conversation_id"]
        references = [person.references[source] for source in question.sources]
        if arm.searches or arm.calls_tools:
            _index(self._state)
        self._meter.figures()
        cpu, began = cpu_seconds(), time.monotonic()
        events = person.events(f"/send_message/{conversation_id}", arm.request(question.text, references))
        figures = {"wall_seconds": time.monotonic() - began, "cpu_seconds": cpu_seconds() - cpu}
        answer = person.client.get(f"/list_messages_by_conversation/{conversation_id}").json[-1]  # type: ignore[index]
        person.client.delete(f"/delete_conversation/{conversation_id}", headers=_ORIGIN)
        return Answered(
            text=answer["text"],
            status=answer["status"],
            error="; ".join(str(event["error"]) for event in events if "error" in event),
            references=_named([event["references"] for event in events if "references" in event]),
            tool_calls=[part for part in answer.get("parts") or () if part.get("kind") == "tool_call"],
            figures={**self._meter.figures(), **{name: round(value, 2) for name, value in figures.items()}},
        )

    def _person(self, history: AnswerHistory) -> _Person:
        if history.number not in self._people:
            self._people[history.number] = _stored(history, self._app, self._state)
        return self._people[history.number]


@dataclass(frozen=True, slots=True)
class _Person:
    """Somebody who is logged in. references: how each source is named by hand."""

    client: FlaskClient
    references: dict[Any, str]

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        reply = self.client.post(path, json=body, headers=_ORIGIN)
        assert reply.status_code < 300, reply.get_data(as_text=True)
        return reply

    def events(self, path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.post(path, body).get_data().splitlines()]


def _named(reports: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """The entries of the last report: a later one replaces the earlier."""
    return [f"{entry['ref']}: {entry['status']}" for entry in reports[-1]] if reports else []


def _stored(history: AnswerHistory, app: Flask, state: AppState) -> _Person:
    """An account with everything in the history."""
    email = f"person-{history.number}@example.org"
    create_user(database=state.database, user_email=email, password="not used to log in", is_admin=False)
    _open_knowledge(state)
    client = app.test_client()
    client.set_cookie(SESSION_COOKIE, create_session(database=state.database, user_email=email))
    person = _Person(client, {})
    for number, talk in enumerate(history.talks):
        for place, reference in enumerate(_store_talk(talk, state, email, number)):
            person.references[Source(kind="message", talk=number, place=place)] = reference
    for place, statement in enumerate(history.memories):
        memory = {"statement": statement, "claim_type": "fact", "context_domain": "personal"}
        claim = person.post("/pkb/claims", memory).json["claim"]
        person.references[Source(kind="memory", place=place)] = f"@{claim['friendly_id']}"
    vault = state.vaults.of(email)
    for document in history.documents:
        vault.write(document.path, document.text)
        name = document.path.removesuffix(".md")
        person.references[Source(kind="document", path=document.path)] = f"[[{name}]]"
    return person


def _open_knowledge(state: AppState) -> None:
    """Wait until memories can be stored: on a busy machine that takes longer than a request waits."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            state.knowledge.database()
        except KnowledgeUnavailableError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.1)  # it has failed, and will be tried again
        else:
            return


def _store_talk(talk: Talk, state: AppState, email: str, number: int) -> list[str]:
    """Store a conversation with its dates; the references to its messages."""
    conversation_id = f"{email}_talk{number}"
    created_at = iso(talk.begun_at.replace(tzinfo=UTC))
    title = heuristic_title(talk.said[0].text)
    friendly_id = next(friendly_id_candidates(title, created_at, conversation_id))
    messages = [
        {
            "sender": said.sender,
            "text": said.text,
            "created_at": iso(talk.begun_at.replace(tzinfo=UTC) + timedelta(minutes=place)),
        }
        for place, said in enumerate(talk.said)
    ]
    rows = state.database.write(
        lambda connection: import_conversation(
            connection,
            messages,
            user_email=email,
            conversation_id=conversation_id,
            friendly_id=friendly_id,
            domain="assistant",
            title=title,
            created_at=created_at,
            updated_at=messages[-1]["created_at"],
        )
    )
    return [canonical_reference(friendly_id, row["message_short_hash"]) for row in rows]


def _index(state: AppState) -> None:
    """Do at once what a server does beside its requests: make what was stored findable by words and by meaning."""
    index_pending(database=state.database)
    model = state.knowledge.embedding()
    if model is None:
        return
    model.embed(["Load the model."])
    memories = EmbeddingUpkeep(state.knowledge)
    for embed in (memories.embed_pending, state.vectors.embed_pending, state.vaults.vectors.embed_pending):
        while embed():
            pass


def _settings(folder: Path, *, model: str, embedding: str) -> Settings:
    """Keys and addresses of providers as they are set outside, all else as a server has it without settings.

    There is no cheap model: titles are the first words of a message, and no request but the answer's own is counted.
    """
    outside = {name: text for name, text in os.environ.items() if name.startswith(_FROM_ENVIRONMENT)}
    own = {"DATA_DIR": str(folder), "MAIN_MODEL": model, "CHEAP_MODEL": "none", "EMBEDDING_MODEL": embedding}
    named = {f"ANAPHORA_{name}": text for name, text in own.items()}
    return load_settings({**outside, **named}, env_file=folder / "no.env")


def _with_main(settings: Settings, main: ChatModel) -> ModelRoles:
    return ModelRoles(
        main="none",
        cheap="none",
        embedding=settings.embedding_model,
        openai_base_url=settings.openai_base_url,
        openai_api_key=settings.openai_api_key,
        anthropic_api_key=settings.anthropic_api_key,
        model_dir=settings.model_dir,
        overrides={"main": main},
    )
