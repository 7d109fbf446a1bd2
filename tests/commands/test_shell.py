"""Messages, activities and exports from a person's shell; the workflow of seed 002 with a real server."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from flask import Flask

from commands import refuse
from commands.shell import CommandGroup
from Conversation import Conversation
from database.accounts.api_tokens import create_token, revoke_token
from database.accounts.users import create_user, set_disabled
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, update_conversation
from database.engine.database import Database
from database.history.reading import list_messages
from database.maintenance.account_erasure import close_account
from server import create_app
from settings import SettingsError, load_settings
from tests.activity.chain import store
from tests.commands.test_chat import chat, command, environ
from tests.fakes import Answer, RecordingModel, saying
from tests.http_client import Client
from tests.live_server import NO_MODELS, LiveServer, new_account
from tests.stores import put_empty_store

ADA = "ada@example.org"
Run = Callable[..., Result]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    """An application with one account, Ada's."""
    own = {"ANAPHORA_DATA_DIR": str(tmp_path / "data")}
    settings = load_settings(NO_MODELS | own, env_file=tmp_path / "no.env")
    put_empty_store(settings.users_dir)
    create_user(database=open_store(settings.users_dir), user_email=ADA, password="correct horse battery", name="Ada")
    yield create_app(settings, serves=False)
    close_store(settings.users_dir)


@pytest.fixture
def database(app: Flask, tmp_path: Path) -> Database:
    return open_store(str(tmp_path / "data" / "users"))


@pytest.fixture
def run(app: Flask) -> Run:
    """Runs a command: run("chat", "send", "--room", "general")."""
    runner = app.test_cli_runner()
    return lambda *args, typed=None: runner.invoke(args=list(args), input=typed)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes begun meanwhile are ended by SIGINT, which a test run in the background lets them ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def room(database: Database, title: str, *turns: tuple[str, str]) -> str:
    row = create_conversation(database=database, user_email=ADA, domain="assistant")
    own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": row.conversation_id}
    update_conversation(**own, changes={"title": title, "title_force_set": True})
    for question, answer in turns:
        Conversation(ADA, database, row.conversation_id).persist_current_turn(question, answer, {"model": "a-model"})
    return row.conversation_id


def sent(run: Run, *options: str, typed: str | None = None) -> dict[str, Any]:
    ended = run("chat", "send", "--room", "general", "--no-answer", *options, typed=typed)
    assert ended.exit_code == 0, ended.output
    ids: dict[str, Any] = json.loads(ended.output)
    assert list(ids) == ["messageId", "shortId", "threadId"]
    assert re.fullmatch(r"#[0-9a-f]{6,}", ids["shortId"])
    return ids


def told(ended: Result) -> list[dict[str, Any]]:
    assert ended.exit_code == 0, ended.output
    return [json.loads(line) for line in ended.output.splitlines()]


def test_a_message_is_stored_without_an_answer_and_replies_to_another_in_both_spellings(
    run: Run, database: Database
) -> None:
    conversation_id = room(database, "general")
    first = sent(run, "--message", "How should I pool connections?")
    assert first["threadId"] is None
    second = sent(run, "--message", "-", "--replyTo", first["shortId"].upper(), typed="By a pool.\nOf ten.\n")
    third = sent(run, "--message", "More.", "--reply-to", first["messageId"], "--threadId", second["threadId"])
    assert third["threadId"] == second["threadId"] is not None
    rows = list_messages(database=database, user_email=ADA, conversation_id=conversation_id)
    assert [(row.message_id, row.text) for row in rows] == [
        (first["messageId"], "How should I pool connections?"),
        (second["messageId"], "By a pool.\nOf ten."),
        (third["messageId"], "More."),
    ]
    lines = told(run("chat", "poll", "--user", ADA, "--room", "general", "--after", first["shortId"]))
    assert [line["shortId"] for line in lines] == [second["shortId"], third["shortId"]]
    assert lines[0]["content"] == "By a pool.\nOf ten."
    assert lines[0]["actor"] == {"type": "user", "id": ADA, "name": "Ada"}
    assert (lines[0]["replyToId"], lines[0]["threadId"]) == (first["messageId"], second["threadId"])
    assert told(run("chat", "poll", "--room", "general")) == []
    assert told(run("chat", "poll", "--room", "general", "--after", third["shortId"], "--timeout", "0.1")) == []


