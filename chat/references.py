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
from .digests import digested
from .pkb_items import PkbItem, shorten
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTurn:
    """The messages of the turn that refers: they are no part of what it may refer to. chars: the question's length."""

    message_ids: frozenset[str] = frozenset()
    chars: int = 0


@dataclass(slots=True, kw_only=True)
class ConversationReferences:
    """Resolves the conversation references of one request; each conversation is loaded once.

    `lookup` and `load` see this user's conversations alone, so that a foreign one reads like a missing one. Nothing
    inside a resolved text is resolved again. running: left out of ranges and whole conversations.
    """

    lookup: FriendlyIdLookup
    load: ConversationLoader
    caps: ReferenceCaps = field(default_factory=ReferenceCaps)
    running: RunningTurn = field(default_factory=RunningTurn)
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
        kind = _kind(ref, parts)
        if parts.kind == "malformed":
            return _failed(ref, kind, "malformed", f"{parts.problem[:1].upper()}{parts.problem[1:]}.")
        found = named.get(parts.conv_fid)
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
        others = self._without_the_running(messages)
        if not others:
            note = "It holds nothing but this question and its answer."
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
            entry = entry.with_note("This question and its answer are left out.")
        if end > count:
            entry = entry.with_note(f"The conversation ends at message {count}.")
        return self._with_items(ref, entry, conversation, others)

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
            return _failed(ref, "conversation", "empty", "The conversation has no messages.", title=metadata["title"])
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
            entry = entry.with_note("The answer that is still being written is left out.")
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


def kind_of(reference: str) -> str:
    """What a conversation reference seems to name, judged by its form alone, as the report calls it."""
    parts = classify_conversation_reference(reference)
    return _kind(reference, parts) if parts else "conversation"


def _kind(reference: str, parts: ConversationReference) -> str:
    malformed_range = parts.kind == "malformed" and _RANGE_MARKER.search(reference)
    return "message_range" if malformed_range else _KINDS[parts.kind]


def _find(conversation: AddressableConversation, identifier: str) -> Message | None:
    if not identifier.isdigit():
        return conversation.message_by_hash(identifier)
    # A leading zero marks an old hash: an index has none.
    is_index = len(identifier) <= 15 and not identifier.startswith("0")
    message = conversation.message_at(int(identifier)) if is_index else None
    if message is None and len(identifier) == 6:
        return conversation.message_by_hash(identifier)  # an old hash may be all digits
    return message


def _missing_message(ref: str, identifier: str, conversation: AddressableConversation, title: str) -> Resolution:
    if not identifier.isdigit() or (identifier.startswith("0") and len(identifier) > 1):
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


def _failed(ref: str, kind: str, status: str, note: str, *, title: str = "") -> Resolution:
    return Resolution(entry=ReportEntry(ref=ref, kind=kind, status=status, notes=(note,), title=title))
