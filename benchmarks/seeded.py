"""The data that is measured on: made once by `flask bench seed`, kept in benchmarks/data, copied for what writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from database.connection import close_store, open_store
from database.conversations.conversation import ConversationListRow
from database.conversations.listing import list_conversations
from database.engine.database import Database
from database.engine.stamp import FileStamp
from database.history.reading import list_messages
from database.messages.message import MessageRow
from tests.live_server import NO_MODELS, PASSWORD, ROOT

EMAIL = "bench@example.org"
DOMAIN = "assistant"
DATA = ROOT / "benchmarks" / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is seeded, and how often a thing is measured.

    claims: sizes of the knowledge bases, each of which is measured; they are apart from the conversations.
    searched: conversations (and memories) and messages of the data in which all kinds are searched together.
    documents: of the vault.
    """

    name: str
    conversations: int
    messages: int
    workspaces: int
    times: int
    streams: tuple[int, ...]
    claims: tuple[int, ...]
    searched: tuple[int, int]
    documents: int


FULL = Size(
    name="full",
    conversations=10_000,
    messages=1_000_000,
    workspaces=300,
    times=200,
    streams=(50, 200, 500),
    claims=(10_000, 100_000),
    searched=(10_000, 100_000),
    documents=5_000,
)
QUICK = Size(
    name="quick",
    conversations=1_000,
    messages=50_000,
    workspaces=30,
    times=40,
    streams=(50,),
    claims=(1_000, 10_000),
    searched=(1_000, 10_000),
    documents=500,
)


@dataclass
class Bench:
    """What one run of benchmarks shares: the size, and a copy of the seeded data that may be written to.

    beside: the folder of another state of the code, which is measured in turn with this one where that is offered.
    histories: a file of histories to ask questions about, instead of the generated ones. messages: how many are
    imported or moved, instead of what the size says. characters: of each message that is imported.
    """

    size: Size
    beside: Path | None = None
    histories: Path | None = None
    messages: int | None = None
    characters: int | None = None
    _copied: Path | None = field(default=None, repr=False)

    @property
    def times(self) -> int:
        """How often a cheap thing is measured."""
        return self.size.times

    def scratch(self, name: str) -> Path:
        """An empty folder below benchmarks/data, thrown away by the next run."""
        folder = DATA / "scratch" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    @property
    def folder(self) -> Path:
        """A copy of the seeded data, as `LiveServer` takes it; the store is in `data/users` below it."""
        if self._copied is None:
            original = _seeded(self.size)
            self._copied = self.scratch("seeded")
            copy_data(original, self._copied)
        return self._copied

    @property
    def small(self) -> Path:
        """The seeded data of a person with 200 conversations and 20,000 messages; to be copied, not changed."""
        return _made("small", conversations=200, messages=20_000, workspaces=5)

    def moved(self) -> Path:
        """The seeded data that is moved to another kind of database, of `messages` messages where they are named."""
        if self.messages is None:
            return closed(self)
        few = {"conversations": max(1, self.messages // 100), "messages": self.messages, "workspaces": 5}
        copied = self.scratch("moved")
        copy_data(_made(f"moved-{self.messages}", **few), copied)
        return copied

    def searched(self, name: str) -> Path:
        """A fresh copy, called `name`, of the seeded data in which all kinds are searched together."""
        conversations, messages = self.size.searched
        original = _made(
            f"searched-{conversations}",
            conversations=conversations,
            messages=messages,
            workspaces=self.size.workspaces,
            claims=conversations,
        )
        copied = self.scratch(name)
        copy_data(original, copied)
        return copied

    def knowledge(self, claims: int) -> Path:
        """A fresh copy of the seeded knowledge base of so many claims, as `LiveServer` takes it."""
        copied = self.scratch(f"knowledge-{claims}")
        copy_data(_made(f"knowledge-{claims}", conversations=0, claims=claims), copied)
        return copied

    @property
    def users_dir(self) -> str:
        """Where the copied store is."""
        return str(self.folder / "data" / "users")

    @property
    def database(self) -> Database:
        """The copied store, open."""
        return open_store(self.users_dir)

    @property
    def own(self) -> dict[str, Any]:
        """Whose data it is, as the functions of the store take it."""
        return {"database": self.database, "user_email": EMAIL}

    @cached_property
    def conversations(self) -> list[ConversationListRow]:
        """All seeded conversations, longest first."""
        rows, _ = list_conversations(**self.own, domain=DOMAIN)
        return sorted(rows, key=lambda row: -row.message_count)

    @property
    def longest(self) -> ConversationListRow:
        """The conversation of 10,000 messages (fewer in a quick run)."""
        return self.conversations[0]

    @property
    def shortest(self) -> ConversationListRow:
        """The conversation of 10 messages."""
        return self.conversations[-1]

    def references(self, count: int, *, conversations: int) -> list[str]:
        """References (without "@") to `count` messages of as many of `conversations` middling conversations."""
        rows = self.conversations[1 : conversations + 1]
        named = [(row, self._messages(row)) for row in rows]
        return [
            f"conversation_{row.conversation_friendly_id}_message_{messages[number // len(rows)].message_short_hash}"
            for number, (row, messages) in ((number, named[number % len(rows)]) for number in range(count))
        ]

    def _messages(self, row: ConversationListRow) -> list[MessageRow]:
        return list_messages(**self.own, conversation_id=row.conversation_id, after=0, limit=20)


def seed(folder: Path, **options: Any) -> None:
    """Run `flask --app server bench seed` on an empty data folder; options are the command's, None for a flag."""
    data_dir = folder / "data"
    data_dir.mkdir(parents=True)
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value)) if text != "None"]
    command = [sys.executable, "-m", "flask", "--app", "server", "bench", "seed", "--email", EMAIL, *arguments]
    subprocess.run([*command, "--password", PASSWORD], cwd=ROOT, env=environ(data_dir), check=True)


def environ(data_dir: Path) -> Mapping[str, str]:
    """The environment of a command on a data folder, without models."""
    return {**os.environ, **NO_MODELS, "ANAPHORA_DATA_DIR": str(data_dir)}


def copy_data(original: Path, folder: Path) -> None:
    """Copy seeded data into `folder`; a server takes the stores for those that it left there."""
    shutil.copytree(original, folder, dirs_exist_ok=True)
    mark_as_left(folder)


def mark_as_left(folder: Path) -> None:
    """Have a server take the stores below `folder` for those that it left there, and check them behind."""
    for name in ("users.db", "pkb.sqlite"):
        stamp = FileStamp(folder / "data" / "users" / name)
        stamp.begin_check()
        stamp.end_check()


def closed(bench: Bench) -> Path:
    """The copied data with no store of this process open on it, for a server that will."""
    close_store(bench.users_dir)
    return bench.folder


def _seeded(size: Size) -> Path:
    return _made(size.name, conversations=size.conversations, messages=size.messages, workspaces=size.workspaces)


def _made(name: str, **options: int) -> Path:
    """The folder of this name, seeded with `options` the first time."""
    folder = DATA / name
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"seeding {', '.join(f'{count:,} {what}' for what, count in options.items())} …", file=sys.stderr)
        seed(folder, **options)
        (folder / "complete").touch()
    return folder
