"""A Valkey server for the tests: one a test, since tests kill it. `setup/engines.py` starts it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from engines import LocalValkey


class ValkeyServer:
    """A running server, with a short path for its socket."""

    def __init__(self) -> None:
        """Start it. Raises EngineError with what it said."""
        self._folder = Path(tempfile.mkdtemp(prefix="vk-"))
        self.engine = LocalValkey(self._folder / "data")
        self.engine.start()

    @property
    def url(self) -> str:
        """Its address, which stays the same when it is started again."""
        return self.engine.url

    def kill(self) -> None:
        """SIGKILL."""
        self.engine.kill()

    def start(self) -> None:
        """Start it again, empty."""
        self.engine.start()

    def stop(self) -> None:
        """End it, and delete its folder."""
        self.engine.close()
        shutil.rmtree(self._folder, ignore_errors=True)
