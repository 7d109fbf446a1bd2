"""The files of messages: with their own turn, as one line in later ones, and where a reference names them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from attachments.storage import Attachments
from chat.prompting.items import PkbItem, fit, render
from chat.prompting.prompt import CHARS_A_TOKEN, PICTURE_TOKENS
from conversation_reference_utils import FileReference, file_reference, parse_file_reference
from database.conversations.repository import get_conversation
from database.engine.database import Database
from database.engine.errors import AttachmentNotFoundError, ConversationNotFoundError, UserNotFoundError
from database.history.attachments import files_of_each
from database.history.reading import message_by_id
from database.messages.message import Message
from database.messages.parts import is_file
from language_models.ports import ChatModel
from sentences import Sentence, say

from .ports import TurnServices
from .report import ReportEntry, Resolution, preview

KIND = "file"
READ_TOOL = "read_file"
_NO_TEXT = {
    "no_text": "file_no_text",
    "encrypted": "file_encrypted",
    "damaged": "file_damaged",
    "too_costly": "file_too_costly",
}
_MOST_PICTURES, _MOST_PICTURE_BYTES = 50, 16 * 2**20
"""Of one request: providers refuse those of a few tens of MB, or of more than a hundred pictures."""
_NOTES = {"cut": "file_partly_read", "encoding": "file_encoding_guessed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file of a message. part: how the message names it. pages: its text; () where there is none.

    first: the number of the first of `pages`. uncut: how many there were before only some were kept; None where all
    are there. picture: as a `data:` URL; "" for what is none. refs: references to it.
    is_gone: it was erased, or never came here. message_id: of its message, where a reference names it.
    """

    part: Mapping[str, Any]
    pages: Sequence[str] = ()
    first: int = 1
    uncut: int | None = None
    picture: str = ""
    refs: tuple[str, ...] = ()
    is_gone: bool = False
    message_id: str = ""

    @property
    def number(self) -> int:
        """Which file of its message it is, from 1."""
        return int(self.part["id"])

    @property
    def has_pages(self) -> bool:
        """Whether its text is divided into pages that people count."""
        return self.part.get("pages") is not None

    @property
    def has_text(self) -> bool:
        """Whether there is anything to read."""
        return any(page.strip() for page in self.pages)

    def body(self) -> str:
        """The text; each page of a format with pages begins with its number."""
        if not self.has_pages:
            return "\n".join(self.pages)
        return "\n".join(f"[Page {number}]\n{page}" for number, page in enumerate(self.pages, self.first))

    @property
    def last(self) -> int:
        """The number of the last of `pages`."""
        return self.first + len(self.pages) - 1

    @property
    def count(self) -> int:
        """How many pages the whole file has."""
        return len(self.pages) if self.uncut is None else self.uncut

    def between(self, first: int, last: int) -> AttachedFile:
        """The file with those of its pages alone that are `first` to `last`; of a format without pages, all of it."""
        if not self.has_pages:
            return self
        start = max(first, self.first)
        pages = self.pages[start - self.first : max(0, last - self.first + 1)]
        return replace(self, pages=pages, first=start, uncut=self.count)

    def last_page_within(self, chars: int) -> int:
        """The page that `body()` shows last when it is cut after so many characters."""
        ends = accumulate(len(f"[Page {number}]\n{page}\n") for number, page in enumerate(self.pages, self.first))
        whole = sum(end <= chars for end in ends)
        return min(self.first + whole, self.last)


def line_of(part: Mapping[str, Any]) -> str:
    """What a file is, on one line: `file_2: report.pdf, 100 pages`."""
    told = [" ".join(str(part.get("name", "")).split())]
    if part["kind"] == "image":
        size = f" of {part['width']} × {part['height']} pixels" if part.get("width") else ""
        told.append(f"a picture{size}")
    elif part.get("pages") is not None:
        told.append("1 page" if part["pages"] == 1 else f"{part['pages']} pages")
    elif part.get("lines"):
        told.append("1 line" if part["lines"] == 1 else f"{part['lines']} lines")
    return f"file_{part['id']}: {', '.join(told)}"


