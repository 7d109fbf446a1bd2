"""Secrets that we hand out once and recognise later without keeping them."""

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
    """256 bits as URL-safe text: who has both `key` and `seed` makes it again, who has one of them can't guess it."""
    digest = hmac.digest(key.encode(), seed.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def fingerprint(secret: str) -> str:
    """What is stored in place of `secret`. A plain SHA-256 is enough: nobody can try all of 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
