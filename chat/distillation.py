"""Condensing context that is too large; what the user named goes in again afterwards, untouched."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from language_models.errors import ContextTooLongError, ModelError, ModelFailedError
from language_models.ports import ChatModel

from .distillation_batches import Batch, Batches, batched, halves
from .pkb_items import CONDENSED_HEADING, PkbItem, neutralised, render
from .ports import TurnServices
from .prompt import CHARS_A_TOKEN, ContextBlock, reserved_for_answer, template

log = logging.getLogger(__name__)
_DISTILLED_TOKENS = 300
_QUERY_CHARS = 4_000
_SPARE_TOKENS = 100
_LEAST_ROOM = 1_000
_AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """The context as it goes into the prompt: what was made of a part of it, and the rest as it is.

    items: each once, those that the user named among them. condensed: what a model made of others, or "". note: what
    the person should know about it, or "".
    """

    items: Sequence[PkbItem] = ()
    condensed: str = ""
    note: str = ""

    @property
    def context(self) -> ContextBlock:
        """Ready for the prompt, what the user named under its own heading."""
        condensed = f"{CONDENSED_HEADING}\n{neutralised(self.condensed)}\n" if self.condensed else ""
        others = [condensed, render([item for item in self.items if item.source != "referenced"])]
        return ContextBlock(
            others="\n".join(filter(None, others)),
            referenced=render([item for item in self.items if item.source == "referenced"]),
        )


def distill_budget(*, model: ChatModel, services: TurnServices) -> int:
    """How many tokens of context the main model, `model`, is given as they are."""
    return model.context_window // 4 if services.distill_budget is None else services.distill_budget


def needs_distilling(items: Sequence[PkbItem], *, model: ChatModel, services: TurnServices) -> bool:
    """Whether `items` are larger than the budget.

    Context that is referenced through and through goes in verbatim whatever a model makes of it, so by default nothing
    is condensed then; a budget that the operator set is a budget for all of it.
    """
    if services.distill_budget is None and all(item.source == "referenced" for item in items):
        return False
    return model.count_tokens(render(items)) > distill_budget(model=model, services=services)


async def distil(
    items: Sequence[PkbItem],
    *,
    query: str,
    preferences: str,
    user_memory: str,
    model: ChatModel,
    services: TurnServices,
    budget: int,
) -> Distilled:
    """Condense `items` with the cheap model, in as many calls as it takes to show it all that nobody named.

    Of what the user named it is shown what there is room for, since that goes in verbatim anyway. What it fails at, or
    is silent about, or too late with, is left as it is, in order of priority, until `budget` (tokens of the main model)
    is full.
    """
    condenser = _Condenser(
        query=query, preferences=preferences, user_memory=user_memory, model=model, services=services
    )
    parts = batched(items, room=condenser.room())
    made = await condenser.each_condensed(parts.batches)
    failed = [batch.origins for batch, text in zip(parts.batches, made, strict=True) if text is None]
    left = [items[position] for position in sorted(frozenset().union(*failed))]
    kept = _within(left, budget=budget)
    return Distilled(
        items=[*(item for item in items if item.source == "referenced"), *kept],
        condensed="\n".join(filter(None, made)),
        note=_note(parts, failures=made.count(None), dropped=len(left) - len(kept)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Condenser:
    """The cheap model at work for one question."""

    query: str
    preferences: str
    user_memory: str
    model: ChatModel
    services: TurnServices

    def room(self) -> int:
        """How many characters of material go into one call."""
        tokens = self.model.context_window - reserved_for_answer(self.model) - _SPARE_TOKENS
        return max(_LEAST_ROOM, tokens * CHARS_A_TOKEN - len(self._prompt("")))

    async def each_condensed(self, batches: Sequence[Batch]) -> list[str | None]:
        """What the model made of each batch; None where it failed or was too late."""
        deadline = asyncio.get_running_loop().time() + self.services.distill_timeout
        places = asyncio.Semaphore(_AT_ONCE)

        async def tried(batch: Batch) -> str | None:
            try:
                async with asyncio.timeout_at(deadline), places:
                    return await self._condensed(batch.items)
            except (ModelError, TimeoutError) as error:
                reason = str(error) or f"no answer within {self.services.distill_timeout:g} s"
                log.warning("distillation failed: %s", reason)
                self.services.metrics.count("model_failures", job="distillation")
                return None

        return list(await asyncio.gather(*map(tried, batches)))

    async def _condensed(self, items: Sequence[PkbItem]) -> str:
        """What the model makes of `items`; if they have more tokens than we thought, of each half of them."""
        try:
            return await self._asked(items)
        except ContextTooLongError:
            parts = halves(items)
            if not parts:
                raise
            return "\n".join([await self._condensed(part) for part in parts])

    async def _asked(self, items: Sequence[PkbItem]) -> str:
        prompt = self._prompt(render(items))
        completion = await self.model.complete(
            [{"role": "user", "content": prompt}], max_tokens=_DISTILLED_TOKENS, temperature=0.0
        )
        said = completion.text.strip()
        if not said:
            raise ModelFailedError("The model said nothing.", model=self.model.name)
        return said

    def _prompt(self, material: str) -> str:
        return template("distil").render(
            query=self.query[:_QUERY_CHARS],
            preferences=self.preferences,
            user_memory=self.user_memory,
            items=material,
        )


def _within(items: Sequence[PkbItem], *, budget: int) -> list[PkbItem]:
    left, kept = budget * CHARS_A_TOKEN, list[PkbItem]()
    for item in items:
        left -= len(item.body)
        if left < 0:
            break
        kept.append(item)
    return kept


def _note(parts: Batches, *, failures: int, dropped: int) -> str:
    if failures:
        subject = "The context" if failures == len(parts.batches) else "A part of the context"
        note = f"{subject} could not be condensed; everything you named goes in word for word"
        return note + (f", {dropped} less important memories were left out." if dropped else ".")
    if parts.not_whole:
        return (
            f"The model that condenses did not see the whole of {parts.not_whole} of the things you named; "
            "they go in word for word."
        )
    return ""
