"""Messages of the Model Context Protocol over HTTP: JSON-RPC 2.0."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, RootModel

from endpoints.http.models import JsonObject, Shape


class JsonRpcRequest(RootModel[JsonObject]):
    """A request or a notification: `jsonrpc`, `method`, `params`, and `id` for a request."""

    model_config = ConfigDict(strict=True)


class JsonRpcAnswer(Shape):
    """An answer: `result` or `error`."""

    jsonrpc: str
    id: int | str | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
