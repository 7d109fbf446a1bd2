"""The product has one version, and everything that names it says the same."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest
from flask import Flask

from endpoints.http.scope import EXTENSION
from portability.backup import back_up, read_manifest
from portability.errors import BrokenBackupError
from tests.endpoints.conftest import Person, account
from tests.live_server import ROOT
from version import api_version, product_version, program

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.M)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "documentation").rglob("*.md"))]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_version_is_that_of_the_newest_release_in_the_changelog() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", product_version())
    releases = RELEASE.findall(CHANGELOG)
    assert releases[0][0] == product_version()
    assert [numbers(version) for version, _ in releases] == sorted(
        (numbers(version) for version, _ in releases), reverse=True
    )
    days = [date.fromisoformat(day) for _, day in releases]
    assert days == sorted(days, reverse=True)


def test_the_changelog_begins_with_what_is_not_released_and_has_only_headings_that_readers_know() -> None:
    headings = re.findall(r"^##+ .*$", CHANGELOG, re.M)
    assert headings[0] == "## Unreleased"
    assert [each for each in headings[1:] if each.startswith("## ") and not RELEASE.fullmatch(each)] == []
    kinds = {each.removeprefix("### ") for each in headings if each.startswith("### ")}
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_names_another_version(document: Path) -> None:
    named = re.findall(r"\bAnaphora (\d+\.\d+\.\d+)\b", document.read_text(encoding="utf-8"))
    assert set(named) <= {product_version()}


def test_the_command_line_says_it(app: Flask) -> None:
    said = app.test_cli_runner().invoke(args=["version"])
    assert (said.exit_code, said.output.split("  ")[0]) == (0, program())
    server = [sys.executable, "server.py", "--version"]
    assert subprocess.run(server, cwd=ROOT, capture_output=True, text=True, check=True).stdout == f"{program()}\n"


def test_administrators_and_metrics_are_told_the_whole_version(app: Flask, ada: Person) -> None:
    grace = account(app, "grace@example.org", is_admin=True)
    assert grace.get("/admin/health").json["version"] == product_version()
    of_build = f'anaphora_build_info{{python="{platform.python_version()}",version="{product_version()}"}} 1.0'
    assert of_build in ada.get("/metrics").text.splitlines()
    assert ada.get("/openapi.json").json["info"]["version"] == product_version()


def test_strangers_are_not_told_which_mends_are_missing(app: Flask) -> None:
    stranger = app.test_client()
    assert stranger.get("/openapi.json").json["info"]["version"] == api_version()
    for path in ("/healthz", "/readyz", "/login", "/setup", "/nowhere"):
        answer = stranger.get(path)
        assert product_version() not in answer.text + str(answer.headers), path


def test_a_backup_and_the_archive_of_an_account_name_the_program(app: Flask, ada: Person, tmp_path: Path) -> None:
    archive = tmp_path / "account.zip"
    archive.write_bytes(ada.get("/export_account").data)
    backup = back_up(app.extensions[EXTENSION].settings.data_dir, tmp_path / "backup.zip")
    for path in (archive, backup):
        with zipfile.ZipFile(path) as opened:
            assert json.loads(opened.read("manifest.json"))["made_by"] == program()


def test_a_backup_of_a_later_program_says_who_made_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as archive:
        stated = {"format": "anaphora-backup", "version": 99, "made_by": "Anaphora 7.0.0\x1b[2J"}
        archive.writestr("manifest.json", json.dumps(stated))
    with zipfile.ZipFile(tmp_path / "backup.zip") as archive, pytest.raises(BrokenBackupError) as refused:
        read_manifest(archive)
    assert "version 99 (made by 'Anaphora 7.0.0\\x1b[2J')" in str(refused.value)
