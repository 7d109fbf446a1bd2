"""Readable identifiers for what is remembered, and other small things that everybody here needs."""

from __future__ import annotations

import re
import secrets
import string
import unicodedata
import uuid
from collections.abc import Iterator

from conversation_reference_utils import _extract_meaningful_words
from database.engine.clock import now_iso

__all__ = [
    "EPOCH",
    "_extract_meaningful_words",
    "friendly_id_candidates",
    "generate_friendly_id",
    "generate_uuid",
    "grouped_friendly_id",
    "is_well_formed",
    "name_key",
    "now_iso",
]

EPOCH = "1970-01-01T00:00:00.000000Z"
"""The beginning of a claim's validity where none was given."""

GROUP_SUFFIXES = ("_context", "_entity", "_tag", "_domain")
_LONGEST = 60
_SUFFIX_LENGTH = 4
_ALPHABET = string.ascii_lowercase + string.digits
_WELL_FORMED = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9]")
_SHORTEST_GIVEN, LONGEST_GIVEN = 3, 128
# Each would read as a reference of another kind.
_RESERVED_BEGINNINGS = ("conversation_", "conv_", "claim_", "agent_", "memory", "mem")


def generate_uuid() -> str:
    """A new random UUID."""
    return str(uuid.uuid4())


def generate_friendly_id(text: str) -> str:
    """A readable id such as `prefer_morning_workouts_a3f2`: up to three words of `text` and four random characters.

    At most 60 characters, beginning with a letter, never like a reference of another kind. It ends in an underscore and
    four characters, so never in `_context`, `_entity`, `_tag` or `_domain`.
    """
    words = _safe_words(text, "note")
    return f"{words[: _LONGEST - _SUFFIX_LENGTH - 1].rstrip('_')}_{_random_suffix()}"


def grouped_friendly_id(text: str, suffix: str, *, kind: str = "", salted: bool = False) -> str:
    """A readable id of a group: `health_goals_context`, `john_smith_person_entity`, `fitness_tag`.

    suffix: "_context", "_entity" or "_tag". kind: a word before it. salted: with four random characters, for when the
    plain one is taken.
    """
    words = _safe_words(text, "thing")
    middle = "_".join(filter(None, [_random_suffix() if salted else "", *_extract_meaningful_words(kind, max_words=1)]))
    end = f"_{middle}{suffix}" if middle else suffix
    return f"{words[: _LONGEST - len(end)].rstrip('_')}{end}"


def friendly_id_candidates(text: str, suffix: str = "", *, kind: str = "") -> Iterator[str]:
    """Ids to try, without end: for a group the plain one first; each further one is random."""
    if suffix:
        yield grouped_friendly_id(text, suffix, kind=kind)
    while True:
        yield grouped_friendly_id(text, suffix, kind=kind, salted=True) if suffix else generate_friendly_id(text)


def is_well_formed(friendly_id: str) -> bool:
    """Whether `friendly_id` may be one that a user gives: 3 to 128 letters, digits, `_` and `-`, a letter first."""
    return _SHORTEST_GIVEN <= len(friendly_id) <= LONGEST_GIVEN and bool(_WELL_FORMED.fullmatch(friendly_id))


def is_reserved(friendly_id: str) -> bool:
    """Whether `friendly_id` would read as a reference of another kind (`conversation_…`, `claim_42`, `memory…`)."""
    return friendly_id.lower().startswith(_RESERVED_BEGINNINGS)


def name_key(name: str) -> str:
    """A name as it is compared with others: without case, spaces as underscores."""
    return "_".join(unicodedata.normalize("NFKC", name).casefold().split())


def _safe_words(text: str, otherwise: str) -> str:
    words = "_".join(_extract_meaningful_words(text) or [otherwise])
    return f"about_{words}" if words[0].isdigit() or is_reserved(f"{words}_") else words


def _random_suffix() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
