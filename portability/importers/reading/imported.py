"""What an importer reads out of a file, and the protocol that all importers fulfil.

An importer knows one source: it recognises its files and reads them, item by item. What is stored, and how it is known
again when it is imported once more, is the same for all of them (`database.imports`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from database.imports.workspaces import Folder
from sentences import SENTENCES

from .import_file import ImportFile


@dataclass(frozen=True, slots=True)
class ImportedAttachment:
    """A file of a message.

    text: its words, where the source has them. member: its path inside the ZIP, where the file itself is there.
    content: the file itself, where the message holds it.
    """

    name: str
    media_type: str = ""
    text: str | None = None
    member: str | None = None
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class ImportedToolCall:
    """A tool that the model called. arguments: anything that JSON can say. result: None where the source has none."""

    name: str
    arguments: Any = None
    result: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message of the source, in the tree of its conversation.

    source_id, parent_id: ids of the source, unique within the conversation. parent_id: None for a first message.
    text: Markdown. created_at: UTC, None where the source doesn't say. short_hash: of our own forms alone.
    hidden: the person hid it from the model.
    """

    source_id: str
    parent_id: str | None
    sender: Literal["user", "model"]
    text: str
    created_at: datetime | None = None
    model: str | None = None
    thoughts: str = ""
    tool_calls: tuple[ImportedToolCall, ...] = ()
    attachments: tuple[ImportedAttachment, ...] = ()
    short_hash: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation of the source with all of its branches.

    source_id: unique within the source. messages: in any order; a `parent_id` that names no message, or leads in a
    circle, is cut and reported. current_id: the last message of the path that the source shows; None: the path to the
    newest message. workspace: the name of the folder or project that it lies in. problems: what could not be read,
    each a sentence for the report. may_continue: the file may have more of it, and gives it again whole then.
    continues: so many of its messages were given before; it is not counted once more.
    """

    source_id: str
    title: str
    created_at: datetime | None
    updated_at: datetime | None
    messages: tuple[ImportedMessage, ...]
    current_id: str | None = None
    archived: bool = False
    pinned: bool = False
    workspace: str | None = None
    friendly_id: str | None = None
    problems: tuple[str, ...] = ()
    may_continue: bool = False
    continues: int = 0


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """A document that lies beside the conversations, as those of Claude's projects. folder: "" for the top.

    to_learn_from: it says what another program remembered of the person, who is offered to take memories from it.
    keeps_name: `name` is that of a file of a vault, and stays as it is; others become names of Markdown files.
    """

    source_id: str
    folder: str
    name: str
    text: str
    to_learn_from: bool = False
    keeps_name: bool = False

    @property
    def path(self) -> str:
        """Its folder and its name."""
        return f"{self.folder}/{self.name}".lstrip("/")


@dataclass(frozen=True, slots=True)
class ImportedWorkspace:
    """A project or folder of the source, which may have no conversations. item: its name."""

    item: str


@dataclass(frozen=True, slots=True)
class ImportedExport:
    """A file that this program exported, which is stored whole or not at all: ids, threads and activities stay.

    item: its name for the report. content: JSON. messages: how many it holds. title: of what it holds, "" for none.
    members: where the files of messages lie in the file, by the ids that the export has for them. folders: that its
    workspaces are, from the top down, by their ids there. formerly: of a bundle, as versions before imported it; where
    they did, it goes on as that conversation of the first implementation.
    """

    item: str
    content: bytes
    messages: int
    title: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Sequence[Folder]] = field(default_factory=dict)
    formerly: ImportedConversation | None = None


@dataclass(frozen=True, slots=True)
class ImportedPart:
    """Memories or settings in the archive of an account. item: the path of their file. content: a JSON object."""

    item: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ImportedKnowledgeBase:
    """The memories of the first implementation, an SQLite file. item: its name. member: see `ImportFile.open`."""

    item: str
    member: str | None


@dataclass(frozen=True, slots=True)
class FailedItem:
    """A part of the file that could not be read. item: its title, id or place in the file. reason: one sentence."""

    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedNothing:
    """A stretch of the file in which nothing was found, so that what takes long to read can pause."""


ImportedOther = ImportedDocument | ImportedExport | ImportedPart | ImportedKnowledgeBase | ImportedWorkspace
"""What comes beside conversations of other programs, and is stored by itself."""
ImportedItem = ImportedConversation | ImportedOther | FailedItem | ImportedNothing


def form_of(source: str) -> tuple[str, str]:
    """The title of an importer of ours, and what it expects, as the server's sentences have both."""
    title, _, expects = SENTENCES[f"import_expects_{source}"].partition(": ")
    return title, expects


class Importer(Protocol):
    """One source of history. To add one: a module with an importer, and a line in `registry`.

    source: its short name in lower case ("chatgpt"), kept with everything that came from it; never changed later.
    title: its name for people. expects: which files it reads, one sentence, said where no importer knows a file.
    """

    source: str
    title: str
    expects: str

    def recognises(self, file: ImportFile) -> bool:
        """Whether the file is of this source, judged by member names and the beginnings of files."""

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """What the file holds, always in the same order. One bad conversation is a FailedItem and stops nothing else.

        Raises BrokenImportError where the file can't be read any further.
        """
