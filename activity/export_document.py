"""An exported document: its heading, its entries, and the texts that its readable forms share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from activity.recipes.formatting import ExportBlock, one_line
from database.activities.reading import Activity
from database.conversations.conversation import ConversationRow
from database.history.threads import ThreadTotals
from database.imports.origins import Origin
from database.messages.message import MessageRow
from database.timeline.exporting import ExportedThread

from .parts import ExportedPart, in_reading_order

UNTITLED = "(untitled)"


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a page in a language. strings: by the English ones, which stand for those that it lacks."""

    language: str = "en"
    strings: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, english: str, **values: str | int) -> str:
        """What `english` is in this language, with these values."""
        return self.strings.get(english, english) % values


ENGLISH = PageWords()
_SPECIAL = re.compile(r"([\\`*_\[\]<>#&|~!])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a document is about.

    conversation: that was asked for, or in which the thread begins; None for a recipe alone. thread, recipe: those that
    were asked for; recipe is a title. threads: all that the entries are in, by id; thread_titles: what these are
    called. is_whole: the document holds all messages of the conversation. summarised: how many of them the running
    summary tells of. files_in: the folder of the files of messages, as a relative path with "/" behind it; "" where
    they are not beside the document. agent: the slug of the one that answers in `conversation`. aliases: the names that
    `conversation` had elsewhere. origin: what another program calls `conversation`, from which it came; None where
    that is not told. words: of a page.
    """

    conversation: ConversationRow | None
    other_conversations: Sequence[ConversationRow]
    thread: ExportedThread | None
    threads: Mapping[str, ExportedThread]
    thread_titles: Mapping[str, str]
    recipe: str | None
    is_whole: bool
    summarised: int
    files_in: str = ""
    agent: str | None = None
    aliases: Sequence[str] = ()
    origin: Origin | None = None
    words: PageWords = ENGLISH

    @property
    def title(self) -> str:
        """The title on one line."""
        if self.recipe is not None:
            thread = f" (Thread: {self.thread.thread_id})" if self.thread else ""
            return f"{one_line(self.recipe)} Session{thread}"
        if self.conversation is not None:
            return one_line(self.conversation.title) or UNTITLED
        return one_line(self.thread_title) if self.thread else UNTITLED

    @property
    def thread_title(self) -> str:
        """The title of `thread`; "" without one."""
        return self.thread_titles[self.thread.thread_id] if self.thread else ""

    def elsewhere(self, activity: Activity) -> str | None:
        """The title of the conversation of an activity that is not the document's own."""
        if self.conversation is None or activity.conversation_id == self.conversation.conversation_id:
            return None
        titles = {row.conversation_id: one_line(row.title) or UNTITLED for row in self.other_conversations}
        return titles.get(activity.conversation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMessage:
    """A message with its earlier texts and its variants, as `MessagePage` has them.

    in_answer_to: the question that it answers; None for a question, and where that is deleted. hashes: the SHA-256 of
    files, by their ids. origins: what the other program calls its versions, from which the conversation came.
    """

    row: MessageRow
    in_answer_to: str | None
    edits: Sequence[Mapping[str, Any]]
    variants: Sequence[Mapping[str, Any]]
    hashes: Mapping[str, str]
    origins: Sequence[Mapping[str, Any]] = ()

    @property
    def file_ids(self) -> set[str]:
        """The ids of its files, and of those of its variants."""
        versions = [self.row.parts, *(each["parts"] for each in self.variants)]
        return {str(part.get("attachment_id")) for parts in versions for part in parts} & self.hashes.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One activity of a document.

    position: counted from 1, in order of time. depth: how many activities it is nested in. section: the heading that
    begins with it. has_parent: the document has what it replies to. block: of an activity that is no message. totals:
    of the thread whose root it is.
    """

    activity: Activity
    position: int
    depth: int
    section: str | None = None
    has_parent: bool = False
    message: ExportedMessage | None = None
    block: ExportBlock | None = None
    totals: ThreadTotals | None = None

    @property
    def is_message(self) -> bool:
        """Whether the activity is a message of a conversation."""
        return self.message is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryText:
    """An entry as its readable forms show it.

    label: the name of who said it, or what happened. by: whose doing, where the label does not say it. notes: such as
    "hidden". pieces: the body, texts and parts in turn. data: a body that is no text.
    """

    label: str
    by: str | None = None
    notes: Sequence[str] = ()
    pieces: Sequence[str | ExportedPart] = ()
    data: Mapping[str, Any] | None = field(default=None)


def text_of(entry: Entry, words: PageWords = ENGLISH) -> EntryText:
    """How `entry` reads."""
    if entry.message is not None:
        notes = _notes_of(entry.message.row, words)
        return EntryText(label=name_of(entry, words), notes=notes, pieces=list(_pieces_of(entry.message, words)))
    if entry.block is None:
        return EntryText(label=one_line(entry.activity.type))
    said, data = entry.block.words, entry.block.data
    return EntryText(
        label=one_line(entry.block.heading),
        by=one_line(entry.block.by or "") or None,
        pieces=[said] if said else [],
        data=None if said else data,
    )


def name_of(entry: Entry, words: PageWords = ENGLISH) -> str:
    """Who said or did it, on one line: a message made again has the name of who made it last."""
    if entry.message is not None:
        message = entry.message.row
        agent = message.config.get("agent")
        if message.sender != "user" and isinstance(agent, dict):
            return one_line(str(agent.get("title") or words("Agent")))
        if message.sender != "user":
            return one_line(str(message.config.get("model") or words("Assistant")))
    return one_line(entry.activity.actor_name)


def reply_of(activity: Activity, words: PageWords = ENGLISH) -> str | None:
    """`#short_id` of what the activity replies to, "(deleted)" where that is deleted; None for no reply."""
    if activity.reply_to_id is None:
        return None
    return f"#{activity.reply_to_short_id}" if activity.reply_to_short_id else words("(deleted)")


def totals_line(words: PageWords = ENGLISH, *, messages: int, others: int) -> str:
    """How much a document holds: "Messages: 4", with "other activities: 1" behind it where there are any."""
    if not others:
        return words("Messages: %(messages)s", messages=messages)
    return words("Messages: %(messages)s, other activities: %(others)s", messages=messages, others=others)


def facts_of(conversation: ConversationRow, words: PageWords = ENGLISH) -> list[tuple[str, str]]:
    """(name, value) of each fact about the conversation."""
    facts = [
        (words("Created"), moment(conversation.created_at)),
        (words("Last updated"), moment(conversation.updated_at)),
    ]
    if conversation.conversation_friendly_id:
        facts.append((words("Reference"), f"@conversation_{conversation.conversation_friendly_id}"))
    return facts


def title_of(piece: ExportedPart, words: PageWords = ENGLISH) -> str:
    """What a part is called: its label, its title, or both."""
    labels = {
        "Thinking": words("Thinking"),
        "Note": words("Note"),
        "Tool": words("Tool"),
        "File": words("File"),
        "Picture": words("Picture"),
        "Referenced documents": words("Referenced documents"),
    }
    label = labels.get(piece.label, piece.label)
    if label and piece.title:
        return words("%(label)s: %(title)s", label=label, title=piece.title)
    return label or piece.title


def literal(text: str) -> str:
    """`text` as Markdown that says just that."""
    return _SPECIAL.sub(r"\\\1", text)


def moment(time: str) -> str:
    """An ISO time as "YYYY-MM-DD HH:MM:SS" (UTC)."""
    return f"{time[:10]} {time[11:19]}"


def _pieces_of(message: ExportedMessage, words: PageWords) -> Iterator[str | ExportedPart]:
    """The text of a message, none of it empty, with its parts between, and the documents that it refers to."""
    row = message.row
    yield from in_reading_order(row.text, [_as_it_is_now(part, message.hashes) for part in row.parts])
    if row.documents:
        listed = (_document_line(document, words) for document in row.documents)
        yield ExportedPart(label="Referenced documents", title="", body="\n".join(listed))


def _as_it_is_now(part: Mapping[str, Any], hashes: Mapping[str, str]) -> Mapping[str, Any]:
    """A part; one whose file is erased names none."""
    if part.get("attachment_id") in {None, *hashes}:
        return part
    return {name: value for name, value in part.items() if name != "attachment_id"}


def link_to(piece: ExportedPart, heading: Heading) -> str:
    """The relative address of the file that a part is; "" where there is none, or where it is not beside."""
    return heading.files_in + quote(piece.file) if piece.file and heading.files_in else ""


def _document_line(document: Mapping[str, Any], words: PageWords) -> str:
    path, summary = document["relative_path"], one_line(document["summary"] or "")
    line = f"- {literal(document['wikilink'])} ({literal(path) if path else words('not found')})"
    if path and not document["used"]:
        line += words(", found but not used")
    return f"{line}: {literal(summary)}" if summary else line


def _notes_of(message: MessageRow, words: PageWords) -> list[str]:
    """Notes on a message: beside the active path, hidden from models, edited, not completed."""
    notes = [words("other branch")] if message.other_branch is not None else []
    notes += [words("hidden")] if message.show_hide == "hide" else []
    if message.edited_at is not None:
        notes.append(words("edited"))
    statuses = {
        "streaming": words("still being written"),
        "cancelled": words("cancelled"),
        "interrupted": words("interrupted"),
        "failed": words("failed"),
    }
    return notes if message.status == "complete" else [*notes, statuses.get(message.status, message.status)]


_LONGEST = 80
_UNSAFE = re.compile(r'[/\\:*?"<>|]+')
_SPACE = re.compile(r"[\s_]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_OTHERWISE = "conversation"


def file_name(title: str, extension: str) -> str:
    """A file name that is valid on every system, without invisible characters or folders."""
    visible = "".join(" " if _is_invisible(character) else character for character in title)
    stem = _SPACE.sub(" ", _UNSAFE.sub(" ", visible)).strip(" .")[:_LONGEST].strip(" .")
    if _RESERVED.match(stem):
        stem = f"{_OTHERWISE} {stem}"
    return f"{stem or _OTHERWISE}.{extension}"


def _is_invisible(character: str) -> bool:
    # Control, format (text direction among them), surrogate, private-use and unassigned characters.
    return unicodedata.category(character).startswith("C")