def test_an_export_goes_to_standard_output_or_below_the_exports_folder(
    run: Run, database: Database, tmp_path: Path
) -> None:
    conversation_id = room(database, "general", *[(f"question {n}", f"answer {n}") for n in range(26)])
    text = run("chat", "export", "--room", "general").output
    assert text.startswith("# Conversation: general\n")
    assert text.endswith("\nMessages: 50\n")
    assert "question 0" not in text
    rows = list_messages(database=database, user_email=ADA, conversation_id=conversation_id)
    anchor = f"#{rows[1].short_id}"
    after = run("chat", "export", "--room", "general", "--after", anchor, "--limit", "2", "--format", "json")
    assert [each["content"] for each in json.loads(after.output)["activities"]] == [
        "answer 0",
        "question 1",
        "answer 1",
    ]
    output = ("chat", "export", "--room", "general", "--output")
    file = tmp_path / "data" / "exports" / "talks" / "general.md"
    written = run(*output, "talks/general.md")
    assert (written.exit_code, written.output) == (0, f"{file}\n")
    assert file.read_text(encoding="utf-8") == text
    assert [path.name for path in file.parent.iterdir()] == ["general.md"]
    again = run(*output, "talks/general.md", "--limit", "1")
    assert (again.exit_code, "--force" in again.output) == (2, True)
    assert run(*output, "talks/general.md", "--limit", "1", "--force").exit_code == 0
    assert file.read_text(encoding="utf-8").endswith("Messages: 1\n")
    absolute = tmp_path / "here.html"
    assert run(*output, str(absolute), "--format", "html").exit_code == 0
    assert absolute.read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "data" / "exports" / "out").symlink_to(tmp_path)
    for outside in ("../up.md", "a/../../up.md", f"{tmp_path}/../up.md", "out/up.md", "talks"):
        refused = run(*output, outside)
        assert refused.exit_code == 2, (outside, refused.output)
    assert not (tmp_path / "up.md").exists()


def commands_of_accounts(group: click.Group, *above: str) -> Iterator[tuple[str, ...]]:
    """All commands that take the address of an account, by their names."""
    for name, each in group.commands.items():
        if any(parameter.name == "email" for parameter in each.params):
            yield (*above, name)
        if isinstance(each, click.Group):
            yield from commands_of_accounts(each, *above, name)


MAKES_ONE = {("users", "create"), ("users", "invite"), ("bench", "seed")}
"""Commands whose address need not be that of an account."""
FURTHER = {
    ("data", "forget"): ["--older-than-days", "1"],
    ("data", "import"): [__file__],
    ("vault", "import"): [__file__],
    ("activity", "post"): ["--room", "general", "--type", "system_event", "--payload", "{}"],
    ("activity", "export"): ["--recipe", "core"],
    ("chat", "send"): ["--room", "general", "--message", "Hello"],
    ("chat", "poll"): ["--room", "general"],
    ("chat", "export"): ["--room", "general"],
    ("users", "role"): ["--role", "member"],
    ("users", "token"): ["--name", "program"],
    ("users", "password"): ["--password-stdin"],
    ("users", "delete"): ["--yes"],
    ("agents", "create"): ["--title", "Botanist"],
    ("agents", "ask"): ["botanist", "What grows?"],
    ("activity", "move"): ["#a1b2c3", "--to-room", "general"],
    **{("agents", name): ["botanist"] for name in ("update", "delete")},
    **{("inbox", name): ["botanist"] for name in ("peek", "service", "retry")},
}
"""What these commands can't do without."""


def test_an_unknown_account_has_one_exit_code_in_every_command(app: Flask, run: Run) -> None:
    wrong, seen = {}, set()
    for names in commands_of_accounts(app.cli):
        if names in MAKES_ONE:
            continue
        more = FURTHER.get(names, [])
        ended = run(*names, *more, "--email", "nobody@example.org", typed="correct horse battery\n")
        seen.add(names)
        if (ended.exit_code, ended.stdout) != (3, ""):
            wrong[names] = (ended.exit_code, ended.output)
    assert wrong == {}
    assert len(seen) > 25


def test_a_recipe_and_a_thread_are_exported(run: Run, database: Database) -> None:
    conversation_id = room(database, "general", ("Deploy?", "Yes."))
    question = list_messages(database=database, user_email=ADA, conversation_id=conversation_id)[0]
    own: dict[str, Any] = {"user_email": ADA, "conversation_id": conversation_id}
    event = {"recipe": "system-monitoring", "type_name": "system_event", "payload": {"description": "Deployed"}}
    posted = store(database, **own, **event, reply_to=question.short_id)
    thread_id = list_messages(database=database, user_email=ADA, conversation_id=conversation_id)[0].thread_id
    both = run("chat", "export", "--threadId", str(thread_id)).output
    assert f"[#{question.short_id}]" in both
    assert f"  **[#{posted.short_id}] 🔔 " in both
    for spelled in ("--thread", "--thread-id", "--threadId"):
        session = run("activity", "export", "--recipe=system-monitoring", f"{spelled}={thread_id}").output
        assert session.startswith(f"# System Monitoring Session (Thread: {thread_id})\n\n## System Events\n")
        assert session.endswith("Messages: 0, other activities: 1\n")
    assert run("chat", "export", "--room", "general", "--include", "tools,agents").output.endswith("\nMessages: 0\n")


