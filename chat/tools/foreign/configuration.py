"""Which foreign MCP servers there are, in a file of the data folder that only its owner can read.

The file lies outside of the stores: no export, backup or page shows the secrets in it.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

log = logging.getLogger(__name__)
FILE = "mcp_servers.json"
FOLDER = "mcp_servers"
_NAME = r"[a-z][a-z0-9-]{0,30}"
_HIDDEN = "•••"
_SHORTEST_SECRET = 4


class ForeignTool(BaseModel):
    """A tool as its server describes it."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}$")]
    description: str = ""
    parameters: dict[str, Any] = {}


class ForeignServer(BaseModel):
    """A server: the command that is run or the address that is asked, and the tools that it had when it was added.

    url: "" for a command. headers: of each request to it; the values are secrets. environ: all that the process of a
    command finds in its environment beside PATH and HOME; the values are secrets. megabytes: of memory. seconds: how
    long one call may take.
    """

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=f"^{_NAME}$")]
    command: tuple[str, ...] = ()
    url: Annotated[str, Field(max_length=2_000, repr=False)] = ""
    headers: dict[str, str] = Field(default={}, repr=False)
    environ: dict[str, str] = Field(default={}, repr=False)
    megabytes: int = 1024
    seconds: float = 20.0
    tools: tuple[ForeignTool, ...] = ()

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("A server has either a command or an address.")
        if self.url:
            _refuse_unless_address(self.url)
        return self

    @property
    def address(self) -> str:
        """Its command, or its address without the query, which may hold a key."""
        return " ".join(self.command) or urlsplit(self.url)._replace(query="").geturl()

    @property
    def _secrets(self) -> list[str]:
        """The longest first. A header may name its scheme before the secret: `Bearer …`."""
        words = [word for value in self.headers.values() for word in value.split()[1:]]
        query = urlsplit(self.url).query
        queries = [value for _, value in parse_qsl(query)]
        encoded = [pair.partition("=")[2] for pair in query.split("&")]
        found = {*self.environ.values(), *self.headers.values(), *words, *queries, *encoded}
        return sorted((each for each in found if len(each) >= _SHORTEST_SECRET), key=len, reverse=True)

    def without_secrets(self, value: Any) -> Any:
        """`value`, a JSON value, without the secrets of the configuration in its texts."""
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, _HIDDEN)
            return value
        if isinstance(value, list):
            return [self.without_secrets(each) for each in value]
        if isinstance(value, dict):
            return {self.without_secrets(name): self.without_secrets(each) for name, each in value.items()}
        return value


def _refuse_unless_address(url: str) -> None:
    """Raise ValueError for what is no address of a server."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.fragment:
        raise ValueError("An address is http(s)://host/path, without a name, a password or a fragment.")
    _ = parts.port  # ValueError where it is no number


class _Servers(BaseModel):
    servers: tuple[ForeignServer, ...] = ()


def is_name(name: str) -> bool:
    """Whether a server may be called so."""
    return re.fullmatch(_NAME, name) is not None


def servers_in(data_dir: Path) -> tuple[ForeignServer, ...]:
    """The servers of a data folder; none, and a line in the log, where the file can't be read."""
    try:
        return _Servers.model_validate_json((data_dir / FILE).read_bytes()).servers
    except FileNotFoundError:
        return ()
    except ValidationError as error:
        # The error quotes what stands in the file, which may be a secret.
        log.error("%s is malformed in %d places; no foreign tools are there", FILE, error.error_count())  # noqa: TRY400
    except OSError:
        log.exception("%s can't be read; no foreign tools are there", FILE)
    return ()


def keep_servers(data_dir: Path, servers: tuple[ForeignServer, ...]) -> None:
    """Replace the file. Raises OSError."""
    write_private(data_dir / FILE, _Servers(servers=servers).model_dump_json(indent=2))


def write_private(file: Path, text: str) -> None:
    """Replace a file by one that only its owner can read. Raises OSError."""
    draft = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
