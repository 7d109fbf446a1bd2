"""The MCP servers over HTTP that people join themselves, each for their own turns alone.

Those of a person are one file of the data folder, which only its owner can read: no store, export or backup has the
secrets in it. Changes are serialised by a lock in that folder, since several processes may serve it.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from chat.tools.registry import Tool, ToolContext, ToolError
from database.conversations.consent import withdraw_tools
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, NameTakenError, NotFoundError, StorageFailedError
from language_models.file_lock import locked_within
from sentences import say

from .addresses import Reach, refuse_at_once
from .calls import (
    LONGEST_NAME,
    ForeignServerError,
    ForeignToolError,
    Reason,
    call_tool,
    foreign_tool,
    name_of,
    tools_of,
)
from .configuration import ForeignServer, servers_in, write_private

log = logging.getLogger(__name__)
MOST_SERVERS = 10
CALLS_AT_ONCE = 4
"""Of one person: servers that hang take no threads from other people."""
_FOLDER, _LOCK = "mcp_servers_of_people", ".lock"
_NOT_NOW = "The tool servers can't be stored just now."
_PATIENCE = 10.0
_SECONDS = 20.0


class ToolServerNotFoundError(NotFoundError):
    """The person has no server of this name."""

    noun = "tool_server"


class TooManyCallsError(ToolError):
    """So many calls of the person's own servers run already."""

    code = "too_many_calls"
    retry_after = 1.0

    def __init__(self) -> None:
        super().__init__(f"{CALLS_AT_ONCE} calls of your tool servers are running already. Wait for one of them.")


class PersonalServer(BaseModel):
    """A server of one person. state: how the last call of it went; reason: why it failed; checked_at: since when."""

    model_config = ConfigDict(frozen=True)

    server: ForeignServer
    is_on: bool = True
    state: Literal["untried", "ready", "failed"] = "untried"
    reason: Reason | None = None
    checked_at: str | None = None

    @property
    def name(self) -> str:
        """Unique among the person's servers."""
        return self.server.name


class _File(BaseModel):
    servers: tuple[PersonalServer, ...] = ()


