"""Conversation references: from `@conversation_…` to the words that were said there."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conversation_reference_utils import ConversationReference, classify_conversation_reference
from database.errors import NotFoundError
from database.reference_lookup import NamedConversation

from .addressable import addressable
from .pkb_items import PkbItem, cut, shorten
from .ports import AddressableConversation, ConversationLoader, Message, ReferenceCaps
from .report import ReportEntry, Resolution, preview

log = logging.getLogger(__name__)
MAX_REFERENCES = 200
"""How many references of one message are followed; the rest is counted in the report."""

FriendlyIdLookup = Callable[[Sequence[str]], Mapping[str, NamedConversation]]
"""Friendly ids → the user's conversations that bear them."""

_Resolver = Callable[[str, AddressableConversation, ConversationReference], Resolution]
_RANGE_MARKER = re.compile(r"_(?:messages|msgs)_", re.IGNORECASE)
_KINDS = {"message": "message", "range": "message_range", "conversation": "conversation", "malformed": "message"}


@dataclass(slots=True, kw_only=True)
class ConversationReferences:
    """Resolves the conversation references of one request; each conversation is loaded once.

    `lookup` and `load` see this user's conversations alone, so that a foreign one reads like a missing one. Nothing
    inside a resolved text is resolved again.
    """

    lookup: FriendlyIdLookup
    load: ConversationLoader
    caps: ReferenceCaps = field(default_factory=ReferenceCaps)
    _loaded: dict[str, AddressableConversation] = field(default_factory=dict)

    def resolve(self, references: Sequence[str]) -> list[Resolution]:
        """One resolution for each of `references` (without "@", as typed), in order.

        Raises nothing for a reference that fails.
        """
        names = [reference.removeprefix("@") for reference in references]
        parsed = [(name, classify_conversation_reference(name)) for name in names]
        candidates = {fid for _, parts in parsed if parts for fid in (parts.whole_candidate, parts.conv_fid) if fid}
        named = self.lookup(sorted(candidates)) if candidates else {}
        return [self._resolve_one(f"@{name}", parts, named) for name, parts in parsed if parts]

    def _resolve_one(
        self, ref: str, parts: ConversationReference, named: Mapping[str, NamedConversation]
    ) -> Resolution:
        # A title may hold the word "message": the rest is a whole friendly id first, and taken apart only then.
        whole = named.get(parts.whole_candidate)
        if whole is not None:
            return self._opened(
                ref, "conversation", whole, lambda conversation: self._whole_conversation(ref, conversation, parts)
            )
        if parts.kind == "malformed":
            kind = "message_range" if _RANGE_MARKER.search(ref) else "message"
            return _failed(ref, kind, "malformed", f"{parts.problem[:1].upper()}{parts.problem[1:]}.")
        found = named.get(parts.conv_fid)
        kind = _KINDS[parts.kind]
        if found is None:
            return _failed(ref, kind, "not_found", "No such conversation.")
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
            return _failed(ref, kind, "deleted", "The conversation was deleted.", title=named.title)
        try:
            if named.conversation_id not in self._loaded:
                self._loaded[named.conversation_id] = addressable(self.load(named.conversation_id))
            return resolver(self._loaded[named.conversation_id])
        except NotFoundError:
            return _failed(ref, kind, "not_found", "No such conversation.")
        except Exception:  # one conversation that can't be read must not take the turn along
            log.exception("the conversation %s can't be read", named.conversation_id)
            return _failed(ref, kind, "unavailable", "The conversation can't be read.", title=named.title)

    def _message(self, ref: str, conversation: AddressableConversation, parts: ConversationReference) -> Resolution:
        message = _find(conversation, parts.identifier)
        title = str(conversation.get_metadata()["title"])
        if message is None:
            return _missing_message(ref, parts.identifier, conversation, title)
        if message.get("deleted_at"):
            return _failed(ref, "message", "deleted", "The message was deleted.", title=title)
        entry = ReportEntry(
            ref=ref,
            kind="message",
            status="resolved",
            title=title,
            preview=preview(message["text"]),
            count=1,
            chars=len(message["text"]),
            target=_message_target(conversation, message),
            notes=_notes(message),
        )
        return self._with_items(ref, entry, conversation, [message])

    def _range(self, ref: str, conversation: AddressableConversation, parts: ConversationReference) -> Resolution:
        start, end = parts.start or 0, parts.end or 0
        metadata = conversation.get_metadata()
        count = int(metadata["message_count"])
        messages = conversation.messages_between(start, min(end, count)) if 1 <= start <= count else []
        if not messages:
            note = f"The conversation has {count} messages." if count else "The conversation has no messages."
            return _failed(ref, "message_range", "out_of_range", note, title=metadata["title"])
        entry = ReportEntry(
            ref=ref,
            kind="message_range",
            status="resolved",
            title=metadata["title"],
            preview=preview(messages[0]["text"]),
            count=len(messages),
            chars=sum(len(message["text"]) for message in messages),
            target={
                "conversation_id": conversation.conversation_id,
                "message_index": start,
                "message_id": messages[0]["message_id"],
            },
        )
        if end > count:
            entry = entry.with_note(f"The conversation ends at message {count}.")
        return self._with_items(ref, entry, conversation, messages)

    def _whole_conversation(
        self, ref: str, conversation: AddressableConversation, _parts: ConversationReference
    ) -> Resolution:
        metadata = conversation.get_metadata()
        messages = conversation.last_messages(max_chars=self.caps.conversation)
        finished = [message for message in messages if message.get("status") != "streaming"]
        target = {"conversation_id": conversation.conversation_id}
        if not finished and not conversation.running_summary:
            return _failed(ref, "conversation", "empty", "The conversation has no messages.", title=metadata["title"])
        body, shown = _digest(metadata, conversation.running_summary, finished, cap=self.caps.conversation)
        entry = ReportEntry(
            ref=ref,
            kind="conversation",
            status="resolved",
            title=metadata["title"],
            preview=preview(conversation.running_summary or finished[0]["text"]),
            count=shown,
            chars=len(body),
            target=target,
        )
        if shown < int(metadata["message_count"]):
            entry = entry.marked("truncated", _part_of(messages, shown=shown, count=int(metadata["message_count"])))
        item = PkbItem(
            source="referenced",
            type="conversation",
            refs=(ref,),
            key=f"conversation:{conversation.conversation_id}",
            body=body,
        )
        return Resolution(entry=entry, items=(item,))

    def _with_items(
        self, ref: str, entry: ReportEntry, conversation: AddressableConversation, messages: Sequence[Message]
    ) -> Resolution:
        finished = [message for message in messages if message.get("status") != "streaming"]
        if not finished:
            return Resolution(entry=entry.marked("streaming", "This answer is still being written."))
        if len(finished) < len(messages):
            entry = entry.with_note("The answer that is still being written is left out.")
        fid = conversation.get_metadata()["conversation_friendly_id"]
        items = tuple(shorten(_message_item(ref, fid, message), self.caps.message) for message in finished)
        cuts = sum(item.truncated_from is not None for item in items)
        if cuts:
            subject = "Cut" if len(finished) == 1 else f"{cuts} of them cut"
            entry = entry.marked("truncated", f"{subject} to {self.caps.message:,} characters.")
        elif not any(message["text"] for message in finished):
            entry = entry.marked("empty", "The message has no text.")
        return Resolution(entry=entry, items=items)


