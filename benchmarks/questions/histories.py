"""A history: the messages of one person, and questions whose answers lie in some of them. Read from files too.

A file is JSON of this layout; times are ISO 8601 in UTC and may be left out, as may `split`:

    {"histories": [{
        "name": "…",
        "asked_at": "2026-06-20T09:00:00",
        "messages": [{"message_id": "m1", "conversation_id": "c1", "sender": "user", "text": "…",
                      "created_at": "2025-01-10T18:00:00"}],
        "questions": [{"question": "…", "evidence": ["m1"], "split": "kept"}]
    }]}

Messages stand in order of time; those of one conversation stand together. The layout of the LoCoMo data set (a list of
`{"conversation": {"session_1": […], "session_1_date_time": …}, "qa": […]}`) is recognised as well: each session is read
as a conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

Split = Literal["tuning", "kept"]
_UNANSWERABLE = 5
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """One message; `sender` is "user", "model" or a name."""

    message_id: str
    conversation_id: str
    sender: str
    text: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the ids of the messages that answer it."""

    text: str
    evidence: frozenset[str]
    split: Split
    family: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All messages of one person in order of time; `asked_at` is when the questions are asked."""

    name: str
    asked_at: datetime | None
    messages: tuple[HistoryMessage, ...]
    questions: tuple[Question, ...]


def read_histories(path: Path) -> list[History]:
    """The histories in a file of one of both layouts. Raises KeyError, ValueError or TypeError for any other."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, dict):
        return [_history(each) for each in content["histories"]]
    return [_from_sessions(number, each) for number, each in enumerate(content)]


def as_json(histories: list[History]) -> dict[str, Any]:
    """The histories in the layout that `read_histories` reads."""
    return {
        "histories": [
            {
                "name": history.name,
                "asked_at": _iso(history.asked_at),
                "messages": [
                    {
                        "message_id": message.message_id,
                        "conversation_id": message.conversation_id,
                        "sender": message.sender,
                        "text": message.text,
                        "created_at": _iso(message.created_at),
                    }
                    for message in history.messages
                ],
                "questions": [
                    {"question": question.text, "evidence": sorted(question.evidence), "split": question.split}
                    for question in history.questions
                ],
            }
            for history in histories
        ]
    }


def _history(given: dict[str, Any]) -> History:
    messages = tuple(
        HistoryMessage(
            message_id=str(message["message_id"]),
            conversation_id=str(message["conversation_id"]),
            sender=message["sender"],
            text=message["text"],
            created_at=_time(message.get("created_at")),
        )
        for message in given["messages"]
    )
    questions = tuple(
        Question(
            text=question["question"],
            evidence=frozenset(map(str, question["evidence"])),
            split=question.get("split", "kept"),
        )
        for question in given["questions"]
    )
    return History(name=given["name"], asked_at=_time(given.get("asked_at")), messages=messages, questions=questions)


def _from_sessions(number: int, given: dict[str, Any]) -> History:
    messages = tuple(_session_messages(given["conversation"]))
    known = {message.message_id for message in messages}
    questions = []
    for each in given["qa"]:
        evidence = frozenset(
            f"D{session}:{turn}"
            for entry in each.get("evidence", [])
            for session, turn in _EVIDENCE.findall(str(entry).replace("D:", "D"))
        )
        if evidence & known and each.get("category") != _UNANSWERABLE:
            questions.append(Question(text=each["question"], evidence=evidence & known, split="kept"))
    asked_at = max((message.created_at for message in messages if message.created_at), default=None)
    name = str(given.get("sample_id", number))
    return History(name=name, asked_at=asked_at, messages=messages, questions=tuple(questions))


def _session_messages(conversation: dict[str, Any]) -> Iterator[HistoryMessage]:
    sessions = sorted(int(match[1]) for name in conversation if (match := _SESSION.fullmatch(name)))
    for session in sessions:
        begun = _session_time(conversation.get(f"session_{session}_date_time"))
        for place, turn in enumerate(conversation[f"session_{session}"]):
            # What a picture shows was said by a model that looked at it; the benchmark's authors count it as text.
            text = "\n".join(filter(None, [turn.get("text", ""), turn.get("blip_caption", "")]))
            yield HistoryMessage(
                message_id=turn["dia_id"],
                conversation_id=f"session_{session}",
                sender=turn["speaker"],
                text=f"{turn['speaker']}: {text}",
                created_at=begun + timedelta(minutes=place) if begun else None,
            )


def _session_time(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y")  # noqa: DTZ007 (all times here are in one zone)
    except ValueError:
        return None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=None) if text else None


def _iso(time: datetime | None) -> str | None:
    return time.isoformat() if time else None
