"""`server.py` whose leases of running turns and of duties are long enough for a machine that stands still for a moment.

They are parts of statements that are written when their modules are imported, so that these are made of changed text.
"""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/load/server_long_leases.py"
LEASE_SECONDS = 20.0
_ASSIGNED = re.compile(r"^LEASE_SECONDS = [0-9.]+$", re.MULTILINE)


def lengthen_leases() -> None:
    """Do so for all that is imported from now on."""
    for name in ("database.duties", "database.turns.leases"):
        assert name not in sys.modules
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        text, found = _ASSIGNED.subn(f"LEASE_SECONDS = {LEASE_SECONDS}", Path(spec.origin).read_text(encoding="utf-8"))
        assert found == 1
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        exec(compile(text, spec.origin, "exec"), vars(module))


def main() -> None:
    """Be the server."""
    sys.path[0] = str(ROOT)
    lengthen_leases()
    sys.argv[0] = str(ROOT / "server.py")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
