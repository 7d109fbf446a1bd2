"""The index follows the files, whoever writes, renames and deletes them."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.vault.conftest import ADA, indexed
from vault import index
from vault.index import index_paths


def paths_of(vault):
    return [entry.path for entry in vault.all_documents()]


@pytest.mark.contract
def test_a_scan_finds_what_came_changed_and_went(vault, put):
    put({"a.md": "# One", "b/c.md": "# Two"})
    vault.root.joinpath("a.md").write_text("# Other one")
    os.utime(vault.root / "a.md", ns=(1, 1))
    shutil.rmtree(vault.root / "b")
    indexed(vault)
    assert [(entry.path, entry.title) for entry in vault.all_documents()] == [("a.md", "Other one")]


def test_hidden_folders_links_out_of_the_vault_and_other_files_are_passed_over(vault, put, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("mine")
    put({".obsidian/x.md": "", ".git/x.md": "", ".trash/x.md": "", "a/.hidden.md": "", "x.py": "", "ok.md": ""})
    vault.root.joinpath("out.md").symlink_to(secret)
    vault.root.joinpath("folder").symlink_to(tmp_path)
    vault.root.joinpath("inside.md").symlink_to(vault.root / "ok.md")
    vault.root.joinpath("large.md").write_bytes(b"x" * (2 * 1024 * 1024 + 1))
    os.mkfifo(vault.root / "pipe.md")
    indexed(vault)
    assert paths_of(vault) == ["inside.md", "ok.md"]


def test_single_paths_and_whole_folders_are_brought_up_to_date(vault, put):
    put({"a.md": "", "b/c.md": "", "b/d.md": ""})
    shutil.move(vault.root / "b", vault.root / "e")
    vault.root.joinpath("a.md").unlink()
    index_paths(["b", "e", "a.md"], root=vault.root, database=vault.database, user_email=ADA)
    assert paths_of(vault) == ["e/c.md", "e/d.md"]


def test_what_is_written_while_a_scan_lists_the_files_stays_in_the_index(vault, put, monkeypatch):
    put({"old.md": "# Old"})
    listed = index.paths.document_files

    def list_and_write(root, *, below):
        yield from list(listed(root, below=below))
        vault.write("new.md", "# New")

    monkeypatch.setattr(index.paths, "document_files", list_and_write)
    indexed(vault)
    assert paths_of(vault) == ["new.md", "old.md"]
