"""Links between claims, and of claims to tags and entities. Both ends are always one user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from database.engine.clock import now_iso

from ..changes import recording
from ..constants import EntityRole
from ..database import PKBDatabase
from ..errors import InvalidKnowledgeError
from ..models import ENTITY_COLUMNS, TAG_COLUMNS, Entity, Tag
from ..utils import generate_uuid

LINK_SUPERSEDES = "supersedes"
"""From the newer claim to the older one that it replaces."""

_LONGEST_CHAIN = 100
_LINK_COLUMNS = "link_id, from_claim_id, to_claim_id, link_type, created_at"


def link_claims(db: PKBDatabase, from_claim_id: str, to_claim_id: str, link_type: str) -> str | None:
    """Link two claims of one user; the link's id.

    None for a link to itself, for one that is there, and where there are no such claims.
    """
    owner = _common_owner(db, from_claim_id, to_claim_id)
    if owner is None or from_claim_id == to_claim_id:
        return None
    present = "SELECT 1 FROM claim_links WHERE from_claim_id = ? AND to_claim_id = ? AND link_type = ?"
    with recording(db, user_email=owner, action="link", object_type="claim", object_id=from_claim_id) as changes:
        if db.select(present, [from_claim_id, to_claim_id, link_type]):
            return None
        row = {
            "link_id": generate_uuid(),
            "user_email": owner,
            "from_claim_id": from_claim_id,
            "to_claim_id": to_claim_id,
            "link_type": link_type,
            "created_at": now_iso(),
        }
        changes.insert("claim_links", row)
    return row["link_id"]


def link_successor(db: PKBDatabase, new_claim_id: str, old_claim_id: str) -> str | None:
    """Say that one claim takes another's place; the link's id, None as of `link_claims`.

    Whatever had taken the new one's place does so no longer, or each would lead to the other.
    """
    with db.transaction():
        for link in get_incoming_links(db, new_claim_id, LINK_SUPERSEDES):
            unlink_claims(db, link["from_claim_id"], new_claim_id, LINK_SUPERSEDES)
        return link_claims(db, new_claim_id, old_claim_id, LINK_SUPERSEDES)


def unlink_claims(db: PKBDatabase, from_claim_id: str, to_claim_id: str, link_type: str | None = None) -> bool:
    """Take away the links from one claim to the other (of one type); whether there were any."""
    sql = "SELECT link_id, user_email FROM claim_links WHERE from_claim_id = ? AND to_claim_id = ?"
    rows = db.select(f"{sql} AND (? IS NULL OR link_type = ?)", [from_claim_id, to_claim_id, link_type, link_type])
    if not rows:
        return False
    owner = rows[0][1]
    with recording(db, user_email=owner, action="unlink", object_type="claim", object_id=from_claim_id) as changes:
        for link_id, _ in rows:
            changes.delete("claim_links", {"link_id": link_id})
    return True


def get_outgoing_links(db: PKBDatabase, claim_id: str, link_type: str | None = None) -> list[Mapping[str, Any]]:
    """The links that begin at a claim, as rows, oldest first."""
    return _links(db, "from_claim_id", claim_id, link_type)


def get_incoming_links(db: PKBDatabase, claim_id: str, link_type: str | None = None) -> list[Mapping[str, Any]]:
    """The links that lead to a claim, as rows, oldest first."""
    return _links(db, "to_claim_id", claim_id, link_type)


def get_supersession_head(db: PKBDatabase, claim_id: str) -> str:
    """The claim at the end of the chain of those that superseded `claim_id`; itself where none did. Ends in cycles."""
    return supersession_heads(db, [claim_id])[claim_id]


def supersession_heads(db: PKBDatabase, claim_ids: list[str]) -> dict[str, str]:
    """For each claim, the one at the end of its chain; one query."""
    if not claim_ids:
        return {}
    marks = ", ".join("(?)" for _ in claim_ids)
    sql = f"""
        WITH RECURSIVE begun(claim_id) AS (VALUES {marks}),
        chain(begin_id, claim_id, depth) AS (
            SELECT claim_id, claim_id, 0 FROM begun
            UNION
            SELECT chain.begin_id,
                   (SELECT from_claim_id FROM claim_links WHERE to_claim_id = chain.claim_id AND link_type = ?
                    ORDER BY created_at DESC LIMIT 1),
                   depth + 1
            FROM chain WHERE chain.claim_id IS NOT NULL AND depth < ?
        )
        SELECT begin_id, claim_id FROM chain WHERE claim_id IS NOT NULL ORDER BY depth
    """
    rows = db.select(sql, [*claim_ids, LINK_SUPERSEDES, _LONGEST_CHAIN])
    return {begin: claim for begin, claim in rows}  # noqa: C416 - the last one of a chain is its head


def link_claim_tag(db: PKBDatabase, claim_id: str, tag_id: str) -> bool:
    """Tag a claim; False where it has the tag, or where the two are not one user's."""
    return _file(db, "claim_tags", claim_id, "tags", {"claim_id": claim_id, "tag_id": tag_id})


