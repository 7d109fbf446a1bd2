"""Tools that change documents: each proposes the change, unless the person allowed writing in this conversation."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from .changes import DocumentChange, make, planned
from .documents import vault_of
from .proposals import propose
from .ranges import InvalidRangeError, beyond_end
from .registry import Result, ToolContext, ToolError, tool

_SHOWN = 2_000
Path = Annotated[str, Field(min_length=1, max_length=1_000, description="Its path in the vault, such as notes/a.md.")]
NewPath = Annotated[str, Field(alias="newPath", min_length=1, max_length=1_000, description="The path it gets.")]
Text = Annotated[str, Field(max_length=200_000)]


class NothingToChangeError(ToolError):
    """A change that leaves the document as it is."""

    def __init__(self) -> None:
        super().__init__("The document says that already; there is nothing to change.")


class LinesBeyondEndError(ToolError):
    """Lines to replace of which the document does not have all."""

    def __init__(self, line: int, total: int) -> None:
        super().__init__(beyond_end(line, total=total))


@tool(reads_only=False)
def write_document(context: ToolContext, *, path: Path, text: Text) -> dict[str, Any]:
    """Write a whole document of the person: a new one, or instead of all that an existing one says."""
    return _changed(context, DocumentChange(action="write", path=path, text=text))


@tool(reads_only=False)
def append_to_document(
    context: ToolContext, *, path: Path, text: Annotated[str, Field(min_length=1, max_length=200_000)]
) -> dict[str, Any]:
    """Write further lines behind the last line of a document."""
    return _changed(context, DocumentChange(action="append", path=path, text=text))


@tool(reads_only=False)
def replace_lines(
    context: ToolContext,
    *,
    path: Path,
    line_start: Annotated[int, Field(alias="lineStart", ge=1, description="The first line, from 1.")],
    line_end: Annotated[int, Field(alias="lineEnd", ge=1, description="The last line, itself included.")],
    expected: Annotated[str, Field(max_length=200_000, description="What these lines say now, without numbers.")],
    text: Text,
) -> dict[str, Any]:
    """Replace some lines of a document, which have to say what is expected; an empty text removes them."""
    if line_start > line_end:
        raise InvalidRangeError(line_start, line_end)
    document = vault_of(context).read_if_there(path)
    if document is not None and line_end > len(document.lines):
        raise LinesBeyondEndError(line_end, len(document.lines))
    change = DocumentChange(
        action="replace_lines", path=path, text=text, line_start=line_start, line_end=line_end, expected=expected
    )
    return _changed(context, change)


@tool(reads_only=False)
def rename_document(context: ToolContext, *, path: Path, new_path: NewPath) -> dict[str, Any]:
    """Rename or move a document; the links that lead to it follow."""
    return _changed(context, DocumentChange(action="rename", path=path, new_path=new_path))


@tool(reads_only=False)
def delete_document(context: ToolContext, *, path: Path) -> dict[str, Any]:
    """Move a document into the bin of the vault."""
    return _changed(context, DocumentChange(action="delete", path=path))


def _changed(context: ToolContext, wanted: DocumentChange) -> Result:
    """Propose the change, or make it where the person allowed that."""
    vault = vault_of(context)
    change, diff = planned(vault, wanted)
    if not diff:
        raise NothingToChangeError
    if context.may_write:
        return {"success": True, **make(vault, change, message_id=context.message_id, by_model=True)}
    told = propose(context, kind="document", payload=change.payload, diff=diff)
    # The texts are with the proposal; the model, which wrote them, needs only to know which one it is.
    named = {name: value for name, value in change.payload.items() if name in ("action", "path", "new_path")}
    return {**told, "proposal": {**told["proposal"], "payload": named, "diff": diff[: _shown(context)]}}


def _shown(context: ToolContext) -> int:
    return min(_SHOWN, (context.max_chars or _SHOWN * 4) // 4)
