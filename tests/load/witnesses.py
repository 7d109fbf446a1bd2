"""People who talk to a server that may die at any moment, and remember exactly what they saw."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from random import Random
from typing import Any

from tests.fakes import Answer
from tests.http_client import Client

_ASKED = re.compile(r"Say (\d+) pieces of (\w+)\.")


def pieces_of(question: str) -> tuple[str, ...]:
    """What the model says to `question`: pieces that can each be told from every other."""
    count, name = _ASKED.findall(question)[-1]
    return tuple(f"{name}:{number} " for number in range(int(count)))


def talkative(delay: float) -> Callable[[dict[str, Any]], Answer]:
    """A script for the model: it says the pieces it is asked for, `delay` seconds apart."""
    return lambda request: Answer(deltas=pieces_of(request["messages"][-1]["content"]), delay=delay)


@dataclass
class Witness:
    """One message that was sent, and what its sender saw of the answer."""

    conversation_id: str
    question: str
    accepted: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether the end was seen."""
        return bool(self.events) and self.events[-1].get("done", False)

    @property
    def heard(self) -> str:
        """The text that was seen."""
        return "".join(event["text"] for event in self.events)

    @property
    def answer_id(self) -> str | None:
        """The answer's id, if it was told."""
        told = (event["message_ids"]["response_message_id"] for event in self.events if "message_ids" in event)
        return next(told, None)

    def accept(self) -> None:
        """The server has answered 200: from now on the message may not be lost."""
        self.accepted = True


class Crowd:
    """Several people, each in a conversation of their own, who send one message after the other until cut off."""

    def __init__(self, client: Client, *, seed: int) -> None:
        self._client = client
        self._seed = seed
        self._changed = threading.Condition()
        self._seen = 0
        self._talking = 0
        self.witnesses: list[Witness] = []

    def talk(self, conversation_id: str) -> None:
        """Send and watch until the server is gone or `enough` was said. Any answer but 200 is an AssertionError."""
        rng = Random(f"{self._seed} {conversation_id}")
        with self._changed:
            self._talking += 1
        try:
            number = 0
            while self._one(conversation_id, f"{rng.getrandbits(64):x}n{number}", rng):
                number += 1
        finally:
            with self._changed:
                self._talking -= 1
                self._changed.notify_all()

    def wait_for_events(self, count: int, *, seconds: float = 120.0) -> None:
        """Wait until so many events were seen by all together; earlier if nobody talks any more."""
        with self._changed:
            begun = self._changed.wait_for(lambda: self._seen >= count or self.witnesses, seconds)
            assert begun, "nobody began to talk"
            came = self._changed.wait_for(lambda: self._seen >= count or self._talking == 0, seconds)
            assert came, f"only {self._seen} of {count} events came"

    def _one(self, conversation_id: str, name: str, rng: Random) -> bool:
        witness = Witness(conversation_id, f"Say {rng.choice((1, 2, 3, 10, 30))} pieces of w{name}.")
        with self._changed:
            self.witnesses.append(witness)
            self._changed.notify_all()
        try:
            body = {"messageText": witness.question}
            for event in self._client.stream(f"/send_message/{conversation_id}", body, accepted=witness.accept):
                if event.get("heartbeat"):
                    continue
                with self._changed:
                    witness.events.append(event)
                    self._seen += 1
                    self._changed.notify_all()
        except (OSError, HTTPException, ValueError):  # cut off, perhaps within a line
            return False
        return witness.done
