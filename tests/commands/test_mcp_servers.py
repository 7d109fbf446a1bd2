"""The operator adds MCP servers on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from database.connection import close_store
from endpoints.http.scope import EXTENSION
from server import create_app
from settings import load_settings
from tests.chat.tools.foreign.rude_http import serving
from tests.chat.tools.foreign.test_foreign import RUDE, SECRET
from tests.live_server import free_port


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Makes an application over one data folder, as a start of the server does."""
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path / "data"), "ANAPHORA_MAIN_MODEL": "none"}
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    yield lambda: create_app(settings)
    close_store(settings.users_dir)


def test_a_server_is_added_listed_and_removed_and_its_secrets_are_never_shown(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUDE_KEY", SECRET)
    app = make()

    def run(*arguments: str) -> Any:
        return app.test_cli_runner().invoke(args=["mcp-servers", *arguments])

    added = run("add", "rude", "--seconds", "300", "--env", "RUDE_KEY", "--", *RUDE)
    assert (added.exit_code, added.output.splitlines()[0]) == (0, "rude__die: ")
    listed = run("list")
    assert listed.output == f"rude: 7 tools, {' '.join(RUDE)}\n  RUDE_KEY: set\n"
    registry = make().extensions[EXTENSION].tools
    assert "rude__hang" in registry.names()
    assert SECRET not in added.output + listed.output
    assert run("remove", "rude").exit_code == 0
    assert "There are none yet" in run("list").output
    assert run("remove", "rude").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Rude", "--", "true"], "lowercase letters"),
        (["rude", "--env", "NOBODY_HAS_THIS", "--", "true"], "NOBODY_HAS_THIS is not set"),
        (
            ["rude", "--seconds", "300", "--", sys.executable, "-c", "raise SystemExit('No key was given.')"],
            "The server rude has failed.\nNo key was given.",
        ),
        (["rude", "--", "no-such-program"], "There is no program no-such-program."),
        (["rude", "--url", f"http://127.0.0.1:{free_port()}/mcp"], "Nothing answers at its address."),
    ],
)
def test_what_can_not_be_added_is_said(arguments: list[str], told: str, make: Callable[[], Any]) -> None:
    answer = make().test_cli_runner().invoke(args=["mcp-servers", "add", *arguments])
    assert answer.exit_code == 1
    assert told in answer.output


def test_a_server_over_http_is_added_with_a_header_whose_value_is_never_shown(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUDE_KEY", SECRET)
    app = make()

    def run(*arguments: str) -> Any:
        return app.test_cli_runner().invoke(args=["mcp-servers", *arguments])

    with serving() as rude:
        address = ("add", "rude", "--seconds", "300", "--url", rude.url)
        added = run(*address, "--header", "X-Key=RUDE_KEY")
        assert (added.exit_code, added.output.splitlines()[0]) == (0, "rude__die: ")
        listed = run("list")
        assert listed.output == f"rude: 11 tools, {rude.url.partition('?')[0]}\n  X-Key: set\n"
        assert SECRET not in added.output + listed.output
        for wrong in ((*address, "--", "true"), ("add", "rude"), (*address, "--header", "X-Key")):
            assert run(*wrong).exit_code != 0
        assert run("list").output == listed.output
