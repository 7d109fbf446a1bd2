"""Condensing context that is larger than its budget; referenced items are injected again, verbatim."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from chat.exchange.ports import TurnServices
from chat.prompting.items import CONDENSED_HEADING, PkbItem, fit, neutralised, render
from chat.prompting.prompt import CHARS_A_TOKEN, ContextBlock, reserved_for_answer, template
from language_models.errors import ContextTooLongError, ModelError, ModelFailedError
from language_models.ports import CUT, ChatModel
from sentences import say, together

_SHORTEST_TO_HALVE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What goes into one call. origins: the positions, among all items, of those that nobody named."""

    items: Sequence[PkbItem]
    origins: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """All calls. not_whole: how many of the named items are in none of them, or not whole."""

    batches: Sequence[Batch]
    not_whole: int = 0


def batched(items: Sequence[PkbItem], *, room: int) -> Batches:
    """All of `items` that nobody named, in order, in batches of at most `room` characters when they are rendered.

    Of those that the user named, the last batch takes what it has room for, the longest cut first.
    """
    pieces = [
        (position, piece)
        for position, item in enumerate(items)
        if item.source != "referenced"
        for piece in _pieces(item, room)
    ]
    batches, left = list[Batch](), 0
    for position, piece in pieces:
        length = len(render([piece])) + 1
        if not batches or length > left:
            batches.append(Batch(items=()))
            left = room
        last = batches[-1]
        batches[-1] = Batch(items=(*last.items, piece), origins=last.origins | {position})
        left -= length
    return _with_named(batches, [item for item in items if item.source == "referenced"], left if batches else room)


def halves(batch: Sequence[PkbItem]) -> list[Sequence[PkbItem]]:
    """The batch in two; a single item by its text. Empty where there is nothing worth parting."""
    middle = len(batch) // 2
    if middle:
        return [batch[:middle], batch[middle:]]
    (item,) = batch
    if len(item.body) < _SHORTEST_TO_HALVE:
        return []
    middle = len(item.body) // 2
    return [[replace(item, body=item.body[:middle])], [replace(item, body=item.body[middle:])]]


def _pieces(item: PkbItem, room: int) -> list[PkbItem]:
    if len(render([item])) < room:
        return [item]
    # Half, since tags and what is escaped take room as well.
    size = room // 2
    return [replace(item, body=item.body[start : start + size]) for start in range(0, len(item.body), size)]


def _with_named(batches: list[Batch], named: Sequence[PkbItem], left: int) -> Batches:
    shown, _ = fit(named, left)
    while shown and len(render(shown)) > left:
        shown.pop()
    whole = sum(before is after for before, after in zip(named, shown, strict=False))
    if shown:
        last = batches.pop() if batches else Batch(items=())
        batches.append(replace(last, items=(*last.items, *shown)))
    return Batches(batches=batches, not_whole=len(named) - whole)


log = logging.getLogger(__name__)
_DISTILLED_TOKENS = 300
_EXPECTED_TOKENS = 160
"""What 120 words come to."""
_QUERY_CHARS = 4_000
_SPARE_TOKENS = 100
_LEAST_ROOM = 1_000
_AT_ONCE = 4
_FASTER_AGAIN = 1.25

