"""The doors through which other parts of a program enter the knowledge base."""

from __future__ import annotations
