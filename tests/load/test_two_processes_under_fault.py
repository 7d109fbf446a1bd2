"""Two processes write into one store, and one of them is killed at any moment: what either has committed is there."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import ROOT, LiveServer
from tests.load.crash import check_answer, find, messages_of
from tests.load.invariants import broken_invariants
from tests.load.other_writer import WRITER
from tests.load.test_failing_storage import eventually
from tests.load.witnesses import Witness, talkative
from tests.tiers import KILLS

pytestmark = [pytest.mark.live, pytest.mark.proof]

ROUNDS = max(4, KILLS // 10)
CONVERSATIONS = 3


class OtherWriter:
    """The other process, and what it said that it committed: the latest line of each question."""

    def __init__(self, server: LiveServer, conversations: list[str]) -> None:
        command = [sys.executable, "-m", "tests.load.other_writer", str(server.users_dir), "ada@example.org"]
        self.process = subprocess.Popen([*command, *conversations], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.told: dict[str, dict[str, Any]] = {}
        self._lines = 0
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                said = json.loads(line)
                with self._changed:
                    self.told[said["question"]] = said
                    self._lines += 1
                    self._changed.notify_all()

    def wait_for_lines(self, count: int) -> None:
        """Wait until it has committed `count` times more."""
        with self._changed:
            enough = self._lines + count
            assert self._changed.wait_for(lambda: self._lines >= enough, 120), "the other process writes nothing"

    def kill(self) -> None:
        """SIGKILL, and read what it had said."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


def talk(client: Client, conversations: list[str], rng: Random, stopped: threading.Event) -> list[Witness]:
    """Send messages to the server until it is gone or `stopped`; a conversation that answers is passed over."""
    witnesses: list[Witness] = []
    while not stopped.is_set():
        question = f"Say {rng.choice((1, 3, 10, 30))} pieces of w{rng.getrandbits(64):x}."
        witness = Witness(rng.choice(conversations), question)
        witnesses.append(witness)
        try:
            body = {"messageText": question}
            path = f"/send_message/{witness.conversation_id}"
            for event in client.stream(path, body, accepted=witness.accept):
                if not event.get("heartbeat"):
                    witness.events.append(event)
        except AssertionError as refused:
            if refused.args[0][0] not in (409, 503):  # the other process answers there, or writes
                raise
            time.sleep(0.005)
        except (OSError, HTTPException, ValueError):
            break
    return witnesses


def check_written(
    written: dict[str, Any], stored: list[dict[str, Any]], outcomes: Counter[str], *, server_started: bool
) -> None:
    """What the other process committed is stored, once.

    A server that starts takes every running turn for one that a crash has left, and marks it as interrupted.
    """
    places = [place for place, message in enumerate(stored) if message["text"] == written["question"]]
    assert len(places) == 1, f"stored {len(places)} times: {written}"
    answer = stored[places[0] + 1]
    heard = written.get("heard", "")
    assert answer["text"].startswith(heard), f"committed and lost: {written}, stored {answer['text']!r}"
    assert answer["status"] in {"complete", "interrupted"}
    if written.get("done"):
        assert answer["text"] == heard
        assert answer["status"] == "complete" or server_started
    outcomes[f"{WRITER}: {answer['status']}"] += 1


def test_whichever_process_is_killed_nothing_that_either_committed_is_lost_or_doubled(
    tmp_path: Path, recording_model: RecordingModel
) -> None:
    recording_model.scripts |= {"main": talkative(0.004), "cheap": saying("One Title For All Of Them")}
    server = LiveServer(tmp_path / "server", recording_model.environ)
    rng, outcomes = Random(7), Counter[str]()
    client = server.start().sign_up()
    shared = [client.create_conversation() for _ in range(CONVERSATIONS)]
    writer = OtherWriter(server, shared)
    try:
        for number in range(ROUNDS):
            stopped = threading.Event()
            with ThreadPoolExecutor(2) as pool:
                talks = [pool.submit(talk, client, shared, Random(rng.getrandbits(32)), stopped) for _ in range(2)]
                writer.wait_for_lines(rng.randrange(1, 60))
                (server if number % 2 else writer).kill()
                stopped.set()
            if number % 2:
                server.start()
                writer.wait_for_lines(1)  # it goes on
                writer.kill()
            eventually(lambda: broken_invariants(server.users_dir) == {})  # leases have ended, everything is at rest
            stored = {each: messages_of(client, each) for each in shared}
            for written in writer.told.values():
                check_written(written, stored[written["conversation"]], outcomes, server_started=number % 2 == 1)
            for witness in [witness for each in talks for witness in each.result()]:
                if found := find(witness, stored[witness.conversation_id]):
                    check_answer(witness, found[1])
                    outcomes[f"server: {found[1]['status']}"] += 1
            writer = OtherWriter(server, shared)
    finally:
        writer.kill()
        server.kill()
    assert min(outcomes[f"{who}: {end}"] for who in ("server", WRITER) for end in ("complete", "interrupted")) > 0
