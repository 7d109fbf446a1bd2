"""A client of the running server, for commands that need a turn: HTTP with an API token, answers as NDJSON."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from chat.processes.supervisor import http_address
from commands.answering_server import AnsweringServer, Event, ServerRequestError
from database.accounts import api_tokens
from database.engine.database import Database
from database.engine.errors import TokenNotFoundError
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
        self, path: str, body: Mapping[str, Any], *, is_stream: bool = False
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
                connection.request("POST", path, json.dumps(body), headers)
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
