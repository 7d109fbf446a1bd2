"""Secrets that are handed out once and verified later by their hash."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

_BYTES = 32


def new_secret(prefix: str = "") -> str:
    """256 random bits as URL-safe text, after `prefix`."""
    return prefix + secrets.token_urlsafe(_BYTES)


def derived_secret(key: str, seed: str) -> str:
    """256 bits as URL-safe text, reproducible from `key` and `seed`, not guessable from one of them."""
    digest = hmac.digest(key.encode(), seed.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def fingerprint(secret: str) -> str:
    """The hash stored in place of `secret`. A plain SHA-256 is enough for 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
