"""Commits of a vault that is a git repository, one for each write. Without git, or where it fails, nothing is kept."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

log = logging.getLogger(__name__)
_SECONDS = 20.0
# What a repository's settings name must not run: hooks, a watcher of files, a program that signs.
_SETTINGS = (
    "safe.directory=*",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "user.name=Anaphora",
    "user.email=anaphora@localhost",
)


def commit(root: Path, changed: Sequence[str], *, reason: str) -> bool:
    """Commit these paths, deleted ones too, and nothing else; whether there was something to commit. Never raises."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return False
    try:
        known = [path for path in changed if _run(git, root, "add", "--all", "--", f":(literal){path}")]
        literal = [f":(literal){path}" for path in known]
        return bool(known) and _run(git, root, "commit", "--quiet", "--message", reason, "--only", "--", *literal)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("a write was not committed: %s", error)
        return False


def _run(git: str, root: Path, *arguments: str) -> bool:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    environment = {"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(  # noqa: S603 - a fixed program; paths are literal and stand behind "--"
        [git, "-C", str(root), *settings, *arguments],
        env={**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        log.debug("git %s: %s", arguments[0], done.stderr.decode("utf-8", "replace")[:500])
    return done.returncode == 0
