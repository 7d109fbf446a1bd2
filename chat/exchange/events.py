"""The events of a turn, as they are stored and sent: one JSON object each.

Every event has `text` (what to append to the answer, often "") and `status` (a sentence for the person who waits, often
""), so that a simple client can just append `text`. `seq`, which counts the events of the turn, is added when an
event is stored. What an answer has beside its words comes as parts, see `chat.exchange.parts`. In a turn with several
answers, an `answer` event begins each, and the events that belong to one have its `message_id`. A sentence of
the server's own comes with `said`, by which a page says it in the person's language: see `sentences`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sentences import said

Event = dict[str, Any]


def references(report: Sequence[Mapping[str, Any]]) -> Event:
    """The reference report: each reference of the message and its fate. The first event; a later one replaces it."""
    return {"text": "", "status": "", "references": list(report)}


def status(sentence: str) -> Event:
    """What is going on, for the person who waits."""
    return {"text": "", **spoken("status", sentence)}


def part(fields: Mapping[str, Any]) -> Event:
    """A part of the answer, `{id, kind, at, …}`; it takes the place of the part with the same id."""
    # A notice is also a sentence of its own, for clients that know no parts.
    sentence = fields["text"] if fields["kind"] == "notice" else ""
    told = {"notice": sentence} if sentence else {}
    return {"text": "", "status": sentence, **told, "part": dict(fields)}


def part_text(part_id: int, more: str) -> Event:
    """More text of a part."""
    return {"text": "", "status": "", "part_text": {"id": part_id, "text": more}}


def documents(found: Sequence[Mapping[str, Any]]) -> Event:
    """The documents that the answer rests on, all that are known by now."""
    return {"text": "", "status": "", "document_references": list(found)}


def text(delta: str) -> Event:
    """More of the answer."""
    return {"text": delta, "status": ""}


def answer(*, message_id: str, short_id: str, agent: Mapping[str, str] | None) -> Event:
    """The beginning of one of several answers. agent: the `{id, title}` of the agent that gives it."""
    return {"text": "", "status": "", "answer": {"message_id": message_id, "short_id": short_id, "agent": agent}}


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


def usage(
    *, prompt_tokens: int, completion_tokens: int, seconds: float | None = None, cost: tuple[float, str] | None = None
) -> Event:
    """Tokens that the answer took.

    seconds: how long it was written; None: nobody measured it. cost: amount and currency; None: unknown, or nothing.
    """
    used: dict[str, int | float | str] = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    if seconds:
        used["seconds"] = round(seconds, 3)
    if cost:
        used["cost"], used["currency"] = round(cost[0], 8), cost[1]
    return {"text": "", "status": "", "usage": used}


def error(*, code: str, message: str) -> Event:
    """What went wrong; the answer keeps what was said so far."""
    return {"text": "", "status": "", "error": failure(code, message)}


def failure(code: str, message: str) -> dict[str, Any]:
    """An error as an event and the settings of an answer hold it."""
    return {"code": code, **spoken("message", message)}


def spoken(name: str, sentence: str) -> dict[str, Any]:
    """A sentence as the field `name`, and as `said` what it says in any language, where that is known."""
    parts = said(sentence)
    return {name: str(sentence), "said": parts} if parts else {name: sentence}


def done(answer_status: str) -> Event:
    """The end, and how the answer is stored: `status` of its message. Always the last event."""
    return {"text": "", "status": "", "done": True, "answer_status": answer_status}


def farewell(*, code: str, message: str, after: int) -> list[bytes]:
    """The last events of a stream that breaks off after number `after`, encoded: why, and that it is interrupted."""
    last = error(code=code, message=message), done("interrupted")
    return [encode(event, seq=after + n) for n, event in enumerate(last, 1)]


def encode(event: Mapping[str, Any], *, seq: int) -> bytes:
    """`event` as one JSON object without line break, numbered."""
    # Events are kept until their answer ends, and what orjson returns goes on holding 4 KB, however short it is.
    return bytes(memoryview(orjson.dumps({"seq": seq, **event})))


def of_answer(event: Event, message_id: str) -> Event:
    """`event` as one of those that belong to this answer, one of several."""
    return {**event, "message_id": message_id}
