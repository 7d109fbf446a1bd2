"""Run as a script: becomes another program, with limits of memory, processor time and files, and a bare environment.

python -I limited.py <megabytes> <seconds> <folder> <names kept of the environment, by commas> <command> …
"""

from __future__ import annotations

import os
import sys

_FILES = 256
_FILE_BYTES = 256 * 1024 * 1024


def main() -> None:
    """Set the limits, then replace this process."""
    import resource

    megabytes, seconds, folder, kept, *command = sys.argv[1:]
    limits = {
        # Private writable memory: programs that only reserve addresses are not held up.
        resource.RLIMIT_DATA: int(megabytes) * 1024 * 1024,
        resource.RLIMIT_CPU: int(seconds),
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_CORE: 0,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    environ = {name: os.environ[name] for name in kept.split(",") if name in os.environ}
    environ |= {"PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "LANG": "C.UTF-8"}
    os.chdir(folder)
    os.execvpe(command[0], command, environ)  # noqa: S606


if __name__ == "__main__":
    main()
