"""The HTTP interface: one blueprint a noun, and the guards in front of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endpoints.app import Application, register

if TYPE_CHECKING:
    from endpoints.http.scope import AppState

__all__ = ["AppState", "Application", "register"]
