"""Documents of the person's vault in a conversation: links of messages, and what tools returned of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from chat.prompting.items import REFERENCE_CAP, PkbItem, neutralised, shorten
from conversation_reference_utils import is_activity_name
from database.search.index import folded_name
from sentences import say
from vault.content.resolution import Resolution as LinkResolution
from vault.content.wikilinks import find_wikilinks, without_extension
from vault.documents import Vault

from .report import ReportEntry, Resolution

log = logging.getLogger(__name__)
KIND = "document"
MAX_DOCUMENTS = 50
"""How many documents of one message are kept."""

NOT_FOUND = say("no_document")
_AMBIGUOUS = say("several_documents")
_UNAVAILABLE = say("documents_fault")
_WORD_FOR_WORD = say("document_word_for_word")
_LONGEST_SNIPPET = 100
_LONGEST_SUMMARY = 100
_MOST_CANDIDATES = 5
_COMPARED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReference:
    """A document that a message names, or that its answer rests on.

    wikilink: with its brackets. relative_path: None for a link that leads nowhere. reference_type: "direct" for a link
    in the text, "search" for what a tool returned. context_snippet: what the tool returned of it, or what is wrong with
    the link. via_tool: the tool's name. used: it was linked, read or cited, not only found.
    """

    wikilink: str
    relative_path: str | None
    reference_type: str = "direct"
    summary: str | None = None
    context_snippet: str | None = None
    anchor: str | None = None
    via_tool: str | None = None
    ambiguous: bool = False
    used: bool = True

    def as_dict(self) -> dict[str, Any]:
        """As sent and stored."""
        return asdict(self)


def written(name: str) -> str:
    """A reference as the person wrote it: links and short ids as they are, any other name behind an "@"."""
    return name if is_wikilink(name) or is_activity_name(name) else f"@{name}"


def wikilinks_of(text: str) -> list[str]:
    """The links in `text` with their brackets, each once, in order."""
    return list(dict.fromkeys(link.raw for link in find_wikilinks(text)))


def is_wikilink(name: str) -> bool:
    """Whether a reference names a document."""
    return name.startswith("[[") and name.endswith("]]")


def wikilink_to(path: str) -> str:
    """The link by which a document is named that a tool returned: its file name without extension."""
    return f"[[{without_extension(PurePosixPath(path).name)}]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLinks:
    """Resolves wikilinks in one person's vault.

    open_vault: None where there are no vaults; then links lead nowhere. word_for_word: the documents themselves go
    with the message, at most `cap` characters of each.
    """

    open_vault: Callable[[], Vault] | None = None
    word_for_word: bool = False
    cap: int = REFERENCE_CAP

    def resolve(self, links: Sequence[str]) -> list[Resolution]:
        """One resolution for each of `links`, in order. Raises nothing: a vault that fails is logged and reported."""
        try:
            vault = self.open_vault() if self.open_vault is not None else None
            if vault is None:
                return [self._resolution(link, LinkResolution(), vault=None) for link in links]
            found = vault.resolve_many(links)
            return [self._resolution(link, each, vault=vault) for link, each in zip(links, found, strict=True)]
        except Exception:  # a document never fails a turn
            log.exception("the documents of a message could not be looked up")
            return [Resolution(entry=_entry(link, "unavailable", notes=(_UNAVAILABLE,))) for link in links]

    def resolved(self, links: Sequence[str]) -> list[DocumentReference]:
        """The documents that these links lead to, with the links that lead nowhere left out. Raises nothing."""
        found = documents_in(resolution.entry for resolution in self.resolve(links))
        return [document for document in found if document.relative_path is not None]

    def suggest(self, typed: str, *, limit: int) -> list[tuple[str, str]]:
        """Link and path of documents that `typed`, the beginning of a link, may mean; best first.

        The link is the file name where that leads to the document, else the path.
        """
        if self.open_vault is None:
            return []
        vault = self.open_vault()
        query = typed.removeprefix("[[").removesuffix("]]").strip()
        entries = vault.documents(query=query, limit=_COMPARED).documents
        begins = folded_name(query)
        paths = sorted((entry.path for entry in entries), key=lambda path: not _name(path).startswith(begins))[:limit]
        short = vault.resolve_many([wikilink_to(path) for path in paths]) if paths else []
        return [
            (wikilink_to(path) if found.path == path else f"[[{without_extension(path)}]]", path)
            for path, found in zip(paths, short, strict=True)
        ]

    def _resolution(self, link: str, found: LinkResolution, *, vault: Vault | None) -> Resolution:
        if vault is None or found.path is None:
            return Resolution(entry=_entry(link, "not_found", notes=(NOT_FOUND,)))
        others = [{"kind": KIND, "ref": f"[[{path}]]", "title": path} for path in found.candidates[:_MOST_CANDIDATES]]
        entry = _entry(
            link,
            "ambiguous" if found.ambiguous else "resolved",
            notes=(_AMBIGUOUS,) if found.ambiguous else (),
            title=found.alias or PurePosixPath(found.path).name,
            preview=summary_of(found.path, vault=vault) or "",
            count=1,
            target={"path": found.path, "anchor": found.anchor},
            candidates=tuple(others) if found.ambiguous else (),
        )
        return self._given(entry, found.path, vault=vault) if self.word_for_word else Resolution(entry=entry)

    def _given(self, entry: ReportEntry, path: str, *, vault: Vault) -> Resolution:
        """The resolution with the document itself."""
        try:
            text = vault.read(path).text
        except Exception:  # it was deleted or became unreadable meanwhile
            log.warning("the document %s could not be read", path, exc_info=True)
            return Resolution(entry=entry.marked("unavailable", _UNAVAILABLE))
        item = PkbItem(
            body=text, type=KIND, source="referenced", refs=(entry.ref,), label=f"from {path}:", key=f"{KIND}:{path}"
        )
        given, entry = shorten(item, self.cap), replace(entry, chars=len(text)).with_note(_WORD_FOR_WORD)
        if given is not item:
            entry = entry.marked("truncated", say("document_cut", shown=self.cap, count=len(text)))
        return Resolution(entry=entry, items=(given,))

    def summary(self, path: str) -> str | None:
        """What is known of a document without asking a model; None where that is nothing. Raises nothing."""
        try:
            return summary_of(path, vault=self.open_vault()) if self.open_vault is not None else None
        except Exception:  # a document never fails a turn
            log.warning("the vault of an answer could not be opened", exc_info=True)
            return None


def summary_of(path: str, *, vault: Vault) -> str | None:
    """What is known of a document without asking a model; None where that is nothing. Raises nothing."""
    try:
        return vault.summary(path, max_length=_LONGEST_SUMMARY)
    except Exception:  # a link works without its summary
        log.warning("the document %s has no summary", path, exc_info=True)
        return None


def _name(path: str) -> str:
    return folded_name(PurePosixPath(path).name)


def _entry(link: str, status: str, **fields: Any) -> ReportEntry:
    return ReportEntry(ref=link, kind=KIND, status=status, **fields)


def each_once(resolutions: Iterable[Resolution]) -> tuple[list[Resolution], int]:
    """Without further links to a document that is linked already, at most 50 documents; how many were beyond that."""
    kept: list[Resolution] = []
    paths: set[str] = set()
    documents, beyond = 0, 0
    for resolution in resolutions:
        entry = resolution.entry
        path = entry.target.get("path") if entry.kind == KIND else None
        if path in paths:
            continue
        if entry.kind == KIND:
            documents += 1
            if documents > MAX_DOCUMENTS:
                beyond += 1
                continue
        if path is not None:
            paths.add(path)
        kept.append(resolution)
    return kept, beyond


def documents_in(report: Iterable[ReportEntry]) -> list[DocumentReference]:
    """The documents that a message names, by its report, in order."""
    return [_named(entry) for entry in report if entry.kind == KIND and is_wikilink(entry.ref)]


def _named(entry: ReportEntry) -> DocumentReference:
    path = entry.target.get("path")
    return DocumentReference(
        wikilink=entry.ref,
        relative_path=path,
        summary=entry.preview or None,
        context_snippet=None if path else (entry.notes or (NOT_FOUND,))[0],
        anchor=entry.target.get("anchor"),
        ambiguous=len(entry.candidates) > 1 and path is not None,
    )


_READ_THEM = "Read these documents with the tool read_document if you need more information."


def referenced_block(documents: Sequence[DocumentReference]) -> str:
    """What the model's copy of a message ends with: a line for each document that the message names; "" for none."""
    lines = [_line(document) for document in documents]
    return "\n".join(("", "", "Referenced Documents:", *lines, "", _READ_THEM)) if lines else ""


