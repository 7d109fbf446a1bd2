"""Files and folders are flushed to disk, in the order in which a power failure loses nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from database.engine import durability
from database.engine.durability import flush_to_disk, replace_durably


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """What is flushed: its inode, and whether `file` of the test lies there by then as the draft that was written."""
    seen: list[tuple[int, bool]] = []
    flush = os.fsync

    def noted(descriptor: int) -> None:
        seen.append((os.fstat(descriptor).st_ino, not Path("draft").exists()))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return seen


def test_a_file_and_a_folder_are_flushed(tmp_path: Path, flushed: list[tuple[int, bool]]) -> None:
    file = tmp_path / "file"
    file.write_text("content", encoding="ascii")
    for path in (file, tmp_path):
        flush_to_disk(path)
    assert [inode for inode, _ in flushed] == [file.stat().st_ino, tmp_path.stat().st_ino]


def test_a_replacement_is_flushed_before_it_takes_its_place_and_its_name_thereafter(
    tmp_path: Path, flushed: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draft, file = tmp_path / "draft", tmp_path / "file"
    file.write_text("former", encoding="ascii")
    draft.write_text("new", encoding="ascii")
    inode = draft.stat().st_ino
    replace_durably(draft, file)
    assert (file.read_text(encoding="ascii"), list(tmp_path.iterdir())) == ("new", [file])
    assert flushed == [(inode, False), (tmp_path.stat().st_ino, True)]


def test_a_system_that_can_not_flush_folders_is_not_asked_to(
    tmp_path: Path, flushed: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durability, "_FLUSHES_FOLDERS", False)
    flush_to_disk(tmp_path)
    assert flushed == []
    (tmp_path / "file").touch()
    flush_to_disk(tmp_path / "file")
    assert len(flushed) == 1


def test_what_is_not_there_can_not_be_flushed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        flush_to_disk(tmp_path / "missing")
