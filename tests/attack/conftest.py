"""Attackers need the same people and the same application as everybody else."""

from __future__ import annotations

from tests.endpoints.conftest import ada, app, cheap_model, eve, main_model, person, settings

__all__ = ["ada", "app", "cheap_model", "eve", "main_model", "person", "settings"]
