"""Titles by the cheap model: of a new conversation beside its first answer, of a thread after its first reply."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable

from activity.recipes import RecipeRegistry
from activity.threads import words_of_root
from chat.exchange.ports import TurnServices
from chat.prompting.prompt import template
from database.conversations.titles import heuristic_title
from database.engine.database import Database
from database.history.threads import UntitledThread, keep_made_title, untitled_threads
from language_models import blocking
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


_AT_ONCE = 20
_TRIES = 3
_PAUSE_SECONDS = 60.0
_MOST_REMEMBERED = 500


class ThreadTitles:
    """Has the cheap model name threads. model: called each time. seconds: for one title.

    Without a model, threads stay called by their first words, and wait. After a failure nothing is asked for a minute;
    a thread that fails three times keeps its first words.
    """

    def __init__(
        self,
        *,
        database: Database,
        recipes: RecipeRegistry,
        model: Callable[[], ChatModel],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._recipes = recipes
        self._model = model
        self._seconds = seconds
        self._clock = clock
        self._paused_until = 0.0
        self._failures: dict[str, int] = {}

    def make_waiting(self) -> int:
        """Name at most twenty threads; how many were named. Raises StoreError."""
        if self._clock() < self._paused_until or self._model().state().phase == "none":
            return 0
        # A thread that has failed is asked about again when no other waits.
        waiting = untitled_threads(database=self._database, but=list(self._failures), limit=_AT_ONCE)
        waiting = waiting or untitled_threads(database=self._database, but=(), limit=1)
        made = 0
        for each in waiting:
            try:
                title = self._title(each)
            except (ModelError, TimeoutError, RuntimeError) as error:
                log.warning("no title of a thread from the model: %s", str(error) or "timed out")
                self._paused_until = self._clock() + _PAUSE_SECONDS
                if not self._has_failed_often(each.thread_id):
                    return made
                title = ""
            keep_made_title(database=self._database, user_email=each.user_email, thread_id=each.thread_id, title=title)
            self._failures.pop(each.thread_id, None)
            made += bool(title)
        return made

    def _title(self, thread: UntitledThread) -> str:
        if thread.root is None or thread.root.is_hidden:
            return ""
        words = words_of_root(thread.root, self._recipes)
        if not words.strip():
            return ""
        return blocking.run(ask_for_title(words, model=self._model(), seconds=self._seconds), timeout=None)

    def _has_failed_often(self, thread_id: str) -> bool:
        if len(self._failures) >= _MOST_REMEMBERED:
            self._failures.clear()
        self._failures[thread_id] = self._failures.get(thread_id, 0) + 1
        return self._failures[thread_id] >= _TRIES
