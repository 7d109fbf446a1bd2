"""The knowledge base over HTTP: `/pkb/…`, one module a noun."""

from __future__ import annotations