def test_exit_codes_say_what_went_wrong(run: Run, database: Database) -> None:
    room(database, "general", ("Hello", "Hi."))
    twins = [room(database, "Twins"), room(database, "Twins")]
    create_user(database=database, user_email="off@example.org", password="correct horse battery")
    set_disabled(database=database, user_email="off@example.org", disabled=True)
    mine = ("--user", ADA)
    cases: list[tuple[tuple[str, ...], int, list[str]]] = [
        (("chat", "send", *mine, "--message", "x"), 2, ["--room"]),
        (("chat", "export", "--room", "general"), 2, ["There are several accounts.", "ANAPHORA_USER"]),
        (("chat", "export", *mine), 2, ["Name a conversation, a thread or a recipe"]),
        (("chat", "export", *mine, "--room", "general", "--include", "all"), 2, ["--include"]),
        (("chat", "export", *mine, "--room", "general", "--limit", "0"), 2, ["--limit"]),
        (("chat", "export", *mine, "--room", "Twins"), 2, twins),
        (("chat", "export", *mine, "--room", "genral"), 3, ["There is no conversation genral.", "“general”"]),
        (("chat", "export", *mine, "--room", "general", "--after", "#ffffff"), 3, ["#ffffff"]),
        (("chat", "poll", *mine, "--room", "general", "--after", "#ffffff"), 3, ["#ffffff"]),
        (("chat", "export", *mine, "--thread-id", "thread-001"), 3, ["thread"]),
        (("activity", "export", *mine, "--recipe", "nowhere"), 3, ["nowhere"]),
        (("chat", "send", *mine, "--room", "general", "--no-answer", "--message", "x", "--replyTo", "#ffffff"), 3, []),
        (("chat", "send", *mine, "--room", "general", "--no-answer", "--message", "  "), 2, []),
        (("chat", "export", "--user", "nobody@example.org", "--room", "general"), 3, []),
        (("chat", "export", "--user", "off@example.org", "--room", "general"), 4, ["switched off"]),
    ]
    for args, code, words in cases:
        ended = run(*args)
        assert (ended.exit_code, "Traceback" in ended.output) == (code, False), (args, ended.output, ended.exception)
        assert all(word in ended.output for word in words), (args, ended.output)
    assert len(told(run("chat", "poll", *mine, "--room", "general"))) == 0


def test_every_command_has_examples_with_options_that_it_has(app: Flask) -> None:
    commands = dict(commands_of(app.cli))
    assert {"chat", "chat send", "activity post", "recipes list", "data import", "users create"} <= set(commands)
    for name, each in commands.items():
        assert each.help, name
        lines = [line.strip() for line in (each.epilog or "").splitlines()[2:]]
        assert any(re.search(rf"(^|\| ){name}( |$)", line) for line in lines), name
        options = {option for parameter in each.params for option in parameter.opts}
        assert set(re.findall(r"(?<= )--[a-z]\S+", (each.epilog or "").replace("=", " "))) <= options, name


def test_a_full_disk_and_wrong_settings_are_told_in_one_line() -> None:
    group = CommandGroup("group")

    @group.command("full", with_appcontext=False)
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "general.md")

    @group.command("unset", with_appcontext=False)
    def unset() -> None:
        refuse(SettingsError("ANAPHORA_PORT", "not a number"))

    runner = CliRunner()
    told = runner.invoke(group, ["full"])
    assert (told.exit_code, told.output) == (1, "Error: general.md: No space left on device.\n")
    assert runner.invoke(group, ["unset"]).output == "Error: ANAPHORA_PORT: not a number\n"


def commands_of(group: click.Group, *before: str) -> Iterator[tuple[str, click.Command]]:
    """Our commands, by what is typed behind `flask --app server`."""
    for name, each in group.commands.items():
        if isinstance(each, click.Group):
            yield from commands_of(each, *before, name)
        if name not in {"run", "shell", "routes"} and getattr(each, "invoke_without_command", True):
            yield " ".join([*before, name]), each


