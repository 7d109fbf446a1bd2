"""Stores that released versions wrote, kept in `tests/data/released`, and what those versions answered about them.

`python -m tests.released_stores NAME` makes one with the code of the checkout that it runs in: run it once for each
release whose schema differs from the one before, and never change a file that is there.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Flask

from database.accounts.api_tokens import create_token
from database.accounts.sessions import create_session
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.engine.clock import now_iso
from database.search.indexing import index_pending
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from language_models.roles import ModelRoles
from language_models.testing import Reply, ScriptedChatModel
from server import create_app
from settings import load_settings

FOLDER = Path(__file__).parent / "data" / "released"
STORES = ("users.db", "pkb.sqlite")
ADA, EVE = "ada@example.org", "eve@example.org"
_ANSWERS = "answers.json"
# What depends on when it is asked, on the server's secret key, or on how hits are ranked.
_VOLATILE = {"exported_at", "schema_version", "last_used_at", "token", "url", "score"}


@dataclass(frozen=True)
class Asked:
    """A GET of one person, and what the released version answered."""

    email: str
    path: str
    answer: Any


def released() -> list[str]:
    """The names of all released data folders, oldest first."""
    return sorted(path.stem for path in FOLDER.glob("*.zip"))


def unpack(name: str, users_dir: Path) -> list[Asked]:
    """Put the stores of a release into `users_dir`; what that version answered about them."""
    users_dir.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        for store in STORES:
            (users_dir / store).write_bytes(archive.read(store))
        rows = json.loads(archive.read(_ANSWERS))
    now = _binned_now(users_dir / "users.db")
    for row in rows:
        if row["path"].startswith("/bin/"):
            row["answer"] = [{**conversation, "deleted_at": now} for conversation in row["answer"]]
    return [Asked(**{**row, "answer": _as_exported_today(row["answer"])}) for row in rows]


def _binned_now(store: Path) -> str:
    """Have what lies in the bin lie there since now, since the bin is emptied after thirty days; the time."""
    now = now_iso()
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute('UPDATE "UserToConversationId" SET deleted_at = ? WHERE deleted_at IS NOT NULL', (now,))
    return now


_OF_AN_ACTIVITY = {"message_id": "id", "text": "content"} | {
    name: name for name in ("short_id", "reply_to_id", "thread_id", "created_at", "references")
}
_OF_A_MESSAGE = (
    "sender",
    "message_short_hash",
    "status",
    "show_hide",
    "config",
    "in_answer_to",
    "pinned_at",
    "edited_at",
    "chosen_variant",
    "variants",
    "edits",
)


def _as_exported_today(answer: Any) -> Any:
    """An answer; an export of the earlier form in the form of today, whose order says what indexes said."""
    if not isinstance(answer, dict) or answer.get("format") != "anaphora-export":
        return answer
    head = {name: value for name, value in answer["conversation"].items() if name != "summarised_ordinal"}
    activities = [
        {today: message[then] for then, today in _OF_AN_ACTIVITY.items()}
        | {"position": message["message_index"], "message": {name: message[name] for name in _OF_A_MESSAGE}}
        for message in answer["messages"]
    ]
    return {"schema": 1, "conversation": head, "activities": activities, "count": len(activities)}


def _flat(answer: Any) -> Any:
    """An answer; of an export, whose replies are nested, with all activities in one list."""
    if not isinstance(answer, dict) or "activities" not in answer:
        return answer
    found, waiting = [], list(answer["activities"])
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1]["replies"]
    return answer | {"activities": sorted(found, key=lambda each: each["position"])}


@contextmanager
def serving(data_dir: Path) -> Iterator[Flask]:
    """The application over a data folder, with scripted models."""
    environ = {"ANAPHORA_DATA_DIR": str(data_dir)} | {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP")}
    settings = load_settings(environ, env_file=data_dir / "no.env")
    says = iter(f"Answer {number} with crumbs." for number in range(1, 1_000))
    models = ModelRoles(
        main="none",
        cheap="none",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=settings.model_dir,
        overrides={
            "main": ScriptedChatModel(replies=lambda _: Reply(next(says)), name="main"),
            "cheap": ScriptedChatModel(replies=lambda _: Reply("Bread For Beginners"), name="cheap"),
        },
    )
    app = create_app(settings, models=models, serves=False)
    try:
        yield app
    finally:
        app.extensions[EXTENSION].knowledge.close()
        close_store(settings.users_dir)


class Teller:
    """A logged-in person who fills a store by HTTP."""

    def __init__(self, app: Flask, email: str) -> None:
        self.email = email
        self._client = app.test_client()
        users_dir = app.extensions[EXTENSION].settings.users_dir
        self._client.set_cookie(SESSION_COOKIE, create_session(database=open_store(users_dir), user_email=email))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer, which must be a success."""
        answer = self._client.open(path, method=method, json=body, headers={"Origin": "http://localhost"})
        text = answer.get_data(as_text=True)
        assert answer.status_code < 300, (method, path, answer.status_code, text)
        return json.loads(text) if answer.mimetype == "application/json" else text

    def get(self, path: str) -> Any:
        """The decoded answer of a GET; the activities of an export in one list."""
        return _flat(self.ask("GET", path))

    def say(self, conversation_id: str, text: str, **more: Any) -> None:
        """Send a message and take the whole answer."""
        self.ask("POST", f"/send_message/{conversation_id}", {"messageText": text, **more})

    def messages(self, conversation_id: str) -> list[dict[str, Any]]:
        """All messages of a conversation."""
        return self.ask("GET", f"/list_messages_by_conversation/{conversation_id}")  # type: ignore[no-any-return]


