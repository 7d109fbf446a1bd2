"""An interactive chat in the terminal."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from flask.cli import with_appcontext

from commands.answering_server import AnsweringServer, ServerRequestError
from commands.shell import (
    MISSING,
    CommandGroup,
    account_option,
    errors_as_exit_codes,
    examples,
    fail,
    find_account,
    printable,
)
from database.conversations.repository import find_by_friendly_id, get_conversation
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, StoreError
from endpoints.http.scope import current_state

from .answering import answering_server

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@click.group(
    "chat",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=examples(
        "chat",
        "chat --conversation kitchen_garden_x7f2 --no-tools",
        'echo "What did I decide?" | chat --email ada@example.org',
    ),
)
@account_option
@click.option("--conversation", help="The conversation to go on with: its id or friendly id. Otherwise a new one.")
@click.option("--model", help="The model that answers, by its id.")
@click.option("--no-tools", is_flag=True, help="The model may call no tools.")
@click.pass_context
@with_appcontext
def group(
    context: click.Context, email: str | None, conversation: str | None, model: str | None, no_tools: bool
) -> None:
    """Chat in the terminal, by the running server, or without one by this command.

    An empty line ends the chat; Ctrl+C stops an answer, and what was said of it is kept. Each line of a file or a pipe
    is a question; then only answers and their documents are written to standard output.
    """
    if context.invoked_subcommand is not None:
        return
    state = current_state()
    with errors_as_exit_codes():
        user_email = find_account(state.database, email, writes=True)
        conversation_id = _own_conversation(state.database, user_email, conversation) if conversation else None
        with _ending_by_signals(), answering_server(user_email=user_email) as server:
            Chat(
                server=server,
                conversation_id=conversation_id,
                model=model,
                use_tools=False if no_tools else None,
                is_interactive=sys.stdin.isatty(),
            ).run()


def _console(*, is_for_errors: bool = False) -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, stderr=is_for_errors)


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)


@dataclass(kw_only=True)
class Chat:
    """One chat. conversation_id: None until the first question makes one."""

    server: AnsweringServer
    conversation_id: str | None
    model: str | None
    use_tools: bool | None
    is_interactive: bool
    friendly_id: str = ""
    answers: Console = field(default_factory=_console)
    errors: Console = field(default_factory=partial(_console, is_for_errors=True))

    @property
    def _prompts(self) -> Console:
        return self.answers if self.is_interactive else self.errors

    def run(self) -> None:
        """Answer questions until an empty line or the end of the input.

        A person is told of an error and may ask again; otherwise ServerRequestError ends the chat.
        """
        while question := self._question():
            try:
                self._answer(question)
            except ServerRequestError as error:
                if not self.is_interactive:
                    raise
                self._show_error(error.message)
        self._prompts.print("Exiting...")
        if self.friendly_id:
            self._prompts.print(_text(f"Go on with --conversation {self.friendly_id}", style="dim"))

    def _question(self) -> str:
        """The next question; "" at the end."""
        try:
            if self.is_interactive:
                return input("Query: ").strip()
            question = sys.stdin.readline().strip()
        except (EOFError, KeyboardInterrupt):
            self._prompts.print()
            return ""
        except UnicodeDecodeError:
            raise click.ClickException("The input is not UTF-8.") from None
        self._prompts.print(_text(f"Query: {question}"))
        return question

    def _answer(self, question: str) -> None:
        is_new = self.conversation_id is None
        self.conversation_id = self.conversation_id or self.server.create_conversation()
        try:
            self._answer_in(self.conversation_id, question)
        except ServerRequestError as error:
            if is_new and _is_refusal(error):  # nothing was said there
                with suppress(ServerRequestError, StoreError):  # the person is told why it was refused
                    self.server.discard(self.conversation_id)
                self.conversation_id = None
            raise

    def _answer_in(self, conversation_id: str, question: str) -> None:
        shown = ShownAnswer(self.answers)
        with self._stopping_on_interrupt(conversation_id):
            events = self.server.send(conversation_id, question, model=self.model, use_tools=self.use_tools)
            for event in events:
                shown.add(event)
                self.friendly_id = event.get("conversation", {}).get("conversation_friendly_id") or self.friendly_id
        shown.end()
        if shown.error:
            raise ServerRequestError(shown.error)

    def _show_error(self, message: str) -> None:
        self.errors.print(_text(printable(message), style="red"))

    @contextmanager
    def _stopping_on_interrupt(self, conversation_id: str) -> Iterator[None]:
        """Ctrl+C stops the answer, whose last events still come; the second one ends the chat."""

        def stop(_number: int, _frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, before)
            # In a thread, since the interrupted code may hold a lock that cancelling takes.
            threading.Thread(target=self.server.cancel, args=(conversation_id,)).start()

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _is_refusal(error: ServerRequestError) -> bool:
    """Whether the question was refused; a server that fails may have stored it before."""
    return error.status is not None and HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR


class ShownAnswer:
    """The answers of one turn, shown as their events come. error: what went wrong, or ""."""

    def __init__(self, console: Console) -> None:
        self.error = ""
        self._console = console
        self._named: list[Mapping[str, Any]] = []
        self._documents: list[Mapping[str, Any]] = []
        self._has_words = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Show what this event adds."""
        if "references" in event:
            self._named = named_documents(event["references"])
        if "answer" in event:
            self._begin(event["answer"])
        if event.get("text"):
            self._has_words = True
            self._console.print(_text(printable(event["text"])), end="")
        self._documents = event.get("document_references", self._documents)
        if "error" in event:
            self.error = str(event["error"]["message"])
        if event.get("answer_status") == "cancelled":
            self._console.print(_text(" (stopped)", style="dim"), end="")

    def end(self) -> None:
        """The documents below an answer; those that the question names stand below the first one."""
        if self._has_words:
            self._console.print()
        render_references(self._console, each_once([*self._named, *self._documents]))
        self._named, self._documents, self._has_words = [], [], False

    def _begin(self, answer: Mapping[str, Any]) -> None:
        """Begin one of several answers."""
        if self._has_words:
            self.end()
        if answer.get("agent"):
            self._console.print(_text(f"{printable(answer['agent']['title'])}:", style="bold"))