def test_the_shell_completes_names(app: Flask) -> None:
    completion = ShellComplete(app.cli, {}, "flask", "_FLASK_COMPLETE")
    assert [item.value for item in completion.get_completions(["chat"], "")] == ["export", "poll", "send"]
    options = {item.value for item in completion.get_completions(["chat", "send"], "--reply")}
    assert options == {"--reply-to", "--replyTo"}


def test_a_shell_completes_in_a_process_of_its_own(tmp_path: Path) -> None:
    server = LiveServer(folder=tmp_path, port=1)
    asked = {
        "_FLASK_COMPLETE": "bash_complete",
        "COMP_WORDS": f"flask --app {server.root / 'server.py'} chat s",
        "COMP_CWORD": "4",
    }
    ended = subprocess.run(
        [sys.executable, "-c", "import sys; from flask.cli import main; sys.argv[0] = 'flask'; main()"],
        cwd=tmp_path,
        env=environ(server, **asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("plain,send\n", "")


def test_a_token_says_whose_shell_it_is_and_what_it_may_do(
    run: Run, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(database, "general", ("Hello", "Hi."))
    create_user(database=database, user_email="bob@example.org", password="correct horse battery")
    own: dict[str, Any] = {"database": database, "user_email": ADA}
    (reading, secret), (_, writing) = (create_token(**own, name=name, read_only=name == "r") for name in "rw")
    said = ("chat", "send", "--room", "general", "--no-answer", "--message", "x")
    event = ("--room", "general", "--type", "system_event", "--payload", '{"description": "d"}')
    monkeypatch.setenv("ANAPHORA_TOKEN", secret)
    assert run("chat", "export", "--room", "general").exit_code == 0
    assert run("chat", "export", "--room", "general", "--user", ADA).exit_code == 0
    for args in (said, ("activity", "post", *event), ("agents", "create", "--title", "x"), ("chat",)):
        ended = run(*args)
        assert (ended.exit_code, "may only read" in ended.output) == (4, True), (args, ended.output)
    assert run("chat", "export", "--room", "general", "--user", "bob@example.org").exit_code == 4
    revoke_token(**own, token_id=reading.token_id)
    assert run("chat", "export", "--room", "general").exit_code == 4
    monkeypatch.setenv("ANAPHORA_TOKEN", writing)
    assert run(*said).exit_code == 0


def test_somebody_new_is_told_how_to_begin(run: Run, database: Database) -> None:
    for name in ("general", "kitchen"):
        assert "Begin one in the browser" in run("chat", "export", "--room", name).output
    room(database, "garden")
    assert "The newest: “garden”" in run("chat", "export", "--room", "budget").output
    close_account(database=database, user_email=ADA)
    for args in (("chat",), ("chat", "export", "--room", "x"), ("agents", "list"), ("vault", "status"), ("mcp",)):
        ended = run(*args)
        assert (ended.exit_code, "users create --email" in ended.output) == (3, True), (args, ended.output)


@pytest.mark.live
def test_the_workflow_of_a_team_in_the_shell(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    """Seed 002: send, wait, export what followed, read it."""
    email = "shell@example.org"
    person = new_account(shared_server, email)
    title = {"title": "general"}
    assert person.put(f"/conversations/{person.create_conversation()}/title", title).status == 200
    shared_model.scripts["main"] = saying("Use a pool ", "of ten.")
    asked = shell(shared_server, tmp_path, email, "send", "--message=How should I implement connection pooling?")
    question = json.loads(asked)
    (answer,) = map(
        json.loads,
        shell(shared_server, tmp_path, email, "poll", "--after", question["shortId"], "--timeout=120").splitlines(),
    )
    assert (answer["content"], answer["actor"]["type"]) == ("Use a pool of ten.", "assistant")
    limits = (f"--after={question['shortId']}", "--limit=20", "--output=pooling-discussion.md")
    file = Path(shell(shared_server, tmp_path, email, "export", *limits).strip())
    assert file == shared_server.data_dir / "exports" / "pooling-discussion.md"
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# Conversation: general\n")
    assert "\n> How should I implement connection pooling?\n" in text
    assert "\n> Use a pool of ten.\n" in text
    assert text.endswith("\nMessages: 2\n")


TEAM = {
    "Helper AI": "For connection pooling, take a pool library.",
    "Teacher AI": "Building on Helper AI's point ({cited}), here is an example.",
    "CodeReview AI": "Both approaches ({cited}) are solid, but close what you open.",
}


def answer_of_the_team(asked: dict[str, Any]) -> Answer:
    """What the agent says that the model is told to be; it cites the answers that it was shown."""
    told = "\n".join(str(message["content"]) for message in asked["messages"])
    who = next((title for title in TEAM if f"You are {title}." in told), "")
    cited = re.findall(r"\[#(\w+)\] (?:\[[^]]+\] )?(?:Helper|Teacher) AI:", told)
    return saying(TEAM.get(who, "Understood.").format(cited=", ".join(f"#{each}" for each in dict.fromkeys(cited))))


@pytest.mark.live
def test_the_discussion_of_a_team_of_three_in_the_shell(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    """Seed 002: one question, three agents that answer by themselves and cite each other, one file to read."""
    email = "team@example.org"
    person = new_account(shared_server, email)
    room = person.create_conversation()
    assert person.put(f"/conversations/{room}/title", {"title": "general"}).status == 200
    rule = {"conversation_id": room, "recipe": "general-discussion", "type": "chat_message", "from_agents": False}
    for title in TEAM:
        agent = {"title": title, "system_prompt": "Be exact.", "service": "by_itself", "rules": [rule]}
        assert person.post("/api/agents", agent).status in (200, 201)
    shared_model.scripts["main"] = answer_of_the_team

    asked = ("send", "--message=How should I implement connection pooling?", "--no-answer")
    question = json.loads(shell(shared_server, tmp_path, email, *asked))
    answers: list[dict[str, Any]] = []
    while len(answers) < len(TEAM):
        last = answers[-1]["shortId"] if answers else question["shortId"]
        came = shell(shared_server, tmp_path, email, "poll", "--after", last, "--timeout=120").splitlines()
        assert came, "no answer came within two minutes"
        answers += map(json.loads, came)
    limits = (f"--after={question['shortId']}", "--limit=20", "--output=team-discussion.md")
    file = Path(shell(shared_server, tmp_path, email, "export", *limits).strip())

    helper, teacher, reviewer = answers
    assert [each["actor"] | {"id": ""} for each in answers] == [
        {"type": "agent", "id": "", "name": title} for title in TEAM
    ]
    assert teacher["content"] == TEAM["Teacher AI"].format(cited=helper["shortId"])
    assert reviewer["content"] == TEAM["CodeReview AI"].format(cited=f"{helper['shortId']}, {teacher['shortId']}")
    text = re.sub(r"\(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)", "(when)", file.read_text(encoding="utf-8"))
    assert text.startswith("# Conversation: general\n")
    below = text[text.index(f"**[{question['shortId']}]") :]
    named = "\n".join(
        f"\n  **[{each['shortId']}] {each['actor']['name']}** (when) *reply to {question['shortId']}*\n"
        f"\n  > {each['content']}"
        for each in answers
    )
    heading = f"**[{question['shortId']}] {email}** (when)\n\n> How should I implement connection pooling?\n"
    assert below.startswith(f"{heading}{named}\n")
    assert text.endswith("\nMessages: 4\n")


@pytest.mark.live
@pytest.mark.usefixtures("interruptible")
def test_what_comes_is_followed_beside_a_running_answer(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    email = "follower@example.org"
    person = new_account(shared_server, email)
    conversation_id = person.create_conversation()
    shared_model.scripts["main"] = saying("Once upon", " a time.")
    say(person, conversation_id, "First")
    first = person.get(f"/list_messages_by_conversation/{conversation_id}").json()[0]
    follow = ("poll", "--email", email, "--room", conversation_id, "--follow", "--after", first["short_id"])
    running: dict[str, Any] = {"cwd": tmp_path, "env": environ(shared_server), "text": True}
    with subprocess.Popen(command(shared_server, *follow), stdout=subprocess.PIPE, **running) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["content"] == "Once upon a time."
            say(person, conversation_id, "Second")
            came = [json.loads(process.stdout.readline())["content"] for _ in range(2)]
            assert came == ["Second", "Once upon a time."]
            process.send_signal(signal.SIGINT)
            assert process.stdout.read() == ""
        finally:
            process.kill()


def say(person: Client, conversation_id: str, text: str) -> None:
    """Send a message and take the whole answer."""
    assert person.post(f"/send_message/{conversation_id}", {"messageText": text}).status == 200


def shell(server: LiveServer, folder: Path, email: str, name: str, *options: str) -> str:
    """What `chat NAME --room=general OPTIONS` prints."""
    ended = chat(server, name, "--room=general", *options, typed="", folder=folder, ANAPHORA_USER=email)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
