"""A backup is taken only as it was made."""

from __future__ import annotations

import hashlib
import itertools
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from database.accounts.users import any_user_exists, create_user
from database.changes import kept_range
from database.connection import close_store, create_connection, open_store
from language_models.file_lock import locked
from portability.backup import back_up, read_manifest
from portability.errors import BackupError, BrokenBackupError, InTheWayError
from portability.restoring import restore
from server import create_app
from settings import load_settings
from tests.preloaded import start_preloaded
from tests.released_stores import Teller, differences, released, serving, unpack
from truth_management_system import PKBConfig, get_database


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The backup of an installation with both stores and a key."""
    data_dir = tmp_path_factory.mktemp("data")
    open_store(data_dir / "users")
    close_store(data_dir / "users")
    get_database(PKBConfig(db_path=data_dir / "users" / "pkb.sqlite")).close()
    (data_dir / "secret_key").write_text("k" * 64)
    return back_up(data_dir, tmp_path_factory.mktemp("backups")).read_bytes()


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The archive with other things in it."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def stating(members: dict[str, bytes], change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the manifest states."""
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()


def described(name: str) -> dict[str, dict[str, Any]]:
    """A file as a manifest states it."""
    return {name: {"size": 1, "sha256": "0" * 64, "modified_ns": 1}}


def newer(members: dict[str, bytes]) -> None:
    """As of a later version of the program, and with the right hash of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "users.db"
        path.write_bytes(members["users/users.db"])
        connection = create_connection(path)
        connection.execute("INSERT INTO schema_version VALUES (99, '')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        content = members["users/users.db"] = path.read_bytes()
    stated = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    stating(members, lambda manifest: manifest["files"].update({"users/users.db": stated}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.pop("manifest.json"), "no backup"),
        (lambda m: stating(m, lambda s: s.update(format="other")), "no backup"),
        (lambda m: stating(m, lambda s: s.update(version=4)), "version 4"),
        (lambda m: stating(m, lambda s: s.update(files=[1])), "no backup"),
        (lambda m: stating(m, lambda s: s["files"].update({"../escape": {"size": 1, "sha256": "0" * 64}})), "none of"),
        (lambda m: stating(m, lambda s: s["files"].update(described("users/vaults/id/../../../escape"))), "none of"),
        (lambda m: stating(m, lambda s: s["files"].update(described("users/vaults/id/..\\escape"))), "none of"),
        (lambda m: stating(m, lambda s: s["files"].update(described("users/vaults/id/a.md"))), "damaged"),
        (lambda m: stating(m, lambda s: s["files"].pop("users/users.db")), "no accounts"),
        (lambda m: m.pop("users/users.db"), "damaged"),
        (lambda m: m.update({"users/users.db": m["users/users.db"][:-1] + b"x"}), "damaged"),
        (lambda m: m.update({"users/pkb.sqlite": m["users/pkb.sqlite"] + bytes(9)}), "more than its manifest"),
        (newer, "Start the newer version"),
    ],
)
def test_a_backup_that_is_not_as_it_was_made_is_refused_and_nothing_touched(
    archive: bytes, tmp_path: Path, change: Callable[[dict[str, bytes]], Any], said: str
) -> None:
    file = tmp_path / "backup.zip"
    file.write_bytes(archive)
    data_dir = tmp_path / "data"
    with pytest.raises(BrokenBackupError, match=said):
        restore(rewritten(file, change), data_dir=data_dir)
    assert list(data_dir.iterdir()) == []
    assert not list(tmp_path.rglob("escape"))


def test_where_no_memories_and_no_key_are_kept_none_are_backed_up(tmp_path: Path) -> None:
    open_store(tmp_path / "one" / "users")
    close_store(tmp_path / "one" / "users")
    file = back_up(tmp_path / "one", tmp_path / "backup.zip")
    restored = restore(file, data_dir=tmp_path / "two")
    assert restored.former is None
    assert [path.relative_to(tmp_path / "two").as_posix() for path in sorted((tmp_path / "two").rglob("*"))] == [
        "users",
        "users/users.db",
    ]


def test_a_restored_store_has_another_epoch_so_that_watchers_of_its_changes_load_everything_again(
    tmp_path: Path,
) -> None:
    def epoch(data_dir: Path) -> str:
        own = {"database": open_store(data_dir / "users"), "user_email": "ada@example.org"}
        try:
            return kept_range(**own).epoch  # type: ignore[arg-type]
        finally:
            close_store(data_dir / "users")

    before = epoch(tmp_path / "one")
    restore(back_up(tmp_path / "one", tmp_path / "backup.zip"), data_dir=tmp_path / "two")
    assert epoch(tmp_path / "one") == before
    assert epoch(tmp_path / "two") not in ("", before)


@pytest.mark.parametrize("name", released())
def test_a_backup_of_a_released_version_is_restored_as_a_store_of_today(name: str, tmp_path: Path) -> None:
    asked = unpack(name, tmp_path / "old" / "users")
    file = back_up(tmp_path / "old", tmp_path / "backup.zip")
    with zipfile.ZipFile(file) as archive:
        schema = read_manifest(archive).schema["users/users.db"]
    assert f"schema-{schema:02}" == name
    restore(file, data_dir=tmp_path / "new")
    with serving(tmp_path / "new") as app:
        tellers = {email: Teller(app, email) for email in {each.email for each in asked}}
        answers = [(each, tellers[each.email].get(each.path)) for each in asked]
    assert {each.path: found for each, answer in answers if (found := differences(each.answer, answer))} == {}


def test_what_lies_beside_the_stores_is_not_thrown_away(archive: bytes, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    file.write_bytes(archive)
    kept = tmp_path / "data" / "users" / "bundles"
    kept.mkdir(parents=True)
    with pytest.raises(InTheWayError):
        restore(file, data_dir=tmp_path / "data")
    assert kept.exists()


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    open_store(tmp_path / "users")
    close_store(tmp_path / "users")
    shares: list[float] = []
    back_up(tmp_path, tmp_path / "backup.zip", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_what_a_killed_backup_left_is_removed_by_the_next_and_what_a_running_one_uses_is_not(
    archive: bytes, tmp_path: Path
) -> None:
    assert archive
    left, used = tmp_path / ".anaphora-backup-left", tmp_path / ".anaphora-backup-used"
    for folder in (left, used):
        folder.mkdir()
        (folder / "in_use").touch()
        (folder / "store").write_bytes(b"half of it")
    open_store(tmp_path / "users")
    close_store(tmp_path / "users")
    with locked(used / "in_use", while_waiting=pytest.fail):
        back_up(tmp_path, tmp_path / "backup.zip")
    assert [path.name for path in tmp_path.glob(".anaphora-backup-*")] == [used.name]


RESTORE_AND_DIE = """
import os, sys
from pathlib import Path
from portability.restoring import restore
method, deadly = sys.argv[3], int(sys.argv[4])
original, calls = getattr(Path, method), iter(range(100))
def dying(*arguments):
    if next(calls) == deadly:
        os._exit(9)
    return original(*arguments)
