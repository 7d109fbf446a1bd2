"""Kills a real server at random moments of answers, and asks those who watched what it must not have lost.

As a program: `python -m tests.load.crash --kills 200 --seed 7`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants
from tests.load.witnesses import Crowd, Witness, pieces_of, talkative

TALKERS = 6
LASTING = 4
"""So many conversations live through all kills; the others are new in each round."""


@dataclass
class CrashTest:
    """One server, one person, and a number of kills."""

    server: LiveServer
    model: RecordingModel
    seed: int = 1
    outcomes: Counter[str] = field(default_factory=Counter)
    witnesses: list[Witness] = field(default_factory=list)

    def run(self, kills: int) -> None:
        """Kill and check so many times, and more often where chance let too few answers be cut, or be whole.

        Raises AssertionError with what was lost.
        """
        rng = Random(self.seed)
        self.model.scripts |= {"main": talkative(0.004), "cheap": saying("One Title For All Of Them")}
        client = self.server.sign_up()
        lasting = [client.create_conversation() for _ in range(LASTING)]
        for number in range(8 * kills):
            if number >= kills and min(self.outcomes["interrupted"], self.outcomes["seen whole"]) > kills:
                break
            fresh = [client.create_conversation() for _ in range(TALKERS - LASTING)]
            crowd = Crowd(client, seed=rng.getrandbits(32))
            self._talk_until_killed(crowd, [*lasting, *fresh], rng)
            self.server.start()
            check(client, crowd.witnesses, rng, self.outcomes)
            assert broken_invariants(self.server.store) == {}, f"after kill {number + 1}"
            self.witnesses += crowd.witnesses
        check_nothing_lost(client, self.witnesses)

    def _talk_until_killed(self, crowd: Crowd, conversations: list[str], rng: Random) -> None:
        with ThreadPoolExecutor(len(conversations)) as pool:
            talks = [pool.submit(crowd.talk, conversation_id) for conversation_id in conversations]
            crowd.wait_for_events(rng.randrange(150))
            # Events arrive just after a commit; the kill must fall anywhere between two.
            time.sleep(rng.uniform(0.0, 0.03))
            self.server.kill()
            for talk in talks:
                talk.result()


def check(client: Client, witnesses: list[Witness], rng: Random, outcomes: Counter[str]) -> None:
    """What each witness saw is stored, goes on without gap or repetition, and is marked as what it is."""
    conversations = {witness.conversation_id for witness in witnesses}
    stored = {each: messages_of(client, each) for each in conversations}
    for witness in witnesses:
        found = find(witness, stored[witness.conversation_id])
        if found is None:
            outcomes["not accepted"] += 1
            continue
        question, answer = found
        check_answer(witness, answer)
        check_stream(client, witness, question, answer, rng)
        outcomes["seen whole" if witness.done else answer["status"]] += 1


def messages_of(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    """All messages of a conversation."""
    reply = client.get(f"/list_messages_by_conversation/{conversation_id}")
    assert reply.status == 200, reply.text
    messages: list[dict[str, Any]] = reply.json()
    return messages


def find(witness: Witness, stored: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Question and answer as they are stored; None for a message that was cut off before the server took it."""
    places = [place for place, message in enumerate(stored) if message["text"] == witness.question]
    if not places and not witness.accepted:
        return None
    assert len(places) == 1, f"stored {len(places)} times: {witness.question}"
    question, answer = stored[places[0] : places[0] + 2]
    assert (question["sender"], question["status"], answer["sender"]) == ("user", "complete", "model")
    return question, answer


def check_answer(witness: Witness, answer: dict[str, Any]) -> None:
    """The stored answer: what was heard, nothing doubled, nothing left out, and honest about its end."""
    said = "".join(pieces_of(witness.question))
    assert said.startswith(answer["text"]), f"not what the model said: {answer['text']!r}"
    assert answer["text"].startswith(witness.heard), f"heard but lost: {witness.heard!r}, stored {answer['text']!r}"
    assert witness.answer_id in {None, answer["message_id"]}
    assert answer["status"] in {"complete", "interrupted"}
    if answer["status"] == "complete":
        assert answer["text"] == said
    if witness.done:
        assert (answer["status"], witness.heard) == ("complete", said)


def check_stream(
    client: Client, witness: Witness, question: dict[str, Any], answer: dict[str, Any], rng: Random
) -> None:
    """Watching goes on from wherever the witness was cut off, and from anywhere else."""
    whole = list(client.stream(f"/stream/{answer['message_id']}?after=0"))
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert whole[: len(witness.events)] == witness.events, "another past than the one that was seen"
    assert "".join(event["text"] for event in whole) == answer["text"]
    assert [number for number, event in enumerate(whole, 1) if event.get("done")] == [len(whole)]
    assert any("error" in event for event in whole) == (answer["status"] == "interrupted")
    told = whole[-2]["message_ids"]
    assert told["user_message_id"] == question["message_id"]
    for prefix, message in (("user", question), ("response", answer)):
        assert told[f"{prefix}_message_short_hash"] == message["message_short_hash"]
        assert told[f"{prefix}_message_index"] == message["message_index"]
        assert told[f"{prefix}_short_id"] == message["short_id"]
    for after in (len(witness.events), rng.randrange(len(whole) + 1)):
        assert list(client.stream(f"/stream/{answer['message_id']}?after={after}")) == whole[after:]


def check_nothing_lost(client: Client, witnesses: list[Witness]) -> None:
    """At the very end everything is still there, once, in the order in which it was said."""
    for conversation_id in {witness.conversation_id for witness in witnesses}:
        stored = messages_of(client, conversation_id)
        assert [message["message_index"] for message in stored] == list(range(1, len(stored) + 1))
        asked = [message["text"] for message in stored if message["sender"] == "user"]
        assert len(asked) == len(set(asked)) == len(stored) / 2
        sent = [witness for witness in witnesses if witness.conversation_id == conversation_id]
        assert [w.question for w in sent if w.question in set(asked)] == asked
        assert {w.question for w in sent if w.accepted} <= set(asked)


def main() -> int:
    """Run from the command line; 0 when nothing was lost."""
    parser = argparse.ArgumentParser(description="Kill a server at random moments and look for what was lost.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, RecordingModel().serving() as model:
        test = CrashTest(LiveServer(Path(folder) / "server", model.environ).start(), model, seed=options.seed)
        try:
            test.run(options.kills)
        finally:
            test.server.kill()
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(test.outcomes.items()))
    print(f"{options.kills} kills, {len(test.witnesses)} messages ({outcomes}): nothing lost, nothing doubled.")
    print(f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
