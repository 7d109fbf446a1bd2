"""One turn on its way: what was asked, what is known so far, and the stream of events that it is watched by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from conversation_reference_utils import parse_references
from database.stored_text import storable
from database.turn_identity import AcceptedTurn
from language_models.ports import ChatModel

from .events import Event
from .ports import ConversationLoader, TurnServices
from .preferences import Preferences

MAX_MESSAGE_CHARS = 200_000


@dataclass(slots=True, kw_only=True)
class Turn:
    """A question that was accepted, and the answer as it grows.

    references: friendly ids without "@", as typed: those the client named, then those found in the text. preferences:
    what the person wants models to know of them. summary: the running summary, as far as it tells of what came before
    the question. has_own_model: the model is the one that the conversation has chosen.
    notice: what the person ought to know of this choice. status: the answer's, as it will be stored. under_way: set
    when there is time for what is not urgent, such as the title.
    """

    accepted: AcceptedTurn
    text: str
    references: Sequence[str]
    claim_ids: Sequence[str]
    services: TurnServices
    model: ChatModel
    query: Mapping[str, Any]
    loader: ConversationLoader | None
    preferences: Preferences
    summary: str = ""
    has_own_model: bool = False
    notice: str = ""
    answer: list[str] = field(default_factory=list)
    status: str = "complete"
    config: dict[str, Any] = field(default_factory=dict)
    under_way: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def answer_text(self) -> str:
        """What was said so far."""
        return "".join(self.answer)


class TurnStream:
    """The events of a turn: `async for` in a server, plain `for` in scripts and tests. It can be iterated once."""

    def __init__(self, accepted: AcceptedTurn, journey: AsyncIterator[Event]) -> None:
        self.accepted = accepted
        self._journey = journey

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._journey

    def __iter__(self) -> Iterator[Event]:
        # In a thread of its own, so that a caller may have a running loop.
        with ThreadPoolExecutor(1) as thread, asyncio.Runner() as runner:
            while (event := thread.submit(runner.run, _next(self._journey)).result()) is not None:
                yield event
            thread.submit(runner.close).result()


async def _next(journey: AsyncIterator[Event]) -> Event | None:
    return await anext(journey, None)


def named_references(query: Mapping[str, Any], text: str) -> tuple[list[str], list[str]]:
    """Friendly ids and claim ids of `query`: those the client lists, then those in `text`, each once."""
    parsed = parse_references(text)
    friendly_ids = [*query.get("referenced_friendly_ids", ()), *parsed.friendly_ids]
    claim_ids = [*query.get("referenced_claim_ids", ()), *parsed.claim_ids]
    bare = (storable(friendly_id.removeprefix("@")) for friendly_id in friendly_ids)
    return list(dict.fromkeys(bare)), list(dict.fromkeys(map(storable, claim_ids)))
