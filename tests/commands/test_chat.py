"""The chat in the terminal: `flask --app server chat` beside a real server, and how it lists documents."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import func, select

from commands.answering_server import ServerRequestError
from commands.chat.answering import RunningServer
from commands.chat.terminal import Chat, ShownAnswer, each_once, named_documents, printable, render_references
from database.accounts.api_tokens import list_tokens
from database.connection import open_store
from database.schema import conversations
from tests.fakes import RecordingModel, saying
from tests.live_server import NO_MODELS, LiveServer, free_port, new_account
from tests.preloaded import start_preloaded

PARAMETERS = {"wikilink": "[[parameters]]", "relative_path": "docs/params.md", "summary": "What you can send."}
BROKEN = {"wikilink": "[[nowhere]]", "relative_path": None, "summary": None}


def rendered(*documents: dict[str, Any], colours: bool = False) -> str:
    """What a terminal of 30 columns is sent."""
    written = io.StringIO()
    system = "standard" if colours else None
    console = Console(file=written, width=30, soft_wrap=True, force_terminal=colours, color_system=system)
    render_references(console, documents)
    return written.getvalue()


def test_documents_are_listed_with_path_and_summary() -> None:
    """Seed 003, section 5.1: heading, a line for each document, its summary below; long lines stay whole."""
    assert rendered(PARAMETERS, BROKEN).splitlines() == [
        "",
        "📚 Referenced Documents:",
        "• [[parameters]] (docs/params.md)",
        "  What you can send.",
        "• [[nowhere]] (not found)",
        "",
    ]


def test_a_summary_is_dimmed_and_a_broken_link_is_yellow() -> None:
    dim, yellow = "\x1b[2m", "\x1b[33m"
    text = rendered(PARAMETERS, BROKEN, colours=True)
    assert f"{dim}  What you can send." in text
    assert f"{yellow}[[nowhere]]" in text
    assert f"{yellow}[[parameters]]" not in text


def test_nothing_is_listed_where_there_are_no_documents() -> None:
    assert rendered() == ""


def test_many_documents_are_all_listed() -> None:
    """Seed 003, edge case: more than ten references."""
    many = [{"wikilink": f"[[{n}]]", "relative_path": f"{n}.md", "summary": None} for n in range(25)]
    assert rendered(*many).count("• ") == 25


def test_markup_and_control_characters_of_documents_are_only_text() -> None:
    hostile = {"wikilink": "[[\x1b]0;pwned\x07x]]", "relative_path": "[red]x.md", "summary": "[bold]a\x9b31mb\r[/]"}
    assert rendered(hostile).splitlines()[2:4] == ["• [[]0;pwnedx]] ([red]x.md)", "  [bold]a31mb[/]"]
    assert printable("a\n\tb\x7f") == "a\n\tb"


def test_a_document_that_question_and_answer_name_is_listed_once() -> None:
    entry = {"ref": "[[a]]", "kind": "document", "target": {"path": "a.md"}, "preview": ""}
    other = {"ref": "x_1", "kind": "conversation", "target": {}, "preview": ""}
    named = named_documents([entry, other])
    assert each_once([*named, {"wikilink": "[[A]]", "relative_path": "a.md", "summary": "About a."}]) == [
        {"wikilink": "[[a]]", "relative_path": "a.md", "summary": "About a."}
    ]


def test_each_of_several_answers_has_its_own_heading_and_documents() -> None:
    written = io.StringIO()
    shown = ShownAnswer(Console(file=written, width=80, soft_wrap=True))
    for title, path in (("Botanist", "a.md"), ("Cook", "b.md")):
        shown.add({"text": "", "answer": {"message_id": path, "agent": {"id": title, "title": title}}})
        shown.add({"text": f"I am the {title}."})
        shown.add({"text": "", "document_references": [{**PARAMETERS, "relative_path": path, "summary": None}]})
    shown.end()
    below = "📚 Referenced Documents:\n• [[parameters]]"
    assert written.getvalue() == (
        f"Botanist:\nI am the Botanist.\n\n{below} (a.md)\n\nCook:\nI am the Cook.\n\n{below} (b.md)\n\n"
    )


class Failing(BaseHTTPRequestHandler):
    """A server that answers questions and what erases a conversation with errors; `erased` counts the latter."""

    status = 0
    erased = 0

    def do_POST(self) -> None:
        is_question = self.path.startswith("/send_message/")
        self._answer(self.status if is_question else 200, {"conversation_id": "c", "message": "Why.", "code": "why"})

    def do_DELETE(self) -> None:
        type(self).erased += 1
        self._answer(500, {"message": "It could not be erased.", "code": "fault"})

    def _answer(self, status: int, told: dict[str, str]) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("status", "erased"), [(400, 1), (413, 1), (500, 0), (503, 0)])
def test_only_a_question_that_was_refused_has_its_new_conversation_erased_and_is_told_as_that(
    monkeypatch: pytest.MonkeyPatch, status: int, erased: int
) -> None:
    handler = type("Answers", (Failing,), {"status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as there:
        threading.Thread(target=there.serve_forever).start()
        server = RunningServer(host="127.0.0.1", port=there.server_port, token="t")
        chat = Chat(server=server, conversation_id=None, model=None, use_tools=None, is_interactive=False)
        monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\n"))
        try:
            with pytest.raises(ServerRequestError, match=r"^Why\.$"):
                chat.run()
        finally:
            there.shutdown()
    assert handler.erased == erased
    assert chat.conversation_id == (None if erased else "c")


PIPED = """
import os, sys
for number, name in enumerate(sys.argv[1:4]):
    os.dup2(os.open(name, os.O_RDWR), number)
