"""One run of the embedded model's child process, from its start to its end."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from language_models.errors import ModelUnavailableError

log = logging.getLogger(__name__)
SLOTS = 2
CONTEXT = 8192
_COMMAND = [sys.executable, "-m", "language_models.embedded.child"]
_LINES_KEPT = 100
_LONGEST_LINE = 1_000
_LISTEN_SECONDS = 2.0
_OUT_OF_MEMORY = ("out of memory", "failed to allocate", "cannot allocate", "bad_alloc", "unable to allocate")
_ROOT = Path(__file__).resolve().parents[2]


class EmbeddedProcess:
    """A child process, running from the start.

    Once a model is loaded it answers at `url` those who know `api_key`. One thread loads, waits and closes; any thread
    may call `kill`.
    """

    def __init__(self) -> None:
        self.url = ""
        self.api_key = secrets.token_urlsafe(32)
        self._process = _launched()
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)
        self._listener = threading.Thread(target=self._listen, name="embedded-model-errors", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def last_words(self) -> Sequence[str]:
        """The last lines that the runtime wrote to standard error: why it ended, where it ended badly."""
        # The thread ends with the stream; the process has ended, or is about to.
        self._listener.join(timeout=_LISTEN_SECONDS)
        return tuple(self._said)

    def hint(self) -> str:
        """What probably went wrong, as a sentence for the operator; "" where nothing tells."""
        said = "\n".join(self.last_words()).lower()
        code = self._process.poll()
        if code == -signal.SIGILL or "illegal instruction" in said:
            return "This processor lacks instructions that the runtime was built for."
        if code == -signal.SIGKILL or any(words in said for words in _OUT_OF_MEMORY):
            return "There was probably too little memory: try the smaller model, ANAPHORA_MAIN_MODEL=embedded:small."
        return ""

    def load(self, model: Path) -> None:
        """Load `model` and wait until it answers. Raises ModelUnavailableError with what the runtime said.

        The key goes through a pipe: arguments and environments of processes can be read by others.
        """
        answer = self._asked(
            {
                "path": str(model),
                "api_key": self.api_key,
                "threads": max(1, os.cpu_count() or 1),
                "slots": SLOTS,
                "context": CONTEXT,
            }
        )
        if "url" not in answer:
            said = answer.get("error", "its process ended at once")
            # It has said all, or ended: what is known of the end by now belongs to the reason.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LISTEN_SECONDS)
            self.log_last_words()
            advice = self.hint() or "Is it a whole GGUF file, and memory enough?"
            raise ModelUnavailableError(f"{model} can't be loaded ({said}). {advice}")
        self.url = answer["url"]

    def wait(self) -> int:
        """Block until it ends; its exit code."""
        return self._process.wait()

    def kill(self) -> None:
        """End it at once, whatever it is doing: it holds nothing that is worth a goodbye."""
        self._process.kill()

    def close(self) -> None:
        """End it, and let go of what belongs to it."""
        self.kill()
        self._process.wait()
        self._listener.join(timeout=_LISTEN_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def log_last_words(self) -> None:
        """Write the last lines of the runtime to the log."""
        if said := self.last_words():
            log.warning("the last lines of the embedded model's process:\n%s", "\n".join(said))

    def _listen(self) -> None:
        """Read standard error to its end; a pipe that nobody empties would stop the runtime one day."""
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._said.append(line.rstrip()[:_LONGEST_LINE])

    def _asked(self, wanted: dict[str, object]) -> dict[str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {}
        line = self._process.stdout.readline()
        answer: dict[str, str] = json.loads(line) if line else {}
        return answer


def _launched() -> subprocess.Popen[str]:
    """The child, before it knows what to load. Ctrl-C in a terminal is for the server alone."""
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
