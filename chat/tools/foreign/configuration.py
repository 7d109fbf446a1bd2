"""Which foreign MCP servers there are, in a file of the data folder that only its owner can read.

The file lies outside of the stores: no export, backup or page shows the secrets in it.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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
    """A server: the command that is run, and the tools that it had when it was added.

    environ: all that its process finds in its environment beside PATH and HOME; the values are secrets. megabytes: of
    memory. seconds: how long one call may take.
    """

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=f"^{_NAME}$")]
    command: tuple[str, ...]
    environ: dict[str, str] = Field(default={}, repr=False)
    megabytes: int = 1024
    seconds: float = 20.0
    tools: tuple[ForeignTool, ...] = ()

    def without_secrets(self, value: Any) -> Any:
        """`value`, a JSON value, without the secrets of the configuration in its texts."""
        if isinstance(value, str):
            hidden = [each for each in self.environ.values() if len(each) >= _SHORTEST_SECRET]
            for secret in sorted(hidden, key=len, reverse=True):
                value = value.replace(secret, _HIDDEN)
            return value
        if isinstance(value, list):
            return [self.without_secrets(each) for each in value]
        if isinstance(value, dict):
            return {self.without_secrets(name): self.without_secrets(each) for name, each in value.items()}
        return value


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
    file = data_dir / FILE
    draft = file.with_name(f"{FILE}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(_Servers(servers=servers).model_dump_json(indent=2))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
