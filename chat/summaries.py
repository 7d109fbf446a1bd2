"""The running summary: what was said before the part of the conversation that a prompt still shows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from language_models.errors import ModelError
from language_models.ports import ChatModel

from .ports import Message, TurnServices
from .prompt import CHARS_A_TOKEN, answer_tokens, template

log = logging.getLogger(__name__)
EVERY_MESSAGES = 10
"""How many messages may be said before the summary is made anew."""
_TIMEOUT = 60.0


async def summarise(
    messages: Sequence[Message], *, summary: str, model: ChatModel, services: TurnServices
) -> str | None:
    """The summary of all that `summary` and `messages` hold, or None when the model could not make one."""
    room = (model.context_window - answer_tokens(model) - 800) * CHARS_A_TOKEN - len(summary)
    each = max(200, room // max(1, len(messages)))
    lines = [
        f"{'User' if message['sender'] == 'user' else 'Assistant'}: {message['text'][:each]}" for message in messages
    ]
    prompt = template("summary").render(summary=summary, messages="\n".join(lines)[:room])
    try:
        async with asyncio.timeout(_TIMEOUT):
            completion = await model.complete([{"role": "user", "content": prompt}], max_tokens=260, temperature=0.0)
    except (ModelError, TimeoutError) as error:
        log.warning("no summary from the model: %s", str(error) or "timed out")
        services.metrics.count("model_failures", job="summary")
        return None
    return completion.text.strip() or None
