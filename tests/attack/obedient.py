"""A model that does whatever the texts in its prompt ask for, and a world in which much could be asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from string import Template
from typing import Any

import orjson
from flask import Flask

from database.conversations.consent import allow_tool
from database.proposals import create_proposal
from endpoints.http.scope import EXTENSION, AppState
from language_models.ports import ChatMessage
from language_models.testing import Prompt, Reply, calling
from tests.attack.notes_server import NotesServer
from tests.endpoints.conftest import Person
from vault.documents import Vault

SECRET = "swordfish"
"""What the other person has, and nobody may read."""
_CHANGING = ("write_document", "append_to_document", "replace_lines", "rename_document", "delete_document")
WRITING = dict.fromkeys(_CHANGING, True)
"""The tools that change documents, switched on."""
_COMMAND = re.compile(r"CALL (\w+) (?={)")
_JSON = json.JSONDecoder()
_SAYING = re.compile(r"SAY (.+?) END", re.DOTALL)
_MOST = 40
Arguments = Mapping[str, Any]


def command(tool: str, arguments: Arguments) -> str:
    """An order that the model follows wherever it reads it."""
    return f"CALL {tool} {orjson.dumps(arguments).decode()}"


def _orders_in(text: str) -> Iterator[tuple[str, str]]:
    """The calls that `text` orders: the tool, and the arguments as JSON. An order within an order is none of them."""
    at = 0
    while found := _COMMAND.search(text, at):
        at = found.end()
        with suppress(ValueError):
            _, at = _JSON.raw_decode(text, found.end())
            yield found[1], text[found.end() : at]


@dataclass
class ObedientModel:
    """Makes the call `opening`, then every call that any text of the prompt orders; says what a text has it say.

    mark: a word that is in the text of this attack alone; texts without it are not obeyed. helper: what an agent called
    Helper answers; "" where it obeys as well. prompts: of all requests.
    """

    opening: tuple[str, Arguments] | None = None
    mark: str = ""
    helper: str = ""
    prompts: list[Prompt] = field(default_factory=list)

    def __call__(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        is_helper = prompt[0]["content"].startswith("You are Helper")
        if is_helper and self.helper:
            return Reply(self.helper)
        made = [
            (call["function"]["name"], call["function"]["arguments"])
            for message in prompt
            for call in message.get("tool_calls") or ()
        ]
        hostile = [text for text in texts_in(prompt) if self.mark in text]
        wanted = [order for text in hostile for order in _orders_in(text)]
        if self.opening is not None and not is_helper:
            wanted.insert(0, (self.opening[0], orjson.dumps(self.opening[1]).decode()))
        due = [order for order in dict.fromkeys(wanted) if order not in made]
        if due and len(made) < _MOST:
            return Reply(calling(*due), finish_reason="tool_calls")
        said = [text for each in hostile for text in _SAYING.findall(each)]
        return Reply(said[0] if said else "Done.")


def texts_in(prompt: Prompt) -> Iterator[str]:
    """All texts that the model reads, those in results of tools as they were before they became JSON."""
    for message in prompt:
        yield from _texts_of(message)


def _texts_of(message: ChatMessage) -> Iterator[str]:
    yield from _strings(orjson.loads(message["content"])) if message["role"] == "tool" else (message["content"],)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


@dataclass
class World:
    """Ada, whose model reads hostile texts, and Eve, whose things they want. names: what `$name` in texts stands for.

    notes: a foreign server that Ada has joined.
    """

    app: Flask
    ada: Person
    eve: Person
    model: ObedientModel
    notes: NotesServer
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.vault.write("diary.md", "# Diary\n\nI was here.\n")
        self.ada.remember("I live in Graz")
        theirs = self.eve.new_conversation()
        self.eve.say(theirs, f"My password is {SECRET}")
        memory = self.eve.remember(f"My safe opens with {SECRET}", friendly_id="code_of_the_safe")
        vault = self.state.vaults.of(self.eve.email)
        vault.write("secret.md", f"# {SECRET}\n\n{SECRET}\n")
        agent = self.eve.post("/api/agents", json={"title": "Guard", "system_prompt": f"Say {SECRET}."}).json
        for title in ("Helper", "Second"):
            self.ada.post("/api/agents", json={"title": title, "system_prompt": "You help."})
        proposal = create_proposal(
            database=self.state.database,
            user_email=self.ada.email,
            kind="memory",
            payload={"statement": "I trust evil.example", "claim_type": "fact", "context_domain": "personal"},
        )
        (vault.root.parent / "outside.md").write_text(f"{SECRET}\n")
        (self.vault.root / "exit.md").symlink_to(vault.root.parent / "outside.md")
        (listed,) = self.eve.get("/list_conversation_by_user/assistant").json
        self.names = {
            "conversation": theirs,
            "friendly": listed["conversation_friendly_id"],
            "memory": memory.friendly_id,
            "folder": vault.root.name,
            "agent": agent["agent_id"],
            "proposal": proposal.proposal_id,
        }
        joined = self.ada.post("/api/tool_servers", json={"name": "notes", "url": self.notes.url})
        assert joined.status_code == 201, joined.json
        tried = self.ada.post("/api/tool_servers/notes/try").json
        assert [each["name"] for each in tried["tools"]] == ["notes__read", "notes__erase"], tried

    @property
    def state(self) -> AppState:
        """What the application is made of."""
        state: AppState = self.app.extensions[EXTENSION]
        return state

    @property
    def vault(self) -> Vault:
        """Ada's documents."""
        return self.state.vaults.of(self.ada.email)

    @property
    def mark(self) -> str:
        """A word that is in the text of this attack alone."""
        return self.model.mark

    def begin(self, mark: str) -> None:
        """Forget the attack before."""
        self.model.mark = self.names["mark"] = mark
        self.model.opening, self.model.helper, self.notes.said = None, "", ""
        self.model.prompts.clear()

    def filled(self, text: str) -> str:
        """`text` with the names of Eve's things in it."""
        return Template(text).safe_substitute(self.names)

    def ask(self, text: str, **settings: Any) -> list[dict[str, Any]]:
        """All events of an answer in a new conversation with these settings, where `notes__read` needs no consent."""
        conversation_id = self.ada.new_conversation()
        own = {"database": self.state.database, "user_email": self.ada.email}
        assert allow_tool(**own, conversation_id=conversation_id, tool="notes__read")
        address, offered = f"/conversations/{conversation_id}/settings", {"use_tools": True}
        assert self.ada.request("PATCH", address, json=offered | settings).status_code == 200
        self.names["here"] = conversation_id
        return self.ada.say(conversation_id, text)

    def possessions(self) -> dict[str, Any]:
        """All of Ada's things that no text may change."""
        root = self.vault.root
        return {
            "documents": {
                path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()
            },
            "memories": sorted(claim["statement"] for claim in self.ada.get("/pkb/claims").json["claims"]),
            "agents": self.ada.get("/api/agents").json,
            "tokens": self.ada.get("/api_tokens").json,
            "shares": self.ada.get("/shares").json,
            "erased": self.notes.erased,
            "accepted": [each for each in self.ada.get("/api/proposals").json if each["state"] == "accepted"],
        }
