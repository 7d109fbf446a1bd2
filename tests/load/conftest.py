"""Some of these tests need the application without a server around it."""

from __future__ import annotations

from tests.endpoints.conftest import ada, app, cheap_model, eve, main_model, person, settings

__all__ = ["ada", "app", "cheap_model", "eve", "main_model", "person", "settings"]
