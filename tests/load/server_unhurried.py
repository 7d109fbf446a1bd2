"""`server.py` that, told to stop, leaves its responses more time than their turns take to end.

The server itself leaves them two seconds more, which a machine that stands still for a moment takes away.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/load/server_unhurried.py"
_STOP_SECONDS = 45


def main() -> None:
    """Be the server."""
    sys.path.insert(0, str(ROOT))
    from endpoints.serving import asgi_server

    asgi_server._STOP_SECONDS = _STOP_SECONDS
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
