"""The recipes of the product: a module a domain."""

from __future__ import annotations

from collections.abc import Mapping

from .agents import Agents
from .chat import GeneralDiscussion
from .documents import Vault
from .events import SystemMonitoring
from .knowledge import Knowledge
from .recipe import Recipe
from .tools import Tools

BUILT_IN: tuple[Recipe, ...] = (
    GeneralDiscussion(),
    Tools(),
    SystemMonitoring(),
    Knowledge(),
    Vault(),
    Agents(),
)

EXPORT_KINDS: Mapping[str, str] = {
    GeneralDiscussion.domain: "chat",
    Tools.domain: "tools",
    SystemMonitoring.domain: "events",
    Knowledge.domain: "knowledge",
    Vault.domain: "documents",
    Agents.domain: "agents",
}
"""What an export's `include` calls the recipes of the product; all others are "other"."""
