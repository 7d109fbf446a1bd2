"""Passwords: hashed with Argon2id, verified in the same time whether or not the account exists."""

from __future__ import annotations

import os
import threading
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from database.engine.errors import InvalidChangeError
from sentences import say

SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1024

_hasher = PasswordHasher()


def most_at_once(cores: int) -> int:
    """How many passwords may be hashed at once: each hash takes 64 MiB, and up to four cores while it runs."""
    return max(1, cores // 2)


_places = threading.BoundedSemaphore(most_at_once(os.cpu_count() or 1))


def hash_with(hasher: PasswordHasher) -> PasswordHasher:
    """Hash with `hasher`'s parameters from now on. Returns the hasher in use before.

    Hashes made with other parameters stay valid; `needs_new_hash` tells which of them are weaker.
    """
    global _hasher
    before, _hasher = _hasher, hasher
    _nobodys_hash.cache_clear()
    return before


def hash_password(password: str) -> str:
    """The Argon2id hash of `password` with its salt and parameters.

    Raises InvalidChangeError (too short or too long).
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidChangeError(say("password_length", shortest=SHORTEST_PASSWORD, longest=LONGEST_PASSWORD))
    with _places:
        return _hasher.hash(_bytes(password))


def password_matches(password: str, password_hash: str | None) -> bool:
    """Whether `password` is the one that was hashed.

    Without a hash (None: no such account; "": an account without a password) it takes as long as a wrong password.
    """
    if len(password) > LONGEST_PASSWORD:
        return False  # the same for every account
    with _places:
        try:
            matches = _hasher.verify(password_hash or _nobodys_hash(), _bytes(password))
        except (VerificationError, InvalidHashError):
            return False
    return matches and bool(password_hash)


def needs_new_hash(password_hash: str) -> bool:
    """Whether the hash was made with weaker parameters than today's."""
    return _hasher.check_needs_rehash(password_hash)


@cache
def _nobodys_hash() -> str:
    return _hasher.hash("nobody has this password")


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
