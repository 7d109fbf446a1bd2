"""Condensing context that is too large; what the user named goes in again afterwards, untouched."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from language_models.errors import ModelError
from language_models.ports import ChatModel

from .pkb_items import PkbItem, render
from .ports import TurnServices
from .prompt import CHARS_A_TOKEN, ContextBlock, answer_tokens, template

log = logging.getLogger(__name__)
_DISTILLED_TOKENS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """The context as it goes into the prompt. `note`: what the person should know about it, or ""."""

    context: ContextBlock
    note: str = ""


def needs_distilling(items: Sequence[PkbItem], *, model: ChatModel, services: TurnServices) -> bool:
    """Whether `items` are larger than the budget.

    Context that is referenced through and through goes in verbatim whatever a model makes of it, so by default nothing
    is condensed then; a budget that the operator set is a budget for all of it.
    """
    budget = services.distill_budget
    if budget is None:
        if all(item.source == "referenced" for item in items):
            return False
        budget = model.context_window // 4
    return model.count_tokens(render(items)) > budget


async def distil(
    items: Sequence[PkbItem],
    *,
    query: str,
    preferences: str,
    user_memory: str,
    model: ChatModel,
    services: TurnServices,
) -> Distilled:
    """Condense all of `items` with the cheap model; if it fails or is silent, take as many as the budget holds."""
    prompt = template("distil").render(
        query=query[:4_000],
        preferences=preferences,
        user_memory=user_memory,
        items=_within_window(render(items), model, beside=len(preferences) + len(user_memory)),
    )
    try:
        async with asyncio.timeout(services.distill_timeout):
            completion = await model.complete(
                [{"role": "user", "content": prompt}], max_tokens=_DISTILLED_TOKENS, temperature=0.0
            )
        return Distilled(context=ContextBlock(others=completion.text.strip(), referenced=_referenced(items)))
    except (ModelError, TimeoutError) as error:
        reason = str(error) or f"no answer within {services.distill_timeout:g} s"
        log.warning("distillation failed: %s", reason)
        services.metrics.count("model_failures", job="distillation")
        return _without_a_model(items, budget=services.distill_budget or model.context_window // 4)


def undistilled(items: Sequence[PkbItem]) -> ContextBlock:
    """The items as they are, each once, the referenced ones under their own heading."""
    return ContextBlock(
        others=render([item for item in items if item.source != "referenced"]), referenced=_referenced(items)
    )


def _without_a_model(items: Sequence[PkbItem], *, budget: int) -> Distilled:
    left, kept, others = budget * CHARS_A_TOKEN, [], [item for item in items if item.source != "referenced"]
    for item in others:
        left -= len(item.body)
        if left < 0:
            break
        kept.append(item)
    dropped = len(others) - len(kept)
    note = "The context could not be condensed; everything you named goes in word for word"
    note += f", {dropped} less important memories were left out." if dropped else "."
    return Distilled(context=ContextBlock(others=render(kept), referenced=_referenced(items)), note=note)


def _referenced(items: Sequence[PkbItem]) -> str:
    return render([item for item in items if item.source == "referenced"])


def _within_window(text: str, model: ChatModel, *, beside: int) -> str:
    return text[: max(0, (model.context_window - answer_tokens(model) - 500) * CHARS_A_TOKEN - beside)]
