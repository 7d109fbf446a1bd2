"""A lock on a file: who waits for it, and what is said where there are no locks."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from language_models.file_lock import locked


def test_a_file_system_without_locks_is_told_from_a_lock_that_another_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, "refused")

    monkeypatch.setattr("language_models.file_lock.fcntl.flock", refuse)
    waited: list[int] = []

    def wait() -> None:
        waited.append(code)
        raise TimeoutError

    for code in (errno.EWOULDBLOCK, errno.ENOLCK, errno.ENOTSUP):
        with pytest.raises(OSError, match="refused") if code != errno.EWOULDBLOCK else pytest.raises(TimeoutError):  # noqa: SIM117
            with locked(tmp_path / "lock", while_waiting=wait):
                pass
    assert waited == [errno.EWOULDBLOCK]
