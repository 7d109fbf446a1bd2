"""A folder that can't hold what processes share is refused when a server starts."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from chat.runtime.startup import DataFolderError, probe


def test_a_sound_folder_is_left_as_it_was(tmp_path: Path) -> None:
    probe(tmp_path / "new" / "data")
    assert list((tmp_path / "new" / "data").iterdir()) == []


def test_a_folder_that_cannot_rename_is_refused_by_name_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(DataFolderError, match="Operation not supported") as caught:
        probe(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_renaming_keeps_the_former_content_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", lambda draft, _kept: draft.unlink())
    with pytest.raises(DataFolderError, match="another content"):
        probe(tmp_path)


def test_a_folder_that_cannot_be_flushed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(DataFolderError, match="Invalid argument"):
        probe(tmp_path)
    assert list(tmp_path.iterdir()) == []
