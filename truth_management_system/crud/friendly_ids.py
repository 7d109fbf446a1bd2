"""Readable ids and aliases.

Every claim, entity, tag and context gets its readable id here, however it is born. Aliases are what merged, imported
and renamed things were called, and lead to what they are now; they are stored as names are compared (`name_key`). A
thing that bears the name itself comes first, whoever looks it up. Former names of entities are kept by the entity
(`EntityCRUD.aliases`), their former ids here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select
from sqlalchemy.exc import IntegrityError

from conversation_reference_utils import AGENT_PREFIX, classify_conversation_reference
from sentences import say

from ..database import PKBDatabase, Prepared
from ..database.audit_log import ChangeSet
from ..database.change_set import taken_ids
from ..errors import FriendlyIdTakenError, InvalidKnowledgeError
from ..schema.tables import aliases
from ..utils import GROUP_SUFFIXES, friendly_id_candidates, is_reserved, is_well_formed, name_key

_TRIES = 20
NUMBER = re.compile(r"(?:claim_)?([0-9]{1,18})", re.IGNORECASE)
"""The number of a claim, as a reference may write it."""

_LONGEST = 500
_OLDER_FORM = frozenset({"mem", "memory"})
_OWN = aliases.c.user_email == bindparam("user")
_LED_TO = Prepared(
    select(aliases.c.kind, aliases.c.thing_id)
    .where(_OWN, aliases.c.alias == bindparam("alias"))
    .order_by(aliases.c.kind, aliases.c.thing_id)
)
_OF_THING = Prepared(
    select(aliases.c.alias)
    .where(_OWN, aliases.c.kind == bindparam("kind"), aliases.c.thing_id == bindparam("thing_id"))
    .order_by(aliases.c.alias)
)


def insert_named(
    changes: ChangeSet,
    table: str,
    row: Mapping[str, Any],
    *,
    text: str,
    suffix: str = "",
    kind: str = "",
) -> str:
    """Insert `row` with the readable id that it brings, else with one made of `text`; returns the id.

    suffix: "_context", "_entity" or "_tag" for a group; claims have none. kind: a word before it. Raises
    InvalidKnowledgeError and FriendlyIdTakenError for an id that was given and can't be had; IntegrityError for other
    conflicts.
    """
    given = row.get("friendly_id")
    if given:
        check_given(given, suffix=suffix)
        if not _inserted(changes, table, {**row, "friendly_id": given}):
            raise FriendlyIdTakenError(given)
        return str(given)
    for candidate in islice(friendly_id_candidates(text, suffix, kind=kind), _TRIES):
        if _inserted(changes, table, {**row, "friendly_id": candidate}):
            return candidate
    raise FriendlyIdTakenError(candidate)


def check_given(friendly_id: str, *, suffix: str) -> None:
    """Raise InvalidKnowledgeError for an id that a user may not give to something of this kind."""
    if not isinstance(friendly_id, str) or not is_well_formed(friendly_id):
        raise InvalidKnowledgeError(say("memory_id_malformed", reference=repr(friendly_id)))
    lowered = friendly_id.lower()
    if is_reserved(lowered):
        raise InvalidKnowledgeError(say("memory_id_reserved", reference=friendly_id))
    foreign = [other for other in GROUP_SUFFIXES if other != suffix and lowered.endswith(other)]
    if foreign:
        raise InvalidKnowledgeError(say("memory_id_ending", reference=friendly_id, ending=foreign[0]))


def _inserted(changes: ChangeSet, table: str, row: Mapping[str, Any]) -> bool:
    """Whether `row` is in; False where its readable id is taken."""
    # An id is free where nothing of any kind has it: "@name" says no kind. Writers come one after the other, so no
    # index is needed for that.
    if taken_ids(changes.db, row["user_email"], [row["friendly_id"]]):
        return False
    try:
        with changes.attempt():
            changes.insert(table, row)
    except IntegrityError as error:
        if "friendly_id" in str(error.orig):
            return False
        raise
    return True


class Thing(NamedTuple):
    """What an alias leads to; kind: claim, entity, tag or context."""

    kind: str
    thing_id: str


def led_to(db: PKBDatabase, user_email: str, name: str) -> list[Thing]:
    """The user's things that once had this name or readable id."""
    if len(name) > _LONGEST:
        return []
    return [Thing(*row) for row in db.rows(_LED_TO, user=user_email, alias=name_key(name))]


def aliases_of(db: PKBDatabase, user_email: str, thing: Thing) -> list[str]:
    """The aliases that lead to a thing, by alphabet."""
    rows = db.rows(_OF_THING, user=user_email, kind=thing.kind, thing_id=thing.thing_id)
    return [alias for (alias,) in rows]


def add_aliases(changes: ChangeSet, thing: Thing, names: Iterable[str]) -> None:
    """Let former names lead to a thing, beside what they may lead to already."""
    known = aliases_of(changes.db, changes.user_email, thing)
    new = dict.fromkeys(alias for alias in map(name_key, names) if alias not in known)
    changes.insert_many("aliases", [alias_row(changes.user_email, alias, thing) for alias in new])


def hand_over_aliases(changes: ChangeSet, source: Thing, target: Thing, names: Iterable[str]) -> None:
    """Let `names`, and what led to `source`, lead to `target`."""
    add_aliases(changes, target, [*names, *aliases_of(changes.db, changes.user_email, source)])


def alias_row(user_email: str, alias: str, thing: Thing) -> dict[str, str]:
    """A row of the table."""
    return {"user_email": user_email, "alias": alias, **thing._asdict()}


def can_be_alias(name: str) -> bool:
    """Whether a reference of this name is looked up here, and not read as one of another kind (`claim_42`)."""
    lowered = name.lower()
    if not is_well_formed(name) or NUMBER.fullmatch(name) or lowered in _OLDER_FORM:
        return False
    if lowered.startswith(AGENT_PREFIX) or lowered.endswith("_domain"):
        return False
    conversation = classify_conversation_reference(name)
    # A conversation that is not there is looked up here, too.
    return conversation is None or conversation.kind == "conversation"
