"""Request and response models of documents."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from endpoints.http.models import LARGEST_NUMBER, Body, Query, Shape, Text

Path = Annotated[Text, Field(min_length=1, max_length=1_500)]


class DocumentsQuery(Query):
    """Which documents."""

    query: Annotated[Text, Field(max_length=200, description="A part of the documents' names.")] = ""
    folder: Annotated[Text, Field(max_length=1_500, description="Only documents below this folder.")] = ""
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many documents at most.")] = 100
    cursor: Annotated[Text, Field(max_length=1_500, description="The `next` of the page before.")] = ""
    in_text: Annotated[
        bool, Field(description="Also find documents whose text answers the query, by words and meaning.")
    ] = False


class PathQuery(Query):
    """Which document."""

    path: Annotated[Path, Field(description="The document's path in the vault, such as `notes/garden.md`.")]


class LinkQuery(Query):
    """`link`: a wikilink, with or without its brackets. `path`: of the document that holds it."""

    link: Annotated[
        Text, Field(min_length=1, max_length=1_000, description="A wikilink, with or without its brackets.")
    ]
    path: Annotated[Text, Field(max_length=1_000, description="The document that holds the link.")] = ""


class DocumentBody(Body):
    """The whole text of a document."""

    text: Annotated[Text, Field(max_length=2 * 1024 * 1024)]


class RenameBody(Body):
    """A document's path, and the one that it gets."""

    path: Path
    new_path: Path


class IndexBody(Body):
    """full: whether files that seem unchanged are read too."""

    full: bool = False


class RenamedDocument(Shape):
    """Where the document is now, and the documents whose links were changed to follow it."""

    path: str
    version: str
    followed: list[str]


class DeletedDocument(Shape):
    """Where the document lies in the vault's bin, a hidden folder of it."""

    kept_at: str


class BinQuery(Query):
    """How many documents of the bin, the latest first."""

    limit: Annotated[
        int, Field(ge=1, le=1_000, description="How many deleted documents at most, the latest first.")
    ] = 100


class BinnedDocument(Shape):
    """A deleted document. `kept_at`: names it where it is restored. `path`: where it lay. `deleted_at`: ISO 8601."""

    kept_at: str
    path: str
    deleted_at: str
    size: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class DocumentBin(Shape):
    """The bin of the vault: the latest deleted documents, and how many there are in all."""

    documents: list[BinnedDocument]
    total: int


class RestoreBody(Body):
    """A document of the bin, as `kept_at` names it."""

    kept_at: Annotated[Text, Field(min_length=1, max_length=1_600)]


class RestoredDocument(Shape):
    """Where the document is again."""

    path: str
    version: str


class IndexJob(Shape):
    """The job that reads the files; `GET /events` tells its progress."""

    job_id: str


class ImportQuery(Query):
    """Where documents are imported to."""

    folder: Annotated[
        Text, Field(max_length=1_000, description="The folder of the vault that takes the documents; else its root.")
    ] = ""


class RefusedFile(Shape):
    """A file that was not imported, and why; without a path, why the rest was not. `code`: of the error."""

    path: str
    reason: str
    code: str


class ImportReport(Shape):
    """What became of each file: imported, there already with the same text, or refused.

    `passed_over`: how many files of archives are hidden or no documents.
    """

    imported: list[str]
    unchanged: list[str]
    refused: list[RefusedFile]
    passed_over: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class DocumentEntry(Shape):
    """A document in a list. `modified`: ISO 8601 in UTC. `size`: in bytes."""

    path: str
    title: str
    modified: str
    size: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class DocumentExcerpt(Shape):
    """The part of a document that answers a query best; its lines are 1-based, both ends included."""

    path: str
    title: str
    line_start: int
    line_end: int
    text: str


class DocumentPage(Shape):
    """Documents by path. `next`: the cursor of the next page; null on the last. `read_only`: nothing may be written.

    `in_text`: what was found in texts, best first, where that was asked for. `total`, `embedded`: how many documents
    are found by words, and how many by meaning too.
    """

    documents: list[DocumentEntry]
    in_text: list[DocumentExcerpt]
    next: str | None
    read_only: bool
    total: int
    embedded: int


class DocumentHeading(Shape):
    """A heading; its level is 1 to 6, its line 1-based."""

    level: int
    text: str
    line: int


class DocumentLink(Shape):
    """A link of a document. `source`: the document that holds it. `target`: null where it leads nowhere.

    `is_file`: it is to a picture, or to another file that is no document; `target` is null then, and it is not broken.
    """

    source: str
    source_title: str
    line: int
    wikilink: str
    target: str | None
    anchor: str | None
    ambiguous: bool
    is_file: bool


class DocumentUser(Shape):
    """A message that used a document. `via_tool`: the tool that brought it; null where the message links it."""

    message_id: str
    conversation_id: str
    conversation_friendly_id: str | None
    title: str
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    created_at: str
    reference_type: str
    via_tool: str | None


class DocumentText(Shape):
    """A document. `version` is also the ETag; replacing the document needs it in `If-Match`."""

    path: str
    title: str
    text: str
    front_matter: dict[str, Any]
    headings: list[DocumentHeading]
    version: str
    size: int
    links: list[DocumentLink]
    backlinks: list[DocumentLink]
    used_by: list[DocumentUser]
    read_only: bool


class LinkResolution(Shape):
    """What a link leads to. `path`: null where nothing has this name. `candidates`: all that it may mean."""

    path: str | None
    anchor: str | None
    alias: str | None
    ambiguous: bool
    candidates: list[str]


class GraphNode(Shape):
    """A document in the graph of links."""

    path: str
    title: str


class GraphEdge(Shape):
    """Links of `source` to `target`, and how many there are."""

    source: str
    target: str
    count: int


class DocumentGraph(Shape):
    """The documents and the links between them; links that lead nowhere; documents that no link joins to another."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    broken: list[DocumentLink]
    orphans: list[str]


class UsingMessage(Shape):
    """A message of a conversation that refers to a document."""

    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str


class ConversationDocument(Shape):
    """A document of a conversation. `title`: null where it is not there (any more). `messages`: newest first.

    `wikilink`: as the newest message has it. `used`: it was linked, read or cited, not only found.
    """

    wikilink: str
    relative_path: str | None
    title: str | None
    reference_type: str
    summary: str | None
    context_snippet: str | None
    anchor: str | None
    via_tool: str | None
    ambiguous: bool
    used: bool
    messages: list[UsingMessage]


class ConversationDocuments(Shape):
    """The documents of a conversation, the most used first. `suggestions`: others that may belong to it."""

    documents: list[ConversationDocument]
    suggestions: list[GraphNode]
