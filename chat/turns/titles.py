"""Titles by the cheap model: of a new conversation beside its first answer, of a thread after its first reply."""

from __future__ import annotations

import asyncio
import logging
import re

from chat.exchange.ports import TurnServices
from chat.prompting.prompt import template
from database.conversations.titles import heuristic_title
from language_models.errors import ModelError
from language_models.ports import ChatModel

log = logging.getLogger(__name__)
_CONSTRAINT = {"type": "regex", "pattern": "[A-Z][A-Za-z0-9'-]{0,20}( [A-Za-z0-9][A-Za-z0-9'-]{0,20}){2,5}"}
_MAX_CHARS = 80
# Control characters, lone surrogates, and signs that turn the direction of the text around them.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_BEGINNING_CHARS = 1_000


async def make_title(message: str, *, model: ChatModel, services: TurnServices) -> str:
    """A title of 3 to 6 words. When the model fails or is silent for too long: the first words of `message`."""
    try:
        title = await ask_for_title(message, model=model, seconds=services.title_timeout)
    except (ModelError, TimeoutError) as error:
        log.warning("no title from the model: %s", str(error) or "timed out")
        services.metrics.count("model_failures", job="title")
        title = ""
    return title or heuristic_title(message)


async def ask_for_title(message: str, *, model: ChatModel, seconds: float) -> str:
    """The title that the model gives what begins with `message`, "" for none.

    Raises ModelError, and TimeoutError after so many seconds.
    """
    prompt = template("title").render(message=message[:_BEGINNING_CHARS])
    async with asyncio.timeout(seconds):
        completion = await model.complete(
            [{"role": "user", "content": prompt}],
            response_format=_CONSTRAINT,
            max_tokens=24,
            temperature=0.0,
        )
    return _tidy(completion.text)


def _tidy(answer: str) -> str:
    line = next((line for line in answer.splitlines() if line.strip()), "")
    line = _INVISIBLE.sub("", line)
    line = re.sub(r"^\W*title\W*:\W*", "", line, flags=re.IGNORECASE)
    return line.strip(" \t#*_`\"'“”.").strip()[:_MAX_CHARS].strip()
