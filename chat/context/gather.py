"""Gathering what a turn can rely on, and the report of its references, whatever happens to the turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from chat.exchange.documents import (
    MAX_DOCUMENTS,
    DocumentLinks,
    DocumentReference,
    documents_in,
    each_once,
    written,
)
from chat.exchange.files import PictureRoom, files_of_message
from chat.exchange.ports import ConversationLoader, ReferenceCaps, TurnServices
from chat.exchange.report import ReportEntry
from chat.exchange.turn import Turn
from chat.processes.threads import in_thread, to_its_end
from chat.prompting.items import PkbItem, fit, merge, render
from database.engine.database import Database
from database.history.references import NamedConversation, conversations_by_friendly_id
from sentences import Sentence, say, says

from . import kinds
from .conversations import MAX_REFERENCES, ConversationReferences, FriendlyIdLookup, RunningTurn
from .kinds import ReferenceScope
from .memories import (
    WHOLE,
    Found,
    Knowledge,
    KnowledgeRequest,
    knowledge_of,
    left_out,
    memories_among,
    unavailable,
    wants_found,
)

log = logging.getLogger(__name__)
Find = Callable[["GatheredContext"], Found]
"""Searches what goes with a message beside what was gathered for it; it may wait for an embedding model."""
FoundBeside = Callable[[Found, Sequence[PkbItem], Sequence[ReportEntry]], Found]
"""The memories that were found, the items and the report of what goes with a message anyway → what else does."""

_CUT_TO_FIT = "cut_to_fit"


KeepReport = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], None]
"""Stores what became of the references of a turn's question: the report, and the documents in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredContext:
    """What was found: items in order of priority, each once, and the fate of each reference.

    find: looks for what goes with the message unasked; None: that was done, or nobody wants it.
    """

    items: tuple[PkbItem, ...] = ()
    report: tuple[ReportEntry, ...] = ()
    find: Find | None = None

    def rendered(self) -> str:
        """The items as `<pkb_item>` elements."""
        return render(self.items)

    def report_dicts(self) -> list[dict[str, Any]]:
        """The report as sent and stored."""
        return [entry.as_dict() for entry in self.report]

    def with_found(self) -> GatheredContext:
        """The same, with what `find` finds."""
        if self.find is None:
            return self
        found = self.find(self)
        return GatheredContext(
            items=tuple(merge([*self.items, *found.items])),
            report=(*self.report, *(entry for entry in found.entries if entry not in self.report)),
        )

    def documents(self) -> list[DocumentReference]:
        """The documents of the vault that were named, in order."""
        return documents_in(self.report)

    def keep_with(self, keep: KeepReport) -> None:
        """Store the report, and the documents in it, by `keep`."""
        keep(self.report_dicts(), [document.as_dict() for document in self.documents()])


def gather(
    references: Sequence[str],
    *,
    scope: ReferenceScope,
    request: KnowledgeRequest | None = None,
    found_beside: FoundBeside | None = None,
    max_chars: int | None = None,
) -> GatheredContext:
    """Resolve `references`, each once, in the order given: friendly ids without "@", wikilinks with their brackets.

    request: what else the message wants of the knowledge base. found_beside: adds what else is found for it to the
    memories that were found, and bounds it all; None: memories alone. max_chars bounds the items together; the longest
    are cut first, and the report says so.
    """
    request = request or KnowledgeRequest()
    knowledge = scope.knowledge
    wanted = [reference for reference in dict.fromkeys(references) if reference]
    followed = wanted[:MAX_REFERENCES]
    resolutions, documents_beyond = each_once(kinds.resolve(followed, scope))
    beside = knowledge.beside(request)
    resolutions += knowledge.resolve_claim_ids(list(dict.fromkeys(request.claim_ids))[:MAX_REFERENCES])
    report = [resolution.entry for resolution in resolutions]
    told = {entry.ref for entry in report}
    report += [entry for entry in beside.entries if entry.ref not in told]
    if len(wanted) > len(followed):
        report.append(_beyond_the_limit(len(wanted) - len(followed)))
    if documents_beyond:
        report.append(_beyond_the_limit(documents_beyond, kind="document", most=MAX_DOCUMENTS))
    named = [item for resolution in resolutions for item in resolution.items]
    context = GatheredContext(
        items=tuple(merge([*named, *beside.items])),
        report=tuple(report),
        find=partial(_found, knowledge, request, found_beside),
    )
    context = context if request.finds_later else context.with_found()
    return context if max_chars is None else fitted(context, max_chars)


def _found(
    knowledge: Knowledge, request: KnowledgeRequest, beside: FoundBeside | None, context: GatheredContext
) -> Found:
    """What goes with a message beside what was gathered for it."""
    memories = knowledge.found(request)
    return memories if beside is None else beside(memories, context.items, context.report)


