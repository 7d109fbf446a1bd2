"""Importing archives and files, hostile ones too: nothing is replaced and nothing leaves the vault."""

from __future__ import annotations

import io
import zipfile

import pytest

from database.engine.errors import InvalidChangeError
from vault.errors import DocumentExistsError
from vault.importing import import_files, packed_files


def archive(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    packed.seek(0)
    return packed


def imported(vault, *uploads, folder=""):
    with packed_files(uploads) as files:
        return import_files(vault, files, folder=folder)


def test_an_archive_and_single_files_are_imported_with_their_folders(vault):
    packed = archive({"notes/a.md": "[[b]]", "b.md": "# B", "notes/": "", "pic.png": "x", ".obsidian/x.md": "no"})
    report = imported(vault, ("vault.zip", packed), ("c.txt", io.BytesIO(b"\xef\xbb\xbfC\r\n")), folder="old")
    assert report.imported == ["old/notes/a.md", "old/b.md", "old/c.txt"]
    assert (report.refused, report.passed_over) == ([], 2)
    assert vault.read("old/c.txt").text == "C\n"
    assert vault.resolve("[[b]]").path == "old/b.md"


def test_a_file_that_is_no_utf_8_is_refused_and_not_stored_with_less_than_it_says(vault):
    report = imported(vault, ("old.md", io.BytesIO("Café".encode("latin-1"))), ("new.md", io.BytesIO("Café".encode())))
    assert report.imported == ["new.md"]
    assert [(path, type(error)) for path, error in report.refused] == [("old.md", InvalidChangeError)]


def test_what_is_there_is_not_replaced(vault):
    vault.write("a.md", "mine")
    vault.write("b.md", "same")
    report = imported(vault, ("vault.zip", archive({"a.md": "theirs", "b.md": "same"})))
    assert (report.imported, report.unchanged) == ([], ["b.md"])
    assert [path for path, _ in report.refused] == ["a.md"]
    assert vault.read("a.md").text == "mine"


def test_what_is_there_with_the_same_text_is_unchanged_whatever_its_bytes(vault, put):
    put({"a.md": b"\xef\xbb\xbfone\r\ntwo"})
    report = imported(vault, ("a.md", io.BytesIO(b"one\ntwo")))
    assert (report.unchanged, report.refused) == (["a.md"], [])


def test_a_file_in_whose_place_a_folder_lies_is_refused_and_the_rest_is_imported(vault):
    vault.write("a.md/x.md", "mine")
    vault.write("q.md", "mine")
    files = {"one.md": "1", "a.md": "theirs", "q.md/z.md": "theirs", "two.md": "2"}
    report = imported(vault, ("vault.zip", archive(files)))
    assert report.imported == ["one.md", "two.md"]
    assert [(path, type(error)) for path, error in report.refused] == [
        ("a.md", DocumentExistsError),
        ("q.md/z.md", DocumentExistsError),
    ]


@pytest.mark.parametrize("name", ["../out.md", "/etc/out.md", "a/../../out.md", "a\\..\\out.md", "C:/out.md"])
def test_a_path_that_leads_out_is_refused(vault, tmp_path, name):
    report = imported(vault, ("vault.zip", archive({name: "x", "ok.md": "y"})))
    assert "ok.md" in report.imported
    assert not list(tmp_path.rglob("out.md")) or name == "a\\..\\out.md"
    assert all(file.is_relative_to(vault.root) for file in tmp_path.rglob("out.md"))


def test_a_bomb_is_refused_before_it_is_unpacked_whole(vault):
    report = imported(vault, ("vault.zip", archive({"big.md": b"0" * 50_000_000, "ok.md": "y"})))
    assert report.imported == ["ok.md"]
    assert [path for path, _ in report.refused] == ["big.md"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"no archive"])
def test_a_damaged_archive_is_refused(vault, content):
    with pytest.raises(InvalidChangeError):
        imported(vault, ("vault.zip", io.BytesIO(content)))
