"""The calls of one turn: made side by side or one after the other, made again or not, shown, and noted.

Those that change something run one after the other, in their order: each finds what the one before it left.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from chat.exchange import events
from chat.exchange.events import Event
from chat.exchange.turn import Turn
from chat.prompting.prompt import context_chars
from chat.tools import proposals
from chat.tools.registry import (
    Result,
    Tool,
    ToolContext,
    ToolError,
    ToolRegistry,
    ToolTimeoutError,
    check_arguments,
    failure,
)
from chat.tools.results import account, call_fitted
from chat.turns.accept import AGENT_CHAIN
from database.engine.errors import InvalidChangeError
from database.engine.text import DEEPEST_JSON, problem_of_json
from database.turns.variants import AWAITS_CONSENT
from sentences import said

from .threads import Stop, own_threads, result_in_time

LONGEST_RESULT = 40_000
"""In characters of JSON; a model with a small window is given less."""
SHORTEST_RESULT = 1_000
_PART = "tool_call"
_LONGEST_ACCOUNT = 1_000
_NO_ARGUMENTS = (
    f"The arguments are no JSON object, have a NUL character, or are nested more than {DEEPEST_JSON} levels deep."
)
_LONGEST_SHOWN = 200
"""Of arguments that are none, in characters."""
_MADE_BEFORE = (
    "This call was made before in this answer, and was not made again. What it changed may have been changed since: "
    "read it first. To make the change again, call with other arguments."
)
_LEVELS_OF_PROPOSAL = 4
"""The arguments of a call that waits for consent lie so deep within its result."""


@dataclass(slots=True, kw_only=True)
class Calls:
    """The calls of one turn.

    known: the work of the calls that the same call is answered from, by tool and arguments: running ones, and finished
    ones as far as they still hold (`_note`); a change that was made, for the whole turn. orders: what the calls wait
    for of which only one may run at a time. results: of the calls that have ended, by their ids. allowed: the calls
    that the person has agreed to, by tool and arguments, until they are made. is_waiting: one of them needs the
    person's consent, so that the answer ends here. counted: the names of tools in the metrics.
    """

    turn: Turn
    tools: Mapping[str, Tool]
    counted: Mapping[str, str]
    registry: ToolRegistry
    seconds: float
    known: dict[bytes, tuple[Tool | None, asyncio.Future[Result]]] = field(default_factory=dict)
    orders: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    results: dict[str, Result] = field(default_factory=dict)
    accounts: list[str] = field(default_factory=list)
    allowed: set[bytes] = field(default_factory=set)
    is_waiting: bool = False

    async def run(self, calls: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Event, None]:
        """Make the calls of one round; the events tell of each when it begins and when it has ended."""
        parts, at = self.turn.parts, len(self.turn.answer_text)
        functions = [each["function"] for each in calls]
        told = [
            parts.add(_PART, at=at, name=each["name"], arguments=_arguments(each) or {}, status="running")
            for each in functions
        ]
        ids = {event["part"]["id"]: call["id"] for event, call in zip(told, calls, strict=True)}
        async with aclosing(self._running(told, functions, ids)) as ran:
            async for event in ran:
                yield event

    async def resume(self) -> AsyncGenerator[Event, None]:
        """Make the calls of the answer that the person has agreed to; the others that waited were not made."""
        turn, told, functions = self.turn, list[Event](), list[Mapping[str, Any]]()
        states = await own_threads().on_loop(partial(proposals.decisions_of, turn))
        for part in calls_in(turn):
            proposal_id, function = proposals.proposal_in(part.get("result")), function_of(part)
            state = states.get(proposal_id or "")
            if state == "accepted":
                self.allowed.add(key_of(function))
                told.append(turn.parts.replace(part["id"], status="running", result=None))
                functions.append(function)
            elif proposal_id is not None:
                yield self._ended(part["id"], function, proposals.not_made(state or "expired"), seconds=0.0)
            else:
                self._tell_later(function, part.get("result") or {})
        async with aclosing(self._running(told, functions, {})) as ran:
            async for event in ran:
                yield event

    async def _running(
        self, told: Sequence[Event], functions: Sequence[Mapping[str, Any]], ids: Mapping[int, str]
    ) -> AsyncGenerator[Event, None]:
        """The events of calls whose parts, as `told` tells of them, are there. What is said next is a new paragraph.

        ids: of the calls, by the ids of their parts.
        """
        parts, since = self.turn.parts, time.monotonic()
        # All at once: the same call of one round is made once, whatever comes of it.
        running = {
            event["part"]["id"]: (function, self._begun(function))
            for event, function in zip(told, functions, strict=True)
        }
        try:
            for event in told:
                yield event
            while running:
                await asyncio.wait({task for _, task in running.values()}, return_when=asyncio.FIRST_COMPLETED)
                for part_id in [each for each, (_, task) in running.items() if task.done()]:
                    function, task = running.pop(part_id)
                    result = task.result()
                    if part_id in ids:
                        self.results[ids[part_id]] = result
                    yield self._ended(part_id, function, result, seconds=time.monotonic() - since)
                    documents = self._documents_in(function, result)
                    if documents is not None:
                        yield documents
        finally:
            for part_id, (_, task) in running.items():
                task.cancel()
                parts.replace(part_id, status="cancelled")

        if self.turn.answer_text and not self.is_waiting:
            self.turn.answer.append("\n\n")
            yield events.text("\n\n")

    def _documents_in(self, function: Mapping[str, Any], result: Result) -> Event | None:
        tool = self.registry.find(function["name"])
        return None if tool is None else self.turn.documents_returned(tool.name, result)

    def result_of(self, call: Mapping[str, Any]) -> Result:
        """The result of a call that has ended."""
        return self.results[call["id"]]

    def is_known(self, function: Mapping[str, Any]) -> bool:
        """Whether the call would be answered from the first, and not be made."""
        return key_of(function) in self.known

    def recall(self, earlier: Iterable[tuple[Mapping[str, Any], Result]]) -> None:
        """Know the calls that the answer made before it goes on, in their order, whatever became of them."""
        for function, result in earlier:
            tool, work = self.registry.find(function["name"]), asyncio.get_running_loop().create_future()
            work.set_result(result)
            self._forget_before(tool)
            self.known[key_of(function)] = (tool, work)

    def _begun(self, function: Mapping[str, Any]) -> asyncio.Future[Result]:
        """The work of a call; of one that was made before, the same, as long as that holds.

        This is decided before the calls of the round run: a change that was made before is left out also where another
        one stands in front of it.
        """
        key, tool = key_of(function), self.registry.find(function["name"])
        known = self.known.get(key)
        if known is None:
            task: asyncio.Future[Result] = asyncio.create_task(self._made(key, tool, function))
            self.known[key] = (tool, task)
            return task
        _, task = known
        return asyncio.create_task(_repeated(task)) if _changes(tool) else task

    async def _made(self, key: bytes, tool: Tool | None, function: Mapping[str, Any]) -> Result:
        """The result of a call. One that changes something waits for those before it that may change the same."""
        order = None if tool is None else _order_of(tool)
        if order is None:
            result = await self._result(function)
        else:
            async with self.orders[order]:
                result = await self._result(function)
        self._note(key, tool, result)
        return result

    def _note(self, key: bytes, tool: Tool | None, result: Result) -> None:
        """Keep of the known calls those that the same call can still be answered from.

        What was read before a change is out of date after it; changes that were made stay known for the whole turn.
        """
        self._forget_before(tool)
        if not _holds(tool, result):
            self.known.pop(key, None)

    def _forget_before(self, tool: Tool | None) -> None:
        """Forget what was read before a call of `tool`, if that changes something."""
        if _changes(tool):
            self.known = {key: each for key, each in self.known.items() if _changes(each[0])}

    async def _result(self, function: Mapping[str, Any]) -> Result:
        name, arguments = function["name"], _arguments(function)
        tool = self.registry.find(name)
        if tool is None or tool.name not in self.tools:
            return failure("tool_not_found", f"There is no tool “{name[:100]}”. There are: {', '.join(self.tools)}.")
        if arguments is None:
            given = function["arguments"].replace("\0", "\ufffd")[:_LONGEST_SHOWN]
            return failure("bad_request", f"{_NO_ARGUMENTS} They were: {given}")
        seconds, stop = tool.seconds or self.seconds, Stop()
        context = self._context(stop, has_consent=self._has_consent(tool, function))
        if tool.needs_consent and not context.has_consent:
            return await own_threads().on_loop(partial(self._ask_consent, tool, arguments, context))
        self.allowed.discard(key_of(function))  # the person agreed to it once
        call = partial(call_fitted, self.registry, name, arguments, context)
        try:
            return await result_in_time(tool, call, seconds=seconds, stop=stop)
        except ToolTimeoutError as error:
            if not error.has_begun:  # it was never made
                self.known.pop(key_of(function), None)
            return failure(error.code, error.message)

    def _has_consent(self, tool: Tool, function: Mapping[str, Any]) -> bool:
        """Whether the person has agreed to the call: to this one, or to all of this tool by who answers here.

        An answer that was asked for by `ask_agent` has no consent: the person allowed the tool for what they say there
        themselves, and whoever asks may have been told to by a text.
        """
        if key_of(function) in self.allowed:
            return True
        turn = self.turn
        agent_id = turn.agent["id"] if turn.agent else None
        return not turn.query.get(AGENT_CHAIN) and turn.options.allows(tool.name, agent_id=agent_id)

    def _ask_consent(self, tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> Result:
        try:
            # The arguments stand in the proposal, and that in the result.
            check_arguments(arguments, deepest=DEEPEST_JSON - _LEVELS_OF_PROPOSAL)
            return proposals.ask_consent(self.turn, context, tool=tool.name, arguments=arguments)
        except ToolError as error:
            return failure(error.code, error.message)
        except InvalidChangeError as error:  # too many proposals are open
            return failure("consent_needed", error.message)

    def _context(self, stop: Stop, *, has_consent: bool) -> ToolContext:
        turn = self.turn
        assert turn.database is not None
        assert turn.loader is not None
        depth, chain = turn.query.get(AGENT_CHAIN) or (0, ())
        return ToolContext(
            user_email=turn.user_email,
            database=turn.database,
            services=turn.services,
            load=turn.loader,
            conversation_id=turn.conversation_id,
            message_id=turn.answer_id,
            question_index=turn.accepted.user_message_index,
            agent_id=turn.agent["id"] if turn.agent else None,
            call_depth=depth,
            agent_chain=chain,
            max_chars=max(SHORTEST_RESULT, min(LONGEST_RESULT, context_chars(turn.model) // 4)),
            may_write=turn.options.allow_writing,
            on_stop=stop.then,
            has_consent=has_consent,
            # What another agent's model wrote is no reference of the person.
            referred=frozenset() if turn.is_of_model else frozenset(turn.references),
        )

    def _ended(self, part_id: int, function: Mapping[str, Any], result: Result, *, seconds: float) -> Event:
        """Note what became of a call: for the watchers, for the store, and for the turns that come later."""
        self.turn.services.metrics.count("tool_calls", tool=self.counted.get(function["name"], ""))
        self._tell_later(function, result)
        status = "complete" if result.get("success", True) else "failed"
        if proposals.proposal_in(result) is not None:
            status, self.is_waiting = proposals.WAITING, True
            self.turn.config[AWAITS_CONSENT] = True
        # Beside the result, which models read: the page says it in the person's language.
        told = [] if status == "complete" else said((result.get("error") or {}).get("message", ""))
        more = {"said": told} if told else {}
        return self.turn.parts.replace(part_id, status=status, result=result, seconds=round(seconds, 3), **more)

    def _tell_later(self, function: Mapping[str, Any], result: Result) -> None:
        """Later turns see a line about the call."""
        self.accounts.append(account(function["name"], _arguments(function) or {}, result))
        # After a decision on them, all earlier calls are told of anew.
        before = [self.turn.called_before] if self.turn.called_before and not self.turn.is_decided else []
        self.turn.config["tools"] = "; ".join([*before, *self.accounts])[:_LONGEST_ACCOUNT]


def _order_of(tool: Tool) -> str | None:
    """What only one call may change at a time: things of the person (""), or of a foreign server, by its name.

    None for tools that only read, and for questions to agents, each of which has a conversation of its own.
    """
    return None if tool.reads_only or tool.needs_agents else tool.name.rpartition("__")[0]


def _changes(tool: Tool | None) -> bool:
    return tool is not None and not tool.reads_only


def _holds(tool: Tool | None, result: Result) -> bool:
    """Whether the same call can be answered with `result`.

    Also where it was given up and changes something: it may still be going on.
    """
    if result.get("success", True):
        return True
    return _changes(tool) and (result.get("error") or {}).get("code") == ToolTimeoutError.code


async def _repeated(made: asyncio.Future[Result]) -> Result:
    """The result of a call that changed something, for the same call after it."""
    result = await asyncio.shield(made)
    return {**result, "note": _MADE_BEFORE} if result.get("success", True) else result


def _arguments(function: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of a call; None where they are no JSON object that can be stored."""
    try:
        given = orjson.loads(function["arguments"] or "{}")
    except orjson.JSONDecodeError:
        return None
    return given if isinstance(given, dict) and problem_of_json(given) is None else None


def key_of(function: Mapping[str, Any]) -> bytes:
    """The tool and the arguments of a call: equal for the same call, however its arguments are written."""
    arguments = _arguments(function)
    return orjson.dumps(
        [function["name"], function["arguments"] if arguments is None else arguments], option=orjson.OPT_SORT_KEYS
    )


def calls_in(turn: Turn) -> list[Mapping[str, Any]]:
    """The parts of the answer that are calls."""
    return [part for part in turn.parts.stored() if part["kind"] == _PART]


def function_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """The call that a part shows, in the shape of the chat-completions API."""
    return {"name": part["name"], "arguments": orjson.dumps(part.get("arguments") or {}).decode()}
