"""The events of an answer, as they are stored and sent: one JSON object each.

Every event has `text` (what to append to the answer, often "") and `status` (a sentence for the person who waits, often
""), so that a simple client can just append `text`. `seq`, which counts the events of one answer, is added when an
event is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

Event = dict[str, Any]


def references(report: Sequence[Mapping[str, Any]]) -> Event:
    """The reference report: each reference of the message and its fate. Always the first event."""
    return {"text": "", "status": "", "references": list(report)}


def status(sentence: str) -> Event:
    """What is going on, for the person who waits."""
    return {"text": "", "status": sentence}


def notice(sentence: str) -> Event:
    """Something about this answer that the person ought to know, also when it is complete."""
    return {"text": "", "status": sentence, "notice": sentence}


def text(delta: str) -> Event:
    """More of the answer."""
    return {"text": delta, "status": ""}


def message_ids(ids: Mapping[str, Any]) -> Event:
    """The identifiers of question and answer, as far as they exist; the last one of an answer is complete."""
    return {"text": "", "status": "", "message_ids": dict(ids)}


def conversation(*, title: str, conversation_friendly_id: str) -> Event:
    """Title and friendly id, when they have changed."""
    return {
        "text": "",
        "status": "",
        "conversation": {"title": title, "conversation_friendly_id": conversation_friendly_id},
    }


def usage(*, prompt_tokens: int, completion_tokens: int) -> Event:
    """Tokens that the answer cost."""
    return {
        "text": "",
        "status": "",
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens},
    }


def error(*, code: str, message: str) -> Event:
    """What went wrong; the answer keeps what was said so far."""
    return {"text": "", "status": "", "error": {"code": code, "message": message}}


def done(answer_status: str) -> Event:
    """The end, and how the answer is stored: `status` of its message. Always the last event."""
    return {"text": "", "status": "", "done": True, "answer_status": answer_status}


def encode(event: Mapping[str, Any], *, seq: int) -> bytes:
    """`event` as one JSON object without line break, numbered."""
    # Events are kept until their answer ends, and what orjson returns goes on holding 4 KB, however short it is.
    return bytes(memoryview(orjson.dumps({"seq": seq, **event})))


def is_plain_text(event: Mapping[str, Any]) -> bool:
    """Whether the event does nothing but add text, so that two in a row may become one."""
    return len(event) == 2 and not event["status"]
