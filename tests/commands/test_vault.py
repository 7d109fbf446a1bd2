"""Documents from the command line."""

from __future__ import annotations

import pytest

from database.accounts.users import create_user
from database.connection import close_store, open_store
from server import create_app
from settings import load_settings
from tests.stores import put_empty_store

ADA = "ada@example.org"


@pytest.fixture
def folder(tmp_path):
    """A folder of notes that the operator maps to ada, to be read only."""
    notes = tmp_path / "notes"
    notes.mkdir()
    notes.joinpath("a.md").write_text("See [[nowhere]].")
    return notes


@pytest.fixture
def run(tmp_path, folder):
    """Runs a command: run("index", "--email", ADA)."""
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path / "data"), "ANAPHORA_MAIN_MODEL": "none"}
    environ["ANAPHORA_VAULT_FOLDERS"] = f"{ADA}={folder}:ro"
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    put_empty_store(settings.users_dir)
    for email in (ADA, "eve@example.org"):
        create_user(database=open_store(settings.users_dir), user_email=email, password="correct horse battery")
    runner = create_app(settings, serves=False).test_cli_runner()
    yield lambda *args: runner.invoke(args=["vault", *args])
    close_store(settings.users_dir)


def test_a_mapped_folder_is_indexed_and_its_broken_links_are_named(run):
    done = run("index", "--full")
    assert done.exit_code == 0, done.output
    assert f"{ADA}: 1 documents, 1 read, 0 gone." in done.output
    status = run("status", "--email", ADA)
    assert "read only" in status.output
    assert "a.md:1: [[nowhere]]" in status.output


def test_files_are_imported_where_the_vault_may_be_written(run, tmp_path):
    tmp_path.joinpath("b.md").write_text("# B")
    refused = run("import", "--email", ADA, str(tmp_path / "b.md"))
    assert refused.exit_code == 4
    assert "can only be read" in refused.output
    done = run("import", "--email", "eve@example.org", "--folder", "in", str(tmp_path / "b.md"))
    assert "1 documents were imported" in done.output
    tmp_path.joinpath("c.png").write_bytes(b"no text")
    half = run("import", "--email", "eve@example.org", str(tmp_path / "b.md"), str(tmp_path / "c.png"))
    assert half.exit_code == 1
    assert "c.png: " in half.output
    assert "1 documents were imported" in half.output
    assert run("index", "--email", "nobody@example.org").exit_code == 3
