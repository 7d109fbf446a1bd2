"""`server.py` whose work beside the answers waits where a test looks at it, or kills it.

HELD_BACK names a file with a number: so many batches of imports the process stores, and so many steps of indexing it
gives back. The next one waits until the number has grown.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/load/server_held_back.py"
_EVERYTHING = 1_000_000
P = ParamSpec("P")
T = TypeVar("T")


class Limit:
    """How far servers may go that are started with `environ`; at first not at all."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.environ = {"HELD_BACK": str(file)}
        self.allow(0)

    def allow(self, parts: int) -> None:
        """Let each process do so many parts of its work, from its start."""
        self._file.write_text(str(parts), encoding="utf-8")

    def lift(self) -> None:
        """Let them do all of it."""
        self.allow(_EVERYTHING)


def held_back(work: Callable[P, T], limit: Path, *, before: bool) -> Callable[P, T]:
    """`work`, whose calls wait before they begin, or before they return, while the number in `limit` is too small."""
    calls = 0

    def wait() -> None:
        nonlocal calls
        calls += 1
        while calls > int(limit.read_text(encoding="utf-8") or 0):  # it is empty while it is being written
            time.sleep(0.01)

    @wraps(work)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if before:
            wait()
        result = work(*args, **kwargs)
        if not before:
            wait()
        return result

    return call


def main() -> None:
    """Be the server."""
    sys.path.insert(0, str(ROOT))
    from portability.imports import runner
    from vault.upkeep import VaultIndexing

    limit = Path(os.environ["HELD_BACK"])
    vars(runner)["store_batch"] = held_back(runner.store_batch, limit, before=True)
    VaultIndexing.step = held_back(VaultIndexing.step, limit, before=False)  # type: ignore[method-assign]
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