@dataclass(frozen=True, slots=True)
class AttachedFiles:
    """The files of the message that a turn answers."""

    files: Sequence[AttachedFile] = ()

    def rendered(self, model: ChatModel, *, cap: int | None, share: float = 1.0) -> str:
        """The files as `<pkb_item>`s, together of as many characters as they may have in a prompt of `model`.

        cap: see `cap_chars`. share: of that, where a prompt was too long for the model.
        """
        if not self.files:
            return ""
        return render(self._items(model, chars=int(cap_chars(model, cap=cap) * share)))

    def pictures(self, model: ChatModel, named: Sequence[PkbItem] = ()) -> list[str]:
        """The pictures, each once, as `data:` URLs for a model that sees them: those of `named` items, then its own.

        So they come in the order in which the text of the prompt names them.
        """
        pictures = [*(item.picture for item in named), *(file.picture for file in self.files)]
        return list(dict.fromkeys(filter(None, pictures))) if model.sees_pictures else []

    def room_for_pictures(self, models: Callable[[], Sequence[ChatModel]]) -> PictureRoom:
        """What may go with the message to `models` beside its own pictures."""
        return PictureRoom(models, own=[file.picture for file in self.files if file.picture])

    def report(self, models: Sequence[ChatModel], *, cap: int | None) -> list[ReportEntry]:
        """What becomes of each file in the prompts of these models; of texts, in that of the first."""
        if not self.files:
            return []
        items = self._items(models[0], chars=cap_chars(models[0], cap=cap))
        return [_entry(file, item, models) for file, item in zip(self.files, items, strict=True)]

    def _items(self, model: ChatModel, *, chars: int) -> list[PkbItem]:
        items = [_item(file, model) for file in self.files]
        fitted, _ = fit(items, chars)
        return [
            item if item.truncated_from is None else replace(item, label=f"{item.label}; {_what_is_in(file, item)}")
            for file, item in zip(self.files, fitted, strict=True)
        ]


