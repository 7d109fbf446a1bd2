"""The history of a conversation that lives in a bundle: everything in memory, written when a turn is finished."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from chat.context.conversations import hash_unhashed, newest_within
from chat.ports import Message
from chat.turns.history import refuse_fixed
from conversation_reference_utils import generate_conversation_friendly_id, unique_message_short_hash
from database.conversations.summary import Said, Unsummarised
from database.engine.clock import now_iso
from database.engine.database import Database
from database.errors import InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.turns.identity import AcceptedTurn, FinishedTurn, RepeatedTurn
from portability.bundles import Bundle, save_bundle

_EMPTY_MEMORY = {
    "title": "",
    "title_force_set": False,
    "conversation_friendly_id": "",
    "running_summary": "",
    "summarised_messages": 0,
}


class BundleHistory:
    """See `chat.turns.history.History`. A bundle without a folder is kept in memory only.

    register: gives the memory its friendly id in a store, where the conversation is to be known there too.
    store_turns: brings that store's copy of the conversation up to these messages, under this title.
    """

    database: Database | None = None
    register: Callable[[dict[str, Any]], None] | None = None
    store_turns: Callable[[Sequence[Message], str], None] | None = None

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._bundle.memory = {**_EMPTY_MEMORY, "created_at": now_iso(), **bundle.memory}
        for index, message in enumerate(bundle.messages, 1):
            message.setdefault("status", "complete")
            message["message_index"] = index
        hash_unhashed(bundle.messages, friendly_id=self._bundle.memory["conversation_friendly_id"])
        self._version = 1

    def memory(self) -> dict[str, Any]:
        """See `History`."""
        memory = self._bundle.memory
        return {**memory, "last_updated": memory.get("last_updated", memory["created_at"])}

    def unsummarised(self, *, limit: int, max_chars: int) -> Unsummarised:
        """See `History`. What is in a bundle stays: the place of a message is its ordinal."""
        done = self.count_summarised()
        shown = [message for message in self._bundle.messages[done:] if message.get("show_hide") != "hide"]
        said = (_said(message, max_chars=max_chars) for message in shown[:limit])
        return Unsummarised(
            summary=str(self._bundle.memory["running_summary"]),
            ordinal=done,
            messages=tuple(takewhile(lambda message: message.settled, said)),
            max_chars=max_chars,
        )

    def store_summary(self, summary: str, *, since: Unsummarised, read: int) -> bool:
        """See `History`."""
        self.update({"running_summary": summary, "summarised_messages": since.messages[read - 1].ordinal})
        return True

    def count_summarised(self) -> int:
        """See `History`."""
        return int(self._bundle.memory["summarised_messages"])

    def version(self) -> int:
        """See `History`."""
        return self._version

    def metadata(self) -> dict[str, Any]:
        """See `History`."""
        memory = self.memory()
        updated_at = str(memory["last_updated"])
        return {
            "conversation_id": self._bundle.conversation_id,
            "user_id": self._bundle.user_id,
            "title": memory["title"],
            "summary_till_now": memory["running_summary"],
            "domain": self._bundle.domain,
            "flag": memory.get("flag", "none"),
            "last_updated": updated_at[:19].replace("T", " "),
            "created_at": memory["created_at"],
            "updated_at": updated_at,
            "conversation_settings": memory.get("settings", {}),
            "conversation_friendly_id": memory["conversation_friendly_id"],
            "workspace_id": "",
            "workspace_name": "",
            "archived": False,
            "stateless": False,
            "pinned": False,
            "temporary": False,
            "message_count": len(self._bundle.messages),
        }

    def update(self, changes: Mapping[str, Any]) -> None:
        """See `History`."""
        refuse_fixed(changes)
        self._bundle.memory.update(changes)
        self._changed()

    def adopt_friendly_id(self, friendly_id: str) -> None:
        """See `History`."""
        self._bundle.memory["conversation_friendly_id"] = self._bundle.memory["conversation_friendly_id"] or friendly_id

    def messages(self) -> list[dict[str, Any]]:
        """See `History`."""
        return [dict(message) for message in self._bundle.messages]

    def message_at(self, index: int) -> Message | None:
        """See `History`."""
        messages = self._bundle.messages
        return messages[index - 1] if 1 <= index <= len(messages) else None

    def message_by_hash(self, short_hash: str) -> Message | None:
        """See `History`."""
        return next((m for m in self._bundle.messages if m.get("message_short_hash") == short_hash), None)

    def messages_between(self, start: int, end: int) -> Sequence[Message]:
        """See `History`."""
        return self._bundle.messages[max(0, start - 1) : end]

    def last_messages(self, *, max_chars: int, before: int | None = None) -> Sequence[Message]:
        """See `History`."""
        earlier = self._bundle.messages[: before - 1 if before is not None else None]
        return newest_within([m for m in earlier if m.get("show_hide") != "hide"], max_chars=max_chars)

    def accept(
        self,
        *,
        text: str,
        config: Mapping[str, Any],
        reply_to: str | None,
        thread_id: str | None,
        model_name: str,
        client_message_id: str | None = None,
    ) -> AcceptedTurn:
        """See `History`. Raises TurnInProgressError. A bundle has one writer, who knows what it sent."""
        del client_message_id
        if any(message["status"] == "streaming" for message in self._bundle.messages):
            raise TurnInProgressError
        first_turn = not self._bundle.messages
        friendly_id = self._bundle.memory["conversation_friendly_id"]
        question = self._append("user", text, config=config, reply_to=reply_to, thread_id=thread_id)
        if friendly_id:
            question["message_short_hash"] = unique_message_short_hash(friendly_id, text, self._taken())
        response = self._append("model", "", config={"model": model_name}, reply_to=None, thread_id=thread_id)
        response["status"] = "streaming"
        return AcceptedTurn(
            **_identity(question, response),
            title=self._bundle.memory["title"],
            conversation_friendly_id=friendly_id or None,
            first_turn=first_turn,
            created_at=question["created_at"],
        )

    def accept_again(self, message_id: str, *, model_name: str, client_message_id: str | None = None) -> RepeatedTurn:
        """See `History`. Raises InvalidChangeError: a bundle holds one text of each answer."""
        del client_message_id
        raise InvalidChangeError(
            f"The answer {message_id} can't be made again by {model_name}: a bundle holds one text of each answer."
        )

    def store_report(self, message_id: str, report: Sequence[Mapping[str, Any]]) -> None:
        """See `History`."""
        self._message(message_id)["references"] = [dict(entry) for entry in report]

    def finish(
        self,
        response_message_id: str,
        *,
        text: str,
        status: str,
        config: Mapping[str, Any],
        title: str | None,
        parts: Sequence[Mapping[str, Any]] = (),
    ) -> FinishedTurn:
        """See `History`."""
        response = self._message(response_message_id)
        question = self._bundle.messages[response["message_index"] - 2]
        if response["status"] == "streaming":
            response.update(text=text, status=status, config=dict(config), parts=[dict(part) for part in parts])
            self._name(title)
            self._changed()
            if self.store_turns is not None:
                self.store_turns(self._bundle.messages, self._bundle.memory["title"])
        return FinishedTurn(
            **_identity(question, response),
            title=self._bundle.memory["title"],
            conversation_friendly_id=self._bundle.memory["conversation_friendly_id"],
            status=response["status"],
        )

    def _name(self, title: str | None) -> None:
        memory = self._bundle.memory
        if title and not memory["title_force_set"] and not memory["conversation_friendly_id"]:
            memory["title"] = title
        if self.register is not None:
            self.register(memory)
        if not memory["conversation_friendly_id"]:
            memory["conversation_friendly_id"] = generate_conversation_friendly_id(
                memory["title"], memory["created_at"]
            )
        hash_unhashed(self._bundle.messages, friendly_id=memory["conversation_friendly_id"])

    def _append(
        self, sender: str, text: str, *, config: Mapping[str, Any], reply_to: str | None, thread_id: str | None
    ) -> dict[str, Any]:
        message_id = str(uuid.uuid4())
        message: dict[str, Any] = {
            "message_id": message_id,
            "text": text,
            "sender": sender,
            "user_id": self._bundle.user_id,
            "conversation_id": self._bundle.conversation_id,
            "message_short_hash": None,
            "message_index": len(self._bundle.messages) + 1,
            "short_id": self._short_id(message_id),
            "reply_to_id": reply_to,
            "thread_id": thread_id,
            "created_at": now_iso(),
            "status": "complete",
            "show_hide": "show",
            "config": dict(config),
            "references": [],
            "document_references": [],
            "parts": [],
            "edited_at": None,
        }
        self._bundle.messages.append(message)
        return message

    def _short_id(self, message_id: str) -> str:
        digits = message_id.replace("-", "")
        taken = {message.get("short_id") for message in self._bundle.messages}
        return next(digits[-length:] for length in (6, 8, 12, 32) if digits[-length:] not in taken)

    def _taken(self) -> set[str]:
        return {m["message_short_hash"] for m in self._bundle.messages if m.get("message_short_hash")}

    def _message(self, message_id: str) -> dict[str, Any]:
        found = next((m for m in self._bundle.messages if m["message_id"] == message_id), None)
        if found is None:
            raise MessageNotFoundError
        return found

    def _changed(self) -> None:
        self._version += 1
        self._bundle.memory["last_updated"] = now_iso()
        bundle = self._bundle
        if bundle.folder is not None:
            save_bundle(
                bundle.folder,
                conversation_id=bundle.conversation_id,
                user_id=bundle.user_id,
                domain=bundle.domain,
                memory=bundle.memory,
                messages=bundle.messages,
            )


def _said(message: Mapping[str, Any], *, max_chars: int) -> Said:
    return Said(
        ordinal=message["message_index"],
        message_id=message["message_id"],
        sender=message["sender"],
        text=message["text"][:max_chars],
        status=message["status"],
    )


def _identity(question: Mapping[str, Any], response: Mapping[str, Any]) -> dict[str, Any]:
    fields = ("message_id", "message_index", "short_id", "message_short_hash")
    asked = {f"user_{field}": question[field] for field in fields}
    return asked | {f"response_{field}": response[field] for field in fields}