setattr(Path, method, dying)
restore(Path(sys.argv[1]), data_dir=Path(sys.argv[2]), force=True)
"""


@pytest.fixture
def used(archive: bytes, tmp_path: Path) -> Path:
    """A data folder with an account `old` and another key, and beside it a backup that holds neither."""
    (tmp_path / "backup.zip").write_bytes(archive)
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    settings = load_settings({**environ, "ANAPHORA_DATA_DIR": str(tmp_path / "data")}, env_file=tmp_path / "no.env")
    create_user(database=open_store(settings.users_dir), user_email="old@example.org", password="correct horse battery")
    close_store(settings.users_dir)
    return settings.data_dir


def started(data_dir: Path) -> tuple[bool, bool]:
    """After a start: whether the account is there, whether the key is the backup's."""
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    settings = load_settings({**environ, "ANAPHORA_DATA_DIR": str(data_dir)}, env_file=data_dir / "no.env")
    create_app(settings)
    there = any_user_exists(database=open_store(settings.users_dir))
    close_store(settings.users_dir)
    return there, (data_dir / "secret_key").read_text() == "k" * 64


@pytest.mark.parametrize(
    ("method", "deadly", "old_account", "new_key"),
    [("rename", 0, True, False), ("rename", 1, False, True), ("replace", 0, False, True)],
    ids=["before anything is moved", "while no store is there", "before the key is put in its place"],
)
def test_a_killed_restore_is_finished_or_given_up_by_the_next_start(
    used: Path, method: str, deadly: int, old_account: bool, new_key: bool
) -> None:
    backup = str(used.parent / "backup.zip")
    ended = start_preloaded(RESTORE_AND_DIE, backup, str(used), method, str(deadly)).ended()
    assert ended.returncode == 9, ended.stderr
    assert list(used.glob(".restoring-*"))
    assert started(used) == (old_account, new_key)
    assert not list(used.glob(".restoring-*"))
    assert len(list(used.glob("before-restoring-*/users"))) == (0 if old_account else 1)


def test_what_cannot_be_put_in_its_place_leaves_everything_as_it_was(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, calls = Path.rename, itertools.count()

    def failing(path: Path, target: Path) -> Path:
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(BackupError, match="No space left"):
        restore(used.parent / "backup.zip", data_dir=used, force=True)
    assert started(used) == (True, False)
    assert not list(used.glob(".restoring-*"))
