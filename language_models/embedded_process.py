"""One run of the embedded model's child process, from its start to its end."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

from language_models.errors import ModelUnavailableError

SLOTS = 2
CONTEXT = 8192
_ROOT = Path(__file__).resolve().parent.parent


class EmbeddedProcess:
    """A child process, running from the start.

    Once a model is loaded it answers at `url` those who know `api_key`. One thread loads, waits and closes; any thread
    may call `kill`.
    """

    def __init__(self) -> None:
        self.url = ""
        self.api_key = secrets.token_urlsafe(32)
        self._process = _launched()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

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
            message = f"{model} can't be loaded: is it a whole GGUF file, and memory enough? ({said})"
            raise ModelUnavailableError(message)
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
        self._process.communicate()

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
    return subprocess.Popen(
        [sys.executable, "-m", "language_models.embedded_child"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