def _find(conversation: AddressableConversation, identifier: str) -> Message | None:
    if not identifier.isdigit():
        return conversation.message_by_hash(identifier)
    message = conversation.message_at(int(identifier)) if len(identifier) <= 15 and int(identifier) >= 1 else None
    if message is None and len(identifier) == 6:
        return conversation.message_by_hash(identifier)  # an old hash may be all digits
    return message


def _missing_message(ref: str, identifier: str, conversation: AddressableConversation, title: str) -> Resolution:
    if not identifier.isdigit():
        return _failed(ref, "message", "not_found", "No message of this conversation has this hash.", title=title)
    count = conversation.get_metadata()["message_count"]
    note = "Messages are counted from 1." if int(identifier[:16]) == 0 else f"The conversation has {count} messages."
    return _failed(ref, "message", "out_of_range", note, title=title)


def _message_item(ref: str, fid: str, message: Message) -> PkbItem:
    sender = "You" if message["sender"] == "user" else "Assistant"
    return PkbItem(
        source="referenced",
        type="conversation_message",
        refs=(ref,),
        key=f"message:{message['message_id']}",
        label=f"from {fid} #{message['message_index']} ({sender}):",
        body=message["text"],
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


def _notes(message: Message) -> tuple[str, ...]:
    notes = ["edited"] if message.get("edited_at") or message.get("variants") else []
    if message.get("status") in {"interrupted", "cancelled", "failed"}:
        notes.append(f"answer {message['status']}")
    return tuple(notes)


def _digest(metadata: Mapping[str, Any], summary: str, messages: Sequence[Message], *, cap: int) -> tuple[str, int]:
    header = (
        f"{metadata['title']} ({metadata['conversation_friendly_id']}), {metadata['message_count']} messages, "
        f"{metadata['created_at'][:10]} to {metadata['updated_at'][:10]}"
    )
    head = f"{header}\n\nSummary: {summary}" if summary else header
    left, parts = cap, list[str]()
    for message in reversed(messages):
        sender = "You" if message["sender"] == "user" else "Assistant"
        part = f"#{message['message_index']} · {message['message_short_hash']} ({sender}):\n{message['text']}"
        if len(part) > left:
            if parts:
                break
            part, _ = cut(part, left)
        parts.append(part)
        left -= len(part)
    return "\n\n".join([head, *reversed(parts)]), len(parts)


def _part_of(messages: Sequence[Message], *, shown: int, count: int) -> str:
    """Which part of a conversation's `count` messages `shown` of the newest are; those hidden from models are none."""
    hidden = count - messages[0]["message_index"] + 1 - len(messages) if messages else count
    if hidden:
        return f"The newest {shown} of {count} messages; {hidden} hidden from the model left out."
    return f"The newest {shown} of {count} messages."


def _failed(ref: str, kind: str, status: str, note: str, *, title: str = "") -> Resolution:
    return Resolution(entry=ReportEntry(ref=ref, kind=kind, status=status, notes=(note,), title=title))
