"""The steps of a turn, called in order by `Conversation.reply`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from chat.context import kinds
from chat.context.activities import thread_block
from chat.context.conversations import HIDDEN, MAX_REFERENCES
from chat.context.distil import Distilled, distil, distill_budget, needs_distilling
from chat.context.gather import GatheredContext, KeepReport, document_links, gathered, stored_scope
from chat.context.kinds import ReferenceScope
from chat.context.related import completed, max_context_chars
from chat.exchange import events
from chat.exchange.documents import listed, wikilinks_of
from chat.exchange.files import READ_TOOL, attached_files, with_files
from chat.exchange.report import GIVEN, ReportEntry
from chat.exchange.turn import Turn, tracks_documents
from chat.processes.threads import in_thread, undisturbed
from chat.prompting.citing import cited_names
from chat.prompting.prompt import ContextBlock, build_prompt
from database.conversations.titles import heuristic_title
from database.engine.errors import ConflictError, NotFoundError, StorageBusyError, StoreError
from database.messages.message import Message
from database.turns.identity import FinishedTurn, RepeatedTurn
from language_models.errors import ModelUnknownError
from sentences import NOTHING, Sentence, say, says, together

from . import answering
from .accept import chars_of_history
from .answering import Drafts
from .history import History
from .titles import make_title

log = logging.getLogger(__name__)
GoOn = Callable[[Turn, str | None], FinishedTurn]
"""Stores the answer of a turn, and title if it has none yet, and begins the next answer; returns the turn with that."""

_CITABLE = frozenset({"activity", "message"})
_LISTED_CHARS = 2_000
_TITLE_AFTER = 2.0
_BUSY_TRIES = 30
_KEPT = say("kept")
_INTERRUPTIONS = {"interrupted": say("server_stopped"), "storage_failed": say("not_stored")}


def messages_before(turn: Turn, history: History) -> Sequence[Message]:
    """The newest messages before the question that its model may be given, in order."""
    accepted = turn.accepted
    if accepted.first_turn:
        return []
    recent = history.last_messages(
        max_chars=chars_of_history(turn.model), before=accepted.user_message_index, read=accepted.said_before
    )
    own = {accepted.user_message_id, accepted.response_message_id}
    return [message for message in recent if message["message_id"] not in own]


def with_files_read(turn: Turn, history: Sequence[Message]) -> Sequence[Message]:
    """Read the files attached to the question; returns the history with what the model gets of its messages' files."""
    accepted, services = turn.accepted, turn.services
    who: Mapping[str, Any] = {
        "user_email": turn.user_email,
        "services": services,
        "friendly_id": accepted.conversation_friendly_id,
    }
    turn.files = attached_files(accepted.files, short_hash=accepted.user_message_short_hash, **who)
    if not any(message.get("files") for message in history):
        return history
    can_read = services.tools is not None and services.tools.offers(turn, READ_TOOL)
    return with_files(history, model=turn.model, can_read=can_read, **who)


def _plan_title(turn: Turn) -> None:
    """Request the title of a new conversation once the answer is well under way.

    The title is shown at the end of the answer: the first words of this answer, and of others, take precedence.
    """
    turn.title_due = asyncio.get_running_loop().call_later(_TITLE_AFTER, _begin_title, turn)


def _begin_title(turn: Turn) -> asyncio.Task[str]:
    """The task that makes the title; started by this call if it was not running."""
    if turn.title is None:
        turn.title = asyncio.create_task(_title(turn))
    return turn.title


async def _title(turn: Turn) -> str:
    return await make_title(turn.words_for_title, model=turn.services.models.cheap(), services=turn.services)


def _needs_title(turn: Turn) -> bool:
    return turn.accepted.kept and not turn.accepted.conversation_friendly_id


async def chosen_title(turn: Turn) -> str | None:
    """Wait for the title until its deadline; a stopped turn does not wait."""
    if not _needs_title(turn):
        return None
    if turn.title_due is None:
        return heuristic_title(turn.words_for_title)
    turn.title_due.cancel()
    if turn.status != "complete" and (turn.title is None or not turn.title.done()):
        if turn.title is not None:
            turn.title.cancel()
        return heuristic_title(turn.words_for_title)
    title = _begin_title(turn)
    try:
        return await title
    except asyncio.CancelledError:
        _go_on()  # stopped while only the title was missing: the answer is whole
        return heuristic_title(turn.words_for_title)
    except Exception:
        log.exception("the title could not be made")
        return heuristic_title(turn.words_for_title)


