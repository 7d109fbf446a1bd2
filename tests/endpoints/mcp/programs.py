"""Programs that speak to the application in this process by the official client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
from flask import Flask
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from database.accounts.api_tokens import create_token
from endpoints.http.scope import EXTENSION
from endpoints.serving.asgi_server import Bridge

T = TypeVar("T")
MODES = ("2026-07-28", "legacy")


def token_of(app: Flask, email: str, *, read_only: bool = False) -> str:
    """A new API token."""
    database = app.extensions[EXTENSION].database
    return create_token(database=database, user_email=email, name="program", read_only=read_only)[1]


def with_client(app: Flask, token: str, use: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """What `use` returns for a client that shows `token`."""
    return asyncio.run(at_bridge(Bridge(app), token, use, mode=mode))


async def at_bridge(bridge: Bridge, token: str, use: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """The same among other requests of one server."""
    return await _use(httpx2.ASGITransport(app=bridge), "http://localhost/mcp", token, use, mode)


def with_client_of(address: str, token: str, use: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """The same over the network."""
    return asyncio.run(_use(httpx2.AsyncHTTPTransport(), address, token, use, mode))


async def _use(transport: Any, address: str, token: str, use: Callable[[Client], Awaitable[T]], mode: str) -> T:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        return await use(client)
