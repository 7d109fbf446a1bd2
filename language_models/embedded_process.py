"""One run of the embedded model's child process, from its start to its end."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from language_models.errors import ModelUnavailableError

SLOTS = 2
CONTEXT = 8192
_ROOT = Path(__file__).resolve().parent.parent
_STOP_SECONDS = 5.0


@dataclass(slots=True)
class EmbeddedProcess:
    """A child that answers at `url` for those who know `api_key`."""

    process: subprocess.Popen[str]
    url: str
    api_key: str

    @classmethod
    def start(cls, model: Path) -> EmbeddedProcess:
        """Load `model` and wait until it answers. Raises ModelUnavailableError with what the runtime said.

        The key goes through a pipe: arguments and environments of processes can be read by others.
        """
        api_key = secrets.token_urlsafe(32)
        process = launch()
        wanted = {
            "path": str(model),
            "api_key": api_key,
            "threads": max(1, os.cpu_count() or 1),
            "slots": SLOTS,
            "context": CONTEXT,
        }
        started = cls(process=process, url="", api_key=api_key)
        try:
            answer = _ask(process, wanted)
        except BaseException:
            started.stop()
            raise
        if "url" not in answer:
            started.stop()
            raise ModelUnavailableError(f"{model.name} can't be loaded: {answer.get('error', 'it ended at once')}")
        started.url = answer["url"]
        return started

    def wait(self) -> int:
        """Block until it ends; its exit code."""
        return self.process.wait()

    def stop(self) -> None:
        """End it: by its standard input, and if that does not help, by force."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def launch() -> subprocess.Popen[str]:
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


def _ask(process: subprocess.Popen[str], wanted: dict[str, object]) -> dict[str, str]:
    if process.stdin is None or process.stdout is None:
        raise ModelUnavailableError("The model's process has no pipes.")
    try:
        process.stdin.write(json.dumps(wanted) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return {"error": "its process ended at once"}
    for line in process.stdout:
        if line.startswith("@"):
            answer: dict[str, str] = json.loads(line[1:])
            return answer
    return {"error": "its process ended at once"}
