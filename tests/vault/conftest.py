"""A vault of one person over a store of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from database.accounts.users import create_user
from database.engine.database import Database
from tests.database.conftest import database, statements, users_dir
from vault.documents import Vault, Vaults

__all__ = ["database", "statements", "users_dir"]
ADA = "ada@example.org"


@pytest.fixture
def vaults(database: Database) -> Vaults:
    """The vaults of a store with two people, ada and eve."""
    for email in (ADA, "eve@example.org"):
        create_user(database=database, user_email=email, password="correct horse battery")
    return Vaults(database=database)


@pytest.fixture
def vault(vaults: Vaults) -> Vault:
    """Ada's empty vault."""
    return vaults.of(ADA)


@pytest.fixture
def put(vault: Vault) -> Callable[[dict[str, str | bytes]], None]:
    """Writes files as another program would, and lets the index follow: put({"a.md": "text"})."""

    def write(files: dict[str, str | bytes]) -> None:
        for path, content in files.items():
            file = Path(vault.root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        indexed(vault)

    return write


def indexed(vault: Vault, *, is_full: bool = False) -> None:
    """Bring the index up to date with all files."""
    for _ in vault.refresh(is_full=is_full):
        pass
