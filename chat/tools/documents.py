"""Tools that read the documents of a person's vault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from search.patterns import Deadline, compiled, preview, required_literal
from vault.content.resolution import is_relative
from vault.content.wikilinks import link_to, parse_wikilink
from vault.documents import Document, Vault, Vaults
from vault.errors import DocumentNotFoundError, PathRefusedError, VaultUnavailableError
from vault.search.excerpts import Excerpt

from .ranges import LineEnd, LineStart, counted, line_range, numbered
from .registry import ToolContext, ToolError, tool

_AROUND = 3
_RELATIVE = (
    "A link with “./” or “../” begins in the folder of the document that holds it. Name the document by its whole path."
)
Query = Annotated[str, Field(pattern=r"\S", max_length=2_000, description="Words, or a question in your own words.")]
Path = Annotated[str | None, Field(min_length=1, max_length=1_000, description="Its path, or a link as in [[…]].")]


class PathMissingError(ToolError):
    """A call that names no document."""

    def __init__(self) -> None:
        super().__init__("relative_path: Field required.")


@tool(aliases=("read_zk_document", "read_page"), ignores=("pageId", "driveId", "title"))
def read_document(
    context: ToolContext,
    *,
    relative_path: Path = None,
    path: Path = None,
    line_start: LineStart = None,
    line_end: LineEnd = None,
) -> dict[str, Any]:
    """Read one document of the person, its lines numbered; lineStart and lineEnd choose some of them."""
    document = _named(vault_of(context), relative_path or path)
    wanted = line_range(line_start, line_end, total=len(document.lines))
    shown = numbered(counted(document.lines, wanted), max_chars=context.max_chars)
    return {
        "success": True,
        "path": document.path,
        "title": document.title,
        "totalLines": len(document.lines),
        **shown.told(wanted),
    }


@tool()
def find_excerpts(
    context: ToolContext, *, query: Query, n: Annotated[int, Field(ge=1, le=50, description="How many.")] = 8
) -> dict[str, Any]:
    """Find parts of the person's documents that say or mean what is asked for, best first."""
    return _found(vault_of(context).find_excerpts(query, n=n + 1), n)


@tool(aliases=("find_zk_documents", "find_zk_documents_related_to"))
def find_documents(
    context: ToolContext, *, query: Query, n: Annotated[int, Field(ge=1, le=50, description="How many.")] = 3
) -> dict[str, Any]:
    """Find the person's documents that have to do with what is asked for, each with its best part."""
    return _found(vault_of(context).find_documents(query, n=n + 1), n)


def _found(excerpts: Sequence[Excerpt], n: int) -> dict[str, Any]:
    results = [
        {
            "document_id": each.path,
            "relative_path": each.path,
            "title": each.title,
            "distance": round(each.distance, 4),
            "lineStart": each.line_start,
            "lineEnd": each.line_end,
            "text": each.text,
            "reference": reference_to(each.path),
        }
        for each in excerpts[:n]
    ]
    return {"success": True, "results": results, "truncated": len(excerpts) > n}


def vault_of(context: ToolContext) -> Vault:
    """The documents of the person. Raises VaultUnavailableError."""
    vaults: Vaults | None = context.services.vaults
    if vaults is None:
        raise VaultUnavailableError("There are no documents on this server.")
    return vaults.of(context.user_email)


def matching_lines(
    context: ToolContext, pattern: str, *, titles: bool, contents: bool, deadline: Deadline
) -> Iterator[dict[str, Any] | None]:
    """The titles and lines of documents that match; None at last where there was no time to look at all of them.

    Raises InvalidPatternError.
    """
    expression, literal = compiled(pattern), required_literal(pattern)
    for path, title, text in vault_of(context).texts():
        if deadline.is_over():
            yield None
            return
        if literal not in text and literal not in title:
            continue  # far cheaper to see than that the expression does not match
        found = expression.search(title) if titles else None
        if found is not None:
            yield _match(path, title, None, preview(title, found.span()), total=0)
        if contents and expression.search(text) is not None:
            lines = text.removesuffix("\n").split("\n")
            for number, line in enumerate(lines, 1):
                match = expression.search(line)
                if match is not None:
                    yield _match(path, title, number, preview(line, match.span()), total=len(lines))


def reference_to(path: str) -> str:
    """The link to a document; its path where no link can name it."""
    return link_to(path.removesuffix(".md")) or path


def suggested_range(line: int | None, *, total: int) -> dict[str, int] | None:
    """The lines to read around a match; None for a title."""
    return None if line is None else {"start": max(1, line - _AROUND), "end": min(total, line + _AROUND)}


def _match(path: str, title: str, line: int | None, shown: str, *, total: int) -> dict[str, Any]:
    return {
        "type": "document",
        "title": title,
        "path": path,
        "lineNumber": line,
        "matchPreview": shown,
        "suggestedLineRange": suggested_range(line, total=total),
        "reference": reference_to(path),
    }


def _named(vault: Vault, name: str | None) -> Document:
    """The document at a path, or that a link leads to. Raises PathMissingError, DocumentNotFoundError."""
    if name is None:
        raise PathMissingError
    try:
        return vault.read(name)
    except (DocumentNotFoundError, PathRefusedError):
        link = parse_wikilink(name)
        if link is not None and is_relative(link):
            raise PathRefusedError(_RELATIVE) from None
        found = vault.resolve(name).path  # of a title or a link; it leads to documents of the vault alone
        if found is None:
            if name.startswith("[["):
                raise DocumentNotFoundError from None
            raise
        return vault.read(found)
