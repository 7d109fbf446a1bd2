"""Finding claims: by words, by meaning, by both."""

from __future__ import annotations