def _line(document: DocumentReference) -> str:
    if document.relative_path is None:
        warning = (document.context_snippet or NOT_FOUND).removeprefix("Warning: ")
        return neutralised(f"- {document.wikilink}: Warning - {warning}")
    summary = " ".join((document.summary or "").split())
    line = f"- {document.wikilink} ({document.relative_path})"
    return neutralised(f"{line}: {summary}" if summary else line)


def listed(documents: Iterable[Mapping[str, Any]], *, max_chars: int) -> str:
    """Documents that the conversation named before, as lines for a prompt, as many as `max_chars` has room for."""
    lines: list[str] = []
    for document in documents:
        fields = {name: document[name] for name in ("wikilink", "relative_path", "summary")}
        line = _line(DocumentReference(**fields))
        max_chars -= len(line) + 1
        if max_chars < 0:
            break
        lines.append(line)
    return "\n".join(lines)


@dataclass(slots=True)
class AnswerDocuments:
    """The documents of an answer as they become known: what tools returned, and what the answer cites."""

    _documents: dict[str, DocumentReference] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Iterable[Mapping[str, Any]]) -> AnswerDocuments:
        """The documents of an answer that goes on."""
        known = (DocumentReference(**document) for document in documents)
        return cls({document.relative_path or document.wikilink: document for document in known})

    def stored(self) -> list[dict[str, Any]]:
        """The documents as `database.messages.documents` takes them, those that were used first."""
        in_order = sorted(self._documents.values(), key=lambda document: not document.used)
        return [document.as_dict() for document in in_order]

    def returned(self, tool: str, result: Any) -> bool:
        """Note the documents in what the tool `tool` has really returned; whether anything has changed.

        Failed and empty results, and those of other tools, add nothing. Raises nothing.
        """
        try:
            found = _returned(tool, result)
        except Exception:  # a document never fails a turn
            log.exception("the documents in a result of %s could not be told", tool)
            return False
        return self.add(found)

    def add(self, documents: Iterable[DocumentReference]) -> bool:
        """Note documents, such as those that the answer links; whether anything has changed."""
        changed = False
        for document in documents:
            changed |= self._add(document)
        return changed

    def summarise(self, summary_of: Callable[[str], str | None]) -> bool:
        """Give each document that was used and has no summary yet its own; whether anything has changed."""
        changed = False
        for path, document in self._documents.items():
            if document.used and document.summary is None and document.relative_path is not None:
                summary = summary_of(document.relative_path)
                self._documents[path] = replace(document, summary=summary)
                changed |= summary is not None
        return changed

    def _add(self, document: DocumentReference) -> bool:
        """A document that is known stays; only a link takes the place of a result, and a use that of a find."""
        path = document.relative_path or document.wikilink
        known = self._documents.get(path)
        if known is None:
            if len(self._documents) >= MAX_DOCUMENTS and not (document.used and self._dropped_a_find()):
                return False
            merged = document
        elif document.reference_type == "direct" and known.reference_type != "direct":
            merged = replace(
                document,
                context_snippet=known.context_snippet,
                via_tool=known.via_tool,
                summary=document.summary or known.summary,
            )
        else:
            merged = replace(known, used=known.used or document.used)
        self._documents[path] = merged
        return merged != known

    def _dropped_a_find(self) -> bool:
        """Make room for a document that is used: without the last one that was only found. False where all are used."""
        last = next((path for path, each in reversed(self._documents.items()) if not each.used), None)
        if last is not None:
            del self._documents[last]
        return last is not None


