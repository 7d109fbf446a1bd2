"""A backup takes along everything but what is named here: a new kind of file or table is in one of the two."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from database.schema import metadata
from endpoints.http.scope import AppState
from portability.backup import MANIFEST, back_up
from portability.restoring import restore
from settings import Settings
from tests.endpoints.accounts.test_account_deletion import fill, hold, main_model, state
from tests.endpoints.conftest import Person
from tests.live_server import ROOT
from truth_management_system.schema import metadata as knowledge_metadata

__all__ = ["hold", "main_model", "state"]
pytestmark = [pytest.mark.contract, pytest.mark.only_sqlite]

LOGS = {f"users/{store}{log}" for store in ("users.db", "pkb.sqlite") for log in ("-wal", "-shm")}
"""The copy of a store has what is in its log."""
LEFT_OUT = ("server.lock", "imports/", "mcp_servers_of_people/", "users/bundles/", "users/locks/", "users/pkb.vectors/")
"""Files and folders below the data folder that no backup has; the documentation says why."""


def kept_files(data_dir: Path) -> set[str]:
    """The files of a data folder that have to come along."""
    found = {path.relative_to(data_dir).as_posix() for path in data_dir.rglob("*") if path.is_file()}
    return {name for name in found - LOGS if not name.startswith(LEFT_OUT)}


def rows(file: Path) -> dict[str, int]:
    """How many rows each table of a store has."""
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: connection.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0] for table in tables}


def test_every_file_and_every_table_comes_back_out_of_a_backup(
    settings: Settings, state: AppState, ada: Person, eve: Person, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fill(ada, state)
    fill(eve, state)
    folder = tmp_path_factory.mktemp("backups")
    file = back_up(settings.data_dir, folder / "backup.zip")
    with zipfile.ZipFile(file) as archive:
        assert set(archive.namelist()) == kept_files(settings.data_dir) | {MANIFEST}
    before = {name: rows(Path(settings.users_dir) / name) for name in ("users.db", "pkb.sqlite")}
    assert set(before["users.db"]) >= set(metadata.tables)
    assert set(before["pkb.sqlite"]) >= set(knowledge_metadata.tables)

    elsewhere = folder / "elsewhere"
    restore(file, data_dir=elsewhere)
    assert kept_files(elsewhere) == kept_files(settings.data_dir)
    for name, counts in before.items():
        assert rows(elsewhere / "users" / name) == counts
    for name in kept_files(elsewhere) - {"users/users.db", "users/pkb.sqlite"}:
        assert (elsewhere / name).read_bytes() == (settings.data_dir / name).read_bytes(), name


@pytest.mark.parametrize("place", LEFT_OUT)
def test_the_documentation_names_what_is_left_out(place: str) -> None:
    text = (ROOT / "documentation" / "operations.md").read_text(encoding="utf-8")
    listed = text.partition("## Where things are")[2].partition("## PostgreSQL")[0]
    (line,) = [line for line in listed.splitlines() if line.startswith(f"| `{place}` ")]
    assert line.endswith(" no |")