def named_documents(report: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The documents that a question links, by its reference report; those that were not found have no path."""
    return [
        {
            "wikilink": entry["ref"],
            "relative_path": entry["target"].get("path"),
            "summary": " ".join(entry["preview"].split()),
        }
        for entry in report
        if entry["kind"] == "document" and entry["ref"].startswith("[[")
    ]


def each_once(documents: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """`documents` without repetitions; a summary that only a later one of the same document has is taken."""
    kept: dict[str, Mapping[str, Any]] = {}
    for document in documents:
        name = document["relative_path"] or document["wikilink"]
        known = kept.get(name, document)
        kept[name] = {**known, "summary": known["summary"] or document["summary"]}
    return list(kept.values())


def render_references(console: Console, documents: Iterable[Mapping[str, Any]]) -> None:
    """List the documents that an answer rests on, each with its path and summary; nothing where there are none."""
    shown = list(documents)
    if not shown:
        return
    console.print(_text("\n📚 Referenced Documents:", style="bold cyan"))
    for document in shown:
        wikilink, path = printable(document["wikilink"]), document["relative_path"]
        if path is None:
            console.print(_text("• ").append(wikilink, "yellow").append(" ").append("(not found)", "dim"))
            continue
        console.print(_text(f"• {wikilink} ({printable(path)})"))
        summary = " ".join(printable(document["summary"] or "").split())
        if summary:
            console.print(_text(f"  {summary}", style="dim"))
    console.print()


def _own_conversation(database: Database, user_email: str, named: str) -> str:
    """The id of the person's conversation of this id or friendly id. Exits where there is none."""
    name = named.removeprefix("@")
    who: dict[str, Any] = {"database": database, "user_email": user_email}
    conversation_id = find_by_friendly_id(**who, conversation_friendly_id=name) or name
    try:
        return get_conversation(**who, conversation_id=conversation_id).conversation_id
    except ConversationNotFoundError:
        fail(f"There is no conversation {named}.", code=MISSING)


@contextmanager
def _ending_by_signals() -> Iterator[None]:
    """SIGTERM, and SIGHUP of a terminal that is closed, end the command as an exception does, which cleans up."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
