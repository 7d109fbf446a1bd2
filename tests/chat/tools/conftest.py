"""A context for calls of tools, as a model makes them for one person."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chat.tools.catalogue import all_tools
from chat.tools.registry import ToolContext, ToolRegistry
from Conversation import Conversation
from endpoints.http.errors import code_of
from tests.chat.conftest import EMAIL, Talk


@pytest.fixture
def tools() -> ToolRegistry:
    """All tools of the product."""
    return all_tools(code_of=code_of)


@pytest.fixture
def context(talk: Talk) -> Callable[..., ToolContext]:
    """Makes the context of a call: context(email), Ada's unless told."""

    def make(email: str = EMAIL, **more: Any) -> ToolContext:
        return ToolContext(
            user_email=email,
            database=talk.database,
            services=talk.services,
            load=partial(Conversation, email, talk.database),
            **more,
        )

    return make


@pytest.fixture
def call(tools: ToolRegistry, context: Callable[..., ToolContext]) -> Callable[..., dict[str, Any]]:
    """The result of a call: call("read_conversation", conversationId=…)."""

    def make(name: str, *, email: str = EMAIL, max_chars: int | None = None, **arguments: Any) -> dict[str, Any]:
        return tools.call(name, arguments, context(email, max_chars=max_chars))

    return make