def differences(old: Any, new: Any, at: str = "") -> list[str]:
    """Where `new` doesn't say what `old` said. New keys of an object are no difference, nor are notes on a group."""
    old, new = _steady(old), _steady(new)
    if at == ".notes" and old == []:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for key in old for found in differences(old[key], new.get(key, "(missing)"), f"{at}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [found for number, pair in pairs for found in differences(*pair, f"{at}[{number}]")]
    return [] if old == new else [f"{at}: {old!r} became {new!r}"]


def _steady(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _steady(value) for key, value in answer.items() if key not in _VOLATILE}
    if isinstance(answer, list):
        return [_steady(value) for value in answer]
    return answer


def _fill(app: Flask) -> list[tuple[str, str]]:
    """A store with a row in every table that people fill; the GETs, as (who, path), that tell of it."""
    users_dir = app.extensions[EXTENSION].settings.users_dir
    create_user(database=open_store(users_dir), user_email=ADA, password="correct horse battery", is_admin=True)
    create_user(database=open_store(users_dir), user_email=EVE, password="correct horse battery")
    create_token(database=open_store(users_dir), user_email=ADA, name="shell")
    ada, eve = Teller(app, ADA), Teller(app, EVE)
    paths = [*_conversations(ada), *_knowledge(ada)]
    hers = eve.ask("POST", "/create_conversation/assistant/")["conversation_id"]
    eve.say(hers, "A secret of Eve's: the key lies under the mat.")
    while index_pending(database=open_store(users_dir)):
        pass
    return [*((ADA, path) for path in paths), (EVE, f"/list_messages_by_conversation/{hers}"), (EVE, "/search?q=mat")]


def _conversations(ada: Teller) -> list[str]:
    outer = ada.ask("POST", f"/create_workspace/assistant/{quote('Papers / 2026', safe='')}", {})["workspace_id"]
    inner = ada.ask("POST", "/create_workspace/assistant/Inner", {"parent_workspace_id": outer})["workspace_id"]
    bread = ada.ask("POST", f"/create_conversation/assistant/{inner}")["conversation_id"]
    ada.say(bread, "How is sourdough made? Crumbs matter.")
    friendly_id = ada.ask("GET", f"/get_conversation_details/{bread}")["conversation_friendly_id"]
    talk = ada.ask("POST", "/create_conversation/assistant/")["conversation_id"]
    ada.say(talk, f"See @conversation_{friendly_id}_message_1 and @nothing_here_a1b2, please. 日本語 ✓")
    question, answer = ada.messages(talk)
    ada.ask("POST", f"/regenerate/{talk}/{answer['message_id']}")
    ada.say(talk, "A reply.", reply_to=answer["message_id"])
    later = ada.messages(talk)[2]
    ada.ask(
        "POST", f"/edit_message_from_conversation/{talk}/{later['message_id']}/3", {"text": "A reply, said better."}
    )
    ada.say(talk, "To be deleted.")
    doomed = ada.messages(talk)[-1]
    ada.ask("DELETE", f"/delete_message_from_conversation/{talk}/{doomed['message_id']}/{doomed['message_index']}")
    ada.ask("POST", f"/show_hide_message_from_conversation/{talk}/{question['message_id']}/1", {"show_hide": "hide"})
    ada.ask("PUT", f"/messages/{answer['message_id']}/pin")
    ada.ask("PUT", f"/conversations/{talk}/pin")
    ada.ask("PUT", f"/conversations/{talk}/title", {"title": "Round things 🍞"})
    ada.ask("POST", f"/set_flag/{talk}/red")
    fork = ada.ask("POST", f"/fork_conversation/{talk}/{answer['message_id']}")["conversation_id"]
    clone = ada.ask("POST", f"/clone_conversation/{bread}")["conversation_id"]
    ada.ask("POST", f"/archive_conversation/{clone}")
    binned = ada.ask("POST", "/create_conversation/assistant/")["conversation_id"]
    ada.say(binned, "Thrown away.")
    ada.ask("DELETE", f"/delete_conversation/{binned}")
    token = ada.ask("POST", f"/share/{talk}")["token"]
    ada.ask("POST", "/modify_user_preference", {"answer_style": "short"})
    each = [
        path
        for one in (bread, talk, fork, clone)
        for path in (
            f"/get_conversation_details/{one}",
            f"/get_conversation_settings/{one}",
            f"/list_messages_by_conversation/{one}",
            f"/conversations/{one}/pinned_messages",
            f"/export_conversation/{one}?format=json",
        )
    ]
    return [
        *each,
        "/list_conversation_by_user/assistant?include_archived=true",
        "/list_workspaces/assistant",
        f"/get_workspace_path/{inner}",
        "/bin/assistant",
        "/shares",
        f"/shared_chat/{token}",
        f"/messages/{later['message_id']}/edits",
        f"/messages/{ada.messages(bread)[0]['message_id']}/backlinks",
        f"/references/resolve?ref=conversation_{friendly_id}_message_2",
        f"/conversations/{friendly_id}/messages?q=crumbs",
        "/conversations/autocomplete?q=bread",
        "/search?q=crumbs",
        "/search?q=sourdough",
        "/api_tokens",
        "/users",
        "/get_user_detail",
        "/get_user_preference",
    ]


def _knowledge(ada: Teller) -> list[str]:
    health = ada.ask("POST", "/pkb/contexts", {"name": "Health Goals"})["context"]["context_id"]
    knee = ada.ask("POST", "/pkb/contexts", {"name": "Knee", "parent_context_id": health})["context"]["context_id"]

    def remember(statement: str, **more: Any) -> dict[str, Any]:
        return ada.ask("POST", "/pkb/claims", {"statement": statement, **more})["claim"]  # type: ignore[no-any-return]

    mornings = remember("I prefer morning workouts", claim_type="preference", tags=["fitness"], contexts=[health])
    evenings = remember("I train in the evening", claim_type="fact", contexts=[knee])
    gone = remember("My knee hurts", tags=["fitness"])
    remember("Ünïcode ✓ 日本語", context_domain="health")
    ada.ask("PUT", f"/pkb/claims/{mornings['claim_id']}", {"statement": "I prefer early morning workouts"})
    ada.ask("PUT", f"/pkb/claims/{mornings['claim_id']}/pin")
    ada.ask("POST", "/pkb/conflicts", {"claim_ids": [mornings["claim_id"], evenings["claim_id"]]})
    ada.ask("DELETE", f"/pkb/claims/{gone['claim_id']}")
    entity = ada.ask("POST", "/pkb/entities", {"name": "John Smith", "entity_type": "person"})["entity"]["entity_id"]
    ada.ask("PUT", f"/pkb/claims/{evenings['claim_id']}/entities/{entity}", {"role": "subject"})
    return [
        "/pkb/claims?limit=100",
        "/pkb/claims?status=retracted",
        "/pkb/contexts",
        f"/pkb/contexts/{health}/resolve",
        "/pkb/entities",
        "/pkb/tags",
        "/pkb/conflicts",
        "/pkb/pinned",
        "/pkb/audit",
        "/pkb/export",
        "/pkb/types",
        "/pkb/domains",
        f"/pkb/resolve/{mornings['friendly_id']}",
        "/pkb/resolve/health_goals_context",
        "/pkb/search?q=morning",
        f"/pkb/claims/{evenings['claim_id']}/entities",
    ]


def make(name: str) -> Path:
    """Write the data folder `name` with the code of this checkout."""
    folder = Path(tempfile.mkdtemp())
    with serving(folder) as app:
        asked = _fill(app)
        tellers = {email: Teller(app, email) for email in (ADA, EVE)}
        answers = [{"email": email, "path": path, "answer": tellers[email].get(path)} for email, path in asked]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(FOLDER / f"{name}.zip", "x", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for store in STORES:
            _compact(folder / "users" / store)
            archive.write(folder / "users" / store, store)
        archive.writestr(_ANSWERS, json.dumps(answers, ensure_ascii=False, indent=1))
    shutil.rmtree(folder)
    return FOLDER / f"{name}.zip"


def _compact(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")


def main(arguments: Sequence[str]) -> int:
    """Make the data folder that is named."""
    if len(arguments) != 1 or not re.fullmatch(r"[\w.-]+", arguments[0]):
        print("usage: python -m tests.released_stores NAME", file=sys.stderr)
        return 2
    print(make(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
