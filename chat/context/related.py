"""What goes with a question though nobody named it: memories, earlier messages, excerpts of documents and of files.

Messages come from any of the person's conversations, but never from what the model sees of this one anyway. A message
or an excerpt has to be near to the question in meaning: a shared common word is not enough. How much of all this a
model is given depends on its window and its speed (`tokens_for_found`); of what is too long for that, it is given the
part that says most of the question.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from chat.context.gather import GatheredContext, KeepReport, fitted
from chat.context.memories import Found, embedding_model, knowledge_request, memories_among, wants_found
from chat.exchange.documents import KIND as DOCUMENT
from chat.exchange.files import KIND as FILE
from chat.exchange.report import ReportEntry, preview
from chat.exchange.turn import Turn, tracks_documents
from chat.processes.threads import in_thread
from chat.prompting.items import PkbItem, fit, render
from chat.prompting.prompt import CHARS_A_TOKEN, context_chars
from conversation_reference_utils import canonical_reference
from database.engine.clock import now
from database.engine.errors import StoreError
from database.search.findable import findable_by
from database.search.index import words
from language_models.circuit_breaker import begin, settled
from language_models.ports import EmbeddingModel
from search.embedding import query_vectors
from search.language import terms
from search.meaning import MessageVectors
from search.messages import Asking, FoundMessage, related_messages
from search.ranking import snippet
from search.relevance import unrelated_for
from search.things.files import FoundFile, reference_to, related_files
from sentences import say
from vault.documents import Excerpt

log = logging.getLogger(__name__)
_LONGEST_QUERY = 2_000
_NOTE = say("found_by_content")
_SIGNS = ("@", "#", "+", "[[")
"""What a reference begins with that a person typed."""
_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f]")
_SMALLEST_CONTEXT = 4_000
_SHARE = 4
"""What was found unasked takes this part of the room at most: the rest is for the conversation."""
_LEAST = 64
"""That part of the window is given to it however slow the model is: of a machine that is busy now, answers are late
anyway, and without what was found they would be wrong as well."""
_SEARCHING = 0.3
"""Seconds of the patience that the search itself may take, with its models loaded."""
_SHORTEST_EXCERPT = 200
"""Characters. What would have to be cut shorter is left out."""


class _Hit(NamedTuple):
    """Something that was found, and its entry in the report; memories have none."""

    item: PkbItem
    entry: ReportEntry | None = None


def found_beside(
    memories: Found,
    named: Sequence[PkbItem],
    report: Sequence[ReportEntry],
    *,
    turn: Turn,
    user_email: str,
    shown: Collection[str],
) -> Found:
    """As much as there is room for of `memories`, which were found for `turn`, and of messages and documents.

    named, report: what goes with the question anyway. shown: ids of the messages that the model sees anyway. Raises
    nothing: where a search fails, the turn goes on without what it would have found.
    """
    searched = _searched(turn, user_email=user_email, shown=shown, report=report)
    known = {item.key for item in named}
    all_kinds = ([_Hit(item) for item in memories.items], *searched)
    kinds = [[hit for hit in kind if hit.item.key not in known] for kind in all_kinds]
    # The scores of different kinds can't be compared: the best of each kind goes before the second of each.
    best_first = [hit.item for rank in zip_longest(*kinds) for hit in rank if hit is not None]
    if not best_first:
        return Found(entries=memories.entries)
    given = first_that_fit(best_first, turn, tokens=tokens_for_found(turn, beside=named))
    by_key = {item.key: item for item in given}
    hits = [
        _shortened(hit, by_key[hit.item.key], query=searched_for(turn))
        for kind in kinds
        for hit in kind
        if hit.item.key in by_key
    ]
    entries = [hit.entry for hit in hits if hit.entry is not None]
    return Found(items=[hit.item for hit in hits], entries=[*memories.entries, *entries])


class _Wanted(NamedTuple):
    """Whether earlier messages, with their files, and whether documents are searched for a turn."""

    messages: bool = False
    documents: bool = False


def _wanted(turn: Turn) -> _Wanted:
    services = turn.services
    if services.vectors is None or not wants_found(turn) or services.vectors.model() is None:
        return _Wanted()
    documents = services.documents_found > 0 and tracks_documents(turn.query, services)
    return _Wanted(messages=services.messages_found > 0, documents=documents)


def searched_for(turn: Turn) -> str:
    """The text that messages and documents are searched for: the beginning of the question, without its references."""
    return turn.clean_text[:_LONGEST_QUERY]


def _searched(
    turn: Turn, *, user_email: str, shown: Collection[str], report: Sequence[ReportEntry]
) -> list[list[_Hit]]:
    """The messages, files and documents that were found. Where the person has none, one statement says so."""
    vectors, query, wanted = turn.services.vectors, searched_for(turn), _wanted(turn)
    if vectors is None or not query or not any(wanted):
        return []
    try:
        there = findable_by(user_email, database=vectors.database, conversation_id=turn.conversation_id)
        has_messages = wanted.messages and (there.conversations or _begins_before(turn))
        messages = _messages(turn, vectors, user_email=user_email, shown=shown, report=report) if has_messages else []
        files = _files(turn, vectors, user_email=user_email, report=report) if wanted.messages and there.files else []
    except StoreError as error:
        log.warning("a turn goes on without what could be found for it: %s", error.message)
        return []
    except Exception:  # what is searched before the answer never fails a turn
        log.exception("the earlier messages that go with a message could not be searched")
        return []
    named = {str(entry.target.get("path")) for entry in report if entry.kind == DOCUMENT}
    has_documents = wanted.documents and there.documents
    documents = _documents(turn, query, user_email=user_email, named=named) if has_documents else []
    return [messages, files, documents]


def _begins_before(turn: Turn) -> bool:
    """Whether the conversation has messages before those that the model sees."""
    first = turn.history[0]["message_index"] if turn.history else turn.accepted.user_message_index
    return bool(first > 1)


def _messages(
    turn: Turn, vectors: MessageVectors, *, user_email: str, shown: Collection[str], report: Sequence[ReportEntry]
) -> list[_Hit]:
    """Messages that are neither shown to the model anyway nor part of a conversation that the message names whole."""
    whole = {
        entry.target.get("conversation_id")
        for entry in report
        if entry.kind == "conversation" and entry.status == "resolved"
    }
    found = related_messages(
        database=vectors.database,
        user_email=user_email,
        asking=Asking(text=searched_for(turn), today=now().date(), vectors=vectors),
        most=turn.services.messages_found,
        without={*shown, *turn.message_ids},
    )
    return [
        _of_message(hit) for hit in found if hit.conversation_friendly_id and hit.message.conversation_id not in whole
    ]


def _files(turn: Turn, vectors: MessageVectors, *, user_email: str, report: Sequence[ReportEntry]) -> list[_Hit]:
    """Excerpts of files of earlier messages, but of none that goes with the message anyway."""
    found = related_files(
        database=vectors.database,
        user_email=user_email,
        asking=Asking(text=searched_for(turn), today=now().date(), vectors=vectors),
        most=turn.services.messages_found,
        without=turn.message_ids,
    )
    given = {entry.target.get("attachment_id") for entry in report if entry.kind == FILE}
    return [_of_file(hit) for hit in found if hit.passage is not None and hit.use.attachment_id not in given]


def _documents(turn: Turn, query: str, *, user_email: str, named: Collection[str]) -> list[_Hit]:
    """Excerpts of documents that are not among `named`, paths of documents that the message links."""
    vaults, most = turn.services.vaults, turn.services.documents_found
    if vaults is None:
        return []
    try:
        found = vaults.of(user_email).related_excerpts(query, n=most + len(named))
    except Exception:  # a document never fails a turn
        log.exception("the documents that go with a message could not be searched")
        return []
    return [_of_excerpt(excerpt) for excerpt in found if excerpt.path not in named][:most]


def _shortened(hit: _Hit, fitted: PkbItem, *, query: str) -> _Hit:
    """The hit with as much of its text as `fitted` has, from around the place that says most of `query`."""
    (item, entry), chars = hit, len(fitted.body)
    whole = len(item.body)
    if entry is None or whole <= chars:
        return _Hit(fitted, entry)
    begin = max(0, _place(item.body, query) - chars // 4)
    begin = min(begin, whole - chars)
    begin = item.body.find(" ", begin, begin + chars // 8) + 1 or begin if begin else 0
    part = item.body[begin : begin + chars].rstrip()
    note = say("excerpt_given", shown=len(part), count=whole)
    label = f"{item.label.removesuffix(':')}, an excerpt:"
    return _Hit(
        replace(item, label=label, body=f"… {part}" if begin else part, truncated_from=whole),
        entry.marked("truncated", note),
    )


def _place(text: str, query: str) -> int:
    """Where the piece of `text` begins that says most of `query`."""
    forms = [(form,) for word in terms(words(query)) for form in sorted(word)]
    piece = snippet(text, forms, beginning=False).text.removeprefix("… ").removesuffix(" …")
    return max(0, _CONTROLS.sub(" ", text).find(piece))


def _hit(*, kind: str, key: str, label: str, text: str, ref: str, title: str, target: Mapping[str, Any]) -> _Hit:
    """Something that nobody referred to: it is reported under its name without "@" or brackets."""
    type_ = "conversation_message" if kind == "message" else kind
    item = PkbItem(source="auto", type=type_, key=key, label=label, body=text)
    entry = ReportEntry(
        ref=ref,
        kind=kind,
        status="resolved",
        notes=(_NOTE,),
        title=title,
        preview=preview(text),
        count=1,
        chars=len(text),
        target=target,
    )
    return _Hit(item, entry)


def _of_message(hit: FoundMessage) -> _Hit:
    message, name = hit.message, hit.conversation_friendly_id or ""
    sender = "You" if message.sender == "user" else "Assistant"
    told = ("conversation_id", "message_id", "message_short_hash", "sender", "created_at")
    return _hit(
        kind="message",
        key=f"message:{message.message_id}",
        label=f"from {name} #{message.index} ({sender}), {message.created_at[:10]}:",
        text=message.text,
        ref=canonical_reference(name, message.message_short_hash or message.index).removeprefix("@"),
        title=hit.conversation_title,
        target={each: getattr(message, each) for each in told} | {"message_index": message.index},
    )


def _of_file(hit: FoundFile) -> _Hit:
    use, passage = hit.use, hit.passage
    assert passage is not None  # what is found by meaning is always a passage
    ref = (reference_to(hit) or use.name).removeprefix("@")
    lines = f"lines {passage.line_start} to {passage.line_end}"
    place = lines if passage.page is None else f"page {passage.page}, {lines}"
    told = ("conversation_id", "message_id", "message_index", "message_short_hash", "attachment_id", "number")
    return _hit(
        kind=FILE,
        key=f"passage:{passage.passage_id}",
        label=f"from {use.name}, {place} ({ref}):",
        text=passage.text,
        ref=ref,
        title=use.name,
        target={each: getattr(use, each) for each in told},
    )


def _of_excerpt(excerpt: Excerpt) -> _Hit:
    """An excerpt is named by path and lines: nobody linked the document."""
    lines = f"{excerpt.line_start}-{excerpt.line_end}"
    path = f"./{excerpt.path}" if excerpt.path.startswith(_SIGNS) else excerpt.path
    return _hit(
        kind=DOCUMENT,
        key=f"excerpt:{excerpt.path}:{lines}",
        label=f"from {excerpt.path}, lines {excerpt.line_start} to {excerpt.line_end}:",
        text=excerpt.text,
        ref=f"{path}:{lines}",
        title=excerpt.title or PurePosixPath(excerpt.path).name,
        target={"path": excerpt.path, "line_start": excerpt.line_start, "line_end": excerpt.line_end},
    )


async def completed(turn: Turn, context: GatheredContext, keep: KeepReport) -> GatheredContext:
    """The context with what `context.find` finds; `keep` stores the report if there is more to tell.

    The first event of a turn never waits for the embedding model. Where the model takes too long, words alone have to
    do, and the turns that follow don't wait for it again (`language_models.circuit_breaker`).
    """
    if context.find is None:
        return context
    model = embedding_model(turn)
    if model is not None:
        # No thread of the turns waits for the model; the vectors are remembered for the searches.
        await settled(model, begin(model, _prepare, turn, model), within=turn.services.embedding_patience)
    return await in_thread(_completed, turn, context, keep)


def _completed(turn: Turn, context: GatheredContext, keep: KeepReport) -> GatheredContext:
    found = fitted(context.with_found(), max_context_chars(turn))
    if found.report != context.report:
        found.keep_with(keep)
    if memories := memories_among(found.items):
        turn.config["memories"] = memories
    return found


def _prepare(turn: Turn, model: EmbeddingModel) -> None:
    """Have the vectors made that the searches for `turn` need. Raises the errors of `language_models.errors`."""
    queries = [searched_for(turn)] if any(_wanted(turn)) else []
    if turn.services.knowledge is not None and turn.services.knowledge_limits.found:
        queries.append(knowledge_request(turn, summary=turn.summary).searched_for())
    if wanted := [query for query in dict.fromkeys(queries) if query]:
        query_vectors(model, wanted)
        unrelated_for(model)


def max_context_chars(turn: Turn) -> int:
    """How many characters of context this turn's model can take beside the question itself."""
    files = turn.files.rendered(turn.model, cap=turn.services.file_cap)
    taken = len(turn.question) + len(files) + turn.preferences.chars(turn.model) + turn.options.chars(turn.model)
    return max(_SMALLEST_CONTEXT, context_chars(turn.model) - taken)