def link_claim_entity(db: PKBDatabase, claim_id: str, entity_id: str, role: str = EntityRole.MENTIONED.value) -> bool:
    """Link a claim to an entity; False where that link is there, or where the two are not one user's.

    Raises InvalidKnowledgeError for a role that is none.
    """
    row = {"claim_id": claim_id, "entity_id": entity_id, "role": entity_role(role)}
    return _file(db, "claim_entities", claim_id, "entities", row)


def entity_role(value: Any) -> str:
    """The part of an entity in a claim, as stored. Raises InvalidKnowledgeError."""
    try:
        return EntityRole(value).value
    except ValueError as error:
        raise InvalidKnowledgeError(f"{value!r} is no role; use one of {', '.join(EntityRole)}.") from error


def get_claim_tags(db: PKBDatabase, claim_id: str) -> list[Tag]:
    """The tags of a claim, by name."""
    names = ", ".join(f"tags.{column}" for column in TAG_COLUMNS)
    sql = f"SELECT {names} FROM tags JOIN claim_tags USING (tag_id) WHERE claim_id = ? ORDER BY tags.name_key"
    return [Tag(*row) for row in db.select(sql, [claim_id])]


def get_claim_entities(db: PKBDatabase, claim_id: str) -> list[tuple[Entity, str]]:
    """The entities of a claim with the role of each, by name."""
    names = ", ".join(f"entities.{column}" for column in ENTITY_COLUMNS)
    sql = (
        f"SELECT {names}, claim_entities.role FROM entities JOIN claim_entities USING (entity_id) "
        "WHERE claim_id = ? ORDER BY entities.name_key"
    )
    return [(Entity(*row[:-1]), row[-1]) for row in db.select(sql, [claim_id])]


def _links(db: PKBDatabase, column: str, claim_id: str, link_type: str | None) -> list[Mapping[str, Any]]:
    sql = f"SELECT {_LINK_COLUMNS} FROM claim_links WHERE {column} = ? AND (? IS NULL OR link_type = ?)"
    return [dict(row) for row in db.fetchall(f"{sql} ORDER BY created_at", [claim_id, link_type, link_type])]


def _common_owner(db: PKBDatabase, *claim_ids: str) -> str | None:
    sql = f"SELECT user_email FROM claims WHERE claim_id IN ({', '.join('?' for _ in claim_ids)})"
    owners = [owner for (owner,) in db.select(sql, claim_ids)]
    return owners[0] if len(owners) == len(set(claim_ids)) and len(set(owners)) == 1 else None


def _file(db: PKBDatabase, table: str, claim_id: str, groups: str, row: Mapping[str, str]) -> bool:
    """Insert a row that ties a claim to a tag or entity of the same user."""
    column = list(row)[1]
    sql = (
        f"SELECT claims.user_email, claims.statement FROM claims JOIN {groups} ON {groups}.{column} = ? "
        f"AND {groups}.user_email = claims.user_email WHERE claims.claim_id = ?"
    )
    present = " AND ".join(f"{name} = ?" for name in row)
    with db.transaction():
        found = db.select(sql, [row[column], claim_id])
        if not found or db.select(f"SELECT 1 FROM {table} WHERE {present}", list(row.values())):
            return False
        owner, title = found[0]
        with recording(
            db, user_email=owner, action="link", object_type="claim", object_id=claim_id, title=title
        ) as changes:
            changes.insert(table, row)
    return True
