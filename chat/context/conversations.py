"""Conversation references: from `@conversation_…` to the words that were said there."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from chat.exchange.files import PictureRoom, names_of_files
from chat.exchange.ports import AddressableConversation, ConversationLoader, ReferenceCaps, VersionedLoader
from chat.exchange.report import ReportEntry, Resolution, preview
from chat.prompting.items import PkbItem, cut, shorten
from conversation_reference_utils import (
    ConversationReference,
    classify_conversation_reference,
    message_index,
    unique_message_short_hash,
)
from database.engine.errors import ConversationNotFoundError, NotFoundError
from database.history.references import NamedConversation
from database.messages.message import Message
from sentences import Sentence, because, say


def addressable(conversation: Any) -> AddressableConversation:
    """`conversation`, with the lookups that references need; a loader of a script may give one that only lists.

    Raises ConversationNotFoundError for None.
    """
    if conversation is None:
        raise ConversationNotFoundError
    return conversation if hasattr(conversation, "message_at") else ListedConversation(conversation)


class ListedConversation:
    """Looks messages up in `get_message_list()`, read once."""

    def __init__(self, conversation: Any) -> None:
        self._metadata: dict[str, Any] = dict(conversation.get_metadata())
        self._messages: list[dict[str, Any]] = [
            {"message_short_hash": None, **message, "message_index": index}
            for index, message in enumerate(conversation.get_message_list(), 1)
        ]
        hash_unhashed(self._messages, friendly_id=str(self._metadata.get("conversation_friendly_id") or ""))
        self.conversation_id: str = str(self._metadata["conversation_id"])
        self.running_summary: str = str(getattr(conversation, "running_summary", "") or "")

    def get_metadata(self) -> dict[str, Any]:
        """Title, friendly id, dates, counts."""
        dates = {"created_at": "", "updated_at": "", "title": "", "conversation_friendly_id": ""}
        return {**dates, **self._metadata, "message_count": len(self._messages)}

    def message_at(self, index: int) -> Message | None:
        """The message with this 1-based index, or None."""
        return self._messages[index - 1] if 1 <= index <= len(self._messages) else None

    def message_by_hash(self, short_hash: str) -> Message | None:
        """The message with this short hash, or None."""
        return next((message for message in self._messages if message["message_short_hash"] == short_hash), None)

    def messages_between(self, start: int, end: int) -> Sequence[Message]:
        """Messages `start` to `end`, inclusive."""
        return self._messages[max(0, start - 1) : end]

    def last_messages(self, *, max_chars: int) -> Sequence[Message]:
        """The newest messages, together about `max_chars` long."""
        return newest_within(self._messages, max_chars=max_chars)


def hash_unhashed(messages: Sequence[dict[str, Any]], *, friendly_id: str) -> None:
    """Give each finished one of a conversation's `messages` that has no hash one; none without a `friendly_id`."""
    taken = {message["message_short_hash"] for message in messages if message.get("message_short_hash")}
    for message in messages if friendly_id else ():
        if not message.get("message_short_hash") and message.get("status") != "streaming":
            message["message_short_hash"] = unique_message_short_hash(friendly_id, message["text"], taken)
            taken.add(message["message_short_hash"])


