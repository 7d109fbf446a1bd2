"""What answers messages for a command: a server that runs, or this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from typing import Any

Event = dict[str, Any]


class ServerRequestError(Exception):
    """The server can't be reached, or refused a request. `message` is one sentence for a person.

    status, code: the HTTP status and the code of the error; None where there was no response.
    """

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code


class AnsweringServer(ABC):
    """What answers messages. Its methods raise ServerRequestError."""

    outlives_command: bool
    """Whether answers are written to their end also when the command has ended."""

    @abstractmethod
    def create_conversation(self) -> str:
        """The id of a new conversation."""

    @abstractmethod
    def discard(self, conversation_id: str) -> None:
        """Erase a conversation in which nothing was said. May raise StoreError, too."""

    @abstractmethod
    def cancel(self, conversation_id: str) -> bool:
        """Stop the answer that is being written, keeping what was said; whether there was one."""

    def send(
        self,
        conversation_id: str,
        text: str,
        *,
        model: str | None = None,
        use_tools: bool | None = None,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> Generator[Event, None, None]:
        """Send a message; the events of its answer as they come.

        model: None for the one that the conversation has chosen. use_tools: None leaves it to the conversation.
        reply_to: an activity id or short id.
        """
        named = {"model": model, "reply_to": reply_to, "thread_id": thread_id}
        body: dict[str, Any] = {"messageText": text}
        body |= {name: value for name, value in named.items() if value is not None}
        if use_tools is not None:
            body["options"] = {"use_tools": use_tools}
        return self._events(conversation_id, body)

    @abstractmethod
    def _events(self, conversation_id: str, body: Mapping[str, Any]) -> Generator[Event, None, None]:
        """Ask for an answer with the body of a request; its events."""