class PersonalServers:
    """Everybody's own servers. reach: which addresses they may have; None: nobody may have any. Thread-safe."""

    def __init__(self, data_dir: Path, *, reach: Reach | None, database: Database) -> None:
        self._data_dir = data_dir
        self._reach = reach
        self._database = database
        self._lock = threading.Lock()
        self._calls = Counter[str]()

    @property
    def reach(self) -> Reach | None:
        """Which addresses people's servers may have; None: nobody may have any."""
        return self._reach

    def servers_of(self, user_email: str) -> tuple[PersonalServer, ...]:
        """The person's servers by name; none, and a line in the log, where their file can't be read."""
        file = self._file(user_email)
        try:
            stat = file.stat()
            return _parsed(file, stat.st_mtime_ns, stat.st_size, stat.st_ino)
        except FileNotFoundError:
            return ()
        except ValidationError as error:
            # The error quotes what stands in the file, which may be a secret.
            log.error("%s is malformed in %d places", file.name, error.error_count())  # noqa: TRY400
        except OSError:
            log.exception("%s can't be read", file.name)
        return ()

    def get(self, user_email: str, name: str) -> PersonalServer:
        """One server. Raises ToolServerNotFoundError."""
        for each in self.servers_of(user_email):
            if each.name == name:
                return each
        raise ToolServerNotFoundError

    def add(self, user_email: str, *, name: str, url: str, headers: Mapping[str, str]) -> PersonalServer:
        """A new server, which is not asked yet.

        Raises NameTakenError (another server of the person, or the operator's, has the name), InvalidChangeError,
        AddressRefusedError, StorageFailedError.
        """
        new = PersonalServer(server=self._checked(name, url, headers))
        if any(each.name == name for each in servers_in(self._data_dir)):
            raise NameTakenError(say("tool_server_of_everybody"))
        with self._changing():
            others = self.servers_of(user_email)
            if any(each.name == name for each in others):
                raise NameTakenError(say("tool_server_name_taken"))
            if len(others) >= MOST_SERVERS:
                raise InvalidChangeError(say("most_tool_servers", most=MOST_SERVERS))
            self._keep(user_email, (*others, new))
        return new

    def change(
        self,
        user_email: str,
        name: str,
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        is_on: bool | None = None,
    ) -> PersonalServer:
        """Change what is given. A new address has no headers but those given with it, and nobody's consent any more.

        Raises ToolServerNotFoundError, InvalidChangeError, AddressRefusedError, StorageFailedError.
        """
        with self._changing():
            before = after = self.get(user_email, name)
            if url is not None or headers is not None:
                moved = url is not None and url != before.server.url
                kept = {} if moved else before.server.headers
                server = self._checked(name, url or before.server.url, kept if headers is None else headers)
                if not moved:
                    server = server.model_copy(update={"tools": before.server.tools})
                after = PersonalServer(server=server, is_on=before.is_on)
            if is_on is not None:
                after = after.model_copy(update={"is_on": is_on})
            self._withdraw_consent(user_email, before.server, after.server)
            self._replace(user_email, after)
        return after

    def remove(self, user_email: str, name: str) -> None:
        """Remove a server with the consent to its tools. Raises ToolServerNotFoundError, StorageFailedError."""
        with self._changing():
            self._withdraw_consent(user_email, self.get(user_email, name).server, None)
            self._keep(user_email, [each for each in self.servers_of(user_email) if each.name != name])

    def probe(self, user_email: str, name: str) -> PersonalServer:
        """Ask a server for its tools; the server as it is then.

        A tool that says something else than before has nobody's consent any more.
        Raises ToolServerNotFoundError, TooManyCallsError, StorageFailedError.
        """
        asked = self.get(user_email, name).server
        with self._one_call(user_email):
            try:
                tools = tuple(tools_of(asked, self._data_dir, reach=self._reach))
            except ForeignServerError as error:
                self._note(user_email, asked, reason=error.reason)
                return self.get(user_email, name)
        listed = asked.model_copy(update={"tools": tools})
        self._note(user_email, asked, listed=listed)
        return self.get(user_email, name)

    def tools_of(self, user_email: str) -> Sequence[Tool]:
        """The tools of the person's servers that are switched on."""
        if self._reach is None:
            return ()
        return [
            foreign_tool(each.server, tool, call=self._call)
            for each in self.servers_of(user_email)
            if each.is_on
            for tool in each.server.tools
            if len(name_of(each.server, tool)) <= LONGEST_NAME
        ]

    def erase(self, user_email: str) -> None:
        """Remove all that is kept of an account's servers. Raises StorageFailedError."""
        if self._file(user_email).exists():
            with self._changing():
                self._file(user_email).unlink(missing_ok=True)

    def _call(
        self, context: ToolContext, server: ForeignServer, tool: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        with self._one_call(context.user_email):
            try:
                answer = call_tool(server, self._data_dir, tool, arguments, reach=self._reach)
            except ForeignServerError as error:
                self._note_call(context.user_email, server, reason=error.reason)
                raise
            except ForeignToolError:  # the server itself is well
                self._note_call(context.user_email, server)
                raise
        self._note_call(context.user_email, server)
        return answer

    def _note_call(self, user_email: str, server: ForeignServer, *, reason: Reason | None = None) -> None:
        """Keep how a call went; where that can't be stored, the call has its result all the same."""
        with suppress(StorageFailedError):
            self._note(user_email, server, reason=reason)

    @contextmanager
    def _one_call(self, user_email: str) -> Iterator[None]:
        with self._lock:
            if self._calls[user_email] >= CALLS_AT_ONCE:
                raise TooManyCallsError
            self._calls[user_email] += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls[user_email] -= 1
                if not self._calls[user_email]:
                    del self._calls[user_email]

    def _note(
        self,
        user_email: str,
        asked: ForeignServer,
        *,
        reason: Reason | None = None,
        listed: ForeignServer | None = None,
    ) -> None:
        """Keep how a call went, unless the server was changed or removed meanwhile."""
        state: Literal["ready", "failed"] = "ready" if reason is None else "failed"

        def outdated() -> PersonalServer | None:
            """The server as it is kept, where that says something else."""
            now = next((each for each in self.servers_of(user_email) if each.name == asked.name), None)
            if now is None or (now.server.url, now.server.headers) != (asked.url, asked.headers):
                return None
            says_so = (now.state, now.reason) == (state, reason) and listed in (None, now.server)
            return None if says_so else now

        if outdated() is None:
            return  # as after nearly every call: nobody waits for the lock
        with self._changing():
            if (now := outdated()) is not None:
                self._withdraw_consent(user_email, now.server, listed or now.server)
                news = {"state": state, "reason": reason, "checked_at": now_iso(), "server": listed or now.server}
                self._replace(user_email, now.model_copy(update=news))

    def _withdraw_consent(self, user_email: str, before: ForeignServer, after: ForeignServer | None) -> None:
        """Tools that are gone, or say something else, ask again in all conversations.

        Call it before the change is kept: no call of the new tool may find the consent to the old one.
        """
        kept = () if after is None or after.url != before.url else after.tools
        gone = {name_of(before, tool) for tool in before.tools if tool not in kept}
        if gone:
            withdraw_tools(database=self._database, user_email=user_email, tools=gone)

    def _checked(self, name: str, url: str, headers: Mapping[str, str]) -> ForeignServer:
        try:
            server = ForeignServer(name=name, url=url, headers=dict(headers), seconds=_SECONDS)
        except ValidationError:
            # The error quotes the address, which may hold a key.
            raise InvalidChangeError(say("tool_server_malformed")) from None
        refuse_at_once(url, self._reach or "public")
        return server

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep all others from changing anybody's servers, also in other processes. Raises StorageFailedError."""
        with ExitStack() as holding:
            try:
                holding.enter_context(locked_within(self._data_dir / _FOLDER / _LOCK, seconds=_PATIENCE))
            except OSError:
                log.exception("%s can't be locked", _FOLDER)
                raise StorageFailedError(_NOT_NOW) from None
            yield

    def _replace(self, user_email: str, new: PersonalServer) -> None:
        known = self.servers_of(user_email)
        self._keep(user_email, [new if each.name == new.name else each for each in known])

    def _keep(self, user_email: str, servers: Iterable[PersonalServer]) -> None:
        file = self._file(user_email)
        kept = _File(servers=tuple(sorted(servers, key=lambda each: each.name)))
        try:
            write_private(file, kept.model_dump_json(indent=2))
            _parsed.cache_clear()
        except OSError:
            log.exception("%s can't be written", file.name)
            raise StorageFailedError(_NOT_NOW) from None

    def _file(self, user_email: str) -> Path:
        """Named by a hash: an address may hold what no file name can."""
        return self._data_dir / _FOLDER / f"{hashlib.sha256(user_email.encode()).hexdigest()}.json"


@lru_cache(maxsize=256)
def _parsed(file: Path, _modified: int, _size: int, _inode: int) -> tuple[PersonalServer, ...]:
    """The servers in a file, which is read again once it is another one. Raises OSError, ValidationError."""
    return _File.model_validate_json(file.read_bytes()).servers