async def flushed(turn: Turn) -> None:
    """Wait until all events so far are stored. If storing failed, watchers have been told, and the status agrees.

    A request to stop the turn comes too late here: only storing is left.
    """
    if turn.flush is not None and not await undisturbed(turn.flush()):
        turn.status = "interrupted"
        turn.config["error"] = events.failure("storage_failed", together(_INTERRUPTIONS["storage_failed"], _KEPT))


async def stored(finish: Callable[[Turn, str | None], FinishedTurn], turn: Turn, title: str | None) -> FinishedTurn:
    """Store the finished turn and return it; retried while another program holds the store."""
    for _ in range(_BUSY_TRIES):
        try:
            return await in_thread(finish, turn, title)
        except StorageBusyError as error:
            log.warning("the turn %s waits to be stored: %s", turn.answer_id, error)
    return await in_thread(finish, turn, title)


def keep_report(
    turn: Turn, history: History, report: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Store what became of the references: where a server stores the events, together with the next one.

    So the model is not asked later for it, and nobody is told of a report that is not stored. Where a process dies
    before, the report is made again when its turns are closed.
    """
    if turn.flush is None or not turn.accepted.kept:
        history.store_report(turn.accepted.user_message_id, report, documents)
        return
    turn.writes.append(history.report_write(turn.accepted.user_message_id, report, documents))


async def distilled(turn: Turn, context: GatheredContext) -> Distilled:
    """The context for the prompt, condensed if it is over its budget."""
    if not context.items or not needs_distilling(context.items, model=turn.model, services=turn.services):
        return Distilled(items=context.items)
    cheap = turn.services.models.cheap()
    return await distil(
        context.items,
        query=turn.words,
        preferences=turn.preferences.text(cheap),
        user_memory=turn.summary,
        model=cheap,
        services=turn.services,
        budget=distill_budget(model=turn.model, services=turn.services),
    )


@dataclass(slots=True, kw_only=True)
class AnswerContext:
    """What the answers of a turn rest on, gathered for the models that answer.

    keep: stores its report. gather: gathers it for those that answer now.
    """

    context: GatheredContext
    keep: KeepReport
    gather: Callable[[], GatheredContext]

    async def renew(self, turn: Turn) -> AsyncIterator[events.Event]:
        """Gather the context again: other models see other pictures, and have other windows."""
        told = self.context.report
        gathering = await gathered(turn, self.gather, self.keep)
        self.context = await completed(turn, gathering.go_on(), self.keep)
        if self.context.report != told:
            yield events.references(self.context.report_dicts())


async def answer(turn: Turn, found: Distilled, rest_on: AnswerContext) -> AsyncIterator[events.Event]:
    """Stream the main model's answer. found: the context as it goes into the prompt."""
    context = rest_on.context

    def prompt(block: ContextBlock, share: float) -> list[Any]:
        return build_prompt(
            question=turn.question,
            documents=listed(turn.earlier_documents, max_chars=_LISTED_CHARS),
            context=block,
            history=turn.history,
            summary=turn.summary,
            instructions=turn.options.instructions(turn.model),
            preferences=turn.preferences.text(turn.model),
            model=turn.model,
            share=share,
            given=turn.given,
            marks=turn.marks,
            thread=turn.thread,
            files=turn.files.rendered(turn.model, cap=turn.services.file_cap, share=share),
            pictures=turn.files.pictures(turn.model, context.items),
            # After a decision on its calls, the model is told of them instead.
            continued="" if turn.is_decided else turn.continued,
        )

    drafts = Drafts(
        turn=turn,
        found=found,
        context=context,
        make=prompt,
        keep=rest_on.keep,
        max_chars=partial(max_context_chars, turn),
    )
    async for event in answering.answer(turn, drafts):
        yield event


async def answers(turn: Turn, rest_on: AnswerContext, *, go_on: GoOn) -> AsyncIterator[events.Event]:
    """Stream the answers of the turn: one, or that of each of `turn.answerers`, who see what the others said before.

    go_on: ends an answer and begins the next one.
    """
    if turn.accepted.thread_id is not None:
        turn.thread = await in_thread(thread_block, turn)
    if turn.answerers:
        yield _told_answer(turn, short_id=turn.answer_short_id)
    needs_title = _needs_title(turn)
    while True:
        async for event in _one_answer(turn, rest_on):
            if needs_title and turn.title_due is None:
                _plan_title(turn)
            yield event if "references" in event else turn.of_answer(event)
        cited = await documents_cited(turn)
        if cited is not None:
            yield turn.of_answer(cited)
        await note_cited(turn)
        begun = await next_answer(turn, go_on)
        if begun is None:
            return
        yield begun


async def _one_answer(turn: Turn, rest_on: AnswerContext) -> AsyncIterator[events.Event]:
    if turn.waits:
        yield turn.note(turn.notice)
        return
    found = await distilled(turn, rest_on.context)
    for event in _told_before(turn, found, rest_on.context.report):
        yield event
    try:
        async for event in answer(turn, found, rest_on):
            yield event
    except ModelUnknownError:
        if not turn.has_own_model:
            raise
        async for event in _answer_instead(turn, rest_on):
            yield event


async def _answer_instead(turn: Turn, rest_on: AnswerContext) -> AsyncIterator[events.Event]:
    """Stream the answer of the main model, in the place of one that is not to be had any more.

    What is gathered for this model is for its answer alone: models that answer after it have windows of their own.
    """
    of_others = rest_on.context, turn.history
    yield answering.fall_back(turn)
    async for event in rest_on.renew(turn):
        yield event
    found = await distilled(turn, rest_on.context)
    if found.note:
        yield events.status(found.note)
    async for event in answer(turn, found, rest_on):
        yield event
    rest_on.context, turn.history = of_others


async def next_answer(turn: Turn, go_on: GoOn) -> events.Event | None:
    """End this answer and begin the next answerer's; returns the event that says so, None after the last answerer."""
    if not turn.accepted.kept or turn.answering + 1 >= len(turn.answerers):
        return None
    stops: list[asyncio.CancelledError] = []
    beginning = asyncio.ensure_future(_begun(turn, go_on, stops))
    try:
        begun = await asyncio.shield(beginning)
    except asyncio.CancelledError as stop:
        _go_on()
        stops.append(stop)
        begun = await undisturbed(beginning)
    if begun is None:
        return None
    turn.begin_next(begun.response_message_id, short_id=begun.response_short_id)
    task = asyncio.current_task()
    if stops and task is not None:
        task.cancel(*stops[0].args)  # it stops the answer that has just begun
    return _told_answer(turn, short_id=turn.answer_short_id)


async def _begun(turn: Turn, go_on: GoOn, stops: Sequence[object]) -> FinishedTurn | None:
    """Begin the next answer of the turn; None if the turn was stopped, or its question was deleted meanwhile."""
    named = await chosen_title(turn)
    await flushed(turn)
    if stops or turn.status != "complete":
        return None
    try:
        return await stored(go_on, turn, named)
    except (NotFoundError, ConflictError) as error:
        log.info("the turn %s has no further answers: %s", turn.answer_id, error)
        return None


async def documents_cited(turn: Turn) -> events.Event | None:
    """Note the documents that the answer links; the event that tells of them. Raises nothing but a cancellation."""
    if not tracks_documents(turn.query, turn.services) or not ("[[" in turn.answer_text or turn.documents.stored()):
        return None
    is_new = await in_thread(_cite, turn)
    return events.documents(turn.documents.stored()) if is_new else None


def _cite(turn: Turn) -> bool:
    vault = document_links(turn.user_email, services=turn.services)
    linked = wikilinks_of(turn.answer_text)[:MAX_REFERENCES]
    is_new = turn.documents.add(vault.resolved(linked)) if linked else False
    return turn.documents.summarise(vault.summary) or is_new


async def note_cited(turn: Turn) -> None:
    """Note the activities and messages that the answer cites by `#id`. Raises nothing but a cancellation."""
    names = cited_names(turn.answer_text) if "#" in turn.answer_text else []
    if names and turn.database is not None and turn.loader is not None:
        scope = partial(stored_scope, turn.user_email, database=turn.database, loader=turn.loader)
        turn.cited = await in_thread(
            cited_entries, names, partial(scope, services=turn.services, here=turn.conversation_id)
        )


def cited_entries(names: Sequence[str], make_scope: Callable[[], ReferenceScope]) -> list[dict[str, Any]]:
    """What an answer cites by these names, as entries of a report; colours are left out. Raises nothing."""
    try:
        found = kinds.resolve(names, make_scope())
    except Exception:  # a citation never fails a turn
        log.exception("what an answer cites could not be looked up")
        return []
    entries = [resolution.entry for resolution in found]
    return [entry.as_dict() for entry in entries if entry.status in GIVEN and entry.kind in _CITABLE]


def _told_answer(turn: Turn, *, short_id: str) -> events.Event:
    """The event that begins an answer of a turn with several."""
    return turn.of_answer(events.answer(message_id=turn.answer_id, short_id=short_id, agent=turn.agent))


def _told_before(turn: Turn, found: Distilled, report: Sequence[ReportEntry]) -> Iterator[events.Event]:
    """The events before the first word: notices about this answer, and the earlier text of a continued answer."""
    if found.note:
        yield events.status(found.note)
    if turn.notice:
        yield turn.note(turn.notice)
    if not turn.preferences.fit(turn.model):
        yield events.status(say("preferences_cut"))
    if not turn.options.fit(turn.model):
        yield turn.note(say("system_prompt_cut"))
    if turn.continued or turn.is_decided:
        yield from turn.parts.told()
    if turn.continued:
        yield events.text(turn.continued)
    if hidden := asked_for_hidden(report):
        yield turn.note(hidden)


def asked_for_hidden(report: Sequence[ReportEntry]) -> Sentence:
    """What an answer says where a model's question refers to messages that the person hid; "" for none."""
    refs = [entry.ref for entry in report if any(says(note, HIDDEN) for note in entry.notes)]
    return say("asked_for_hidden", refs=", ".join(refs)) if refs else NOTHING


def failed(turn: Turn, code: str, message: str) -> events.Event:
    """Record that the model failed; the text so far is kept."""
    turn.status = "failed"
    turn.config["error"] = events.failure(code, message)
    turn.services.metrics.count("model_failures", job="answer")
    log.warning("no answer from %s: %s", turn.model.name, message)
    return events.error(code=code, message=message)


def stopped(turn: Turn, stop: asyncio.CancelledError) -> events.Event:
    """Record that a person or the server's shutdown stopped the answer; the task continues, to store the text."""
    _go_on()
    why = str(stop.args[0]) if stop.args else ""
    fate = _KEPT if turn.accepted.kept else say("not_kept")
    if why in _INTERRUPTIONS:
        turn.status = "interrupted"
        message = together(_INTERRUPTIONS[why], fate)
        turn.config["error"] = events.failure(why, message)
        return events.error(code=why, message=message)
    turn.status = "cancelled"
    return events.status(together(say("stopped"), fate))


def _go_on() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def broken(turn: Turn, error: Exception) -> events.Event:
    """Record an internal error: the log gets the traceback, the person one sentence."""
    code = "internal_error"
    message: str = say("fault")
    if isinstance(error, NotFoundError):
        code, message = "conversation_not_found", say("deleted_before_asked")
        log.info("the turn %s has no conversation any more: %s", turn.answer_id, error)
    else:
        log.error("the turn %s failed", turn.answer_id, exc_info=error)
        if isinstance(error, StoreError):
            code, message = "storage_failed", error.message
    turn.status = "failed"
    turn.config["error"] = events.failure(code, message)
    return events.error(code=code, message=message)


def renamed(turn: Turn, finished: FinishedTurn) -> bool:
    """Whether this turn made the title or the friendly id."""
    before = (turn.accepted.title, turn.accepted.conversation_friendly_id)
    return before != (finished.title, finished.conversation_friendly_id)


def summary_before(turn: Turn, history: History) -> str:
    """The running summary; empty if it covers messages after a question that is answered again."""
    if isinstance(turn.accepted, RepeatedTurn) and history.count_summarised() >= turn.accepted.user_message_index:
        return ""
    return str(history.memory()["running_summary"])


def message_ids_of(messages: Sequence[Mapping[str, Any]], *, query: str | None, response: str | None) -> dict[str, Any]:
    """The identifiers of the newest turn with this question and answer (None: any); {} where there is none."""
    turns = [
        (question, answer)
        for question, answer in pairwise(messages)
        if (question["sender"], answer["sender"]) == ("user", "model")
        and query in {None, question["text"]}
        and response in {None, answer["text"]}
    ]
    if not turns:
        return {}
    fields = ("message_id", "message_short_hash", "message_index", "short_id")
    question, answer = turns[-1]
    asked = {f"user_{field}": question[field] for field in fields}
    return asked | {f"response_{field}": answer[field] for field in fields}
