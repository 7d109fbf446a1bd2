"""The server that answers for a command: the running one, or this process under the server's lock."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from chat.exchange.errors import TurnError
from chat.processes.supervisor import http_address
from chat.runtime.startup import DataFolderError, ServerRunningError
from commands.answering_server import AnsweringServer, Event, ServerRequestError
from database.accounts import api_tokens
from database.conversations.deletion import erase_binned
from database.conversations.repository import create_conversation, delete_conversation
from database.engine.database import Database
from database.engine.errors import StoreError, TokenNotFoundError
from endpoints.http.errors import RequestError, code_of, row_of
from endpoints.http.scope import Access, AppState, access_conversation, check_model, current_state, remember_access
from endpoints.turns.models import Outgoing
from endpoints.turns.views import turn_query
from language_models.errors import ModelError
from language_models.file_lock import locked
from settings import Settings

_EVERY_INTERFACE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses of listeners, not bound here
_CONNECT_SECONDS = 10.0
_SECONDS = 60.0
_TOKEN_NAME = "Terminal chat"


class RunningServer(AnsweringServer):
    """The server that listens where the settings say. A token of one account says who asks."""

    outlives_command = True

    def __init__(self, *, host: str, port: int, token: str) -> None:
        self._host = _EVERY_INTERFACE.get(host.strip("[]"), host.strip("[]"))
        self._port = port
        self._token = token

    def create_conversation(self) -> str:
        """The id of a new conversation. Raises ServerRequestError."""
        return str(self._post("/create_conversation/assistant/", {})["conversation_id"])

    def discard(self, conversation_id: str) -> None:
        """Erase a conversation in which nothing was said. Raises ServerRequestError."""
        for place in ("delete_conversation", "bin"):
            with self._response(f"/{place}/{quote(conversation_id, safe='')}", {}, method="DELETE"):
                pass

    def _events(self, conversation_id: str, body: Mapping[str, Any]) -> Generator[Event, None, None]:
        with self._response(f"/send_message/{quote(conversation_id, safe='')}", body, is_stream=True) as response:
            for line in response:
                if line.strip():
                    yield json.loads(line)

    def cancel(self, conversation_id: str) -> bool:
        """Stop the answer that is being written; whether there was one. Raises ServerRequestError."""
        return bool(self._post(f"/cancel_response/{quote(conversation_id, safe='')}", {})["cancelled"])

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        with self._response(path, body) as response:
            answer: dict[str, Any] = json.loads(response.read())
        return answer

    @contextmanager
    def _response(
        self, path: str, body: Mapping[str, Any], *, method: str = "POST", is_stream: bool = False
    ) -> Iterator[http.client.HTTPResponse]:
        """A successful response. is_stream: the server may be silent for as long as a model thinks."""
        with closing(http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)) as connection:
            try:
                connection.connect()
                connection.sock.settimeout(None if is_stream else _SECONDS)
                headers = {
                    "Accept": "application/json",
                    "Authorization": f"Bearer {self._token}",
                    "Content-Type": "application/json",
                }
                connection.request(method, path, json.dumps(body), headers)
                response = connection.getresponse()
                _raise_for_status(response)
                yield response
            except ConnectionRefusedError as error:
                raise ServerRequestError(self._not_there()) from error
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise ServerRequestError("The connection to the server broke. What was said is kept.") from error

    def _not_there(self) -> str:
        return (
            f"A server works on this data folder, but none answers at {http_address(self._host, self._port)}. "
            "Set ANAPHORA_HOST and ANAPHORA_PORT as for that server, or try again if it is just starting."
        )


def _raise_for_status(response: http.client.HTTPResponse) -> None:
    if response.status < HTTPStatus.BAD_REQUEST:
        return
    if response.status == HTTPStatus.UNAUTHORIZED:
        raise ServerRequestError("The server there works on another data folder.", status=response.status)
    try:
        told = json.loads(response.read())
        message, code = str(told["message"]), str(told["code"])
    except (ValueError, KeyError, TypeError):
        message, code = f"The server answered with the status {response.status}.", None
    raise ServerRequestError(message, status=response.status, code=code)


@contextmanager
def connected_server(settings: Settings, *, database: Database, user_email: str) -> Iterator[RunningServer]:
    """The running server, with a token of the account that is revoked afterwards."""
    row, secret = api_tokens.create_token(database=database, user_email=user_email, name=_TOKEN_NAME)
    try:
        yield RunningServer(host=settings.host, port=settings.port, token=secret)
    finally:
        with suppress(TokenNotFoundError):  # the person revoked it meanwhile
            api_tokens.revoke_token(database=database, user_email=user_email, token_id=row.token_id)


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

    def discard(self, conversation_id: str) -> None:
        """Erase a conversation in which nothing was said. Raises StoreError."""
        own: dict[str, Any] = {"database": self._state.database, "user_email": self._user_email}
        delete_conversation(**own, conversation_id=conversation_id)
        erase_binned(**own, conversation_id=conversation_id)

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
