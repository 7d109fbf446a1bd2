"""Commits of a vault that is a git repository, one for each write. Without git, or where it fails, nothing is kept.

Git that ends unasked (a time limit, a power cut) leaves a lock which fails everything after it: it is removed here.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)
_SECONDS = 20.0
_PACKING = ("-c", "gc.auto=6700", "-c", "gc.autoDetach=false")
_PACKING_SECONDS = 600.0
_STALE_SECONDS = 600.0
"""No commit takes that long: a lock that is older was left by a git that has ended."""
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


_NOTHING_THERE = "did not match any file"
"""What git says of a path that is neither in the folder nor in the repository."""
_failing = set[Path]()
"""The vaults whose last commit failed, which is logged once."""


def commit(root: Path, changed: Sequence[str], *, reason: str, is_own: bool = True) -> bool:
    """Commit these paths, deleted ones too, and nothing else; whether there was something to commit. Never raises.

    is_own: nobody else commits there, so that an old lock is nobody's.
    """
    git = _git_of(root)
    if git is None:
        return False
    try:
        for lock in stale_locks(root) if is_own else ():
            log.warning("removed %s, which a git that has ended left", lock)
            lock.unlink(missing_ok=True)
        known = list(_added(git, root, changed))
        literal = [f":(literal){path}" for path in known]
        done = bool(known) and _run(git, root, "commit", "--quiet", "--message", reason, "--only", "--", *literal)
    except (OSError, subprocess.SubprocessError) as error:
        if root not in _failing:
            log.warning("writes in %s are not committed: %s", root, getattr(error, "stderr", None) or error)
        _failing.add(root)
        return False
    _failing.discard(root)
    return done


def pack(root: Path) -> None:
    """Pack the repository's objects where they have become many. Never raises."""
    git = _git_of(root)
    if git is None:
        return
    try:
        _run(git, root, *_PACKING, "gc", "--auto", "--quiet", seconds=_PACKING_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("the history in %s was not packed: %s", root, error)


def stale_locks(root: Path) -> Iterator[Path]:
    """The locks of the repository that no running git holds any more."""
    for lock in root.glob(".git/*.lock"):
        with suppress(FileNotFoundError):
            if time.time() - lock.stat().st_mtime > _STALE_SECONDS:
                yield lock


def _added(git: str, root: Path, changed: Sequence[str]) -> Iterator[str]:
    """Those that can be committed; one that git refuses keeps no other one from it. Raises SubprocessError, OSError."""
    refused: list[subprocess.CalledProcessError] = []
    for path in changed:
        try:
            if _run(git, root, "add", "--all", "--", f":(literal){path}"):
                yield path
        except subprocess.CalledProcessError as error:
            refused.append(error)
    if refused and len(refused) == len(changed):
        raise refused[0]
    for each in refused:
        log.warning("a document in %s is not committed: %s", root, each.stderr)


def _git_of(root: Path) -> str | None:
    return shutil.which("git") if (root / ".git").exists() else None


def _run(git: str, root: Path, *arguments: str, seconds: float = _SECONDS) -> bool:
    """Whether git did it; False where there was nothing to do. Raises SubprocessError, OSError."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    environment = {"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(  # noqa: S603 - a fixed program; paths are literal and stand behind "--"
        [git, "-C", str(root), *settings, *arguments],
        env={**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")[:500].strip()
    # 1: nothing to commit, or a path that is ignored.
    if done.returncode not in (0, 1) and _NOTHING_THERE not in said:
        raise subprocess.CalledProcessError(done.returncode, "git", stderr=said or f"git ended with {done.returncode}")
    return done.returncode == 0
