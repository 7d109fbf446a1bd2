"""The four ways in which each question is answered: what the model is given with it, and what it may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SYSTEM_PROMPT = (
    "You answer questions that a person asks about their own life. Answer in one short sentence. "
    "Rely on what comes with the question. If the answer is not there, say: I don't know."
)
_LONGEST_ANSWER = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way. by_hand: the person names the sources. searches: the product searches first, as by default."""

    name: str
    meaning: str
    by_hand: bool = False
    searches: bool = False
    calls_tools: bool = False

    def request(self, question: str, references: Sequence[str]) -> dict[str, Any]:
        """The body of `POST /send_message`; `references`: the sources as a person types them."""
        return {
            "messageText": " ".join([question, *references]) if self.by_hand else question,
            "checkboxes": {"use_pkb": self.searches},
            "options": {
                "system_prompt": SYSTEM_PROMPT,
                "temperature": 0.0,
                "answer_tokens": _LONGEST_ANSWER,
                "use_tools": self.calls_tools,
            },
        }


ARMS = {
    arm.name: arm
    for arm in (
        Arm(name="alone", meaning="the conversation alone"),
        Arm(name="by-hand", meaning="references typed by hand", by_hand=True),
        Arm(name="search", meaning="memories, messages and documents searched before the answer", searches=True),
        Arm(name="tools", meaning="tools", calls_tools=True),
    )
}
