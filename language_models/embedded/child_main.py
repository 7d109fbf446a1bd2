"""The process that holds an embedded model: the runtime's OpenAI-compatible server on a random loopback port.

Run as `python -m language_models.embedded.child_main`. It reads one line of JSON from standard input ({"path",
"api_key", "threads", "slots", "context"}) and writes one to standard output: {"url"} when the model is loaded, or
{"error"}. The runtime's own output goes to standard error, of which the parent keeps the last lines. The process exits
when standard input is closed, and on Linux when its parent dies.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Load the model, report the URL, wait until standard input is closed."""
    _die_with_parent()
    _lower_priority()
    _bound_spinning()
    replies = _redirected_output()
    request = json.loads(sys.stdin.readline())
    try:
        server = _serve(request)
    except Exception as error:  # noqa: BLE001 - the parent is told whatever the runtime raises
        _reply(replies, {"error": str(error)})
        sys.exit(1)
    _reply(replies, {"url": server.listening_address})
    sys.stdin.read()
    # A regular exit would wait for the runtime's threads, and so for running answers.
    os._exit(0)


def _serve(request: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = request["path"]
    values = {
        "api_keys": [request["api_key"]],
        "hostnames": ["127.0.0.1"],
        "port": 0,
        "n_parallel": request["slots"],
        "n_ctx": request["slots"] * request["context"],
        # Between two batches the runtime checks for closed connections and serves the other slot. With the default of
        # 2,048 a long prompt blocks both for half a minute; on a CPU, 64 is as fast.
        "n_batch": 64,
        "n_ubatch": 64,
        "use_jinja": True,
        "ui": False,
        # Caches the prompts of conversations that lost their slot, so that they are not read again.
        "cache_ram_mib": 512,
        "verbosity": 0,
    }
    for name, value in values.items():
        setattr(params, name, value)
    for threads in (params.cpuparams, params.cpuparams_batch):
        setattr(threads, "n_threads", request["threads"])  # noqa: B010 - consistent with the names above
    return xllamacpp.Server(params)


def _bound_spinning() -> None:
    """Before the runtime is loaded: a thread that waits for another one spins for some microseconds, and then sleeps.

    Where other programs use the cores too, a thread that spins for longer takes the time of the one that it waits for.
    The operator's environment comes first.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def _redirected_output() -> TextIO:
    """A stream to standard output for replies alone; whatever else is written there goes to standard error.

    The parent reads standard output once: a runtime that logs there would block when the pipe is full.
    """
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _reply(replies: TextIO, reply: dict[str, str]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def _lower_priority() -> None:
    """With the model on every core at normal priority, the server's pages would be slow."""
    if hasattr(os, "nice"):
        os.nice(5)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)


if __name__ == "__main__":
    main()
