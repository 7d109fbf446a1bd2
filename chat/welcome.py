"""The two example conversations of a new account, one of which refers to the other, in the page's languages."""

from __future__ import annotations

import tomllib
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from chat.exchange.report import ReportEntry, preview
from conversation_reference_utils import generate_conversation_friendly_id
from database.accounts.users import get_user
from database.engine.clock import now_iso
from database.engine.database import Database
from database.imports.newcomers import StoreConversation, import_for_newcomer

DOMAIN = "assistant"
_ENGLISH = "en"
_ID_LENGTH = 36


def welcome(*, database: Database, user_email: str, language: str = _ENGLISH) -> str | None:
    """Store the example conversations for a user who never had one; the id of the one that explains Anaphora.

    language: one that `welcome.<language>.toml` is in, or `en`.

    Called again, it returns the same id and stores nothing. None for a user who has had other conversations, or has
    deleted this one. Raises UserNotFoundError.
    """
    secret = get_user(database=database, user_email=user_email).user_id
    ids = {name: _conversation_id(user_email, f"{secret} {name}") for name in ("lisbon", "welcome")}
    return import_for_newcomer(
        database=database,
        user_email=user_email,
        domain=DOMAIN,
        conversation_id=ids["welcome"],
        write=partial(_write, ids=ids, texts=_texts(language)),
    )


def _write(store: StoreConversation, *, ids: dict[str, str], texts: dict[str, Any]) -> None:
    trip, explanation = texts["lisbon"], texts["welcome"]
    lisbon_id, welcome_id = (
        generate_conversation_friendly_id(told["title"], now_iso()) for told in (trip, explanation)
    )
    narrator = texts["narrator"]
    rows = store(
        _messages(trip["messages"], narrator), conversation_id=ids["lisbon"], friendly_id=lisbon_id, title=trip["title"]
    )
    lisbon = f"@conversation_{lisbon_id}"
    saturday = f"{lisbon}_message_{rows[-1]['message_short_hash']}"
    named = partial(str.format, lisbon=lisbon, saturday=saturday)
    question, answer = _messages([named(text) for text in explanation["messages"]], narrator)
    store(
        [question | {"references": [_entry(saturday, trip["title"], rows[-1])]}, answer],
        conversation_id=ids["welcome"],
        friendly_id=welcome_id,
        title=explanation["title"],
        settings={"suggestions": [named(text) for text in explanation["suggestions"]]},
    )


def _messages(texts: list[str], narrator: str) -> list[dict[str, Any]]:
    """Questions, and answers by `narrator`, in turn."""
    answer = {"sender": "model", "config": {"model": narrator}}
    return [{"text": text, **(answer if place % 2 else {"sender": "user"})} for place, text in enumerate(texts)]


def _entry(ref: str, title: str, message: dict[str, Any]) -> dict[str, Any]:
    """The report entry that resolving `ref` to `message` would give."""
    names = ("conversation_id", "message_id", "message_short_hash", "sender", "created_at")
    return ReportEntry(
        ref=ref,
        kind="message",
        status="resolved",
        title=title,
        preview=preview(message["text"]),
        count=1,
        chars=len(message["text"]),
        target={name: message[name] for name in names} | {"message_index": message["ordinal"]},
    ).as_dict()


def _conversation_id(user_email: str, secret: str) -> str:
    """The same id each time for the same account, which nobody else can guess."""
    return f"{user_email}_{sha256(secret.encode()).hexdigest()[:_ID_LENGTH]}"


@cache
def _texts(language: str) -> dict[str, Any]:
    name = "welcome.toml" if language == _ENGLISH else f"welcome.{language}.toml"
    texts = tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for conversation in (texts["lisbon"], texts["welcome"]):
        conversation["messages"] = [text.strip() for text in conversation["messages"]]
    return texts