def _returned(tool: str, result: Any) -> list[DocumentReference]:
    if not isinstance(result, Mapping) or result.get("success") is False:
        return []
    if tool == "read_document":
        path = result.get("path")
        is_read = isinstance(path, str) and path and result.get("content")
        return [_retrieved(str(path), "Retrieved via read_document", tool=tool, used=True)] if is_read else []
    if tool not in _SNIPPETS:
        return []
    hits = [hit for hit in result.get("results") or () if isinstance(hit, Mapping)]
    paths = ((hit, hit.get("relative_path") or hit.get("document_id")) for hit in hits)
    return [
        _retrieved(path, _SNIPPETS[tool](hit), tool=tool, used=False)
        for hit, path in paths
        if isinstance(path, str) and path
    ]


_SNIPPETS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "find_excerpts": lambda hit: str(hit.get("text") or "")[:_LONGEST_SNIPPET],
    "find_documents": lambda _hit: "Found via semantic search",
}
"""Tools that find documents, and what is said of each that they return."""


def _retrieved(path: str, snippet: str, *, tool: str, used: bool) -> DocumentReference:
    return DocumentReference(
        wikilink=wikilink_to(path),
        relative_path=path,
        reference_type="search",
        context_snippet=snippet,
        via_tool=tool,
        used=used,
    )
