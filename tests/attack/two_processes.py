"""Attacks on two processes behind one port: `--store=scaled`.

The tests are the same. Their requests are answered by both processes in turn, on the same store, and models are asked
over HTTP.
"""

from __future__ import annotations

import itertools
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from flask import Flask
from werkzeug.exceptions import HTTPException

from endpoints.http.scope import EXTENSION
from language_models.ports import Delta
from language_models.testing import Call, ScriptedChatModel
from settings import load_settings
from tests.endpoints.conftest import is_described, models_of, with_shared_routes
from tests.fakes import Answer, RecordingModel
from tests.scaled import PROCESSES, Engines, ScaledServer

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding"})
_IDLE_SECONDS = 3.0
"""How long a connection may have been idle that is used again: the server closes it after a while."""
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_BEHIND_A_PROXY = {"ANAPHORA_TRUSTED_PROXIES": "127.0.0.1"}


def answering_for(model: ScriptedChatModel) -> Callable[[dict[str, Any]], Answer]:
    """A script of `RecordingModel` by which `model` answers, and records its calls. It can't wait or fail."""

    def answer(body: dict[str, Any]) -> Answer:
        reply = model.reply_to(Call(prompt=tuple(body["messages"]), tools=body.get("tools")))
        said = [step if isinstance(step, Delta) else Delta(text=_text(step)) for step in reply.steps]
        made = [call["function"] for delta in said for call in delta.tool_calls or ()]
        texts = tuple(delta.text for delta in said if delta.text)
        return Answer(deltas=texts, calls=tuple((each["name"], each["arguments"]) for each in made))

    return answer


def _text(step: object) -> str:
    assert isinstance(step, str), f"{step!r} can't be said over HTTP"
    return step


@contextmanager
def app_at_two_processes(
    folder: Path,
    engines: Engines,
    model: RecordingModel,
    *,
    main: ScriptedChatModel,
    cheap: ScriptedChatModel,
    environ: Mapping[str, str] = MappingProxyType({}),
    program: str = "server.py",
) -> Iterator[Flask]:
    """An application whose requests are answered by two processes on the same store; tests look into it as ever.

    `model` says to them what `main` and `cheap` say. environ: their settings besides. program: what they run.
    """
    model.context_window = main.context_window
    model.scripts = {"main": answering_for(main), "cheap": answering_for(cheap)}
    given = model.environ | environ | _BEHIND_A_PROXY
    with engines.serving(folder, given, program=program, is_preloaded=True) as server:
        own = {"ANAPHORA_DATA_DIR": str(server.data_dir), "DATABASE_URL": server.environ["DATABASE_URL"]}
        settings = load_settings({**given, **own}, env_file=folder / "no.env")
        application = with_shared_routes(settings, models_of(settings, main=main, cheap=cheap))
        with TurnTaking(server).ended() as turns:
            undescribed = _watch(application, turns.answer)
            yield application
            application.extensions[EXTENSION].knowledge.close()
        assert undescribed == [], "answers that the API's description does not promise"
        assert turns.taken.total() < PROCESSES or len(turns.taken) == PROCESSES, turns.taken


def _watch(app: Flask, answer: Callable[[dict[str, Any], Any], Iterable[bytes]]) -> list[str]:
    """Have `answer` be the answers of `app`; those whose status the API's description doesn't name from now on."""
    undescribed: list[str] = []

    def watched(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        rule = None
        with suppress(HTTPException):
            rule, _ = app.url_map.bind_to_environ(environ).match(return_rule=True)

        def begin(status: str, headers: list[tuple[str, str]]) -> Any:
            if not is_described(app, rule, environ["REQUEST_METHOD"], status[:3]):
                undescribed.append(f"{environ['REQUEST_METHOD']} {rule}: {status}")
            return start_response(status, headers)

        return answer(environ, begin)

    app.wsgi_app = watched  # type: ignore[method-assign]
    return undescribed


class TurnTaking:
    """A reverse proxy that has the processes of a server answer in turn: what one was told, the other is asked about.

    taken: how many requests each process has answered, by its id.
    """

    def __init__(self, server: ScaledServer) -> None:
        """Waits until all of them serve."""
        self.taken = Counter[int]()
        self._server = server
        self._lock = threading.Lock()
        # The connections of each process that carry no request, and since when.
        self._idle: dict[int, list[tuple[float, HTTPConnection]]] = {pid: [] for pid in sorted(server.processes())}
        self._turns = itertools.cycle(self._idle)
        for pid in self._idle:
            self._keep(self._connection(pid), of=pid)

    @contextmanager
    def ended(self) -> Iterator[TurnTaking]:
        """Close the connections at the end."""
        yield self
        for _, connection in itertools.chain(*self._idle.values()):
            connection.close()

    def answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """What the process answers whose turn it is: a WSGI application."""
        sent = {name[5:].replace("_", "-"): text for name, text in environ.items() if name.startswith("HTTP_")}
        if environ.get("CONTENT_TYPE"):
            sent["Content-Type"] = environ["CONTENT_TYPE"]
        sent |= {"X-Forwarded-For": environ["REMOTE_ADDR"], "X-Forwarded-Proto": environ["wsgi.url_scheme"]}
        body = environ["wsgi.input"].read() or None
        with self._lock:
            pid = next(self._turns)
            connection = self._connection(pid)
        try:
            # What is refused early is answered before all of it was sent.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(environ["REQUEST_METHOD"], _target(environ), body, sent)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self.taken[pid] += 1
            self._keep(connection, of=pid)
        told = [each for each in response.getheaders() if each[0].lower() not in _HOP_BY_HOP]
        start_response(f"{response.status} {response.reason}", told)
        return [content]

    def _connection(self, pid: int) -> HTTPConnection:
        """A connection to this process: one that it keeps open, or new ones until it accepts one."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            while self._idle[pid]:
                since, connection = self._idle[pid].pop()
                if time.monotonic() < since + _IDLE_SECONDS and _is_open(connection):
                    return connection
                connection.close()
            connection = HTTPConnection("127.0.0.1", self._server.port, timeout=120)
            connection.connect()
            accepted_by = self._server.process_of(connection)
            self._keep(connection, of=accepted_by)
            if accepted_by != pid:
                time.sleep(0.02)
        raise AssertionError(f"process {pid} accepts no connection:\n{self._server.log()}")

    def _keep(self, connection: HTTPConnection, *, of: int) -> None:
        self._idle[of].append((time.monotonic(), connection))


def _target(environ: Mapping[str, Any]) -> str:
    """The address that a request asks for, with what no head of a request can hold percent-encoded."""
    address, query = environ["REQUEST_URI"], environ["QUERY_STRING"]
    whole = address if "?" in address or not query else f"{address}?{query}"
    return quote(whole.encode("latin-1"), safe=_PRINTABLE)


def _is_open(connection: HTTPConnection) -> bool:
    """Whether the server has not closed it: what is closed can be read from, with nothing to read."""
    return connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]
