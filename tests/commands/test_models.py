"""Embedded models on the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from database.accounts.audit import list_acts
from database.connection import close_store, open_store
from language_models.download.catalogue import CatalogueEntry, HubSource
from server import create_app
from settings import load_settings

CONTENT = b"a model, if a small one"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Runs a command on a data folder and a model folder of its own."""
    environ = {
        "ANAPHORA_DATA_DIR": str(tmp_path / "data"),
        "ANAPHORA_MAIN_MODEL": "none",
        "ANAPHORA_CHEAP_MODEL": "none",
        "ANAPHORA_EMBEDDING_MODEL": "none",
        "ANAPHORA_MODEL_DIR": str(tmp_path / "models"),
    }
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    runner = create_app(settings).test_cli_runner()
    yield lambda *args: runner.invoke(args=["models", *args])
    close_store(settings.users_dir)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in the catalogue that is small enough for a test; its file is in the folder already."""
    entry = CatalogueEntry(
        name="tiny",
        aliases=(),
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="MIT",
        ram_gib=0.1,
        sources=(HubSource(url="http://127.0.0.1:9/tiny.gguf"),),
    )
    monkeypatch.setattr("commands.models.entry_named", lambda _name: entry)
    path = tmp_path / "models" / entry.file
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


def test_the_catalogue_is_listed_with_what_each_model_needs(run: Callable[..., Any]) -> None:
    listed = run("list")
    assert listed.exit_code == 0
    assert "qwen2.5-coder-1.5b-instruct" in listed.output
    assert "all-minilm-l6-v2, embedding: 23 MB" in listed.output
    assert listed.output.count("not fetched") == len(listed.output.splitlines())


def test_a_model_that_is_here_is_not_fetched_again(run: Callable[..., Any], tiny: Path) -> None:
    pulled = run("pull", "tiny")
    assert pulled.exit_code == 0
    assert pulled.output.splitlines()[-1] == str(tiny)


def test_a_whole_model_passes_the_check_and_a_damaged_one_fails_it(run: Callable[..., Any], tiny: Path) -> None:
    assert run("check", "tiny").output == "tiny is whole.\n"
    tiny.write_bytes(CONTENT[::-1])
    damaged = run("check", "tiny")
    assert damaged.exit_code == 1
    assert "flask --app server models pull tiny" in damaged.output


def test_a_model_that_was_fetched_stands_in_the_audit_log(
    run: Callable[..., Any], tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delivered(_entry: CatalogueEntry, *, folder: Path, progress: object) -> Path:
        tiny.write_bytes(CONTENT)
        return folder / tiny.name

    monkeypatch.setattr("commands.models.fetch", delivered)
    run("pull", "tiny")
    tiny.unlink()
    assert run("pull", "tiny").exit_code == 0
    acts = list_acts(database=open_store(tmp_path / "data" / "users"), limit=10)
    assert [(each["act"], each["subject"], each["door"]) for each in acts] == [
        ("model_fetched", "tiny", "command line")
    ]


def test_a_model_that_nobody_delivers_is_said_plainly(run: Callable[..., Any], tiny: Path) -> None:
    tiny.unlink()
    failed = run("pull", "tiny")
    assert failed.exit_code == 1
    assert "could not be fetched" in failed.output


def test_an_unknown_name_lists_what_there_is(run: Callable[..., Any]) -> None:
    unknown = run("pull", "nonsense")
    assert unknown.exit_code == 1
    assert "qwen2.5-coder" in unknown.output