def unresolved(references: Sequence[str], claim_ids: Sequence[str] = (), *, note: Sentence) -> GatheredContext:
    """Each of the references that `gather` would have followed, as one that could not be looked up; `note` says why."""
    wanted = [reference for reference in dict.fromkeys(references) if reference]
    report = [
        ReportEntry(ref=written(ref), kind=kinds.kind_by_form(ref), status="unavailable", notes=(note,))
        for ref in wanted[:MAX_REFERENCES]
    ]
    report += [unavailable(f"@memory:{claim_id}", note) for claim_id in list(dict.fromkeys(claim_ids))[:MAX_REFERENCES]]
    if len(wanted) > MAX_REFERENCES:
        report.append(_beyond_the_limit(len(wanted) - MAX_REFERENCES))
    return GatheredContext(report=tuple(report))


def _beyond_the_limit(count: int, *, kind: str = "message", most: int = MAX_REFERENCES) -> ReportEntry:
    return ReportEntry(
        ref=f"+{count:,}",
        kind=kind,
        status="unavailable",
        count=count,
        notes=(say("too_many_references", count=count, most=most),),
    )


def fitted(context: GatheredContext, max_chars: int) -> GatheredContext:
    """The named items, cut where they must be, and as many of the others as fit beside them; the report says both."""
    named = [item for item in context.items if item.source == "referenced"]
    kept, shortened = fit(named, max_chars)
    beside = [item for item in context.items if item.source != "referenced"]
    others = _that_fit(beside, max_chars - len(render(kept)))
    cut_refs = {ref for item in shortened for ref in item.refs}
    note = say(_CUT_TO_FIT, characters=max_chars)
    report = [_cut_anew(entry, note) if entry.ref in cut_refs else entry for entry in context.report]
    dropped = len(beside) - len(others)
    if dropped:
        # Of what stands for all memories together, that alone which was left out before has a count.
        dropped += sum(entry.count for entry in report if entry.ref == WHOLE)
        report = [entry for entry in report if entry.ref != WHOLE or not entry.count]
        report.append(replace(left_out(dropped), count=dropped))
    return GatheredContext(items=(*kept, *others), report=tuple(report), find=context.find)


def _cut_anew(entry: ReportEntry, note: Sentence) -> ReportEntry:
    notes = tuple(earlier for earlier in entry.notes if not says(earlier, _CUT_TO_FIT))
    return replace(entry, notes=notes).marked("truncated", note)


def _that_fit(items: Sequence[PkbItem], chars: int) -> list[PkbItem]:
    kept: list[PkbItem] = []
    for item in items:
        chars -= len(render([item])) + 1
        if chars < 0:
            break
        kept.append(item)
    return kept


def resolve_report(
    references: Sequence[str],
    *,
    user_email: str,
    database: Database,
    loader: ConversationLoader,
    claim_ids: Sequence[str] = (),
    services: TurnServices | None = None,
    here: str | None = None,
    room: PictureRoom | None = None,
) -> list[dict[str, Any]]:
    """The report entries that a message with these `references` (without "@") and claim ids would get.

    here: the conversation in which it would be written. room: for pictures; None: nobody sees them.
    """
    scope = stored_scope(user_email, database=database, loader=loader, services=services, here=here, room=room)
    return gather(references, scope=scope, request=KnowledgeRequest(claim_ids=claim_ids)).report_dicts()


def stored_scope(
    user_email: str,
    *,
    database: Database,
    loader: ConversationLoader,
    services: TurnServices | None,
    here: str | None = None,
    shows_hidden: bool = True,
    room: PictureRoom | None = None,
    gives_documents: bool = False,
) -> ReferenceScope:
    """What `user_email` can name in `database`. here: the conversation in which they do.

    shows_hidden: also the texts of messages that they hid from models. room: for pictures; None: nobody sees them.
    gives_documents: the texts of linked documents go along, for a model that can't open them.
    """
    caps = services.caps if services is not None else ReferenceCaps()
    lookup = stored_lookup(database, user_email)
    conversations = ConversationReferences(lookup=lookup, load=loader, caps=caps, here=here, shows_hidden=shows_hidden)
    conversations.running = RunningTurn(is_given_documents=gives_documents)
    return scope_of(user_email, database=database, conversations=conversations, services=services, room=room)


