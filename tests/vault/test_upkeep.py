"""The index follows what other programs do with the files, within a second."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest
import watchfiles

from database.accounts.users import create_user, get_user
from database.engine.clock import now
from database.engine.errors import UserNotFoundError
from database.jobs import Job
from database.maintenance.account_erasure import close_account, erase_account
from tests.vault.conftest import ADA, indexed
from vault import documents, index, upkeep
from vault.documents import MappedFolder, Vaults
from vault.errors import VaultUnavailableError
from vault.upkeep import VaultIndexing, VaultWatcher, mend_vaults, purge_bins, verify_vaults


def paths_of(vault):
    return [entry.path for entry in vault.all_documents()]


@pytest.fixture
def follow(vault, vaults):
    """Has the watcher look until the vault holds what is expected: follow(["a.md"])."""
    watcher = VaultWatcher(vaults)
    watcher.look()

    def look(expected):
        for _ in range(40):
            watcher.look()
            if paths_of(vault) == expected:
                return
        assert paths_of(vault) == expected

    return look


def test_what_another_program_writes_renames_and_deletes_is_followed(vault, follow):
    vault.root.joinpath("a.md").write_text("# One")
    vault.root.joinpath("b.md").write_text("# Two")
    follow(["a.md", "b.md"])
    vault.root.joinpath("a.md").rename(vault.root / "c.md")
    vault.root.joinpath("b.md").unlink()
    follow(["c.md"])


def test_watching_begins_again_after_it_has_ended(vault, vaults, monkeypatch):
    moments, watched = [0.0], []

    def fail_at_first(*roots, **_):
        watched.append(roots)
        if len(watched) == 1:
            raise OSError("No space left on device")
        while True:
            yield set()

    monkeypatch.setattr(upkeep.time, "monotonic", lambda: moments[0])
    monkeypatch.setattr(watchfiles, "watch", fail_at_first)
    watcher = VaultWatcher(vaults)
    for moment, begun in ((0, 1), (1, 1), (599, 1), (600, 1), (601, 2), (9_999, 2)):
        moments[0] = float(moment)
        vault.root.joinpath(f"{moment}.md").write_text("# Text")
        watcher.look()
        assert len(watched) == begun, moment
    assert "599.md" in paths_of(vault)


def test_a_file_made_at_once_in_a_new_folder_is_found(vault, follow):
    for number in range(5):
        folder = vault.root / f"new{number}" / "deep"
        folder.mkdir(parents=True)
        folder.joinpath("x.md").write_text("# New")
    follow([f"new{number}/deep/x.md" for number in range(5)])
    shutil.rmtree(vault.root / "new0")
    follow([f"new{number}/deep/x.md" for number in range(1, 5)])


def test_a_vault_that_comes_later_is_scanned_and_watched(vaults, vault, follow):
    eve = vaults.of("eve@example.org")
    eve.root.joinpath("hers.md").write_text("# Hers")
    vault.root.joinpath("mine.md").write_text("# Mine")
    follow(["mine.md"])
    assert paths_of(eve) == ["hers.md"]


def job_of(*, full):
    """A job that has just been added."""
    times = {"due_at": None, "created_at": "", "updated_at": ""}
    what = {"job_id": "j", "kind": "index_vault", "user_email": ADA, "status": "waiting", "state": {"full": full}}
    return Job(**what, done=0, total=None, attempts=0, error="", **times)


def test_a_job_reads_all_files_and_says_how_many(vaults, vault):
    for number in range(3):
        vault.root.joinpath(f"{number}.md").write_text("# Text")
    progress = VaultIndexing(vaults).step(job_of(full=True))
    assert (progress.finished, progress.done, progress.total) == (True, 3, 3)
    assert len(paths_of(vault)) == 3


@pytest.mark.parametrize("full", [True, False])
def test_each_step_of_a_job_gets_further_however_long_the_files_take_to_list(vaults, vault, monkeypatch, full):
    monkeypatch.setattr(upkeep, "_STEP_SECONDS", 0.0)
    for number in range(120):
        vault.root.joinpath(f"{number:03}.md").write_text("# Text")
    job, done = job_of(full=full), []
    while True:
        progress = VaultIndexing(vaults).step(job)
        done.append(progress.done)
        if progress.finished or len(done) > 9:
            break
        job = replace(job, state=dict(progress.state), done=progress.done)
    assert done == [50, 100, 120]
    assert len(paths_of(vault)) == 120


def test_an_erased_account_leaves_no_file_and_no_row(vaults, vault, put, database):
    put({"a.md": "# Secret [[b]]"})
    close_account(database=database, user_email="eve@example.org")
    vaults.erase(ADA)
    assert not vault.root.exists()
    assert paths_of(vault) == []
    assert vault.find_excerpts("secret") == []


@pytest.fixture
def close_and_erase(vaults, database):
    """Closes Ada's account and erases it, as the server does beside other work."""

    def erase():
        close_account(database=database, user_email=ADA)
        vaults.erase(ADA)
        erase_account(database=database, user_email=ADA)

    return erase