def newest_within(messages: Sequence[Message], *, max_chars: int) -> list[Message]:
    """The newest of `messages`, in order, together about `max_chars` long; at least one if there is one."""
    kept: list[Message] = []
    for message in reversed(messages):
        max_chars -= len(message["text"])
        if kept and max_chars < 0:
            break
        kept.append(message)
    return kept[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A conversation as a model is given it.

    shown: how many messages are in it. chars: its length before anything was cut. notes: what is not in it, a sentence
    each.
    """

    body: str
    shown: int
    chars: int
    notes: tuple[Sentence, ...] = ()


def digested(metadata: Mapping[str, Any], summary: str, messages: Sequence[Message], *, cap: int) -> Digest:
    """As many of the newest `messages` as fit into `cap` characters, in order; a single one that doesn't fit is cut.

    metadata: the conversation's, with the `message_count` of those that could be shown.
    """
    header = (
        f"{metadata['title']} ({metadata['conversation_friendly_id']}), {metadata['message_count']} messages, "
        f"{metadata['created_at'][:10]} to {metadata['updated_at'][:10]}"
    )
    head = f"{header}\n\nSummary: {summary}" if summary else header
    left, parts, lost, notes = cap, list[str](), 0, list[Sentence]()
    for message in reversed(messages):
        heading, text = _heading(message), message["text"]
        if len(heading) + len(text) > left:
            if parts:
                break
            text, _ = cut(text, max(0, left - len(heading)))
            lost = len(message["text"]) - len(text)
            notes.append(say("message_cut_to", index=message["message_index"], characters=cap))
        parts.append(heading + text)
        left -= len(parts[-1])
    if len(parts) < int(metadata["message_count"]):
        notes.append(_part_of(messages, shown=len(parts), count=int(metadata["message_count"])))
    body = "\n\n".join([head, *reversed(parts)])
    return Digest(body=body, shown=len(parts), chars=len(body) + lost, notes=tuple(notes))


def _heading(message: Message) -> str:
    return f"#{message['message_index']} · {message['message_short_hash']} ({_who(message)}):\n"


def _who(message: Message) -> str:
    """Who said it, and which files came with it."""
    files = names_of_files(message)
    return ("You" if message["sender"] == "user" else "Assistant") + (f"; {files}" if files else "")


def _part_of(messages: Sequence[Message], *, shown: int, count: int) -> Sentence:
    """Which part of a conversation's `count` messages `shown` of the newest are; those hidden from models are none."""
    hidden = count - messages[0]["message_index"] + 1 - len(messages) if messages else count
    if hidden:
        return say("newest_visible_messages", shown=shown, count=count, hidden=hidden)
    return say("newest_messages", shown=shown, count=count)


log = logging.getLogger(__name__)
MAX_REFERENCES = 200
"""How many references of one message are followed; the rest is counted in the report."""

FriendlyIdLookup = Callable[[Sequence[str]], Mapping[str, NamedConversation]]
"""Friendly ids → the user's conversations that bear them."""

OpenFiles = Callable[[Message, str], Sequence[Resolution]]
"""A message and the friendly id of its conversation → what becomes of each of its files."""

_Resolver = Callable[[str, AddressableConversation, ConversationReference], Resolution]
_RANGE_MARKER = re.compile(r"_(?:messages|msgs)_", re.IGNORECASE)
HIDDEN = "hidden_from_models"
"""The code of the note that messages were left out since the person hid them."""
_HIDDEN_NOTE = "the user has hidden this message from models"
_KINDS = {"message": "message", "range": "message_range", "conversation": "conversation", "malformed": "message"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTurn:
    """The messages of the turn that refers, no part of what it may refer to; the length of its question in `chars`.

    is_of_model: a model wrote the question. room_for_pictures: for those that are named; None: nobody sees them.
    """

    message_ids: frozenset[str] = frozenset()
    chars: int = 0
    is_given_documents: bool = False
    is_of_model: bool = False
    room_for_pictures: PictureRoom | None = None


@dataclass(slots=True, kw_only=True)
class ConversationReferences:
    """Resolves the conversation references of one request; each conversation is loaded once.

    `lookup` and `load` see this user's conversations alone, so that a foreign one reads like a missing one. Nothing
    inside a resolved text is resolved again. running: left out of ranges and whole conversations. here: the
    conversation in which the references are written, if any. shows_hidden: messages that the person hid from models
    have their texts; a model that looks a reference up itself gets none. open_files: resolves the files of a message of
    the conversation with a friendly id; None: messages have none.
    """

    lookup: FriendlyIdLookup
    load: ConversationLoader
    caps: ReferenceCaps = field(default_factory=ReferenceCaps)
    running: RunningTurn = field(default_factory=RunningTurn)
    here: str | None = None
    shows_hidden: bool = True
    open_files: OpenFiles | None = None
    _loaded: dict[str, AddressableConversation] = field(default_factory=dict)

    @property
    def reads_hidden(self) -> bool:
        """Whether messages that the person hid from models have their texts here."""
        return self.shows_hidden and not self.running.is_of_model

    def without_files(self) -> ConversationReferences:
        """The same, for what reads the files of messages itself."""
        return replace(self, open_files=None)

    def resolve(self, references: Sequence[str]) -> list[Resolution]:
        """One resolution for each of `references` (without "@", as typed), in order.

        Raises nothing for a reference that fails.
        """
        names = [reference.removeprefix("@") for reference in references]
        parsed = [(name, classify_conversation_reference(name)) for name in names]
        candidates = {fid for _, parts in parsed if parts for fid in (parts.whole_candidate, parts.conv_fid) if fid}
        named = self.lookup(sorted(candidates)) if candidates else {}
        return [self._resolve_one(f"@{name}", parts, named) for name, parts in parsed if parts]

    def named_by_activity(self, ref: str, message: Message) -> Resolution:
        """A message, with the `conversation_id` that it is in, which was named by the short id of its activity."""
        return self._one(ref, self._load(message["conversation_id"]), message, kind="activity")

    def named_by_hash(self, ref: str, short_hash: str) -> Resolution | None:
        """The message of the conversation `here` that was named by its hash alone; None where there is none.

        Raises ConversationNotFoundError.
        """
        if self.here is None:
            return None
        conversation = self._load(self.here)
        message = conversation.message_by_hash(short_hash)
        return None if message is None else self._one(ref, conversation, message)

    def _load(self, conversation_id: str, *, version: int | None = None) -> AddressableConversation:
        if conversation_id not in self._loaded:
            # `isinstance` with a protocol takes as long as a remembered conversation.
            if version is not None and hasattr(self.load, "at_version"):
                opened = cast(VersionedLoader, self.load).at_version(conversation_id, version)
            else:
                opened = self.load(conversation_id)
            self._loaded[conversation_id] = addressable(opened)
        return self._loaded[conversation_id]

    def _resolve_one(
        self, ref: str, parts: ConversationReference, named: Mapping[str, NamedConversation]
    ) -> Resolution:
        # A title may hold the word "message": the rest is a whole friendly id first, and taken apart only then.
        whole = named.get(parts.whole_candidate)
        if whole is not None:
            return self._opened(
                ref, "conversation", whole, lambda conversation: self._whole_conversation(ref, conversation, parts)
            )
        kind = _kind(ref, parts)
        if parts.kind == "malformed":
            return _failed(ref, kind, "malformed", parts.problem)
        found = named.get(parts.conv_fid)
        if found is None:
            return _failed(ref, kind, "not_found", say("no_conversation"))
        resolver: _Resolver = {"message": self._message, "range": self._range}.get(parts.kind, self._whole_conversation)
        return self._opened(ref, kind, found, lambda conversation: resolver(ref, conversation, parts))

    def _opened(
        self,
        ref: str,
        kind: str,
        named: NamedConversation,
        resolver: Callable[[AddressableConversation], Resolution],
    ) -> Resolution:
        if named.deleted:
            return _failed(ref, kind, "deleted", say("conversation_deleted"), title=named.title)
        try:
            return resolver(self._load(named.conversation_id, version=named.version))
        except NotFoundError:
            return _failed(ref, kind, "not_found", say("no_conversation"))
        except Exception:  # one conversation that can't be read must not take the turn along
            log.exception("the conversation %s can't be read", named.conversation_id)
            return _failed(ref, kind, "unavailable", say("conversation_unreadable"), title=named.title)

    def _message(self, ref: str, conversation: AddressableConversation, parts: ConversationReference) -> Resolution:
        message = _find(conversation, parts.identifier)
        if message is None:
            title = str(conversation.get_metadata()["title"])
            return _missing_message(ref, parts.identifier, conversation, title)
        return self._one(ref, conversation, message)

    def _one(
        self, ref: str, conversation: AddressableConversation, message: Message, *, kind: str = "message"
    ) -> Resolution:
        """A single message. kind: "message", or "activity" where it was named by a short id."""
        is_hidden = self._is_hidden(message)
        message = self._readable(message)
        metadata = conversation.get_metadata()
        title = str(metadata["title"])
        if message.get("deleted_at"):
            return _failed(ref, kind, "deleted", say("message_deleted"), title=title)
        entry = ReportEntry(
            ref=ref,
            kind=kind,
            status="resolved",
            title=title,
            preview=preview(message["text"]),
            count=1,
            chars=len(message["text"]),
            # Without a target, nobody comes to the files of a message that is hidden.
            target={} if is_hidden else _message_target(conversation, message),
            notes=_notes(message),
        )
        fid = str(metadata["conversation_friendly_id"] or "")
        files = self.open_files(message, fid) if self.open_files is not None else ()
        return self._with_items(ref, entry, fid, [message], files=files)

    def _range(self, ref: str, conversation: AddressableConversation, parts: ConversationReference) -> Resolution:
        start, end = parts.start or 0, parts.end or 0
        metadata = conversation.get_metadata()
        count = int(metadata["message_count"])
        messages = conversation.messages_between(start, min(end, count)) if 1 <= start <= count else []
        if not messages:
            note = say("conversation_has", count=count) if count else say("conversation_empty")
            return _failed(ref, "message_range", "out_of_range", note, title=metadata["title"])
        others = [self._readable(message) for message in self._without_the_running(messages)]
        if not others:
            note = say("nothing_but_this")
            return _failed(ref, "message_range", "empty", note, title=metadata["title"])
        entry = ReportEntry(
            ref=ref,
            kind="message_range",
            status="resolved",
            title=metadata["title"],
            preview=preview(others[0]["text"]),
            count=len(others),
            chars=sum(len(message["text"]) for message in others),
            target={
                "conversation_id": conversation.conversation_id,
                "message_index": others[0]["message_index"],
                "message_id": others[0]["message_id"],
            },
        )
        if len(others) < len(messages):
            entry = entry.with_note(say("this_left_out"))
        if end > count:
            entry = entry.with_note(say("conversation_ends", index=count))
        return self._with_items(ref, entry, str(metadata["conversation_friendly_id"] or ""), others)

    def _readable(self, message: Message) -> Message:
        """The message, without its text and its files where it is hidden from who asks."""
        return {**message, "text": "", "parts": ()} if self._is_hidden(message) else message

    def _item(self, ref: str, fid: str, message: Message, type_: str) -> PkbItem:
        return PkbItem(
            source="referenced",
            type=type_,
            refs=(ref,),
            key=f"message:{message['message_id']}",
            label=f"from {fid} #{message['message_index'] or message['message_short_hash']} ({_who(message)}):",
            body=message["text"],
            note=_HIDDEN_NOTE if self._is_hidden(message) else "",
        )

    def _is_hidden(self, message: Message) -> bool:
        return not self.reads_hidden and message.get("show_hide") == "hide"

    def _without_the_running(self, messages: Sequence[Message]) -> list[Message]:
        return [message for message in messages if message["message_id"] not in self.running.message_ids]

    def _whole_conversation(
        self, ref: str, conversation: AddressableConversation, _parts: ConversationReference
    ) -> Resolution:
        metadata, cap = conversation.get_metadata(), self.caps.conversation
        newest = conversation.last_messages(max_chars=cap + self.running.chars)
        said = self._without_the_running(newest)
        finished = [message for message in said if message.get("status") != "streaming"]
        summary = conversation.running_summary
        if not finished and not summary:
            return _failed(ref, "conversation", "empty", say("conversation_empty"), title=metadata["title"])
        count = int(metadata["message_count"]) - (len(newest) - len(finished))
        digest = digested({**metadata, "message_count": count}, summary, finished, cap=cap)
        entry = ReportEntry(
            ref=ref,
            kind="conversation",
            status="resolved",
            title=metadata["title"],
            preview=preview(summary or finished[0]["text"]),
            count=digest.shown,
            chars=digest.chars,
            target={"conversation_id": conversation.conversation_id},
        )
        if len(finished) < len(said):
            entry = entry.with_note(say("unfinished_left_out"))
        for note in digest.notes:
            entry = entry.marked("truncated", note)
        item = PkbItem(
            source="referenced",
            type="conversation",
            refs=(ref,),
            key=f"conversation:{conversation.conversation_id}",
            body=digest.body,
        )
        return Resolution(entry=entry, items=(item,))

    def _with_items(
        self,
        ref: str,
        entry: ReportEntry,
        fid: str,
        messages: Sequence[Message],
        *,
        files: Sequence[Resolution] = (),
    ) -> Resolution:
        """The finished ones of `messages` as items. fid: the friendly id of their conversation."""
        finished = [message for message in messages if message.get("status") != "streaming"]
        if not finished:
            return Resolution(entry=entry.marked("streaming", say("still_written")))
        if len(finished) < len(messages):
            entry = entry.with_note(say("unfinished_left_out"))
        type_ = "activity" if entry.kind == "activity" else "conversation_message"
        items = tuple(shorten(self._item(ref, fid, message, type_), self.caps.message) for message in finished)
        hidden = sum(map(self._is_hidden, finished))
        cuts = sum(item.truncated_from is not None for item in items)
        if cuts:
            most = self.caps.message
            is_one = len(finished) == 1
            note = say("cut_to", characters=most) if is_one else say("some_cut_to", count=cuts, characters=most)
            entry = entry.marked("truncated", note)
        with_words = [*items, *(item for file in files for item in file.items)]
        if not any(item.body or item.picture for item in with_words):
            entry = replace(entry, status="empty")
            entry = entry if files or hidden else entry.with_note(say("message_empty"))
        if hidden:
            entry = entry.with_note(say(HIDDEN, count=hidden))
        return Resolution(entry=_with_files(entry, files), items=tuple(with_words))


def kind_of(reference: str) -> str | None:
    """What a conversation reference seems to name, judged by its form alone, as the report calls it; None: no such."""
    parts = classify_conversation_reference(reference)
    return _kind(reference, parts) if parts else None


def _kind(reference: str, parts: ConversationReference) -> str:
    malformed_range = parts.kind == "malformed" and _RANGE_MARKER.search(reference)
    return "message_range" if malformed_range else _KINDS[parts.kind]


def _find(conversation: AddressableConversation, identifier: str) -> Message | None:
    index = message_index(identifier)
    message = None if index is None else conversation.message_at(index)
    # An old hash may be all digits.
    return message or conversation.message_by_hash(identifier)


def _missing_message(ref: str, identifier: str, conversation: AddressableConversation, title: str) -> Resolution:
    index = message_index(identifier)
    if index is None:
        return _failed(ref, "message", "not_found", say("no_such_hash"), title=title)
    count = conversation.get_metadata()["message_count"]
    note = say("counted_from_one") if index == 0 else say("conversation_has", count=int(count))
    return _failed(ref, "message", "out_of_range", note, title=title)


def _with_files(entry: ReportEntry, files: Sequence[Resolution]) -> ReportEntry:
    """The entry of a message, which names its files and says what of them is not given."""
    if not files:
        return entry
    entry = entry.with_note(say("message_files", names=", ".join(file.entry.title for file in files)))
    for file in files:
        for note in file.entry.notes:
            entry = entry.with_note(because("of_file", note, name=file.entry.title))
        if file.entry.status == "truncated" and entry.status == "resolved":
            entry = replace(entry, status="truncated")
    return replace(
        entry,
        chars=entry.chars + sum(file.entry.chars for file in files),
        preview=entry.preview or next((file.entry.preview for file in files if file.entry.preview), ""),
    )


def _message_target(conversation: AddressableConversation, message: Message) -> dict[str, Any]:
    return {
        "conversation_id": conversation.conversation_id,
        "message_id": message["message_id"],
        "message_index": message["message_index"],
        "message_short_hash": message["message_short_hash"],
        "sender": message["sender"],
        "created_at": message.get("created_at", ""),
    }


def _notes(message: Message) -> tuple[Sentence, ...]:
    notes = [say("edited")] if message.get("edited_at") or message.get("variants") else []
    if message.get("other_branch"):
        notes.append(say("other_branch"))
    if message.get("status") in {"interrupted", "cancelled", "failed"}:
        notes.append(say(f"answer_{message['status']}"))
    return tuple(notes)


def _failed(ref: str, kind: str, status: str, note: Sentence, *, title: str = "") -> Resolution:
    return Resolution(entry=ReportEntry(ref=ref, kind=kind, status=status, notes=(note,), title=title))