_shares: WeakKeyDictionary[ChatModel, float] = WeakKeyDictionary()
"""Of the room for material, what a model is given that was too slow for all of it; halved each time it is."""


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

    Referenced items go in verbatim whatever a model makes of them, so by default only the others count; a budget that
    the operator set is a budget for all of it.
    """
    counted = [item for item in items if services.distill_budget is not None or item.source != "referenced"]
    return bool(counted) and model.count_tokens(render(counted)) > distill_budget(model=model, services=services)


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
    """Condense `items` with the cheap model, as far as its measured speed lets it end within the services' patience.

    All items that nobody named are condensed, in as many calls as it takes, when they can be read in time. Otherwise
    the most important ones go in as they are, and of the rest as much is condensed as can be. Of the referenced items
    the model is shown what there is room for, since they go in verbatim anyway. What it fails at, or is too late with,
    is left as it is, in order of priority, until `budget` (tokens of the main model) is full.
    """
    condenser = _Condenser(
        query=query, preferences=preferences, user_memory=user_memory, model=model, services=services
    )
    named = [item for item in items if item.source == "referenced"]
    others = [item for item in items if item.source != "referenced"]
    whole, condensed = _divided(others, readable=condenser.readable(), budget=budget)
    if not condenser.can_begin() or (others and not condensed):
        condenser.note_rest()
        return Distilled(items=[*named, *whole], note=_left_out(len(others) - len(whole)))
    parts = batched([*named, *condensed], room=condenser.room())
    made = await condenser.each_condensed(parts.batches)
    material = [*named, *condensed]
    failed = [batch.origins for batch, text in zip(parts.batches, made, strict=True) if text is None]
    left = [material[position] for position in sorted(frozenset().union(*failed))]
    kept = _within(left, budget=budget - _tokens(whole))
    dropped = len(others) - len(whole) - len(condensed)
    return Distilled(
        items=[*named, *whole, *kept],
        condensed="\n".join(filter(None, made)),
        note=together(
            _note(parts, failures=made.count(None), dropped=dropped + len(left) - len(kept)),
            say("condensed_cut") if condenser.cut else "",
        ),
    )


def _divided(others: Sequence[PkbItem], *, readable: float, budget: int) -> tuple[list[PkbItem], list[PkbItem]]:
    """Which of `others` go in as they are, and which of the less important ones are condensed.

    readable: characters that the model can read in time. What is in neither is left out.
    """
    if len(render(others)) <= readable:
        return [], list(others)
    if readable < _LEAST_ROOM:
        return _within(others, budget=budget), []
    whole = _within(others, budget=budget - _DISTILLED_TOKENS)
    condensed = list[PkbItem]()
    for item in others[len(whole) :]:
        readable -= len(render([item])) + 1
        if readable < 0:
            break
        condensed.append(item)
    return whole, condensed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Condenser:
    """The cheap model at work for one question. cut: what it wrote and could not end within its limit."""

    query: str
    preferences: str
    user_memory: str
    model: ChatModel
    services: TurnServices
    cut: list[str] = field(default_factory=list)

    def room(self) -> int:
        """How many characters of material go into one call: what fits the window, and what can be read in time."""
        tokens = self.model.context_window - reserved_for_answer(self.model) - _SPARE_TOKENS
        fitting = max(_LEAST_ROOM, tokens * CHARS_A_TOKEN - self._overhead())
        return int(min(fitting, self._readable_at_once()) * _shares.get(self.model, 1.0))

    def readable(self) -> float:
        """How many characters of material can be read in time, in all calls together; 0: no call is worth it."""
        if not self.can_begin():
            return 0.0
        speed = self.model.speed()
        if speed.reading is None and _shares.get(self.model, 1.0) == 1.0:
            return float("inf")
        # On this machine's processor, one call comes after another.
        return float(self.room() * (1 if speed.is_slow else _AT_ONCE))

    def can_begin(self) -> bool:
        """Whether a call that is worth its while can end in time."""
        return self.room() >= _LEAST_ROOM

    def note_rest(self) -> None:
        """Note that the model was spared a call: a slow one is given more again after some rest."""
        if self.model in _shares:
            _shares[self.model] = min(1.0, _shares[self.model] * _FASTER_AGAIN)

    def _readable_at_once(self) -> float:
        """How many characters of material can be read in one call so that its answer ends within the patience."""
        speed = self.model.speed()
        if speed.reading is None:
            return float("inf")
        writing = _EXPECTED_TOKENS / speed.writing if speed.writing else 0.0
        seconds = max(0.0, self.services.distill_patience - speed.latency - writing)
        return max(0.0, seconds * speed.reading * CHARS_A_TOKEN - self._overhead())

    def _overhead(self) -> int:
        return len(self._prompt(""))

    def _seconds(self) -> float:
        """After how many seconds the calls are given up: a model whose speed is known is only asked what is quick."""
        if self.model.speed().reading is None:
            return self.services.distill_timeout
        return min(self.services.distill_timeout, 2 * self.services.distill_patience)

    async def each_condensed(self, batches: Sequence[Batch]) -> list[str | None]:
        """What the model made of each batch; None where it failed or was too late."""
        seconds = self._seconds()
        deadline = asyncio.get_running_loop().time() + seconds
        places = asyncio.Semaphore(_AT_ONCE)
        late = list[Batch]()

        async def tried(batch: Batch) -> str | None:
            try:
                async with asyncio.timeout_at(deadline), places:
                    return await self._condensed(batch.items)
            except (ModelError, TimeoutError) as error:
                log.warning("distillation failed: %s", str(error) or f"no answer within {seconds:g} s")
                self.services.metrics.count("model_failures", job="distillation")
                if isinstance(error, TimeoutError):
                    late.append(batch)
                return None

        made = list(await asyncio.gather(*map(tried, batches)))
        if late:
            _shares[self.model] = _shares.get(self.model, 1.0) / 2
        elif None not in made:
            _shares.pop(self.model, None)
        return made

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
            raise ModelFailedError(say("model_said_nothing"), model=self.model.name)
        if completion.finish_reason in CUT:
            self.cut.append(said)
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


def _tokens(items: Sequence[PkbItem]) -> int:
    return sum(len(item.body) for item in items) // CHARS_A_TOKEN


def _left_out(dropped: int) -> str:
    return say("no_time_to_condense", count=dropped) if dropped else ""


def _note(parts: Batches, *, failures: int, dropped: int) -> str:
    if failures:
        note = say("not_condensed" if failures == len(parts.batches) else "partly_condensed")
        return together(note, say("left_out", count=dropped) if dropped else "")
    if dropped:
        return _left_out(dropped)
    if parts.not_whole:
        return say("not_wholly_read", count=parts.not_whole)
    return ""
