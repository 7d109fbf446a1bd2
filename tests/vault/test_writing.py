"""Writing: by version, atomic, followed by links, the index and git; what another program wrote is never lost."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

import pytest

from database.engine.errors import InvalidChangeError
from language_models.file_lock import locked_within
from sentences import say
from vault import writing
from vault.documents import MappedFolder, Vaults
from vault.errors import (
    DocumentExistsError,
    DocumentNotFoundError,
    DocumentTooLargeError,
    PathRefusedError,
    VaultReadOnlyError,
    VaultUnavailableError,
    VersionConflictError,
    VersionMissingError,
)
from vault.upkeep import pack_histories, verify_vaults


def text_of(vault, path):
    return vault.root.joinpath(path).read_text()


def test_a_new_document_is_written_and_found_at_once(vault):
    written = vault.write("plants/roses.md", "# Roses\r\nred [[soil]]\n")
    assert (written.title, written.text) == ("Roses", "# Roses\nred [[soil]]\n")
    assert vault.resolve("[[roses]]").path == "plants/roses.md"
    assert [each.path for each in vault.find_excerpts("red")] == ["plants/roses.md"]
    assert [file.name for file in (vault.root / "plants").iterdir()] == ["roses.md"]


def test_a_document_is_replaced_only_by_who_has_read_it(vault):
    first = vault.write("a.md", "one")
    with pytest.raises(VersionMissingError):
        vault.write("a.md", "two")
    vault.root.joinpath("a.md").write_text("written elsewhere")
    with pytest.raises(VersionConflictError) as conflict:
        vault.write("a.md", "two", version=first.version)
    assert conflict.value.document.text == "written elsewhere"
    vault.write("a.md", "two", version=conflict.value.document.version)
    assert text_of(vault, "a.md") == "two"
    with pytest.raises(VersionConflictError) as gone:
        vault.write("gone.md", "x", version=first.version)
    assert gone.value.document is None


def test_text_is_appended_behind_the_last_line(vault):
    vault.write("a.md", "one")
    assert vault.append("a.md", "two\n").text == "one\ntwo\n"
    with pytest.raises(DocumentNotFoundError):
        vault.append("missing.md", "two")


def test_lines_are_replaced_where_they_say_what_is_expected(vault):
    vault.write("a.md", "one\ntwo\nthree\n")
    assert vault.replace_lines("a.md", "2\n2b", line_start=2, line_end=2, expected="two").text == "one\n2\n2b\nthree\n"
    for start, end, expected in ((1, 1, "two"), (4, 9, "three"), (0, 1, "one"), (3, 2, "")):
        with pytest.raises(VersionConflictError):
            vault.replace_lines("a.md", "x", line_start=start, line_end=end, expected=expected)
    assert vault.replace_lines("a.md", "", line_start=2, line_end=3, expected="2\n2b\n").text == "one\nthree\n"


def test_a_deleted_document_lies_in_the_bin(vault):
    vault.write("a/b.md", "kept")
    kept = vault.delete("a/b.md")
    assert kept.startswith(".trash/")
    assert text_of(vault, kept) == "kept"
    assert vault.documents().documents == []


def test_links_follow_a_renamed_document_and_keep_their_anchors_and_aliases(vault, put):
    put(
        {
            "plan.md": "---\naliases: [beds]\n---\nself [[plan]]",
            "a.md": r"[[plan]] ![[Plan#When|then]] [[beds]] `[[plan]]` |[[plan\|x]]| [[other]]",
            "x/other.md": "[[plan.md#^b]]",
        }
    )
    renamed = vault.rename("plan.md", "garden/year plan.md")
    assert renamed.followed == ["a.md", "garden/year plan.md", "x/other.md"]
    assert text_of(vault, "a.md") == (
        r"[[year plan]] ![[year plan#When|then]] [[beds]] `[[plan]]` |[[year plan\|x]]| [[other]]"
    )
    assert text_of(vault, "x/other.md") == "[[year plan#^b]]"
    assert {link.source for link in vault.backlinks("garden/year plan.md")} == set(renamed.followed)


def test_relative_links_of_a_moved_document_lead_where_they_led(vault, put):
    put(
        {
            "a.md": "[[./x/b]]",
            "x/b.md": "[[../a|up]] ![[./c#^1]] [[./b]] [[../gone]] [[../a.png]]",
            "x/c.md": "[[./b]]",
            "z/c.md": "",
        }
    )
    renamed = vault.rename("x/b.md", "y/z/b.md")
    assert renamed.followed == ["a.md", "x/c.md", "y/z/b.md"]
    assert text_of(vault, "y/z/b.md") == "[[a|up]] ![[x/c#^1]] [[./b]] [[../gone]] [[../a.png]]"
    assert (text_of(vault, "a.md"), text_of(vault, "x/c.md")) == ("[[b]]", "[[b]]")
    targets = [link.target for link in vault.links_of(vault.read("y/z/b.md"))]
    assert targets == ["a.md", "x/c.md", "y/z/b.md", None, None]


def test_a_renamed_link_names_folders_where_the_name_alone_is_another_documents(vault, put):
    put({"plan.md": "", "b/note.md": "", "a.md": "[[plan]]"})
    vault.rename("plan.md", "c/note.md")
    assert text_of(vault, "a.md") == "[[c/note]]"


def test_nothing_is_renamed_over_another_document(vault, put):
    put({"a.md": "one", "b.md": "two"})
    with pytest.raises(DocumentExistsError):
        vault.rename("a.md", "b.md")
    assert (text_of(vault, "a.md"), text_of(vault, "b.md")) == ("one", "two")


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "/a.md",
            "../a.md",
            "a/../../b.md",
            "a\\b.md",
            "a\0.md",
            "a.py",
            ".git/a.md",
            ".a.md",
            "a//b.md",
            "./a.md",
        ),
        *("C:/a.md", "x" * 300 + ".md", "a/" * 900 + "b.md", "\ud800.md", "a\n.md", "out.md", "folder/a.md"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused_for_reading_and_writing(vault, tmp_path, path):
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.joinpath("a.md").write_text("secret")
    vault.root.joinpath("out.md").symlink_to(outside / "a.md")
    vault.root.joinpath("folder").symlink_to(outside)
    for attempt in (lambda: vault.read(path), lambda: vault.write(path, "x"), lambda: vault.delete(path)):
        with pytest.raises(PathRefusedError):
            attempt()
    assert outside.joinpath("a.md").read_text() == "secret"


LATIN = "Café [[plan]]\n".encode("latin-1")


def test_a_folder_that_is_called_like_a_document_is_none(vault):
    vault.write("a.md/x.md", "inside")
    vault.write("q.md", "mine")
    kept = vault.delete(vault.write("r.md", "gone").path)
    vault.write("r.md/x.md", "inside")
    open_files = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(DocumentNotFoundError):
            vault.read("a.md")
    assert len(list(Path("/dev/fd").iterdir())) == open_files
    for attempt, said in (
        (lambda: vault.write("a.md", "x"), "document_path_folder"),
        (lambda: vault.rename("q.md", "a.md"), "document_path_folder"),
        (lambda: vault.restore(kept), "document_path_folder"),
        (lambda: vault.write("q.md/z.md", "x"), "document_path_through"),
        (lambda: vault.write("q.md/y/z.md", "x"), "document_path_through"),
        (lambda: vault.rename("a.md/x.md", "q.md/x.md"), "document_path_through"),
    ):
        with pytest.raises(DocumentExistsError) as refused:
            attempt()
        assert refused.value.message == say(said)
    assert [each.path for each in vault.documents().documents] == ["a.md/x.md", "q.md", "r.md/x.md"]
    assert sorted(each.name for each in vault.root.iterdir()) == [".trash", "a.md", "q.md", "r.md"]


@pytest.mark.parametrize("content", [LATIN, b"one\0two\n"])
def test_a_file_that_is_no_utf_8_is_read_and_moved_and_never_rewritten(vault, put, content):
    """Its text says less than the file does, so writing that would lose the rest."""
    put({"old.md": content})
    version = vault.read("old.md").version
    for attempt in (
        lambda: vault.write("old.md", "new", version=version),
        lambda: vault.append("old.md", "more"),
        lambda: vault.replace_lines("old.md", "new", line_start=1, line_end=1, expected=vault.read("old.md").lines[0]),
    ):
        with pytest.raises(InvalidChangeError):
            attempt()
    assert vault.root.joinpath("old.md").read_bytes() == content
    vault.rename("old.md", "older.md")
    assert vault.root.joinpath("older.md").read_bytes() == content
    assert vault.root.joinpath(vault.delete("older.md")).read_bytes() == content


def test_links_follow_a_renamed_document_only_where_nothing_of_a_file_is_lost(vault, put):
    put({"plan.md": "Sow.", "a.md": "[[plan]]", "old.md": LATIN})
    assert vault.rename("plan.md", "year.md").followed == ["a.md"]
    assert vault.root.joinpath("old.md").read_bytes() == LATIN
    assert text_of(vault, "a.md") == "[[year]]"


def test_a_document_has_two_mebibytes_at_most(vault):
    vault.write("a.md", "x" * 2 * 1024 * 1024)
    with pytest.raises(DocumentTooLargeError):
        vault.append("a.md", "y")
    with pytest.raises(DocumentTooLargeError):
        vault.write("b.md", "é" * 1024 * 1024 + "y")
    assert not vault.root.joinpath("b.md").exists()


def test_a_vault_that_is_mapped_for_reading_is_not_written(vaults, database, tmp_path):
    folder = tmp_path / "obsidian"
    folder.mkdir()
    folder.joinpath("a.md").write_text("mine")
    mapped = Vaults(database=database, mapped={"ada@example.org": MappedFolder(folder, read_only=True)})
    vault = mapped.of("ada@example.org")
    assert vault.read("a.md").text == "mine"
    for attempt in (
        lambda: vault.write("b.md", "x"),
        lambda: vault.delete("a.md"),
        lambda: vault.rename("a.md", "b.md"),
    ):
        with pytest.raises(VaultReadOnlyError):
            attempt()
    mapped.erase("ada@example.org")
    assert folder.joinpath("a.md").exists()


@pytest.fixture
def git(vault):
    """Asks git in the vault, which is a repository: git("log") are the lines of its answer."""

    def ask(*arguments):
        done = subprocess.run(["git", "-C", vault.root, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    ask("init", "--quiet")
    return ask


def test_each_write_is_one_commit_where_the_vault_is_a_repository(vault, git):
    vault.root.joinpath(".git/hooks/pre-commit").write_text("#!/bin/sh\ntouch hooked\n")
    vault.root.joinpath(".git/hooks/pre-commit").chmod(0o755)
    vault.root.joinpath("theirs.md").write_text("not ours to commit")
    vault.write("a.md", "[[b]]", reason="@conversation_garden_k3f9_message_2")
    vault.write("b.md", "x")
    vault.rename("b.md", "c.md")
    vault.delete("c.md")
    assert git("log", "--format=%s") == [
        "Delete c.md",
        "Rename b.md to c.md",
        "Write b.md",
        "@conversation_garden_k3f9_message_2",
    ]
    assert "a.md" in git("show", "--name-only", "--format=", "HEAD~1")
    assert git("ls-files") == ["a.md"]
    assert not vault.root.joinpath("hooked").exists()


@pytest.mark.parametrize("change", ["write", "rename", "restore"])
def test_what_two_processes_write_at_once_is_written_by_one_and_refused_to_the_other(vault, monkeypatch, change):
    name = "_put" if change == "write" else "_move"
    version = vault.write("a.md" if change != "rename" else "b.md", "before").version
    if change == "restore":
        kept_at, version = vault.delete("a.md"), None
    changes = {
        "write": lambda: vault.write("a.md", "mine", version=version),
        "rename": lambda: vault.rename("b.md", "a.md"),
        "restore": lambda: vault.restore(kept_at),
    }
    checked, go_on, last_step = Event(), Event(), getattr(writing, name)

    def paused(*args, **kwargs):
        monkeypatch.setattr(writing, name, last_step)
        checked.set()
        assert go_on.wait(60)
        return last_step(*args, **kwargs)

    monkeypatch.setattr(writing, name, paused)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(changes[change])
        assert checked.wait(60)
        monkeypatch.setattr(writing, "_locks", {})  # those of the other process
        second = threads.submit(vault.write, "a.md", "theirs", version=version if change == "write" else None)
        wait([second], timeout=0.3)
        go_on.set()
        first.result()
        assert isinstance(second.exception(), VersionConflictError | VersionMissingError)
    assert text_of(vault, "a.md") == ("mine" if change == "write" else "before")


def test_a_vault_in_which_another_process_writes_for_long_says_so(vault, monkeypatch):
    monkeypatch.setattr(writing, "_PATIENCE", 0.02)
    with locked_within(writing._lock_file(vault), seconds=60), pytest.raises(VaultUnavailableError):
        vault.write("a.md", "text")
    vault.write("a.md", "text")


def test_the_history_goes_on_when_a_lock_is_old_and_says_once_that_it_does_not(vault, vaults, git, caplog):
    lock = vault.root / ".git/index.lock"
    vault.write("a.md", "x")
    lock.touch()
    vault.write("b.md", "x")
    vault.write("c.md", "x")
    assert git("log", "--format=%s") == ["Write a.md"]
    (said,) = [each for each in caplog.messages if "not committed" in each]
    assert "index.lock" in said
    assert list(verify_vaults(vaults)) == []
    os.utime(lock, (1, 1))
    (finding,) = verify_vaults(vaults)
    assert str(lock) in finding.what
    vault.write("d.md", "x")
    assert git("log", "--format=%s") == ["Write d.md", "Write a.md"]
    assert not lock.exists()


def test_many_objects_of_a_history_are_packed(vault, vaults, git):
    for number in range(3):
        vault.write(f"{number}.md", f"{number}")
    folder = vault.root / ".git/objects/17"  # by the objects in this folder git estimates how many there are
    folder.mkdir(exist_ok=True)
    for number in range(10_000):
        blob = b"blob 5\0%05d" % number
        name = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
        if name.startswith("17"):
            folder.joinpath(name[2:]).write_bytes(zlib.compress(blob))
    pack_histories(vaults)
    assert list(vault.root.glob(".git/objects/pack/*.pack"))
    assert len(git("log", "--format=%s")) == 3
