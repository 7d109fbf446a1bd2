"""The product's version, which `pyproject.toml` states and nothing else repeats."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

_STATED_IN = Path(__file__).with_name("pyproject.toml")


@cache
def product_version() -> str:
    """Major, minor and patch of this release, such as "0.9.0"."""
    stated: str = tomllib.loads(_STATED_IN.read_text(encoding="utf-8"))["project"]["version"]
    return stated


def program() -> str:
    """The product's name and version, as files that it writes name it."""
    return f"Anaphora {product_version()}"


def api_version() -> str:
    """Major and minor alone, with which the HTTP API changes: strangers are not told which mends a server lacks."""
    return product_version().rpartition(".")[0]
