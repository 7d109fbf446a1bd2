"""What somebody finds who comes for the first time: two conversations, one of which refers to the other."""

from __future__ import annotations

import tomllib
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from chat.context.report import ReportEntry, preview
from database.accounts.users import get_user
from database.conversations.welcome import Said, Teller, ToldConversation, ToldMessage, tell_newcomer

DOMAIN = "assistant"
_TEXTS = Path(__file__).with_name("welcome.toml")
_ID_LENGTH = 36


def welcome(*, users_dir: str, user_email: str) -> str | None:
    """Tell a newcomer what Anaphora is for; the id of the conversation that does.

    Called again, it makes nothing and answers the same. None for whoever has had conversations of their own, or has
    deleted this one. Raises UserNotFoundError.
    """
    secret = get_user(users_dir=users_dir, user_email=user_email).user_id
    ids = {name: _conversation_id(user_email, f"{secret} {name}") for name in ("lisbon", "welcome")}
    return tell_newcomer(
        users_dir=users_dir,
        user_email=user_email,
        domain=DOMAIN,
        narrator=_texts()["narrator"],
        conversation_id=ids["welcome"],
        tell=partial(_tell, ids=ids),
    )


def _tell(teller: Teller, *, ids: dict[str, str]) -> None:
    texts = _texts()
    trip = texts["lisbon"]
    told = teller.tell(
        [Said(text=text) for text in trip["messages"]], conversation_id=ids["lisbon"], title=trip["title"]
    )
    plan = told.messages[-1]
    named = {
        "lisbon": f"@conversation_{told.friendly_id}",
        "saturday": f"@conversation_{told.friendly_id}_message_{plan.short_hash}",
    }
    question, answer = (text.format(**named) for text in texts["welcome"]["messages"])
    report = [_entry(named["saturday"], told, plan).as_dict()]
    teller.tell(
        [Said(text=question, report=report), Said(text=answer)],
        conversation_id=ids["welcome"],
        title=texts["welcome"]["title"],
        settings={"suggestions": [text.format(**named) for text in texts["welcome"]["suggestions"]]},
    )


def _entry(ref: str, told: ToldConversation, message: ToldMessage) -> ReportEntry:
    """What resolving the reference would report."""
    return ReportEntry(
        ref=ref,
        kind="message",
        status="resolved",
        title=told.title,
        preview=preview(message.text),
        count=1,
        chars=len(message.text),
        target={
            "conversation_id": told.conversation_id,
            "message_id": message.message_id,
            "message_index": message.index,
            "message_short_hash": message.short_hash,
            "sender": message.sender,
            "created_at": message.created_at,
        },
    )


def _conversation_id(user_email: str, secret: str) -> str:
    """Always the same for the same account, so that it is told once; nobody else can guess it."""
    return f"{user_email}_{sha256(secret.encode()).hexdigest()[:_ID_LENGTH]}"


@cache
def _texts() -> dict[str, Any]:
    texts = tomllib.loads(_TEXTS.read_text(encoding="utf-8"))
    for told in (texts["lisbon"], texts["welcome"]):
        told["messages"] = [text.strip() for text in told["messages"]]
    return texts
