"""Links between claims, and of claims to tags and entities. Both ends are always one user's.

`user_email` restricts every statement to that user's rows. A caller without users leaves it out; then the owner of the
claim is meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, bindparam, func, literal_column, select

from ..constants import EntityRole
from ..database import PKBDatabase, Prepared
from ..database.audit_log import recording
from ..errors import InvalidKnowledgeError
from ..models import ENTITY_COLUMNS, TAG_COLUMNS, Entity, Tag
from ..schema import metadata
from ..schema.operators import among
from ..schema.tables import claim_entities, claim_links, claim_tags, claims, entities, tags
from ..utils import generate_uuid, now_iso

LINK_SUPERSEDES = "supersedes"
"""From the newer claim to the older one that it replaces."""

_LONGEST_CHAIN = 100
_LINK_COLUMNS = ("link_id", "from_claim_id", "to_claim_id", "link_type", "created_at")


def _of(owner: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a row is `:user`'s; anybody's where that is NULL."""
    return owner == func.coalesce(bindparam("user"), owner)


def link_claims(
    db: PKBDatabase, from_claim_id: str, to_claim_id: str, link_type: str, *, user_email: str | None = None
) -> str | None:
    """Link two claims of one user; the link's id.

    None for a link to itself, for one that is there, and where there are no such claims.
    """
    owner = _common_owner(db, from_claim_id, to_claim_id, user_email=user_email)
    if owner is None or from_claim_id == to_claim_id:
        return None
    with recording(db, user_email=owner, action="link", object_type="claim", object_id=from_claim_id) as changes:
        if _between(db, from_claim_id, to_claim_id, link_type, user_email=owner):
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


def link_successor(
    db: PKBDatabase, new_claim_id: str, old_claim_id: str, *, user_email: str | None = None
) -> str | None:
    """Say that one claim takes another's place; the link's id, None as of `link_claims`.

    Whatever had taken the new one's place does so no longer, or each would lead to the other.
    """
    with db.transaction():
        for link in get_incoming_links(db, new_claim_id, LINK_SUPERSEDES, user_email=user_email):
            unlink_claims(db, link["from_claim_id"], new_claim_id, LINK_SUPERSEDES, user_email=user_email)
        return link_claims(db, new_claim_id, old_claim_id, LINK_SUPERSEDES, user_email=user_email)


def unlink_claims(
    db: PKBDatabase,
    from_claim_id: str,
    to_claim_id: str,
    link_type: str | None = None,
    *,
    user_email: str | None = None,
) -> bool:
    """Delete the links from one claim to the other (of one type); whether there were any."""
    rows = _between(db, from_claim_id, to_claim_id, link_type, user_email=user_email)
    if not rows:
        return False
    owner = rows[0][1]
    with recording(db, user_email=owner, action="unlink", object_type="claim", object_id=from_claim_id) as changes:
        changes.delete_many("claim_links", [{"link_id": link_id} for link_id, _ in rows])
    return True


def get_outgoing_links(
    db: PKBDatabase, claim_id: str, link_type: str | None = None, *, user_email: str | None = None
) -> list[Mapping[str, Any]]:
    """The links that begin at a claim, as rows, oldest first."""
    return _links(db, "from_claim_id", claim_id, link_type, user_email)


def get_incoming_links(
    db: PKBDatabase, claim_id: str, link_type: str | None = None, *, user_email: str | None = None
) -> list[Mapping[str, Any]]:
    """The links that lead to a claim, as rows, oldest first."""
    return _links(db, "to_claim_id", claim_id, link_type, user_email)


def get_supersession_head(db: PKBDatabase, claim_id: str, *, user_email: str | None = None) -> str:
    """The claim at the end of the chain of those that superseded `claim_id`; itself where none did. Ends in cycles."""
    return supersession_heads(db, [claim_id], user_email=user_email).get(claim_id, claim_id)


def supersession_heads(db: PKBDatabase, claim_ids: Sequence[str], *, user_email: str | None = None) -> dict[str, str]:
    """For each claim, the one at the end of its chain; one query."""
    if not claim_ids:
        return {}
    rows = db.rows(_chains(), user=user_email, claim_ids=claim_ids)
    return {begin: claim for begin, claim in rows}  # noqa: C416 - the last one of a chain is its head


def link_claim_tag(db: PKBDatabase, claim_id: str, tag_id: str, *, user_email: str | None = None) -> bool:
    """Tag a claim; False where it has the tag, or where the two are not one user's."""
    return _file(db, claim_tags, tags, {"claim_id": claim_id, "tag_id": tag_id}, user_email)


def link_claim_entity(
    db: PKBDatabase,
    claim_id: str,
    entity_id: str,
    role: str = EntityRole.MENTIONED.value,
    *,
    user_email: str | None = None,
) -> bool:
    """Link a claim to an entity; False where that link is there, or where the two are not one user's.

    Raises InvalidKnowledgeError for a role that is none.
    """
    row = {"claim_id": claim_id, "entity_id": entity_id, "role": entity_role(role)}
    return _file(db, claim_entities, entities, row, user_email)


def entity_role(value: Any) -> str:
    """The part of an entity in a claim, as stored. Raises InvalidKnowledgeError."""
    try:
        return EntityRole(value).value
    except ValueError as error:
        raise InvalidKnowledgeError(f"{value!r} is no role; use one of {', '.join(EntityRole)}.") from error


def get_claim_tags(db: PKBDatabase, claim_id: str, *, user_email: str | None = None) -> list[Tag]:
    """The tags of a claim, by name."""
    return [Tag(*row) for row in db.rows(_TAGS, user=user_email, claim_id=claim_id)]


