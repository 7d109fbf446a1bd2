"""Request and response models of tools."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, RootModel

from endpoints.http.models import JsonObject, Shape


class Arguments(RootModel[JsonObject]):
    """The arguments of a call by name, as the tool's `parameters` describe them."""

    model_config = ConfigDict(strict=True)


class ToolItem(Shape):
    """A tool. `parameters` is the JSON Schema of its arguments; `reads_only`: it changes nothing.

    `needs_consent`: models call it once the person has agreed; programs can't call it.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    aliases: list[str]
    reads_only: bool
    on_by_default: bool
    needs_consent: bool
