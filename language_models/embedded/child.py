"""The process that holds an embedded model: the runtime's OpenAI-compatible server on a random loopback port.

Run as `python -m language_models.embedded.child`. One line of JSON on standard input says what to load ({"path",
"api_key", "threads", "slots", "context"}); one line on standard output says where it answers ({"url"}) or what is wrong
({"error"}). What the runtime writes to standard output goes to standard error, of which the parent keeps the last
lines. It ends when standard input does, and on Linux with its parent, however that ends.
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
    """Load, say where, wait for the parent's end."""
    _die_with_parent()
    _give_way()
    answers = _own_standard_output()
    wanted = json.loads(sys.stdin.readline())
    try:
        server = _serve(wanted)
    except Exception as error:  # noqa: BLE001 - whatever the runtime raises is the answer
        _say(answers, {"error": str(error)})
        sys.exit(1)
    _say(answers, {"url": server.listening_address})
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
        # Between two batches the runtime looks who has gone, and lets the other slot say a token: with its own 2,048 a
        # long prompt holds both for half a minute. Reading is as fast with 64 on a processor.
        "n_batch": 64,
        "n_ubatch": 64,
        "use_jinja": True,
        "ui": False,
        # Prompts of conversations that lost their slot, so that coming back does not mean reading all again.
        "cache_ram_mib": 512,
        "verbosity": 0,
    }
    for name, value in values.items():
        setattr(params, name, value)
    for threads in (params.cpuparams, params.cpuparams_batch):
        setattr(threads, "n_threads", wanted["threads"])  # noqa: B010 - as the others: the runtime's own names
    return xllamacpp.Server(params)


def _own_standard_output() -> TextIO:
    """Standard output for us alone: a runtime that logs into a pipe that nobody empties would stand still one day."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _say(answers: TextIO, answer: dict[str, str]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _give_way() -> None:
    """The server's own work comes first: with the model on every core its pages would wait."""
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
