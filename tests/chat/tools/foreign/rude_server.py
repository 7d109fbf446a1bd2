"""An MCP server as nobody wants one: it dies, hangs, tells its secrets, eats memory and never ends a line."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

TOOLS = ("die", "hang", "environment", "fail", "eat", "flood", "huge")
INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "rude", "version": "1"},
}


def called(name: str) -> dict[str, Any]:
    print(f"a secret beside: {os.environ.get('RUDE_KEY')}", file=sys.stderr, flush=True)
    if name == "die":
        os._exit(1)
    if name == "hang":
        time.sleep(3600)
    if name == "eat":
        bytearray(512 * 1024 * 1024)
    while name == "flood":
        print("x" * 65_536, end="", flush=True)
    if name == "huge":
        return {"content": [], "structuredContent": {"rows": ["word"] * 100_000}}
    text = json.dumps(dict(os.environ)) if name == "environment" else f"wrong key {os.environ.get('RUDE_KEY')}"
    return {"content": [{"type": "text", "text": text}], "isError": name == "fail"}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    method = request["method"]
    if method == "initialize":
        return {"result": INITIALIZED}
    if method == "tools/list":
        return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}}
    if method == "tools/call":
        return {"result": called(request["params"]["name"])}
    return {"error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    for line in sys.stdin:
        received = json.loads(line)
        if "id" in received:
            print(json.dumps({"jsonrpc": "2.0", "id": received["id"], **answer(received)}), flush=True)
