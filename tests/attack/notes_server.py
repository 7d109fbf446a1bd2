"""An MCP server over HTTP that a person has joined, and that tells models what an attacker wants."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "notes", "version": "1"},
}


class NotesServer(ThreadingHTTPServer):
    """Its tools are `read` and `erase`. said: what `read` answers. erased: how often it was told to erase."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.said = ""
        self.erased = 0

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def called(self, tool: str) -> str:
        """What a tool answers."""
        if tool == "read":
            return self.said
        self.erased += 1
        return "Erased."

    @contextlib.contextmanager
    def serving(self) -> Iterator[NotesServer]:
        """Serve from a thread of its own while the context lasts."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            thread.join()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: NotesServer

    def do_POST(self) -> None:
        """One message."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request:
            self._send(b"", status=202)
            return
        answer = self._answer(request["method"], request.get("params") or {})
        self._send(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode(), status=200)

    def do_GET(self) -> None:
        """No stream is offered."""
        self._send(b"", status=405)

    def do_DELETE(self) -> None:
        """There are no sessions."""
        self._send(b"", status=405)

    def _answer(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {"result": _INITIALIZED}
        if method == "tools/list":
            return {
                "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("read", "erase")]}
            }
        if method == "tools/call":
            text = self.server.called(given["name"])
            return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def _send(self, body: bytes, *, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""
