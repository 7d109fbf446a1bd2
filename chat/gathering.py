"""The beginning of every turn: what its references mean is found out, stored and told first, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .context import GatheredContext, unresolved
from .knowledge import memories_among
from .references import RunningTurn
from .threads import in_thread, to_its_end
from .turn import Turn

log = logging.getLogger(__name__)
_PATIENCE = 1.5
"""Seconds that whoever stops an answer waits for its references; a search may hang at a model for longer."""
_STOPPED = "It was not looked up: the answer was stopped before."
_BROKEN = "It could not be looked up. The server's log says why."

KeepReport = Callable[[Sequence[Mapping[str, Any]]], None]
"""Stores what became of the references of a turn's question."""


def running(turn: Turn) -> RunningTurn:
    """What of a conversation is no part of what `turn` may refer to."""
    own = {turn.accepted.user_message_id, turn.accepted.response_message_id}
    return RunningTurn(message_ids=frozenset(own), chars=len(turn.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """What was gathered. failure: what keeps the turn from going on once its report was told."""

    context: GatheredContext
    failure: BaseException | None = None

    def go_on(self) -> GatheredContext:
        """The context; raises `failure`."""
        if self.failure is not None:
            raise self.failure
        return self.context


async def gathered(turn: Turn, gather: Callable[[], GatheredContext], keep: KeepReport) -> Gathering:
    """What `gather` finds, its report stored by `keep`; where it fails, each reference of the turn as unavailable.

    A turn that is stopped meanwhile finds out first, for a moment at least. Raises nothing: `failure` has it.
    """
    work, stop = await to_its_end(_gathered(turn, gather, keep), patience=_PATIENCE)
    if not work.cancelled():
        result = work.result()
        return Gathering(context=result.context, failure=result.failure or stop)
    context = unresolved(turn.references, turn.claim_ids, note=_STOPPED)
    return Gathering(context=context, failure=await _kept(context, keep) or stop)


async def _gathered(turn: Turn, gather: Callable[[], GatheredContext], keep: KeepReport) -> Gathering:
    try:
        context = await in_thread(gather)
    except Exception as error:  # noqa: BLE001 - the turn ends with it, but tells of its references before
        context = unresolved(turn.references, turn.claim_ids, note=_BROKEN)
        await _kept(context, keep)
        return Gathering(context=context, failure=error)
    memories = memories_among(context.items)
    if memories:
        turn.config["memories"] = memories
    return Gathering(context=context, failure=await _kept(context, keep))


async def _kept(context: GatheredContext, keep: KeepReport) -> Exception | None:
    """Store the report; what went wrong with that."""
    try:
        if context.report:
            await in_thread(keep, context.report_dicts())
    except Exception as error:  # noqa: BLE001 - the caller has it raised, in its time
        log.info("the report was not stored: %s", error)
        return error
    return None