sys.stdin = open(0, encoding="utf-8", closefd=False)
sys.argv[:] = ["flask", *sys.argv[4:]]
from flask.cli import main
main()
"""
"""`flask …` whose standard input, output and errors are files."""


def command(server: LiveServer, *options: str) -> list[str]:
    return [sys.executable, "-m", "flask", "--app", str(server.root / "server.py"), "chat", *options]


def environ(server: LiveServer, **more: str) -> dict[str, str]:
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("ANAPHORA_", "DATABASE_URL"))}
    own = {"ANAPHORA_DATA_DIR": str(server.data_dir), "ANAPHORA_PORT": str(server.port), "TERM": "dumb"}
    return {**inherited, **NO_MODELS, **own, **more}


def chat(server: LiveServer, *options: str, typed: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The command with `typed` as its standard input, run to its end."""
    files = [folder / name for name in ("typed", "said", "errors")]
    for file, text in zip(files, (typed, "", ""), strict=True):
        file.write_text(text, encoding="utf-8")
    arguments = [*map(str, files), *command(server, *options)[3:]]
    ended = start_preloaded(PIPED, *arguments, folder=folder, environ=environ(server, **more)).ended()
    assert ended.stderr == ""
    return subprocess.CompletedProcess(arguments, ended.returncode, files[1].read_text(), files[2].read_text())


@pytest.mark.live
def test_questions_of_a_pipe_are_answered_with_their_documents(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    """Seed 003, integration 3: references in the console; then the same conversation goes on without tools."""
    email = "terminal@example.org"
    account, database = new_account(shared_server, email), open_store(shared_server.users_dir)
    made = account.put("/api/vault/document?path=garden.md", {"text": "Tomatoes like the south wall."})
    assert made.status in (200, 201), made.text
    shared_model.scripts["main"] = saying("Plant them ", "by the wall.")
    ended = chat(shared_server, typed="Where, by [[garden]] and [[nowhere]]?\n", folder=tmp_path, ANAPHORA_USER=email)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "Plant them by the wall.",
        "",
        "📚 Referenced Documents:",
        "• [[garden]] (garden.md)",
        "  Tomatoes like the south wall.",
        "• [[nowhere]] (not found)",
        "",
    ]
    assert "Query: Where, by" in ended.stderr
    assert "Exiting..." in ended.stderr
    friendly_id = ended.stderr.split("--conversation ")[1].strip()
    options = ("--email", email, "--conversation", friendly_id, "--no-tools")
    again = chat(shared_server, *options, typed="And basil?\n\nNever asked.\n", folder=tmp_path)
    assert (again.returncode, again.stdout) == (0, "Plant them by the wall.\n")
    assert "Where, by" in shared_model.prompt()
    assert "tools" not in shared_model.requests_to("main")[-1]
    assert "Never asked." not in str(shared_model.requests)
    assert list_tokens(database=database, user_email=email) == []


@pytest.mark.live
def test_errors_are_told_in_words(shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path) -> None:
    email, other = "words@example.org", new_account(shared_server)
    new_account(shared_server, email)
    foreign, who = other.create_conversation(), ("--email", email)
    shared_model.scripts["main"] = saying(status=401)
    cases = (
        ((*who,), {}, 1, "refuses the API key for main"),
        ((*who, "--model", "nosuch:model"), {}, 2, "nosuch"),
        ((*who, "--model", "openai:o1-pro"), {}, 2, "does not let you use"),
        ((*who, "--conversation", foreign), {}, 3, f"There is no conversation {foreign}."),
        (("--email", "nobody@example.org"), {}, 3, "Error: "),
        ((), {}, 2, "There are several accounts."),
        ((*who,), {"ANAPHORA_PORT": str(free_port())}, 1, "none answers at http://127.0.0.1:"),
    )
    for options, more, code, words in cases:
        ended = chat(shared_server, *options, typed="Hello\n", folder=tmp_path, **more)
        assert (ended.returncode, ended.stdout.strip()) == (code, ""), (options, ended.stdout, ended.stderr)
        assert words in ended.stderr
        assert "Traceback" not in ended.stderr
    database = open_store(shared_server.users_dir)
    assert list_tokens(database=database, user_email=email) == []
    # That of the answer that failed, and none of the questions that were refused.
    kept = select(func.count()).where(conversations.c.user_email == email)
    with database.reading() as connection:
        assert connection.execute(kept).scalar() == 1


@pytest.mark.live
def test_ctrl_c_stops_the_answer_and_keeps_what_was_said_and_an_empty_line_ends_the_chat(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    email = "interrupting@example.org"
    account = new_account(shared_server, email)
    shared_model.scripts["main"] = saying("Once upon", " a time.", pause_after=1)
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        command(shared_server, "--email", email),
        cwd=tmp_path,
        env=environ(shared_server),
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
        start_new_session=True,
    )
    os.close(other_end)
    try:
        read_until(terminal, "Query: ")
        os.write(terminal, b"Tell a story\n")
        read_until(terminal, "Once upon")
        process.send_signal(signal.SIGINT)
        assert "(stopped)" in read_until(terminal, "Query: ")
        os.write(terminal, b"\n")
        read_until(terminal, "Exiting...")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    (listed,) = account.get("/list_conversation_by_user/assistant").json()
    messages = account.get(f"/list_messages_by_conversation/{listed['conversation_id']}").json()
    assert [message["text"] for message in messages] == ["Tell a story", "Once upon"]


def read_until(terminal: int, words: str) -> str:
    """What the terminal shows, up to `words`."""
    seen = ""
    while words not in seen:
        seen += os.read(terminal, 4096).decode(errors="replace")
    return seen
