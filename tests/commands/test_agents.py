"""Agents on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from database.accounts.users import create_user
from database.agents.repository import get_agent
from database.connection import close_store, open_store
from language_models.roles import ModelRoles
from language_models.testing import ScriptedChatModel
from server import create_app
from settings import load_settings

ADA = "ada@example.org"
Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs a command of `agents` for Ada."""
    environ = {
        "ANAPHORA_DATA_DIR": str(tmp_path / "data"),
        "ANAPHORA_MAIN_MODEL": "none",
        "ANAPHORA_CHEAP_MODEL": "none",
        "ANAPHORA_EMBEDDING_MODEL": "none",
    }
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    scripted = ScriptedChatModel.saying("Sorrel.")
    models = ModelRoles(
        main="none",
        cheap="none",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=settings.model_dir,
        overrides={"main": scripted, "cheap": scripted},
    )
    runner = create_app(settings, models=models).test_cli_runner()
    create_user(database=open_store(settings.users_dir), user_email=ADA, password="correct horse battery")
    yield lambda name, *args: runner.invoke(args=["agents", name, "--email", ADA, *args])
    close_store(settings.users_dir)


def test_an_agent_is_made_listed_changed_and_deleted(run: Run, tmp_path: Path) -> None:
    told = tmp_path / "told.txt"
    told.write_text("You know plants.", encoding="utf-8")
    made = run("create", "--title", "The Botanist", "--told-file", str(told), "--tool", "read_document")
    assert made.output == "@agent_the_botanist\n"
    assert run("list").output == ("@agent_global_assistant: Global Assistant\n@agent_the_botanist: The Botanist\n")
    changed = run("update", "@agent_the_botanist", "--title", "Flora", "--slug", "flora", "--service", "later")
    assert changed.output == "@agent_flora is changed.\n"
    agent = get_agent(database=open_store(tmp_path / "data" / "users"), user_email=ADA, agent="flora")
    assert (agent.title, agent.system_prompt, agent.enabled_tools) == ("Flora", "You know plants.", ["read_document"])
    assert agent.service == "later"
    assert run("delete", "flora").output == "flora is deleted.\n"
    assert run("list").output == "@agent_global_assistant: Global Assistant\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("update", "nobody", "--title", "x"), "There is no such agent."),
        (("delete", "global_assistant"), "Everybody has the Global Assistant"),
        (("create", "--title", "x", "--model", "no such"), "no such"),
        (("create", "--title", "x", "--tool", "fly"), "There is no tool “fly”."),
        (("list", "--email", "nobody@example.org"), "There is no account nobody@example.org."),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(command: tuple[str, ...], said: str, run: Run) -> None:
    answer = run(*command)
    assert answer.exit_code in (1, 2, 3)
    assert said in answer.output
    assert "Traceback" not in answer.output


def test_an_agent_is_asked_and_its_answer_printed(run: Run) -> None:
    run("create", "--title", "Botanist")
    answer = run("ask", "botanist", "What grows?")
    assert answer.output.splitlines()[0] == "Sorrel."
    assert f"Conversation: {ADA}_" in answer.output
    (conversation_id,) = [line.removeprefix("Conversation: ") for line in answer.output.splitlines()[1:]]
    again = run("ask", "botanist", "And now?", "--conversation", conversation_id)
    assert again.output.splitlines()[0] == "Sorrel."
    assert "not one of" in run("ask", "global_assistant", "And you?", "--conversation", conversation_id).output
