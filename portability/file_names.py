"""Names for files out of titles, which may hold anything."""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 80
_UNSAFE = re.compile(r'[/\\:*?"<>|]+')
_SPACE = re.compile(r"[\s_]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_OTHERWISE = "conversation"


def file_name(title: str, extension: str) -> str:
    """A name that every file system takes, without anything invisible, that leads into no other folder."""
    visible = "".join(" " if _is_invisible(character) else character for character in title)
    stem = _SPACE.sub(" ", _UNSAFE.sub(" ", visible)).strip(" .")[:_LONGEST].strip(" .")
    if _RESERVED.match(stem):
        stem = f"{_OTHERWISE} {stem}"
    return f"{stem or _OTHERWISE}.{extension}"


def _is_invisible(character: str) -> bool:
    # Control, format (which turns the direction of writing, too), surrogate, private, unassigned.
    return unicodedata.category(character).startswith("C")
