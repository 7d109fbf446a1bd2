"""The running summary: what was said before the part of the conversation that a prompt still shows.

It is read on message by message, from the first that it doesn't tell of yet: nothing that was said is left out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from chat.exchange.ports import TurnServices
from chat.exchange.turn import Turn
from chat.processes.threads import in_thread
from chat.prompting.prompt import CHARS_A_TOKEN, reserved_for_answer, template
from chat.turns.history import History
from database.engine.errors import StoreError
from database.history.summary import Said, Unsummarised
from language_models.errors import ContextTooLongError, ModelError
from language_models.ports import ChatModel

log = logging.getLogger(__name__)
_EVERY_MESSAGES = 10
"""How many messages may be said before the summary is made anew; so many can always be read at once."""
_CHARS_AT_ONCE = 24_000
_FEWEST_CHARS_AT_ONCE = 2_000
_MESSAGES_AT_ONCE = 100
_TIMES_A_TURN = 3
_LONGEST = 600
"""Tokens of 150 words, in the languages with the most tokens a word. What is cut is the end: what was said last."""
_FILES_ALONE = "(files without a text)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """A summary that tells of the first `read` of some messages."""

    text: str
    read: int


async def refresh_summary(turn: Turn, history: History) -> None:
    """Bring the running summary up to date when enough was said since; a failure leaves the old one.

    Where much was said, as in what was imported, a turn takes it on by a part, and the next ones go on. A model that
    finds a part too long, or takes too long for it, is given half as much.
    """
    if not turn.accepted.kept or turn.status != "complete":
        return
    limits = {"limit": _MESSAGES_AT_ONCE, "max_chars": _CHARS_AT_ONCE // _EVERY_MESSAGES}
    cheap, most = turn.services.models.cheap(), _CHARS_AT_ONCE
    try:
        for _ in range(_TIMES_A_TURN):
            since = await in_thread(history.unsummarised, **limits)
            if len(since.messages) < _EVERY_MESSAGES:
                return
            try:
                made = await _summarise(since, model=cheap, services=turn.services, most=most)
            except (ContextTooLongError, TimeoutError):
                most //= 2
                continue
            if made is None or not await in_thread(history.store_summary, made.text, since=since, read=made.read):
                return
    except StoreError as error:
        log.warning("the summary was not stored: %s", error)


async def _summarise(since: Unsummarised, *, model: ChatModel, services: TurnServices, most: int) -> _Summary | None:
    """The summary with as much more as `model` can read at once, or None when it could not make one.

    most: of how many characters. Raises ContextTooLongError and TimeoutError where these are too many.
    """
    room = (model.context_window - reserved_for_answer(model) - 800) * CHARS_A_TOKEN - len(since.summary)
    lines = _lines(since.messages, max(_FEWEST_CHARS_AT_ONCE, min(most, room)))
    prompt = template("summary").render(summary=since.summary, messages="\n".join(lines))
    try:
        async with asyncio.timeout(services.background_timeout):
            completion = await model.complete(
                [{"role": "user", "content": prompt}], max_tokens=_LONGEST, temperature=0.0
            )
    except (ModelError, TimeoutError) as error:
        log.warning("no summary from the model: %s", str(error) or "timed out")
        services.metrics.count("model_failures", job="summary")
        if isinstance(error, ContextTooLongError | TimeoutError):
            raise
        return None
    text = completion.text.strip()
    return _Summary(text=text, read=len(lines)) if text else None


def _lines(messages: Sequence[Said], room: int) -> list[str]:
    """The first messages, as many as there is room for, a long one shortened to its share."""
    longest = room // _EVERY_MESSAGES - len("\n")
    lines: list[str] = []
    for message in messages:
        said = f"User: {message.text or _FILES_ALONE}" if message.sender == "user" else f"Assistant: {message.text}"
        line = said[:longest]
        room -= len(line) + len("\n")
        if room < 0:
            break
        lines.append(line)
    return lines
