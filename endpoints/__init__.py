"""The HTTP interface: one blueprint a noun, and the guards in front of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .assembly import register

if TYPE_CHECKING:
    from .request_scope import AppState

__all__ = ["AppState", "register"]
