"""The child process of an embedded model, seen from the server."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from language_models.errors import ModelUnavailableError
from sentences import otherwise

log = logging.getLogger(__name__)
SLOTS = 2
CONTEXT = 8192
_COMMAND = [sys.executable, "-m", "language_models.embedded.child_main"]
_LINES_KEPT = 100
_LONGEST_LINE = 1_000
_LISTEN_SECONDS = 2.0
_OUT_OF_MEMORY = ("out of memory", "failed to allocate", "cannot allocate", "bad_alloc", "unable to allocate")
_ROOT = Path(__file__).resolve().parents[2]


class EmbeddedProcess:
    """A running child process.

    After `load` it serves requests at `url` that carry `api_key`. One thread calls `load`, `wait` and `close`; `kill`
    may be called from any thread.
    """

    def __init__(self) -> None:
        self.url = ""
        self.api_key = secrets.token_urlsafe(32)
        self._process = _started()
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)
        self._listener = threading.Thread(target=self._listen, name="embedded-model-errors", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def last_lines(self) -> Sequence[str]:
        """The last lines of standard error; called when the process has ended or is about to."""
        self._listener.join(timeout=_LISTEN_SECONDS)
        return tuple(self._said)

    def hint(self) -> str:
        """The probable cause of a crash, as a sentence for the operator; "" when it is unknown."""
        said = "\n".join(self.last_lines()).lower()
        code = self._process.poll()
        if code == -signal.SIGILL or "illegal instruction" in said:
            return "This processor lacks instructions that the runtime was built for."
        if code == -signal.SIGKILL or any(words in said for words in _OUT_OF_MEMORY):
            return "There was probably too little memory: try the smaller model, ANAPHORA_MAIN_MODEL=embedded:small."
        return ""

    def load(self, model: Path, *, threads: int) -> None:
        """Load `model` and wait until it serves requests. Raises ModelUnavailableError with the runtime's error.

        threads: how many compute an answer. The key is sent through a pipe, since other users can read a process's
        arguments and environment.
        """
        answer = self._request(
            {
                "path": str(model),
                "api_key": self.api_key,
                "threads": threads,
                "slots": SLOTS,
                "context": CONTEXT,
            }
        )
        if "url" not in answer:
            said = answer.get("error", "its process ended at once")
            # The exit code and the last lines belong to the reason.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LISTEN_SECONDS)
            self.log_last_lines()
            advice = self.hint() or "Is it a whole GGUF file, and memory enough?"
            raise ModelUnavailableError(otherwise(f"{model} can't be loaded ({said}). {advice}", "model_not_loadable"))
        self.url = answer["url"]

    def wait(self) -> int:
        """Block until the process ends; its exit code."""
        return self._process.wait()

    def kill(self) -> None:
        """End the process at once; it has no state to save."""
        self._process.kill()

    def close(self) -> None:
        """End the process and close its pipes."""
        self.kill()
        self._process.wait()
        self._listener.join(timeout=_LISTEN_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def log_last_lines(self) -> None:
        """Write the last lines of the runtime to the log."""
        if said := self.last_lines():
            log.warning("the last lines of the embedded model's process:\n%s", "\n".join(said))

    def _listen(self) -> None:
        """Read standard error to its end; the runtime would block on a full pipe."""
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._said.append(line.rstrip()[:_LONGEST_LINE])

    def _request(self, request: dict[str, object]) -> dict[str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {}
        line = self._process.stdout.readline()
        answer: dict[str, str] = json.loads(line) if line else {}
        return answer


def _started() -> subprocess.Popen[str]:
    """The child process, in a session of its own: Ctrl-C in a terminal is for the server alone."""
    return subprocess.Popen(  # noqa: S603 - a constant
        _COMMAND,
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
