"""What the parts of a bundle must look like before anything is made of them: anybody may have written the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import BrokenBundleError

_Types = Mapping[str, type | tuple[type, ...]]

_PERHAPS_TEXT = (str, type(None))

_INDEX: _Types = {"conversation_id": str, "user_id": str, "domain": str}
_INDEX_MAYBE: _Types = {"created_at": _PERHAPS_TEXT, "conversation_friendly_id": _PERHAPS_TEXT}
_MEMORY_MAYBE: _Types = {
    "title": str,
    "title_force_set": (bool, int),
    "conversation_friendly_id": _PERHAPS_TEXT,
    "running_summary": str,
    "summarised_messages": int,
    "created_at": str,
    "last_updated": str,
    "settings": dict,
}
_MESSAGE: _Types = {"message_id": str, "sender": str, "text": str}
_MESSAGE_MAYBE: _Types = {
    "message_short_hash": _PERHAPS_TEXT,
    "short_id": str,
    "status": str,
    "show_hide": str,
    "config": (dict, type(None)),
    "references": list,
}


def check_index(state: Mapping[str, Any], *, name: str) -> None:
    """Raise BrokenBundleError unless `state`, the index of the file `name`, names a conversation and its owner."""
    _check(state, _INDEX, name=name)
    _check(state, _INDEX_MAYBE, name=name, may_lack=True)


def check_memory(memory: Mapping[str, Any], *, name: str) -> None:
    """Raise BrokenBundleError where something in `memory`, read from the file `name`, is of another type than ours."""
    _check(memory, _MEMORY_MAYBE, name=name, may_lack=True)


def check_messages(messages: Sequence[Any], *, name: str) -> None:
    """Raise BrokenBundleError unless each of `messages`, read from the file `name`, has an id, a sender and a text."""
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            raise BrokenBundleError(f"{name} holds something else than a message in place {number}.")
        _check(message, _MESSAGE, name=name)
        _check(message, _MESSAGE_MAYBE, name=name, may_lack=True)


def _check(given: Mapping[str, Any], types: _Types, *, name: str, may_lack: bool = False) -> None:
    for field, expected in types.items():
        if field not in given and may_lack:
            continue
        if not isinstance(given.get(field), expected):
            raise BrokenBundleError(f"{name} is damaged: its {field} is missing or of the wrong type.")