def tokens_for_found(turn: Turn, *, beside: Sequence[PkbItem]) -> int:
    """How many tokens of what nobody named the model of `turn` is given beside these items.

    A share of what they leave of the window, and no more than the model reads within the patience of the server, by
    its measured speed; but for the little that every model is given.
    """
    left = max_context_chars(turn) - len(render(beside))
    tokens = max(0, left) // _SHARE // CHARS_A_TOKEN
    reading = turn.model.speed().reading
    if reading is None:
        return tokens
    in_time = int(max(0.0, turn.services.distill_patience - _SEARCHING) * reading)
    return min(tokens, max(in_time, turn.model.context_window // _LEAST))


def first_that_fit(items: Sequence[PkbItem], turn: Turn, *, tokens: int) -> list[PkbItem]:
    """As many of `items`, best first, as `tokens` have room for; the longest of them are cut to one common length.

    Rather than to cut an item to a few words, the last ones are left out.
    """
    kept = list(items)
    while kept:
        rendered = render(kept)
        counted = turn.model.count_tokens(rendered)
        if counted <= tokens:
            return kept
        chars = int(len(rendered) * tokens / counted)
        fitted, shortened = fit(kept, chars)
        if len(render(fitted)) <= chars and all(len(item.body) >= _SHORTEST_EXCERPT for item in shortened):
            return fitted
        kept.pop()
    return []
