"""Prompts for one answer: the first as it was planned, and shorter ones where the model finds that too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from language_models.ports import ChatMessage

from . import events
from .context import GatheredContext, fitted
from .distillation import Distilled
from .events import Event
from .gathering import KeepReport
from .knowledge import memories_among
from .pkb_items import cut
from .prompt import ContextBlock
from .threads import in_thread
from .turn import Turn

PromptMaker = Callable[[ContextBlock, float], Sequence[ChatMessage]]
"""Context, and the share of the window that the whole may take → prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A prompt, and what the watchers have to be told of it first."""

    prompt: Sequence[ChatMessage]
    told: Sequence[Event] = ()


@dataclass(slots=True, kw_only=True)
class Drafts:
    """Makes the prompts of a turn.

    context: what was gathered, with its report. max_chars: of context, at share 1.0 of the window as it is known then.
    """

    turn: Turn
    found: Distilled
    context: GatheredContext
    make: PromptMaker
    keep: KeepReport
    max_chars: Callable[[], int]
    _last: Sequence[ChatMessage] = ()

    def first(self) -> Draft:
        """The prompt with the context as it was gathered, and as much of the history as should fit."""
        self._last = self.make(self.found.context, 1.0)
        return Draft(prompt=self._last)

    async def shorter(self, share: float) -> Draft | None:
        """A prompt for `share` of the window; None where nothing can be taken out of the one before.

        The report of what was cut for it is stored.
        """
        before = self._last
        found, context = self._refitted(int(self.max_chars() * share))
        prompt = self._last = self.make(found.context, share)
        if prompt == before:
            return None
        losses = ["older messages are left out"] if len(prompt) < len(before) else []
        told: list[Event] = []
        if context.report != self.context.report:
            told.append(events.references(context.report_dicts()))
            await in_thread(self.keep, context.report_dicts())
            losses.append("what goes with your message is cut, as its references say")
        if found.condensed != self.found.condensed:
            losses.append("what was condensed is cut")
        sentence = f"All of it is too long for the model: {', and '.join(losses)}."
        return Draft(prompt=prompt, told=[*told, events.status(sentence)])

    def _refitted(self, chars: int) -> tuple[Distilled, GatheredContext]:
        condensed, _ = cut(self.found.condensed, chars // 2)
        context = GatheredContext(items=tuple(self.found.items), report=self.context.report)
        context = fitted(context, chars - len(condensed))
        if not condensed:
            self.turn.config["memories"] = memories_among(context.items)
        return replace(self.found, items=context.items, condensed=condensed), context
