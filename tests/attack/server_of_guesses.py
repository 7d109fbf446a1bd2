"""`server.py` in which guessing takes no time: a test moves the clock, and passwords are compared without a hash.

GUESSES names the folder of what tests and servers share, and GUESSES_KEPT says how many failures are kept.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from database.accounts import throttle, users
from database.engine import clock
from tests.endpoints.conftest import PASSWORD

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/attack/server_of_guesses.py"


class Guesses:
    """The clock, which stands still until it is moved, and the passwords that were compared; of all processes."""

    def __init__(self, folder: Path) -> None:
        self._moment, self._compared = folder / "moment", folder / "compared"

    def begin(self) -> None:
        """It is now, and nothing was compared."""
        self._moment.parent.mkdir()
        self._moment.write_text(datetime.now(UTC).isoformat())
        self._compared.touch()

    def now(self, *_: object) -> datetime:
        """Where the clock stands."""
        return datetime.fromisoformat(self._moment.read_text())

    def move(self, seconds: float) -> None:
        """Put the clock forward."""
        self._moment.write_text((self.now() + timedelta(seconds=seconds)).isoformat())

    @property
    def compared(self) -> list[str]:
        """The passwords, one for each hash that would have been made."""
        return self._compared.read_text().splitlines()

    def matches(self, password: str, password_hash: str | None) -> bool:
        """Right is what the accounts of tests are made with."""
        with self._compared.open("a") as file:
            file.write(f"{password}\n")
        return password == PASSWORD and password_hash is not None

    def replacements(self, *, kept: int) -> Iterator[tuple[Any, str, object]]:
        """What stands in the place of what: module, name and value."""
        for module, name in ((clock, "now"), (throttle, "now"), (throttle, "corrected_now")):
            yield module, name, self.now
        yield users, "password_matches", self.matches
        yield throttle, "_MOST_ROWS", kept


def main() -> None:
    """Be the server. Its processes are forked off this one."""
    replacements = Guesses(Path(os.environ["GUESSES"])).replacements(kept=int(os.environ["GUESSES_KEPT"]))
    for module, name, value in replacements:
        setattr(module, name, value)
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
