"""The server that answers for a command: the running one, or this process under the server's lock."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from pydantic import ValidationError

from chat.exchange.errors import TurnError
from chat.runtime.startup import DataFolderError, ServerRunningError
from commands.answering_server import AnsweringServer, Event, ServerRequestError
from database.conversations.repository import create_conversation
from database.engine.errors import StoreError
from endpoints.http.errors import RequestError, code_of, row_of
from endpoints.http.scope import Access, AppState, access_conversation, check_model, current_state, remember_access
from endpoints.turns.views import Outgoing, turn_query
from language_models.errors import ModelError
from language_models.file_lock import locked

from .running_server import connected_server

_QUEUE_FILE = "commands.lock"
_LOOK_SECONDS = 0.1


class ThisProcess(AnsweringServer):
    """Answers in this process, for one account, while the process is the server of its data folder."""

    outlives_command = False

    def __init__(self, state: AppState, *, user_email: str) -> None:
        self._state = state
        self._user_email = user_email
        remember_access(Access(user_email=user_email, by="session", credential=""))

    def create_conversation(self) -> str:
        """The id of a new conversation. Raises StoreError."""
        row = create_conversation(database=self._state.database, user_email=self._user_email, domain="assistant")
        return row.conversation_id

    def _events(self, conversation_id: str, body: Mapping[str, Any]) -> Generator[Event, None, None]:
        try:
            outgoing = Outgoing.model_validate(body)
            conversation = access_conversation(conversation_id)
            check_model(outgoing.model)
            stream = self._state.turns.start(conversation, turn_query(conversation, outgoing))
        except (RequestError, TurnError, StoreError, ModelError, ValidationError) as error:
            message = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.message
            raise ServerRequestError(message, status=row_of(error).status, code=code_of(error)) from None
        for chunk in stream.lines():
            yield from map(json.loads, chunk.splitlines())

    def cancel(self, conversation_id: str) -> bool:
        """Stop the answer that is being written, keeping what was said; whether there was one."""
        return self._state.turns.cancel(user_email=self._user_email, conversation_id=conversation_id)


@contextmanager
def answering_server(*, user_email: str) -> Iterator[AnsweringServer]:
    """The running server, or without one this process, which other commands then wait for.

    Leaving the block waits for the answers that this process writes; an exception, such as that of Ctrl+C, stops them.
    """
    state = current_state()
    with ExitStack() as serving:
        if _serves_here(state, serving):
            serving.enter_context(_answers_ended(state, user_email=user_email))
            yield ThisProcess(state, user_email=user_email)
            return
        with connected_server(state.settings, database=state.database, user_email=user_email) as server:
            yield server


def _serves_here(state: AppState, serving: ExitStack) -> bool:
    """Become the server of the data folder until `serving` ends; False where another process is. Raises StoreError."""
    with ExitStack() as queue:
        try:
            queue.enter_context(locked(state.settings.data_dir / _QUEUE_FILE, while_waiting=_wait))
        except OSError as error:
            raise DataFolderError(state.settings.data_dir, error) from error
        try:
            state.server.begin(upkeep=False)
        except ServerRunningError:
            return False
        state.server.await_check()
        serving.push(queue.pop_all())
    serving.callback(state.server.end)
    return True


@contextmanager
def _answers_ended(state: AppState, *, user_email: str) -> Iterator[None]:
    try:
        yield
        _finish_turns(state)
    except BaseException:
        state.turns.cancel_all(user_email=user_email)
        _finish_turns(state)
        raise
    finally:
        state.turns.in_background(state.models.aclose()).result()


def _finish_turns(state: AppState) -> None:
    state.turns.in_background(state.turns.finish()).result()


def _wait() -> None:
    time.sleep(_LOOK_SECONDS)
