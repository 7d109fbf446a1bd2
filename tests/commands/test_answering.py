"""Commands that need an answer while no server runs: they write it themselves, under the server's lock."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import func, select

from chat.runtime.startup import is_held_here
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation
from database.history.reading import list_messages
from database.messages.message import MessageRow
from database.schema import conversations
from language_models.errors import ModelUnavailableError
from language_models.file_lock import locked
from language_models.roles import ModelRoles
from language_models.testing import ScriptedChatModel
from server import create_app
from settings import Settings, load_settings
from tests.commands.test_chat import command, environ
from tests.fakes import RecordingModel, saying
from tests.live_server import NO_MODELS, LiveServer, free_port
from tests.stores import put_empty_store

ADA = "ada@example.org"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """The settings of a data folder with one account, Ada's, on which no server works."""
    own = {"ANAPHORA_DATA_DIR": str(tmp_path / "data"), "ANAPHORA_PORT": str(free_port())}
    settings = load_settings(NO_MODELS | own, env_file=tmp_path / "no.env")
    put_empty_store(settings.users_dir)
    create_user(database=open_store(settings.users_dir), user_email=ADA, password="correct horse battery", name="Ada")
    yield settings
    close_store(settings.users_dir)


def app_with(settings: Settings, model: ScriptedChatModel) -> Flask:
    models = ModelRoles(
        main="none",
        cheap="none",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=settings.model_dir,
        overrides={"main": model, "cheap": ScriptedChatModel.saying("A Title")},
    )
    return create_app(settings, models=models, serves=False)


def run(app: Flask, *args: str, typed: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=list(args), input=typed)


def new_room(settings: Settings) -> str:
    return create_conversation(
        database=open_store(settings.users_dir), user_email=ADA, domain="assistant"
    ).conversation_id


def messages_of(settings: Settings, room: str) -> list[MessageRow]:
    return list_messages(database=open_store(settings.users_dir), user_email=ADA, conversation_id=room)


def test_without_a_server_the_command_writes_the_answer_and_frees_the_data_folder(settings: Settings) -> None:
    app, room = app_with(settings, ScriptedChatModel.saying("Use a pool ", "of ten.")), new_room(settings)
    asked = run(app, "chat", "send", "--room", room, "--message", "How should I pool connections?")
    assert asked.exit_code == 0, asked.output
    again = run(app, "chat", "send", "--room", room, "--message", "-", typed="And more?")
    assert again.exit_code == 0, again.output
    rows = messages_of(settings, room)
    assert [(row.text, row.status) for row in rows] == [
        ("How should I pool connections?", "complete"),
        ("Use a pool of ten.", "complete"),
        ("And more?", "complete"),
        ("Use a pool of ten.", "complete"),
    ]
    assert json.loads(asked.output) == {
        "messageId": rows[0].message_id,
        "shortId": f"#{rows[0].short_id}",
        "threadId": None,
    }
    assert not is_held_here(settings.data_dir)
    talk = run(app, "chat", typed="Where do tomatoes grow?\n")
    assert (talk.exit_code, talk.stdout) == (0, "Use a pool of ten.\n")
    listed, _ = list_conversations(database=open_store(settings.users_dir), user_email=ADA, domain="assistant")
    assert len(listed) == 2


def test_an_answer_that_fails_is_told_after_the_ids_of_the_message(settings: Settings) -> None:
    failing = ScriptedChatModel.failing(ModelUnavailableError("The model is not there."))
    app, room = app_with(settings, failing), new_room(settings)
    ended = run(app, "chat", "send", "--room", room, "--message", "Hello")
    assert (ended.exit_code, ended.stderr) == (1, "Error: The model is not there.\n")
    assert json.loads(ended.stdout)["messageId"] == messages_of(settings, room)[0].message_id
    assert run(app, "chat", "send", "--room", room, "--message", "  ").exit_code == 2
    assert run(app, "chat", "send", "--room", room, "--message", "x", "--reply-to", "#ffffff").exit_code == 3
    assert run(app, "chat", "--model", "nosuch:model", typed="Hello\n").exit_code == 2


def test_a_question_that_is_refused_leaves_no_conversation(settings: Settings) -> None:
    app = app_with(settings, ScriptedChatModel.saying("Never asked."))
    asked = run(app, "chat", "--model", "nosuch:model", typed="Hello\n")
    assert (asked.exit_code, "nosuch" in asked.output) == (2, True)
    with open_store(settings.users_dir).reading() as connection:
        assert connection.execute(select(func.count()).select_from(conversations)).scalar() == 0


def test_a_server_that_holds_the_data_folder_is_asked(settings: Settings) -> None:
    app, room = app_with(settings, ScriptedChatModel.saying("Never said.")), new_room(settings)
    with locked(settings.data_dir / "server.lock", while_waiting=pytest.fail):
        ended = run(app, "chat", "send", "--room", room, "--message", "Hello")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert f"none answers at http://127.0.0.1:{settings.port}" in ended.stderr
    assert messages_of(settings, room) == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes begun meanwhile are ended by SIGINT, which a test run in the background lets them ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.live
@pytest.mark.usefixtures("interruptible")
def test_commands_at_the_same_time_answer_one_after_the_other_and_ctrl_c_keeps_what_was_said(
    settings: Settings, shared_model: RecordingModel, tmp_path: Path
) -> None:
    rooms = [new_room(settings), new_room(settings)]
    here = LiveServer(folder=tmp_path, port=settings.port)
    how: dict[str, Any] = {
        "cwd": tmp_path,
        "env": environ(here, **shared_model.environ),
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }

    def sending(room: str) -> subprocess.Popen[str]:
        return subprocess.Popen(command(here, "send", "--room", room, "--message", "Tell a story"), **how)

    shared_model.scripts["main"] = saying("Once upon", " a time.", pause_after=1)
    with sending(rooms[0]) as first:
        try:
            while not shared_model.requests_to("main"):
                assert first.poll() is None, "it ended before it asked the model"
                time.sleep(0.02)
            assert first.stdout is not None
            assert json.loads(first.stdout.readline())["threadId"] is None
            shared_model.scripts["main"] = saying("The end.")
            with sending(rooms[1]) as second:
                first.send_signal(signal.SIGINT)
                assert first.wait(120) == 1
                output, errors = second.communicate(timeout=120)
                assert second.returncode == 0, (output, errors)
        finally:
            first.kill()
        assert first.stderr is not None
        assert first.stderr.read().strip() == "Aborted!"
    assert [[row.status for row in messages_of(settings, room)] for room in rooms] == [
        ["complete", "cancelled"],
        ["complete", "complete"],
    ]
    assert messages_of(settings, rooms[1])[1].text == "The end."
