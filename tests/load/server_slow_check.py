"""`server.py` that takes its files for large ones, and checks them once a file called `go` lies in its data folder."""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/load/server_slow_check.py"
GO = "go"


def main() -> None:
    """Be the server."""
    sys.path.insert(0, str(ROOT))
    from chat.runtime import startup
    from database.maintenance import soundness

    go = Path(os.environ["ANAPHORA_DATA_DIR"]) / GO
    look = soundness.find_damage

    def held(path: Path, **options: Any) -> tuple[str, str] | None:
        while not go.exists():
            time.sleep(0.01)
        return look(path, **options)

    soundness.find_damage, soundness._QUICK_BYTES, startup._CHECK_SECONDS = held, -1, 0.0
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