class PictureRoom:
    """Which of the pictures that references name go with a message: a quarter of the window of each model that sees.

    models: those that answer, asked for with the first picture. own: the pictures of the message itself.
    """

    def __init__(self, models: Callable[[], Sequence[ChatModel]], *, own: Sequence[str] = ()) -> None:
        self._models = models
        self._given = set(own)

    def admit(self, entry: ReportEntry, picture: str) -> ReportEntry:
        """Take the picture, once, if there is room; the entry of the report says why not, and who does not see it."""
        models = self._models()
        windows = [model.context_window for model in models if model.sees_pictures]
        if windows and picture not in self._given and not self._has_room_for(picture, window=min(windows)):
            return entry.marked("unavailable", say("too_many_pictures"))
        if windows:
            self._given.add(picture)
            entry = replace(entry, count=1)
        return _seen_by(models, entry)

    def _has_room_for(self, picture: str, *, window: int) -> bool:
        given = [*self._given, picture]
        most = min(max(1, window // 4 // PICTURE_TOKENS), _MOST_PICTURES)
        return len(given) <= most and sum(map(len, given)) <= _MOST_PICTURE_BYTES


def _seen_by(models: Sequence[ChatModel], entry: ReportEntry) -> ReportEntry:
    """The entry of a picture that goes to those of `models` that see; it names the others."""
    unseen = [say("picture_not_seen", model=model.name) for model in models if not model.sees_pictures]
    if len(unseen) == len(models):
        return entry.marked("unavailable", unseen[0])
    return replace(entry, notes=(*entry.notes, *dict.fromkeys(unseen)))


def cap_chars(model: ChatModel, *, cap: int | None) -> int:
    """How many characters of files go with a message to `model`. cap: in tokens; None: a quarter of its window."""
    tokens = model.context_window // 4 if cap is None else min(cap, model.context_window // 2)
    return tokens * CHARS_A_TOKEN


def _item(file: AttachedFile, model: ChatModel) -> PkbItem:
    why = _why_not_given(file, model)
    label = f"{line_of(file.part)}{f': {why}' if why else ''}"
    return PkbItem(body=file.body(), type=KIND, source="attached", refs=file.refs, label=label, key=_key(file))


def _key(file: AttachedFile) -> str:
    # Another program may have given a text along without a file.
    return f"file:{file.part.get('attachment_id') or file.message_id}:{file.number}"


def _why_not_given(file: AttachedFile, model: ChatModel) -> Sentence | None:
    """Why the model gets nothing of the file, or None."""
    if file.is_gone:
        return say("file_gone")
    if file.part["kind"] == "image":
        return None if model.sees_pictures else say("picture_not_seen", model=model.name)
    if file.has_text:
        return None
    return say(_NO_TEXT.get(str(file.part.get("problem")), "file_no_text"))


def _what_is_in(file: AttachedFile, item: PkbItem) -> Sentence:
    if file.has_pages:
        last = file.last_page_within(len(item.body))
        return say("file_cut_pages", first=file.first, last=last, count=int(file.part["pages"]))
    return say("file_cut", shown=len(item.body), count=item.truncated_from or 0)


def _entry(file: AttachedFile, item: PkbItem, models: Sequence[ChatModel]) -> ReportEntry:
    is_picture = file.part["kind"] == "image" and not file.is_gone
    why = None if is_picture else _why_not_given(file, models[0])
    entry = ReportEntry(
        ref=file.refs[0] if file.refs else f"file_{file.number}",
        kind=KIND,
        status="resolved" if why is None else "unavailable",
        title=str(file.part.get("name", "")),
        preview=preview(item.body),
        count=1,
        chars=item.truncated_from or len(item.body),
        target={"attachment_id": file.part.get("attachment_id"), "number": file.number},
        notes=() if why is None else (why,),
    )
    if is_picture:
        return _seen_by(models, entry)
    if item.truncated_from is not None:
        return entry.marked("truncated", _what_is_in(file, item))
    note = _NOTES.get(str(file.part.get("problem")))
    return entry if note is None else entry.with_note(say(note))


def opened(
    part: Mapping[str, Any],
    *,
    user_email: str,
    attachments: Attachments | None,
    refs: tuple[str, ...] = (),
    message_id: str = "",
) -> AttachedFile:
    """The file that a message part of `user_email` names, with its text or its picture. Raises nothing."""
    file = AttachedFile(part=part, refs=refs, message_id=message_id, is_gone=True)
    if part.get("text") and not part.get("attachment_id"):
        # Another program gave the text along, and not the file.
        return replace(file, pages=(str(part["text"]),), is_gone=False)
    if attachments is None:
        return file
    try:
        found = attachments.get(user_email, str(part.get("attachment_id")))
        if found.kind != "image":
            return replace(file, pages=attachments.pages(found), is_gone=False)
        content = attachments.picture(found).read_bytes()
    except (AttachmentNotFoundError, UserNotFoundError, OSError):
        return file
    media = "image/png" if content.startswith(b"\x89PNG") else "image/jpeg"
    picture = f"data:{media};base64,{base64.b64encode(content).decode()}"
    return replace(file, picture=picture, is_gone=False)


def attached_files(
    parts: Sequence[Mapping[str, Any]],
    *,
    user_email: str,
    services: TurnServices,
    friendly_id: str | None,
    short_hash: str | None,
) -> AttachedFiles:
    """The files of the question of a turn. friendly_id, short_hash: of its conversation and itself, if it has them."""
    if not parts:
        return AttachedFiles()
    return AttachedFiles(
        [
            opened(
                part,
                user_email=user_email,
                attachments=services.attachments,
                refs=_refs(friendly_id, short_hash, part),
            )
            for part in parts
        ]
    )


def files_attached_to(
    message_id: str, *, conversation_id: str, user_email: str, database: Database, services: TurnServices
) -> AttachedFiles:
    """The files of a stored message, also of one that is in the bin."""
    where: dict[str, Any] = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
    parts = files_of_each(**where, message_ids=[message_id]).get(message_id, [])
    names: dict[str, Any] = {"friendly_id": None, "short_hash": None}
    if parts:
        with suppress(ConversationNotFoundError):
            message = message_by_id(**where, message_id=message_id)
            names["friendly_id"] = get_conversation(**where).conversation_friendly_id
            names["short_hash"] = None if message is None else message.message_short_hash
    return attached_files(parts, user_email=user_email, services=services, **names)


def _refs(friendly_id: str | None, short_hash: str | None, part: Mapping[str, Any]) -> tuple[str, ...]:
    return (file_reference(friendly_id, short_hash, int(part["id"])),) if friendly_id and short_hash else ()


def with_files(
    history: Sequence[Message],
    *,
    user_email: str,
    services: TurnServices,
    model: ChatModel,
    friendly_id: str | None,
    can_read: bool,
) -> list[Message]:
    """The messages of a history, each with what a model is told of its files (`files_text`).

    can_read: the model can read them by a tool, so one line each has to do. Otherwise their text stays, the newest
    first, as far as `cap_chars` has room for it.
    """
    left = 0 if can_read else cap_chars(model, cap=services.file_cap)
    told: list[Message] = []
    for message in reversed(history):
        parts = message.get("files") or ()
        if parts:
            fid = friendly_id if can_read else None
            text = "\n".join(_line(part, fid, message.get("message_short_hash")) for part in parts)
            whole = _whole(parts, user_email=user_email, services=services, model=model) if left else ""
            if whole and len(whole) <= left:
                text, left = whole, left - len(whole)
            message = {**message, "files_text": text}  # noqa: PLW2901 - the message with more
        told.append(message)
    return told[::-1]


def _line(part: Mapping[str, Any], friendly_id: str | None, short_hash: str | None) -> str:
    refs = _refs(friendly_id, short_hash, part) if part["kind"] != "image" else ()
    return f"[{line_of(part)}{f'; {READ_TOOL} {refs[0]}' if refs else ''}]"


def _whole(parts: Sequence[Mapping[str, Any]], *, user_email: str, services: TurnServices, model: ChatModel) -> str:
    files = [opened(part, user_email=user_email, attachments=services.attachments) for part in parts]
    return render([_item(file, model) for file in files])


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """What a reference to a file leads to. entry: its fate; file: None where it leads nowhere."""

    entry: ReportEntry
    file: AttachedFile | None = None


def named_file(
    reference: FileReference,
    message: Resolution,
    *,
    ref: str,
    user_email: str,
    database: Database | None,
    attachments: Attachments | None,
    room: PictureRoom | None = None,
) -> NamedFile:
    """The file that `reference`, written as `ref`, names. message: what its message was resolved to.

    room: for pictures; None: nobody sees them.
    """
    entry = replace(message.entry, ref=ref, kind=KIND, notes=(), status="resolved")
    target = message.entry.target
    if database is None or not target.get("message_id"):
        return NamedFile(entry=replace(entry, status=message.entry.status, notes=message.entry.notes))
    conversation_id, message_id = str(target["conversation_id"]), str(target["message_id"])
    own = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
    parts = files_of_each(**own, message_ids=[message_id]).get(message_id, [])  # type: ignore[arg-type]
    part = next((part for part in parts if part["id"] == reference.number), None)
    if part is None:
        note = say("message_has_files", count=len(parts))
        return NamedFile(entry=replace(entry, status="not_found", notes=(note,), preview="", count=0, chars=0))
    file = opened(part, user_email=user_email, attachments=attachments, refs=(ref,), message_id=message_id)
    target = {**target, "attachment_id": part.get("attachment_id"), "number": reference.number}
    entry = replace(entry, title=str(part.get("name", "")), target=target, preview="", chars=0)
    return _with_pages(entry, file, reference.pages, room)


def _with_pages(
    entry: ReportEntry, file: AttachedFile, pages: tuple[int, int] | None, room: PictureRoom | None
) -> NamedFile:
    if pages is not None:
        first, last = pages
        count = len(file.pages) if file.has_pages else 1
        if first > last or first < 1:
            return NamedFile(entry=entry.marked("malformed", say("malformed_order" if first else "malformed_number")))
        if first > count:
            return NamedFile(entry=entry.marked("out_of_range", say("file_has_pages", count=count)))
        if last > count:
            entry = entry.with_note(say("file_has_pages", count=count))
        file = file.between(first, last)
    if file.is_gone:
        return NamedFile(entry=entry.marked("deleted", say("file_gone")))
    if file.part["kind"] == "image":
        return NamedFile(entry=_shown(entry, file, room), file=file)
    if not file.has_text:
        note = say(_NO_TEXT.get(str(file.part.get("problem")), "file_no_text"))
        return NamedFile(entry=entry.marked("empty", note), file=file)
    body = file.body()
    return NamedFile(entry=replace(entry, preview=preview(body), chars=len(body), count=1), file=file)


def _shown(entry: ReportEntry, file: AttachedFile, room: PictureRoom | None) -> ReportEntry:
    """The entry of a picture."""
    return entry.marked("empty", say("file_is_picture")) if room is None else room.admit(entry, file.picture)


def resolve_files(
    names: Sequence[str],
    messages: Sequence[Resolution],
    *,
    user_email: str,
    database: Database | None,
    attachments: Attachments | None,
    cap: int,
    room: PictureRoom | None = None,
) -> list[Resolution]:
    """One resolution for each of `names` (file references without "@"); messages: those of the messages they name.

    cap: characters of one file. room: for pictures; None: nobody sees them.
    """
    who = {"user_email": user_email, "database": database, "attachments": attachments, "room": room}
    return [_resolution(name, message, who, cap=cap) for name, message in zip(names, messages, strict=True)]


def _resolution(name: str, message: Resolution, who: Mapping[str, Any], *, cap: int) -> Resolution:
    reference = parse_file_reference(name)
    assert reference is not None  # only those are recognised
    return _given(named_file(reference, message, ref=f"@{name}", **who), cap=cap)


def names_of_files(message: Message) -> str:
    """What the files of a message are, in one line; "" for none."""
    parts = message.get("files") or [part for part in message.get("parts") or () if is_file(part)]
    return "; ".join(map(line_of, parts))


def files_of_message(
    message: Message,
    friendly_id: str,
    *,
    user_email: str,
    attachments: Attachments | None,
    cap: int,
    room: PictureRoom | None = None,
) -> list[Resolution]:
    """One resolution for each file of a message that a reference names. cap, room: see `resolve_files`."""
    found = []
    for part in (part for part in message.get("parts") or () if is_file(part)):
        refs = _refs(friendly_id, message.get("message_short_hash"), part)
        message_id = str(message["message_id"])
        file = opened(part, user_email=user_email, attachments=attachments, refs=refs, message_id=message_id)
        entry = ReportEntry(ref=next(iter(refs), ""), kind=KIND, status="resolved", title=str(part.get("name", "")))
        found.append(_given(_with_pages(entry, file, None, room), cap=cap))
    return found


def _given(found: NamedFile, *, cap: int) -> Resolution:
    file = found.file
    if file is None or found.entry.status != "resolved":
        return Resolution(entry=found.entry)
    whole = PkbItem(
        body=file.body(),
        type=KIND,
        source="referenced",
        refs=file.refs,
        label=line_of(file.part),
        key=f"{_key(file)}:{file.first}-{len(file.pages)}",
        picture=file.picture,
    )
    (item,), _ = fit([whole], cap)
    if item.truncated_from is None:
        return Resolution(entry=found.entry, items=(item,))
    note = _what_is_in(file, item)
    return Resolution(
        entry=found.entry.marked("truncated", note), items=(replace(item, label=f"{item.label}; {note}"),)
    )