@pytest.mark.contract
def test_a_document_that_was_read_before_its_account_was_erased_is_not_stored(
    vaults, vault, database, close_and_erase, monkeypatch
):
    def erased_before_it_is_stored(found, **where):
        close_and_erase()
        store(found, **where)

    store = index.index_documents
    monkeypatch.setattr(index, "index_documents", erased_before_it_is_stored)
    vault.root.joinpath("diary.md").write_text("# Secret")
    indexed(vault)
    create_user(database=database, user_email=ADA, password="somebody else has the address now")
    later = vaults.of(ADA)
    assert paths_of(later) == []
    assert later.find_excerpts("secret") == []


@pytest.mark.contract
def test_a_vault_has_no_folder_once_its_account_is_closed(vault, database, close_and_erase, monkeypatch):
    def erased_behind(**who):
        account = get_user(**who)
        close_and_erase()
        return account

    other_process = Vaults(database=database)
    monkeypatch.setattr(documents, "get_user", erased_behind)
    assert other_process.existing() == []
    with pytest.raises(UserNotFoundError):
        other_process.of(ADA)
    assert not vault.root.exists()


def test_a_mapped_folder_whose_disk_is_not_mounted_keeps_its_index_and_others_are_scanned(database, vault, tmp_path):
    folder = tmp_path / "mapped"
    folder.mkdir()
    folder.joinpath("a.md").write_text("# One")
    vaults = Vaults(database=database, mapped={ADA: MappedFolder(folder, read_only=False)})
    watcher, mine, hers = VaultWatcher(vaults), vaults.of(ADA), vaults.of("eve@example.org")
    watcher.scan()
    folder.joinpath("a.md").unlink()
    hers.root.joinpath("hers.md").write_text("# Hers")
    assert watcher.scan() == 1
    assert (paths_of(mine), paths_of(hers)) == (["a.md"], ["hers.md"])
    assert mend_vaults(vaults) == 0
    assert ["Mount its disk" in finding.what for finding in verify_vaults(vaults)] == [True]
    with pytest.raises(VaultUnavailableError):
        VaultIndexing(vaults).step(job_of(full=True))
    folder.joinpath("b.md").write_text("# Two")
    watcher.scan()
    assert paths_of(mine) == ["b.md"]


def test_a_folder_that_is_mapped_to_an_address_without_an_account_is_named_once_and_opened_by_nobody(
    database, tmp_path, caplog
):
    folder = tmp_path / "mapped"
    folder.mkdir()
    folder.joinpath("a.md").write_text("# One")
    stranger = "aada@example.org"
    vaults = Vaults(database=database, mapped={stranger: MappedFolder(folder, read_only=False)})
    with pytest.raises(UserNotFoundError):
        vaults.of(stranger)
    for _ in range(3):
        vaults.existing()
    told = [record.getMessage() for record in caplog.records if stranger in record.getMessage()]
    assert told == [f"ANAPHORA_VAULT_FOLDERS: {stranger} has no account, so nothing in this folder is read"]

    create_user(database=database, user_email=stranger, password="long enough")
    (vault,) = vaults.existing()
    list(vault.refresh())
    assert paths_of(vault) == ["a.md"]
    assert len([record for record in caplog.records if stranger in record.getMessage()]) == 1


def test_the_bin_keeps_documents_for_thirty_days_and_no_empty_folder_for_longer(vault, vaults, monkeypatch):
    for path in ("plants/a.md", "b.md", "c/d/e.md"):
        vault.write(path, "x")
    kept = [vault.delete("plants/a.md"), vault.delete("b.md")]
    vault.restore(vault.delete("c/d/e.md"))
    theirs = vault.root / ".trash/theirs.md"
    theirs.write_text("of another program")
    moment = now()
    for days, left in ((29, 2), (31, 0)):
        monkeypatch.setattr(upkeep, "now", lambda days=days: moment + timedelta(days=days))
        assert purge_bins(vaults) == 2 - left
        assert len(vault.deleted()) == left
    assert not any(vault.root.joinpath(path).exists() for path in kept)
    assert list(vault.root.joinpath(".trash").iterdir()) == [theirs]
    assert paths_of(vault) == ["c/d/e.md"]
