"""`server.py` on a machine whose clock is wrong: CLOCK_OFF says by how many seconds it is ahead.

Everything in the process that asks what time it is gets that clock. Clocks that only measure how long something takes
are right, as they are on such a machine. Its leases are those of `server_long_leases.py`.
"""

from __future__ import annotations

import datetime
import os
import runpy
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OFF = float(os.environ["CLOCK_OFF"])
_time, _time_ns = time.time, time.time_ns


class WrongDatetime(datetime.datetime):
    """A datetime whose `now` is off."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> WrongDatetime:
        """The time by the wrong clock."""
        return super().now(tz) + datetime.timedelta(seconds=OFF)


if __name__ == "__main__":
    time.time = lambda: _time() + OFF
    time.time_ns = lambda: _time_ns() + int(OFF * 1e9)
    datetime.datetime = WrongDatetime  # type: ignore[misc]
    sys.path[0] = str(ROOT)
    from tests.load.server_long_leases import lengthen_leases

    lengthen_leases()
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")
