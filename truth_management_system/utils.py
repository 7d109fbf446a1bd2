"""Readable identifiers for what is remembered."""

from __future__ import annotations

import secrets
import string

from conversation_reference_utils import _extract_meaningful_words

__all__ = ["_extract_meaningful_words", "generate_friendly_id"]

_LONGEST = 60
_SUFFIX_LENGTH = 4
_ALPHABET = string.ascii_lowercase + string.digits
# Each would read as a reference of another kind.
_RESERVED_BEGINNINGS = ("conversation_", "conv_", "claim_", "agent_", "memory", "mem")


def generate_friendly_id(text: str) -> str:
    """A readable id such as `prefer_morning_workouts_a3f2`: up to three words of `text` and four random characters.

    At most 60 characters, beginning with a letter, never like a reference of another kind. It ends in an underscore and
    four characters, so never in `_context`, `_entity`, `_tag` or `_domain`.
    """
    words = "_".join(_extract_meaningful_words(text) or ["note"])
    if words[0].isdigit() or f"{words}_".startswith(_RESERVED_BEGINNINGS):
        words = f"about_{words}"
    suffix = "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return f"{words[: _LONGEST - _SUFFIX_LENGTH - 1].rstrip('_')}_{suffix}"
