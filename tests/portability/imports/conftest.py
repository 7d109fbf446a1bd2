"""A source that tests script, and imports of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from database.connection import close_store, open_store
from database.engine.database import Database
from database.imports.repository import Import, change_state, get_import
from portability.importers import registry
from portability.importers.reading.imported import ImportedConversation, ImportedItem, ImportedMessage
from portability.imports.accepting import accept_file
from portability.imports.runner import ImportRunner
from tests.stores import put_empty_store

ADA = "ada@example.org"
BEGAN = datetime(2025, 3, 1, 12, tzinfo=UTC)


class ScriptedImporter:
    """Gives what a test has put into `items`. read: how many items were read, in all."""

    source, title, expects = "scripted", "Scripted", "a file that begins with SCRIPTED."

    def __init__(self) -> None:
        self.items: list[ImportedItem | Exception] = []
        self.read = 0

    def recognises(self, file: Any) -> bool:
        return bool(file.is_single and file.beginning(length=8) == b"SCRIPTED")

    def conversations(self, _file: Any) -> Iterator[ImportedItem]:
        for item in self.items:
            if isinstance(item, Exception):
                raise item
            self.read += 1
            yield item


def message(source_id: str, parent: str | None, text: str = "", *, at: int = 0, **more: Any) -> ImportedMessage:
    """A message `at` minutes after the beginning; ids that begin with "q" are questions."""
    sender: Any = "user" if source_id.startswith("q") else "model"
    return ImportedMessage(source_id, parent, sender, text or source_id, BEGAN + timedelta(minutes=at), **more)


def conversation(source_id: str, *messages: ImportedMessage, **more: Any) -> ImportedConversation:
    """A conversation; one question and its answer where no messages are given."""
    chosen = messages or (message("q1", None, f"What of {source_id}?"), message("a1", "q1", "This.", at=1))
    given = {"title": f"About {source_id}", "created_at": BEGAN, "updated_at": BEGAN + timedelta(hours=1)} | more
    return ImportedConversation(source_id, messages=tuple(chosen), **given)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> ScriptedImporter:
    """The scripted source, beside the real ones."""
    scripted = ScriptedImporter()
    monkeypatch.setattr(registry, "_IMPORTERS", (*registry.importers(), scripted))
    return scripted


@pytest.fixture
def database(tmp_path: Path, database_url: str | None) -> Iterator[Database]:
    """A fresh store."""
    folder = put_empty_store(tmp_path / "users") if database_url is None else str(tmp_path / "users")
    yield open_store(folder, database_url=database_url)
    close_store(folder)


@pytest.fixture
def runner(database: Database, tmp_path: Path) -> Iterator[ImportRunner]:
    """Works on imports without pauses."""
    one = ImportRunner(database=database, uploads=tmp_path / "imports", share=1.0)
    yield one
    one.close()


@pytest.fixture
def added(database: Database, tmp_path: Path, source: ScriptedImporter) -> Callable[..., Import]:
    """Add an import of a file of the scripted source; nobody has worked on it yet."""

    def add(*, user_email: str = ADA, **choice: Any) -> Import:
        upload = tmp_path / "upload.part"
        upload.write_bytes(b"SCRIPTED")
        own: dict[str, Any] = {"database": database, "user_email": user_email, "uploads": tmp_path / "imports"}
        return accept_file(upload, name="history.json", state=choice.pop("state", "running"), **own, **choice)

    return add


@pytest.fixture
def imported(
    database: Database, runner: ImportRunner, source: ScriptedImporter, added: Callable[..., Import]
) -> Callable[..., Import]:
    """Import items of the scripted source; the import as it has ended."""

    def run(*items: Any, **choice: Any) -> Import:
        source.items = list(items)
        which = added(**choice)
        runner.run_until_idle()
        return get_import(database=database, user_email=which.user_email, import_id=which.import_id)

    return run


@pytest.fixture
def brought(database: Database, runner: ImportRunner) -> Callable[[Path], Import]:
    """Import a file; the import as it has ended."""

    def run(path: Path) -> Import:
        which = accept_file(path, name=path.name, database=database, user_email=ADA, state="running")
        runner.run_until_idle()
        return get_import(database=database, user_email=ADA, import_id=which.import_id)

    return run


@pytest.fixture
def taken_back(database: Database, runner: ImportRunner) -> Callable[[Import], Import]:
    """Take an import back; the import as it is then."""

    def run(which: Import) -> Import:
        own: dict[str, Any] = {"database": database, "user_email": ADA, "import_id": which.import_id}
        change_state(**own, state="undoing", among=["done"])
        runner.run_until_idle()
        return get_import(**own)

    return run
