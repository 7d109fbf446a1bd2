"""Run as a script: runs another program with limits of memory, time, files and output, and a bare environment.

python -I limited.py <megabytes> <seconds> <folder> <names kept of the environment, by commas> <command> …

Standard input and error output are the program's own. Its output goes through this process, since whoever reads an
answer holds it in memory until the line ends.
"""

from __future__ import annotations

import os
import signal
import sys

_FILES = 256
_FILE_BYTES = 256 * 1024 * 1024
_OUTPUT_BYTES = 4 * 1024 * 1024
_CHUNK = 64 * 1024
_OUTPUT = 1


def main() -> None:
    """Start the program in a process of its own, pass its output on, and end with its exit code."""
    megabytes, seconds, folder, kept, *command = sys.argv[1:]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, _OUTPUT)
        os.close(reading)
        os.close(writing)
        _become(megabytes, seconds, folder, kept, command)
    os.close(writing)
    if not _pass_on(reading):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    sys.exit(1 if os.waitstatus_to_exitcode(status) else 0)


def _pass_on(source: int) -> bool:
    """Write what comes from `source` to the output, at most 4 MB; whether that was all of it."""
    left = _OUTPUT_BYTES
    while chunk := os.read(source, _CHUNK):
        left -= len(chunk)
        if left < 0:
            return False
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[os.write(_OUTPUT, rest) :]
        except BrokenPipeError:  # nobody reads any more
            return False
    return True


def _become(megabytes: str, seconds: str, folder: str, kept: str, command: list[str]) -> None:
    """Set the limits, then replace this process by the program."""
    import resource

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
