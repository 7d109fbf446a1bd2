"""`server.py` that, told to stop, leaves running turns no time at all, but for what its settings say."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PROGRAM = "tests/endpoints/serving/server_hurried.py"


def main() -> None:
    """Be the server."""
    sys.path.insert(0, str(ROOT))
    from endpoints.serving import asgi_server

    asgi_server.DRAIN_SECONDS = 0.0
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
