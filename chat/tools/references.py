"""The tools that look a reference up, and read the file that one names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from chat.context.gather import gather, stored_scope
from chat.context.kinds import ReferenceScope
from chat.context.memories import KnowledgeRequest
from chat.exchange.files import AttachedFile, named_file
from chat.prompting.items import PkbItem
from conversation_reference_utils import FileReference, parse_file_reference, read_reference
from database.engine.errors import AttachmentNotFoundError, MessageNotFoundError
from database.history.reading import message_by_id
from vault.errors import DocumentNotFoundError

from .conversations import author, body
from .documents import vault_of
from .ranges import LineEnd, LineStart, counted, line_range, numbered
from .registry import ToolContext, ToolError, tool

_FOUND = ("resolved", "truncated")
_REST = "Cut: there was no room for more. Read the rest with read_document."
_LONG_LINES = "Cut: there was no room for more. A line is too long to be shown whole; read_document shows the others."


class NoReferenceError(ToolError):
    """A text that is no reference."""


class UnresolvedReferenceError(ToolError):
    """A reference that leads to nothing that can be read: missing, deleted, hidden, empty, or still being written.

    The code is the status of its report entry; the result has its candidates.
    """

    def __init__(self, entry: Mapping[str, Any]) -> None:
        reason = "has no text" if entry["status"] == "empty" else "names nothing of yours"
        candidates = list(entry.get("candidates") or ())
        told = {"reference": entry["ref"], "kind": entry["kind"], "candidates": candidates}
        super().__init__(f"{entry['ref']} {reason}.", more=told)
        self.details = {"candidates": candidates} if candidates else None
        self.code = str(entry["status"])


class MalformedReferenceError(UnresolvedReferenceError):
    """A reference that is no reference of its kind."""


class AmbiguousNameError(UnresolvedReferenceError):
    """A reference that may mean several things: the candidates."""


class ReferenceUnavailableError(UnresolvedReferenceError):
    """What a reference names can't be read just now."""


_UNRESOLVED = {
    "malformed": MalformedReferenceError,
    "ambiguous": AmbiguousNameError,
    "unavailable": ReferenceUnavailableError,
}


@tool()
def resolve_reference(
    context: ToolContext,
    *,
    reference: Annotated[
        str, Field(min_length=1, max_length=400, description="As written: @conversation_…, @some_memory, #id or [[…]].")
    ],
) -> dict[str, Any]:
    """Look up what a reference names: the messages, memory or document, word for word."""
    name = reference.strip()
    named = read_reference(name)
    if not any((*named.friendly_ids, *named.claim_ids)):
        raise NoReferenceError("reference: behind the @ there has to be a name.")
    scope = _scope(name, context)
    found = gather(named.friendly_ids, scope=scope, request=KnowledgeRequest(claim_ids=named.claim_ids))
    entry = found.report_dicts()[0]
    if entry["kind"] == "document" and (told := _document(entry, context)):
        return told
    if entry["status"] not in _FOUND:
        if (entry["status"], entry["kind"]) == ("not_found", "activity"):
            raise MessageNotFoundError
        raise _UNRESOLVED.get(entry["status"], UnresolvedReferenceError)(entry)
    if entry["kind"] == "activity" and (told := _message_in_conversation(entry, context)):
        return told
    return {
        "success": True,
        "reference": entry["ref"],
        "kind": entry["kind"],
        "title": entry.get("title") or "",
        "items": [_item(item) for item in found.items],
    }


def _scope(name: str, context: ToolContext) -> ReferenceScope:
    """What a reference is looked up in."""
    return stored_scope(
        context.user_email,
        database=context.database,
        loader=context.load,
        services=context.services,
        here=context.conversation_id,
        shows_hidden=_is_referred(name, context),
    )


def _is_referred(name: str, context: ToolContext) -> bool:
    """Whether the message that is answered has this reference, or one to the same file."""
    return _named(name) in map(_named, context.referred)


def _named(name: str) -> str:
    """A reference as it is compared: of pages of a file, that of the file."""
    file = parse_file_reference(name.removeprefix("@"))
    return (name.removeprefix("@") if file is None else f"{file.message}_file_{file.number}").lower()


def _item(item: PkbItem) -> dict[str, Any]:
    shown = {"type": item.type, "label": item.label, "content": item.body, "note": item.note}
    return {name: value for name, value in shown.items() if value}


