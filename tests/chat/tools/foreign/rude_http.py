"""An MCP server over HTTP as nobody wants one: each tool is another way to misbehave."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .rude_server import INITIALIZED

TOOLS = ("die", "hang", "headers", "fail", "huge", "bomb", "nonsense", "wrong", "away", "status", "drip")


class RudeServer(ThreadingHTTPServer):
    """released: lets the calls that hang end. visitors: what came to the address that `away` leads to.

    hosts: the name by which each message was sent.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.released = threading.Event()
        self.visitors: list[str] = []
        self.hosts: list[str] = []

    @property
    def url(self) -> str:
        """The address, with a key in its query."""
        return f"http://127.0.0.1:{self.server_address[1]}/mcp?key=query-4711"


class _Handler(BaseHTTPRequestHandler):
    server: RudeServer

    def do_POST(self) -> None:
        """One message."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.hosts.append(self.headers["Host"])
        if self.path in ("/mcp/denied", "/mcp/silent"):
            if self.path == "/mcp/silent":
                self.server.released.wait(600)
            self._send(b"", status=401)
            return
        if not self.path.startswith("/mcp"):
            self.server.visitors.append(self.path)
        if "id" not in request:
            self._send(b"", status=202)
        elif request["method"] == "initialize":
            session = {"Mcp-Session-Id": "4711"} if self.path == "/mcp/clinging" else {}
            self._tell(request, {"result": INITIALIZED}, **session)
        elif request["method"] == "tools/list":
            self._tell(
                request, {"result": {"tools": [{"name": each, "inputSchema": {"type": "object"}} for each in TOOLS]}}
            )
        elif request["method"] == "tools/call":
            self._misbehave(request, request["params"]["name"])
        else:
            self._tell(request, {"error": {"code": -32601, "message": "Method not found"}})

    def do_GET(self) -> None:
        """No stream is offered."""
        self._send(b"", status=405)

    def do_DELETE(self) -> None:
        """The session is over, and the answer to that never is."""
        self._send_endlessly(pause=0.05)

    def _misbehave(self, request: dict[str, Any], name: str) -> None:
        if name == "die":
            return  # the connection is closed without an answer
        if name == "hang":
            self.server.released.wait(600)
        elif name == "drip":
            self._send_endlessly(pause=0.05)
        elif name == "huge":
            self._send_endlessly()
        elif name == "bomb":
            self._send(gzip.compress(bytes(64 * 1024 * 1024)), **{"Content-Encoding": "gzip"})
        elif name == "nonsense":
            self._send(b'{"jsonrpc": "2.0", "id')
        elif name == "wrong":
            self._send(b'[{"jsonrpc": 3, "result": {"content": "x"}}]')
        elif name == "away":
            self._send(b"", status=307, Location=f"http://localhost:{self.server.server_address[1]}/elsewhere")
        elif name == "status":
            self._send(b"no", status=500)
        else:
            text = json.dumps(dict(self.headers.items())) + self.path
            self._tell(request, {"result": {"content": [{"type": "text", "text": text}], "isError": name == "fail"}})

    def _send_endlessly(self, *, pause: float = 0) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with contextlib.suppress(OSError):  # the client hangs up
            while not (pause and self.server.released.wait(pause)):
                self.wfile.write(b" " if pause else b" " * 65_536)

    def _tell(self, request: dict[str, Any], answer: dict[str, Any], **headers: str) -> None:
        self._send(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode(), **headers)

    def _send(self, body: bytes, *, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving() -> Iterator[RudeServer]:
    """A server while the context lasts."""
    server = RudeServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
