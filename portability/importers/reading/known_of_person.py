"""What ChatGPT knew of a person: what it remembered, and what they told it by custom instructions.

Both stand, hidden, in each conversation as they were then; the newest of each counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .values import mapping_of, text_of, time_of

SETTINGS = ("user_editable_context", "model_editable_context")
"""Kinds of contents that say such things, and are no messages."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_QUOTED = re.compile(r"```(.*)```", re.DOTALL)
_HEADINGS = {
    "remembered": "What ChatGPT remembered",
    "profile": "About me",
    "instructions": "How ChatGPT was to answer",
}


class KnownOfPerson:
    """Collects it from conversations, as the export has them."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[datetime, str]] = {}

    def note(self, conversation: Mapping[str, Any]) -> None:
        """Keep what this conversation says, where nothing newer was said."""
        when = time_of(conversation.get("update_time")) or time_of(conversation.get("create_time")) or _LONG_AGO
        for node in mapping_of(conversation.get("mapping")).values():
            message = mapping_of(mapping_of(node).get("message"))
            content = mapping_of(message.get("content"))
            if content.get("content_type") not in SETTINGS:
                continue
            said = time_of(message.get("create_time")) or when
            for part, text in _parts(content, mapping_of(message.get("metadata"))).items():
                if text and said >= self._newest.get(part, (_LONG_AGO, ""))[0]:
                    self._newest[part] = (said, text)

    def text(self) -> str:
        """All of it as Markdown; "" for nothing. No headings: the first one of a document is taken for its title."""
        parts = [(heading, self._newest[part][1]) for part, heading in _HEADINGS.items() if part in self._newest]
        return "\n\n".join(f"**{heading}**\n\n{text}" for heading, text in parts)


def _parts(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, str]:
    told = mapping_of(metadata.get("user_context_message_data"))
    return {
        "remembered": text_of(content.get("model_set_context")).strip(),
        "profile": _said(told.get("about_user_message"), content.get("user_profile")),
        "instructions": _said(told.get("about_model_message"), content.get("user_instructions")),
    }


def _said(told: object, shown_to_model: object) -> str:
    """What the person wrote: by itself, or out of the sentences around it that the model was shown."""
    if text := text_of(told).strip():
        return text
    text = text_of(shown_to_model).strip()
    quoted = _QUOTED.search(text)
    return quoted[1].strip() if quoted else text
