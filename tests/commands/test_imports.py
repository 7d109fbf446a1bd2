"""History is imported from the command line by the same job as by the page."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from activity.export import export
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from Conversation import Conversation
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, delete_conversation, get_conversations_for_user
from database.imports.repository import claim_import, list_imports
from portability.imports.runner import ImportRunner
from server import create_app
from settings import load_settings
from tests.portability.importers.exports import claude_conversation, claude_message, write_zip
from tests.stores import put_empty_store

ADA = "ada@example.org"


@pytest.fixture
def settings(tmp_path):
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path / "data"), "ANAPHORA_MAIN_MODEL": "none"}
    made = load_settings(environ, env_file=tmp_path / "no.env")
    put_empty_store(made.users_dir)
    create_user(database=open_store(made.users_dir), user_email=ADA, password="correct horse battery")
    yield made
    close_store(made.users_dir)


@pytest.fixture
def run(settings):
    """Import files for ada: run(path, …)."""
    runner = create_app(settings, serves=False).test_cli_runner()
    return lambda *files: runner.invoke(args=["data", "import", "--email", ADA, *map(str, files)])


def lines(*texts):
    said = [{"conversation": "1", "title": "Talk", "role": "user", "text": text} for text in texts]
    return "".join(json.dumps(each) + "\n" for each in said)


def test_a_file_comes_in_once_and_grows_and_stays_where_it_is(run, settings, tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_text(lines("Hello"))
    assert f"{file}: 1 imported, 0 updated, 0 unchanged, 0 failed." in run(file).output
    assert "0 imported, 0 updated, 1 unchanged" in run(file).output
    file.write_text(lines("Hello", "Anybody?"))
    assert "0 imported, 1 updated, 0 unchanged" in run(file).output

    database = open_store(settings.users_dir)
    (row,) = get_conversations_for_user(database=database, user_email=ADA)
    assert (row.title, row.message_count) == ("Talk", 2)
    assert [each.state for each in list_imports(database=database, user_email=ADA)] == ["done"] * 3
    assert file.exists()


def test_a_text_to_learn_from_is_said(run, tmp_path):
    talk = claude_conversation(claude_message("m1", "human", "Hello"))
    members = {"conversations.json": [talk], "memories.json": [{"conversations_memory": "She sails."}]}
    file = write_zip(tmp_path / "claude.zip", members)
    assert run(file).output.splitlines() == [
        f"{file}: 2 imported, 0 updated, 0 unchanged, 0 failed.",
        f"{file}: What Claude remembered.md is a text to learn from: the import in the settings finds memories in it.",
    ]


def test_each_memory_of_the_first_implementation_counts_and_comes_once(run, tmp_path):
    file = tmp_path / "pkb.sqlite"
    names = "claim_id, user_email, claim_number, friendly_id, claim_type, statement, context_domain, status"
    with closing(sqlite3.connect(file)) as old:
        old.execute(f"CREATE TABLE claims ({names}, created_at, updated_at)")
        for number in (42, 43):
            claim = (f"c{number}", "ada@old.example", number, f"i_sail_a3{number}", "preference", f"I sail at {number}")
            times = ["2024-03-01T08:00:00Z"] * 2
            old.execute(f"INSERT INTO claims VALUES ({', '.join('?' * 10)})", (*claim, "health", "active", *times))
        old.commit()
    outputs = [run(file).output for _ in range(2)]

    assert outputs == [
        f"{file}: 2 imported, 0 updated, 0 unchanged, 0 failed.\n",
        f"{file}: 0 imported, 0 updated, 2 unchanged, 0 failed.\n",
    ]


def test_a_form_that_is_not_known_says_what_was_expected_and_changes_nothing(run, settings, tmp_path):
    file = tmp_path / "diary.txt"
    file.write_text("Dear diary")
    done = run(file)
    assert done.exit_code == 1
    assert "diary.txt is not a file that" in done.output
    assert "ChatGPT:" in done.output
    assert list_imports(database=open_store(settings.users_dir), user_email=ADA) == []


def test_a_server_that_runs_leaves_the_file_to_the_command(run, settings, tmp_path, monkeypatch):
    taken, run_due, database = [], ImportRunner.run_due, open_store(settings.users_dir)

    def after_the_server(self, **given):
        taken.append(claim_import(database=database, owner="server-1"))
        return run_due(self, **given)

    monkeypatch.setattr(ImportRunner, "run_due", after_the_server)
    files = [tmp_path / "talk.jsonl", tmp_path / "more.jsonl"]
    for file in files:
        file.write_text(lines("Hello"))
    done = run(*files)
    assert (done.exit_code, set(taken)) == (0, {None})
    assert done.output.count("0 failed.") == len(files)


def test_the_other_files_come_in_where_one_does_not(run, settings, tmp_path):
    broken, file = tmp_path / "diary.txt", tmp_path / "talk.jsonl"
    broken.write_text("Dear diary")
    file.write_text(lines("Hello"))
    done = run(broken, file)
    assert f"{file}: 1 imported, 0 updated, 0 unchanged, 0 failed." in done.output
    assert done.exit_code == 1


def test_a_file_of_which_all_fails_ends_with_exit_code_1(run, settings, tmp_path):
    file, own = tmp_path / "talk.json", {"database": open_store(settings.users_dir), "user_email": ADA}
    conversation_id = create_conversation(**own, domain="assistant").conversation_id
    Conversation(ADA, own["database"], conversation_id).persist_current_turn("Hello", "Hello!")
    written = export(**own, recipes=RecipeRegistry(BUILT_IN), room=conversation_id, fmt="json")
    file.write_bytes(b"".join(written.chunks))
    delete_conversation(**own, conversation_id=conversation_id)
    done = run(file)
    assert "0 imported, 0 updated, 1 unchanged, 1 failed." in done.output
    assert done.exit_code == 1
