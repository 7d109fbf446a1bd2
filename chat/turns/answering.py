"""Streaming the main model, with shorter prompts where it finds the first one too long."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from chat.context.distil import Distilled
from chat.context.gather import GatheredContext, KeepReport, fitted
from chat.context.memories import memories_among
from chat.exchange import events
from chat.exchange.events import Event
from chat.exchange.turn import Turn
from chat.processes.threads import in_thread
from chat.prompting.citing import MarkRemover
from chat.prompting.items import cut
from chat.prompting.prompt import ContextBlock
from chat.turns.accept import instead_of
from language_models.errors import ContextTooLongError, ModelFailedError
from language_models.ports import CUT, ChatMessage, Delta, Usage
from sentences import Sentence, say, together

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
        losses = [say("older_messages_left_out")] if len(prompt) < len(before) else []
        told: list[Event] = []
        if context.report != self.context.report:
            told.append(events.references(context.report_dicts()))
            await in_thread(context.keep_with, self.keep)
            losses.append(say("references_cut"))
        if found.condensed != self.found.condensed:
            losses.append(say("condensed_cut"))
        status = events.status(together(say("too_long_for_model"), *losses))
        return Draft(prompt=prompt, told=[*told, status])

    def _refitted(self, chars: int) -> tuple[Distilled, GatheredContext]:
        condensed, _ = cut(self.found.condensed, chars // 2)
        context = GatheredContext(items=tuple(self.found.items), report=self.context.report)
        context = fitted(context, chars - len(condensed))
        if not condensed:
            self.turn.config["memories"] = memories_among(context.items)
        return replace(self.found, items=context.items, condensed=condensed), context


log = logging.getLogger(__name__)
_SHARES = (0.6, 0.35, 0.15)
"""Of the window, by our estimate: some scripts, and rows of digits, have several times the tokens that we count."""


async def answer(turn: Turn, drafts: Drafts) -> AsyncIterator[Event]:
    """Stream the answer into `turn` and out as events.

    A prompt that the model refuses as too long is made again with less history and shorter context, and the person is
    told. Raises the errors of `language_models.errors`.
    """
    draft, shares = drafts.first(), iter(_SHARES)
    while True:
        window = turn.model.context_window
        for event in draft.told:
            yield event
        try:
            async for event in _stream(turn, draft.prompt):
                yield event
        except ContextTooLongError:
            # A refusal may have told the true window: then a prompt for that, whole, may fit.
            whole = (1.0,) if turn.model.context_window < window else ()
            shorter = None if turn.answer or turn.config.get("tools") else await _shorter(drafts, chain(whole, shares))
            if shorter is None:
                raise
            draft = shorter
        else:
            return


async def _shorter(drafts: Drafts, shares: Iterable[float]) -> Draft | None:
    """The next prompt that is any shorter; None where there is none."""
    for share in shares:
        draft = await drafts.shorter(share)
        if draft is not None:
            return draft
    return None


def fall_back(turn: Turn) -> Event:
    """Have the main model answer where the conversation's own is not to be had any more; the event that says so."""
    chosen = instead_of(turn.model.name, services=turn.services)
    turn.fall_back_to(chosen.model)
    return turn.note(chosen.notice)


def _stream(turn: Turn, prompt: Sequence[ChatMessage]) -> AsyncGenerator[Event, None]:
    tools = turn.services.tools
    rounds = None if tools is None else tools.rounds(turn, prompt, _ask)
    return _ask(turn, prompt, calls=[]) if rounds is None else rounds


async def _ask(
    turn: Turn,
    prompt: Sequence[ChatMessage],
    *,
    calls: list[Mapping[str, Any]],
    usual_temperature: float | None = None,
    **more: Any,
) -> AsyncGenerator[Event, None]:
    """Stream one request into `turn` and out as events; tool calls go into `calls`.

    usual_temperature: where neither the conversation nor the turn sets one; None: the model's. more: options of the
    request.
    """
    options = turn.options
    temperature = usual_temperature if options.temperature is None else options.temperature
    deltas = turn.model.stream(prompt, max_tokens=options.answer_tokens, temperature=temperature, **more)
    turn.config.pop("finish_reason", None)  # of a round before, which called tools
    began: float | None = None
    remover = turn.mark_remover()
    try:
        async for delta in deltas:
            if began is None and (delta.text or delta.thinking):
                began = time.monotonic()
            for event in _events(turn, delta if remover is None else _unmarked(delta, remover)):
                yield event
            if delta.tool_calls:
                calls.extend(delta.tool_calls)
            if delta.usage:
                yield _used(turn, delta.usage, seconds=None if began is None else time.monotonic() - began)
        if remover is not None and (rest := remover.rest()):
            yield _said(turn, rest)
        if not turn.answer and not calls:
            raise ModelFailedError(_why_nothing_was_said(turn))
    finally:
        await _close(deltas)


def _unmarked(delta: Delta, remover: MarkRemover) -> Delta:
    """The step without what is removed of it, and with what was held back where no text follows."""
    text = remover.take(delta.text)
    if delta.finish_reason or delta.tool_calls:
        text += remover.rest()
    return delta if text == delta.text else replace(delta, text=text)


def _said(turn: Turn, text: str) -> Event:
    turn.answer.append(text)
    return events.text(text)


def _events(turn: Turn, delta: Delta) -> list[Event]:
    found = []
    is_cut = delta.finish_reason in CUT
    if is_cut:
        turn.config["finish_reason"] = delta.finish_reason
    elif delta.status and not delta.finish_reason:
        found.append(events.status(delta.status))
    if delta.thinking:
        found.append(turn.parts.think(delta.thinking, at=len(turn.answer_text)))
    if delta.text:
        found.append(_said(turn, delta.text))
    if is_cut:
        found.append(turn.note(_why_cut(turn, delta)))
    elif delta.finish_reason and delta.status:
        found.append(turn.note(together(delta.status)))
    return found


def _used(turn: Turn, usage: Usage, *, seconds: float | None) -> Event:
    """Keep what the answer took. seconds: from its first token on."""
    price = turn.model.price
    before = turn.config.get("usage", {})  # of the rounds before, in an answer that calls tools
    cost = None if price is None else (price.of(usage) + before.get("cost", 0.0), price.currency)
    event = events.usage(
        prompt_tokens=usage.prompt_tokens + before.get("prompt_tokens", 0),
        completion_tokens=usage.completion_tokens + before.get("completion_tokens", 0),
        seconds=(seconds or 0.0) + before.get("seconds", 0.0) or None,
        cost=cost,
    )
    turn.config["usage"] = event["usage"]
    return event


def _why_cut(turn: Turn, last: Delta) -> Sentence:
    """Whose limit cut the answer, and what to do."""
    if last.finish_reason == "content_filter":
        return say("cut_by_filter", model=turn.model.name)
    longest = turn.options.answer_tokens
    if longest is not None and (not last.usage or last.usage.completion_tokens >= longest):
        is_own = "answer_tokens" in (turn.query.get("options") or {})
        why: str = say("cut_by_message" if is_own else "cut_by_conversation", tokens=longest)
    else:
        why = last.status or say("cut_by_model", model=turn.model.name)
    return together(why, say("ask_to_go_on"))


def _why_nothing_was_said(turn: Turn) -> str:
    reason = turn.config.get("finish_reason")
    if reason == "length":
        return say("thought_only")
    if reason == "content_filter":
        return say("filtered", model=turn.model.name)
    return say("said_nothing")


async def _close(deltas: AsyncIterator[Delta]) -> None:
    close = getattr(deltas, "aclose", None)
    if close is not None:
        await close()
