"""A small client as a script would write one: JSON, cookies, NDJSON streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


@dataclass
class Client:
    """Speaks to one server and keeps its cookies. Each request has a connection of its own, so threads may share it."""

    port: int
    host: str = "127.0.0.1"
    cookies: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    timeout: float = 180.0

    @property
    def origin(self) -> str:
        """What a browser on our own page sends as Origin."""
        return f"http://{self.host}:{self.port}"

    def get(self, path: str, **headers: str) -> Reply:
        """GET `path`; keywords are headers, `_` for `-`."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        """POST `body` as JSON."""
        return self.request("POST", path, body, headers=headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Reply:
        """PUT `body` as JSON."""
        return self.request("PUT", path, body, headers=headers)

    def delete(self, path: str, **headers: str) -> Reply:
        """DELETE `path`."""
        return self.request("DELETE", path, headers=headers)

    def request(self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Reply:
        """Ask and read the whole answer; redirects are not followed."""
        with closing(self._connect()) as connection:
            response = self._ask(connection, method, path, body, headers or {})
            return Reply(response.status, dict(response.getheaders()), response.read())

    def stream(
        self, path: str, body: Any = None, *, accepted: Callable[[], None] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The events of an NDJSON answer as they come: POST with a body, GET without. Close it to hang up.

        accepted: called as soon as the status has come. Raises AssertionError with the body for any status but 200.
        """
        with closing(self._connect()) as connection:
            response = self._ask(connection, "GET" if body is None else "POST", path, body, {})
            assert response.status == 200, (response.status, response.read())
            if accepted is not None:
                accepted()
            for line in response:
                if line.strip():
                    yield json.loads(line)

    def send(self, conversation_id: str, text: str, **fields: Any) -> Iterator[dict[str, Any]]:
        """Send a message and follow the answer."""
        return self.stream(f"/send_message/{conversation_id}", {"messageText": text, **fields})

    def create_conversation(self, domain: str = "assistant") -> str:
        """The id of a new conversation."""
        reply = self.post(f"/create_conversation/{domain}/", {})
        assert reply.status in (200, 201), reply.text
        return str(reply.json()["conversation_id"])

    def _connect(self) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=self.timeout)

    def _ask(
        self, connection: HTTPConnection, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> HTTPResponse:
        sent = {"Accept": "application/json", "Origin": self.origin}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if payload is not None:
            sent["Content-Type"] = "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, payload, sent)
        response = connection.getresponse()
        self._keep_cookies(response)
        return response

    def _keep_cookies(self, response: HTTPResponse) -> None:
        for line in response.headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(line).items():
                if morsel.value and morsel["max-age"] != "0":
                    self.cookies[name] = morsel.value
                else:
                    self.cookies.pop(name, None)


def told(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events without the heartbeats, which are sent wherever a stream is silent for long."""
    return (event for event in events if not event.get("heartbeat"))
