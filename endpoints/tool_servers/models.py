"""Request and response models of people's own tool servers."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from endpoints.http.models import Body, Shape, Text

_HEADER_NAME = r"^[A-Za-z0-9-]{1,100}$"
_HEADER_VALUE = r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$"
# The connection sets these itself.
_RESERVED = re.compile(
    r"host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept.*|cookie|proxy-.*|mcp-.*|last-event-id",
    re.IGNORECASE,
)


def _settable(headers: dict[str, str]) -> dict[str, str]:
    if any(_RESERVED.fullmatch(name) for name in headers):
        raise ValueError("one of these headers can't be set")
    return headers


_Url = Annotated[Text, Field(min_length=1, max_length=2_000)]
_Headers = Annotated[
    dict[Annotated[str, Field(pattern=_HEADER_NAME)], Annotated[str, Field(pattern=_HEADER_VALUE, max_length=4_000)]],
    Field(max_length=10),
    AfterValidator(_settable),
]
_Token = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$", max_length=4_000)]


class _Secrets(Body):
    """What a server is shown with each request. It can be set and never read.

    `token` is sent as `Authorization: Bearer …`, beside `headers`.
    """

    token: _Token | None = None
    headers: _Headers | None = None

    @property
    def all_headers(self) -> dict[str, str] | None:
        """All of them; None where nothing was given."""
        if self.token is None:
            return self.headers
        return {**(self.headers or {}), "Authorization": f"Bearer {self.token}"}


class NewToolServer(_Secrets):
    """A server that is to be joined. Models call its tools `<name>__<tool>`."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
    url: _Url


class ToolServerChange(_Secrets):
    """What is to change; what is left out stays.

    Headers are replaced as a whole. A new address has none but those that come with it.
    """

    url: _Url | None = None
    is_on: bool | None = None


class ServerTool(Shape):
    """A tool of a server. `name`: what models call it."""

    name: str
    description: str


class ToolServerItem(Shape):
    """A server. `url`: without the query, which may hold a key. `headers`: the names of those that are set.

    `state`: how the last call went; `reason`: why it failed; `checked_at`: since when that is so.
    """

    name: str
    url: str
    headers: list[str]
    is_on: bool
    state: Literal["untried", "ready", "failed"]
    reason: Literal["address_refused", "unreachable", "unauthorized", "timeout", "failed"] | None
    checked_at: str | None
    tools: list[ServerTool]


class ToolServers(Shape):
    """Your servers by name. `allowed`: which addresses they may have; "off": none may be joined. `limit`: how many."""

    allowed: Literal["off", "public", "private"]
    limit: int
    servers: list[ToolServerItem]
