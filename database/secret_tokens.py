"""Secrets that we hand out once and recognise later without keeping them."""

from __future__ import annotations

import hashlib
import secrets

_BYTES = 32


def new_secret(prefix: str = "") -> str:
    """256 random bits as URL-safe text, after `prefix`."""
    return prefix + secrets.token_urlsafe(_BYTES)


def fingerprint(secret: str) -> str:
    """What is stored in place of `secret`. A plain SHA-256 is enough: nobody can try all of 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
