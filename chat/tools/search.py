"""Tools that search a person's messages, memories, conversations and documents."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from chat.context.knowledge import knowledge_in
from conversation_reference_utils import canonical_reference
from database.engine.clock import now
from search.messages import Asking, FoundMessage, ShownMessage
from search.messages import search_messages as find_messages
from search.patterns import LONGEST_PATTERN, Deadline, InvalidPatternError, PatternMatch, find_pattern
from search.query import conversation_name, parse_query, require_day
from search.things.files import FileUse, FoundFile, find_files, reference_to
from truth_management_system import Claim, StructuredAPI

from .documents import matching_lines, suggested_range
from .registry import ToolContext, ToolError, tool

_LONGEST_QUERY = 2_000
_FILES = 3


Query = Annotated[
    str, Field(min_length=1, max_length=_LONGEST_QUERY, description="Words, or a question in your own words.")
]
Limit = Annotated[int, Field(ge=1, le=100)]
Day = Annotated[str, Field(max_length=10, description="A day, month or year: 2026-02-08."), AfterValidator(require_day)]
SearchIn = Literal["title", "content", "both"]
ContentType = Literal["documents", "conversations"]


class PatternError(ToolError):
    """A regular expression that can't be used."""


@tool()
def search_messages(
    context: ToolContext,
    *,
    query: Query,
    limit: Limit = 10,
    conversation: Annotated[
        str | None, Field(min_length=1, max_length=400, description="Only in this conversation: id or friendly id.")
    ] = None,
    before: Day | None = None,
    after: Day | None = None,
) -> dict[str, Any]:
    """Search all that the person and the models have said, and their files, by words and meaning; with references."""
    vectors = context.services.vectors
    wanted: dict[str, Any] = {
        **context.own,
        "query": parse_query(query).narrowed(
            conversation=conversation_name(conversation) if conversation else None, before=before, after=after
        ),
        "mode": "auto" if vectors is not None else "words",
        "asking": Asking(text=query, today=now().date(), vectors=vectors) if vectors is not None else None,
        "shows_hidden": False,
    }
    # The message that is being answered says the words that it has searched for.
    found = find_messages(**wanted, limit=limit + 1)
    hits = [hit for hit in found.messages if not _is_being_answered(hit.message, context)]
    in_files = find_files(**wanted, most=2 * _FILES).files if limit > _FILES else []
    files = [hit for hit in in_files if not _is_being_answered(hit.use, context)][:_FILES]
    shown = hits[: limit - len(files)]
    is_cut = found.next is not None or len(hits) > len(shown)
    results = [*map(_message, shown), *map(_file, files)]
    told = {"success": True, "results": results, "truncated": is_cut}
    return {**told, "warnings": found.warnings} if found.warnings else told


@tool()
def search_memories(
    context: ToolContext, *, query: Query, limit: Limit = 10, before: Day | None = None, after: Day | None = None
) -> dict[str, Any]:
    """Search what is remembered about the person, by words and by meaning; each with the reference to cite."""
    filters = {name: day for name, day in (("created_after", after), ("created_before", before)) if day is not None}
    found = memories_of(context).search(query, k=limit + 1, filters=filters)
    if not found.success:
        raise found.metadata["error"]
    claims = [result.claim for result in found.data]
    return {
        "success": True,
        "results": [_memory(claim) for claim in claims[:limit]],
        "truncated": len(claims) > limit,
    }


@tool(aliases=("search_pages",), ignores=("pageId", "driveId", "title"))
def regex_search(
    context: ToolContext,
    *,
    pattern: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_PATTERN, description="A regular expression (RE2)."),
    ],
    search_in: Annotated[SearchIn, Field(alias="searchIn")] = "both",
    max_results: Annotated[int, Field(alias="maxResults", ge=1, le=100)] = 50,
    content_types: Annotated[
        list[ContentType], Field(alias="contentTypes", min_length=1, max_length=2, description="What is searched.")
    ] = ["documents", "conversations"],  # noqa: B006 - pydantic copies it for each call
) -> dict[str, Any]:
    """Find titles, messages and lines of documents that match a regular expression."""
    matches, is_partial, deadline = list[dict[str, Any]](), False, Deadline()
    try:
        if "conversations" in content_types:
            found = find_pattern(
                pattern,
                **context.own,
                titles=search_in != "content",
                contents=search_in != "title",
                limit=max_results,
                deadline=deadline,
            )
            matches, is_partial = [_matched(match) for match in found.matches], found.is_partial
        if "documents" in content_types and context.services.vaults is not None:
            lines = matching_lines(
                context, pattern, titles=search_in != "content", contents=search_in != "title", deadline=deadline
            )
            documents = list(islice(lines, max_results + 1))
            is_partial |= None in documents or len(matches) + len(documents) > max_results
            # The half of the room for each, unless the other leaves some.
            matches = _shared_out([each for each in documents if each is not None], matches, most=max_results)
    except InvalidPatternError as error:
        raise PatternError(error.message) from error
    return {"success": True, "matches": matches, "truncated": is_partial}


def memories_of(context: ToolContext) -> StructuredAPI:
    """What is remembered about the person. Raises KnowledgeUnavailableError."""
    door = context.services.knowledge or knowledge_in(context.database.folder)
    return door.for_user(context.user_email)


def _shared_out(documents: list[dict[str, Any]], others: list[dict[str, Any]], *, most: int) -> list[dict[str, Any]]:
    kept = max(most - len(others), min(len(documents), most // 2))
    return [*documents[:kept], *others[: most - min(kept, len(documents))]]


def _is_being_answered(found: ShownMessage | FileUse, context: ToolContext) -> bool:
    if context.question_index is None or found.conversation_id != context.conversation_id:
        return False
    index = found.message_index if isinstance(found, FileUse) else found.index
    return index >= context.question_index


def _message(hit: FoundMessage) -> dict[str, Any]:
    message, name = hit.message, hit.conversation_friendly_id
    return {
        "reference": canonical_reference(name, message.message_short_hash or message.index) if name else None,
        "title": hit.conversation_title,
        "conversationId": message.conversation_id,
        "lineNumber": message.index,
        "sender": "user" if message.sender == "user" else "assistant",
        "date": message.created_at,
        "text": hit.snippet.text,
    }


def _file(hit: FoundFile) -> dict[str, Any]:
    use = hit.use
    return {
        "reference": reference_to(hit),
        "file": use.name,
        "title": use.conversation_title,
        "conversationId": use.conversation_id,
        "lineNumber": use.message_index,
        "sender": "user" if use.sender == "user" else "assistant",
        "date": use.created_at,
        "text": hit.snippet.text,
    }


def _memory(claim: Claim) -> dict[str, Any]:
    return {
        "reference": f"@{claim.friendly_id}",
        "statement": claim.statement,
        "type": claim.claim_type,
        "domain": claim.context_domain,
        "date": claim.created_at,
    }


def _matched(match: PatternMatch) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "conversation",
        "title": match.title,
        "conversationId": match.conversation_id,
        "lineNumber": match.index,
        "matchPreview": match.preview,
        "suggestedLineRange": suggested_range(match.index, total=match.message_count),
    }
    if not match.friendly_id:
        return {**told, "reference": None}
    if match.identifier is None:
        return {**told, "reference": f"@conversation_{match.friendly_id}"}
    return {**told, "reference": canonical_reference(match.friendly_id, match.identifier)}