def scope_of(
    user_email: str,
    *,
    database: Database | None,
    conversations: ConversationReferences,
    services: TurnServices | None,
    room: PictureRoom | None = None,
) -> ReferenceScope:
    """What `user_email` can name, the conversations given.

    room: for pictures, instead of that of the running turn; None: nobody else sees them.
    """
    word_for_word = conversations.running.is_given_documents
    attachments = None if services is None else services.attachments
    own: dict[str, Any] = {"user_email": user_email, "attachments": attachments, "cap": conversations.caps.message}
    room = room or conversations.running.room_for_pictures
    conversations.open_files = partial(files_of_message, **own, room=room)
    recipes = {} if services is None else {"recipes": services.recipes}
    return ReferenceScope(
        user_email=user_email,
        database=database,
        conversations=conversations,
        knowledge=knowledge_of(user_email, database=database, services=services),
        documents=document_links(user_email, services=services, word_for_word=word_for_word),
        attachments=attachments,
        room_for_pictures=room,
        **recipes,
    )


def document_links(user_email: str, *, services: TurnServices | None, word_for_word: bool = False) -> DocumentLinks:
    """What `user_email` can link in their vault. word_for_word: what is linked goes with the message itself."""
    if services is None or services.vaults is None:
        return DocumentLinks()
    opening = partial(services.vaults.of, user_email)
    return DocumentLinks(open_vault=opening, word_for_word=word_for_word, cap=services.caps.message)


def stored_lookup(database: Database, user_email: str) -> FriendlyIdLookup:
    """A lookup of friendly ids among the stored conversations of `user_email`."""

    def lookup(friendly_ids: Sequence[str]) -> Mapping[str, NamedConversation]:
        return conversations_by_friendly_id(database=database, user_email=user_email, friendly_ids=friendly_ids)

    return lookup


_PATIENCE = 1.5
"""Seconds that whoever stops an answer waits for its references; a search may hang at a model for longer."""
_STOPPED = say("stopped_before_lookup")
_BROKEN = say("lookup_fault")


def running(turn: Turn) -> RunningTurn:
    """What of a conversation is no part of what `turn` may refer to."""
    return RunningTurn(
        message_ids=turn.message_ids,
        chars=len(turn.text),
        is_given_documents=not turn.opens_documents,
        is_of_model=turn.is_of_model,
        room_for_pictures=turn.files.room_for_pictures(turn.answering_models),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """What was gathered. failure: what keeps the turn from going on once its report was told."""

    context: GatheredContext = GatheredContext()
    failure: BaseException | None = None

    def go_on(self) -> GatheredContext:
        """The context; raises `failure`."""
        if self.failure is not None:
            raise self.failure
        return self.context


def nothing_to_gather(turn: Turn, *, user_email: str) -> bool:
    """Whether a turn names nothing, and nothing could be found for it. Waits for no model and opens no store."""
    services = turn.services
    if turn.references or turn.claim_ids or turn.accepted.files or turn.query.get("attached_claim_ids"):
        return False
    if not wants_found(turn):
        return True
    finds_messages = services.vectors is not None and services.vectors.model() is not None
    return not finds_messages and services.knowledge is not None and services.knowledge.is_empty(user_email)


async def gathered(turn: Turn, gather: Callable[[], GatheredContext], keep: KeepReport) -> Gathering:
    """The result of `gather`, its report stored by `keep`. If `gather` fails, every reference is unavailable.

    A turn that is cancelled meanwhile still waits for the result, for at most `_PATIENCE` seconds. Raises nothing: see
    `Gathering.failure`.
    """
    # One job for both: handing work to a thread costs more than most of this work.
    work, stop = await to_its_end(in_thread(_gathered, turn, gather, keep), patience=_PATIENCE)
    if not work.cancelled():
        result = work.result()
        return Gathering(context=result.context, failure=result.failure or stop)
    context = unresolved(turn.references, turn.claim_ids, note=_STOPPED)
    return Gathering(context=context, failure=await in_thread(_kept, context, keep) or stop)


def _gathered(turn: Turn, gather: Callable[[], GatheredContext], keep: KeepReport) -> Gathering:
    try:
        context = _with_files(turn, gather())
    except Exception as error:  # noqa: BLE001 - the turn ends with it after the report was sent
        context = unresolved(turn.references, turn.claim_ids, note=_BROKEN)
        _kept(context, keep)
        return Gathering(context=context, failure=error)
    turn.named_documents = context.documents()
    memories = memories_among(context.items)
    if memories:
        turn.config["memories"] = memories
    return Gathering(context=context, failure=_kept(context, keep))


def _with_files(turn: Turn, context: GatheredContext) -> GatheredContext:
    """The context, its report with the fate of each attached file."""
    told = turn.files.report(turn.answering_models(), cap=turn.services.file_cap)
    return replace(context, report=(*context.report, *told)) if told else context


def _kept(context: GatheredContext, keep: KeepReport) -> Exception | None:
    """Store the report; returns the error if that fails."""
    try:
        if context.report:
            context.keep_with(keep)
    except Exception as error:  # noqa: BLE001 - the caller raises it later
        log.info("the report was not stored: %s", error)
        return error
    return None
