"""The process that holds an embedded model: the runtime's OpenAI-compatible server on a random loopback port.

Run as `python -m language_models.embedded_child`. One line of JSON on standard input says what to load ({"path",
"api_key", "threads", "slots", "context"}); one line on standard output says where it answers ({"url"}) or what is wrong
({"error"}). It ends when standard input does, and on Linux with its parent, however that ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Load, say where, wait for the parent's end."""
    _die_with_parent()
    wanted = json.loads(sys.stdin.readline())
    try:
        server = _serve(wanted)
    except Exception as error:  # noqa: BLE001 - whatever the runtime raises is the answer
        _say({"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)
    _say({"url": server.listening_address})
    sys.stdin.read()
    # The runtime's own threads would make an ordinary exit wait for running answers.
    os._exit(0)


def _serve(wanted: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    values = {
        "api_keys": [wanted["api_key"]],
        "hostnames": ["127.0.0.1"],
        "port": 0,
        "n_parallel": wanted["slots"],
        "n_ctx": wanted["slots"] * wanted["context"],
        "ui": False,
        "cache_ram_mib": 0,
        "verbosity": 0,
    }
    for name, value in values.items():
        setattr(params, name, value)
    for threads in (params.cpuparams, params.cpuparams_batch):
        setattr(threads, "n_threads", wanted["threads"])  # noqa: B010 - as the others: the runtime's own names
    return xllamacpp.Server(params)


def _say(answer: dict[str, str]) -> None:
    # The runtime logs to standard output as well: a line of ours is marked.
    sys.stdout.write(f"\n@{json.dumps(answer)}\n")
    sys.stdout.flush()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)


if __name__ == "__main__":
    main()
