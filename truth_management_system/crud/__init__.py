"""Doors to the tables of the knowledge base, one module a noun; each works for one user."""

from __future__ import annotations