def _document(entry: Mapping[str, Any], context: ToolContext) -> dict[str, Any] | None:
    """The document that a link leads to, whole; None where the vault can't be read just now."""
    if entry["status"] == "unavailable":
        return None
    vault = vault_of(context)
    path = entry["target"].get("path")
    if path is None:
        raise DocumentNotFoundError
    document = vault.read(path)
    item = {"type": "document", "label": document.path, "content": document.text[: context.max_chars]}
    told = {"success": True, "reference": entry["ref"], "kind": "document", "title": document.title, "items": [item]}
    if item["content"] == document.text:
        return told
    is_readable = all(len(line) < len(item["content"]) for line in document.lines)
    return {**told, "truncated": True, "rangeMessage": _REST if is_readable else _LONG_LINES}


def _message_in_conversation(entry: Mapping[str, Any], context: ToolContext) -> dict[str, Any] | None:
    """A message that a short id names, told as those around it are; None for one of another conversation."""
    target = entry["target"]
    if context.conversation_id is None or target.get("conversation_id") != context.conversation_id:
        return None
    row = message_by_id(
        **context.own,
        conversation_id=context.conversation_id,
        message_id=str(target.get("message_id")),
    )
    if row is None:
        return None
    item = {"type": "conversation_message", "label": f"[{author(row)}]", "content": body(row)}
    return {"success": True, "reference": f"#{row.short_id}", "kind": "message", "title": "", "items": [item]}


PageStart = Annotated[int | None, Field(alias="pageStart", ge=1, description="The first page, from 1.")]
PageEnd = Annotated[int | None, Field(alias="pageEnd", ge=1, description="The last page, itself included.")]
_READABLE = ("resolved", "empty")


class NoFileReferenceError(ToolError):
    """A text that names no file."""

    def __init__(self) -> None:
        super().__init__("reference: use the form @conversation_…_message_…_file_1.")


class InvalidPagesError(ToolError):
    """A range of pages that ends before it begins."""


@tool()
def read_file(
    context: ToolContext,
    *,
    reference: Annotated[
        str, Field(min_length=1, max_length=400, description="As in @conversation_…_message_…_file_1.")
    ],
    page_start: PageStart = None,
    page_end: PageEnd = None,
    line_start: LineStart = None,
    line_end: LineEnd = None,
) -> dict[str, Any]:
    """Read a file that was attached to a message, its lines numbered; pages or lines choose some of it."""
    parsed = parse_file_reference(reference.strip())
    if parsed is None:
        raise NoFileReferenceError
    file = _file(context, reference.strip(), parsed)
    message = _why_no_page(file, page_start, page_end)
    chosen = file.between(page_start or file.first, page_end or file.last)
    lines = chosen.body().split("\n") if chosen.has_text and message is None else []
    wanted = line_range(line_start, line_end, total=len(lines))
    shown = numbered(counted(lines, wanted), max_chars=context.max_chars)
    told: dict[str, Any] = {"success": True, "reference": reference.strip(), "name": file.part.get("name", "")}
    if file.has_pages:
        first, last = (chosen.first, chosen.last) if chosen.pages else (None, None)
        told |= {"totalPages": file.count, "pageStart": first, "pageEnd": last}
    told |= {"totalLines": len(lines), **shown.told(wanted)}
    return told if message is None else {**told, "rangeMessage": message}


def _file(context: ToolContext, ref: str, parsed: FileReference) -> AttachedFile:
    """Raises AttachmentNotFoundError."""
    (message,) = _scope(ref, context).conversations.without_files().resolve([parsed.message])
    named = named_file(
        parsed,
        message,
        ref=ref,
        user_email=context.user_email,
        database=context.database,
        attachments=context.services.attachments,
    )
    if named.file is None or named.entry.status not in _READABLE:
        raise AttachmentNotFoundError(" ".join(named.entry.notes) or None)
    return named.file


def _why_no_page(file: AttachedFile, start: int | None, end: int | None) -> str | None:
    """Why the file has none of these pages, of which a bound that is left out is open; None where it has some.

    A file without pages is one of one page. Raises InvalidPagesError.
    """
    if start is not None and end is not None and start > end:
        raise InvalidPagesError(f"pageStart ({start}) is after pageEnd ({end}).")
    first, last = (file.first, file.last) if file.has_pages else (1, 1)
    if start is not None and start > last:
        outside = start
    elif end is not None and end < first:
        outside = end
    else:
        return None
    count = file.count if file.has_pages else 1
    if outside <= count:
        return f"Page {outside} is none of those that the reference names ({first} to {last})."
    return f"Page {outside} is beyond the end ({'1 page' if count == 1 else f'{count} pages'})."