def get_claim_entities(db: PKBDatabase, claim_id: str, *, user_email: str | None = None) -> list[tuple[Entity, str]]:
    """The entities of a claim with the role of each, by name."""
    return [(Entity(*row[:-1]), row[-1]) for row in db.rows(_ENTITIES, user=user_email, claim_id=claim_id)]


_TAGS = Prepared(
    select(*(tags.c[name] for name in TAG_COLUMNS))
    .join(claim_tags, claim_tags.c.tag_id == tags.c.tag_id)
    .where(claim_tags.c.claim_id == bindparam("claim_id"), _of(tags.c.user_email))
    .order_by(tags.c.name_key)
)
_ENTITIES = Prepared(
    select(*(entities.c[name] for name in ENTITY_COLUMNS), claim_entities.c.role)
    .join(claim_entities, claim_entities.c.entity_id == entities.c.entity_id)
    .where(claim_entities.c.claim_id == bindparam("claim_id"), _of(entities.c.user_email))
    .order_by(entities.c.name_key, claim_entities.c.role)
)
_OWNERS = Prepared(select(claims.c.user_email).where(among(claims.c.claim_id, "claim_ids"), _of(claims.c.user_email)))
_IS_OF_TYPE = claim_links.c.link_type == func.coalesce(bindparam("link_type"), claim_links.c.link_type)
_BETWEEN = Prepared(
    select(claim_links.c.link_id, claim_links.c.user_email).where(
        claim_links.c.from_claim_id == bindparam("from_claim_id"),
        claim_links.c.to_claim_id == bindparam("to_claim_id"),
        _IS_OF_TYPE,
        _of(claim_links.c.user_email),
    )
)


@cache
def _links_at(column: str) -> Prepared:
    query = select(*(claim_links.c[name] for name in _LINK_COLUMNS))
    query = query.where(claim_links.c[column] == bindparam("claim_id"), _IS_OF_TYPE, _of(claim_links.c.user_email))
    return Prepared(query.order_by(claim_links.c.created_at, claim_links.c.link_id))


@cache
def _chains() -> Prepared:
    begun = select(claims.c.claim_id.label("begin_id"), claims.c.claim_id, literal_column("0").label("depth"))
    chain = begun.where(among(claims.c.claim_id, "claim_ids"), _of(claims.c.user_email)).cte("chain", recursive=True)
    successor = (
        select(claim_links.c.from_claim_id)
        .where(
            claim_links.c.to_claim_id == chain.c.claim_id,
            claim_links.c.link_type == literal_column(f"'{LINK_SUPERSEDES}'"),
            _of(claim_links.c.user_email),
        )
        .order_by(claim_links.c.created_at.desc())
        .limit(literal_column("1"))
        .correlate(chain)
        .scalar_subquery()
    )
    following = select(chain.c.begin_id, successor, chain.c.depth + literal_column("1"))
    following = following.where(chain.c.claim_id.is_not(None), chain.c.depth < literal_column(str(_LONGEST_CHAIN)))
    chain = chain.union(following)
    links = select(chain.c.begin_id, chain.c.claim_id).where(chain.c.claim_id.is_not(None))
    return Prepared(links.order_by(chain.c.depth))


@cache
def _tied(ties: str, groups: str, columns: tuple[str, ...]) -> Prepared:
    """The owner and statement of `:claim_id` and, where its tie to a group of the same user is there, 1."""
    tie, group, key = metadata.tables[ties], metadata.tables[groups], columns[1]
    present: Select[Any] = select(literal_column("1")).where(*(tie.c[name] == bindparam(name) for name in columns))
    query = select(claims.c.user_email, claims.c.statement, present.correlate(None).scalar_subquery())
    joined = claims.join(group, (group.c[key] == bindparam(key)) & (group.c.user_email == claims.c.user_email))
    query = query.select_from(joined).where(claims.c.claim_id == bindparam("claim_id"), _of(claims.c.user_email))
    return Prepared(query)


def _between(
    db: PKBDatabase, from_claim_id: str, to_claim_id: str, link_type: str | None, *, user_email: str | None
) -> list[tuple[Any, ...]]:
    """(link id, owner) of the links from one claim to the other."""
    return db.rows(_BETWEEN, user=user_email, from_claim_id=from_claim_id, to_claim_id=to_claim_id, link_type=link_type)


def _links(
    db: PKBDatabase, column: str, claim_id: str, link_type: str | None, user_email: str | None
) -> list[Mapping[str, Any]]:
    rows = db.rows(_links_at(column), user=user_email, claim_id=claim_id, link_type=link_type)
    return [dict(zip(_LINK_COLUMNS, row, strict=True)) for row in rows]


def _common_owner(db: PKBDatabase, *claim_ids: str, user_email: str | None) -> str | None:
    owners = [owner for (owner,) in db.rows(_OWNERS, user=user_email, claim_ids=claim_ids)]
    return owners[0] if len(owners) == len(set(claim_ids)) and len(set(owners)) == 1 else None


def _file(db: PKBDatabase, ties: Table, groups: Table, row: Mapping[str, str], user_email: str | None) -> bool:
    """Insert a row that ties a claim to a tag or entity of the same user."""
    with db.transaction():
        found = db.row(_tied(ties.name, groups.name, tuple(row)), user=user_email, **row)
        if found is None or found[2] is not None:
            return False
        owner, title, _ = found
        with recording(
            db, user_email=owner, action="link", object_type="claim", object_id=row["claim_id"], title=title
        ) as changes:
            changes.insert(ties.name, row)
    return True
