"""Where conversations and messages came from: what other programs call them, which exports of ours take along.

Of a message that an export of ours brought, `imported_messages` has two rows: one by its id here, which says what the
export said, and one by what its source calls it, if it came from there at all. `names_source` tells them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from database.engine.database import Database, Urgency
from database.engine.statements import insert_rows
from database.schema import (
    imported_changes,
    imported_conversations,
    imported_messages,
    imports,
    messages,
    workspaces,
)

from .changes import (
    DOCUMENT,
    DOCUMENT_ORIGIN,
    ORIGINS_BESIDE,
    STATE,
    WORKSPACE,
    WORKSPACE_ORIGIN,
    Notes,
    note_conversation,
)

OWN_SOURCES = ("account", "anaphora")
"""The sources whose ids are those of this program, by which everything is known anyway."""
KEPT = "kept:"
"""Before the id of an import that brought nothing of a thing: taking that import back leaves it alone."""
_AT_ONCE = 10_000
_NOTES_AT_ONCE = 500
_ic, _im, _n = imported_conversations.c, imported_messages.c, imported_changes.c

Said = Mapping[str, Any]
"""A message of an export. origins: `{id, variant, digest}` of each version that came from the conversation's source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a conversation is at its source. title, digest: as the source had it last."""

    source: str
    source_id: str
    title: str
    digest: str


def origin_fields(origin: Origin) -> dict[str, str]:
    """An origin as files of ours have it."""
    return {"source": origin.source, "id": origin.source_id, "title": origin.title, "digest": origin.digest}


def names_source(source_id: str, message_id: str) -> bool:
    """Whether a row says what another program calls a message: exports of ours call it by its id here."""
    return source_id.partition(" ")[0] != message_id


def origin_of(*, database: Database, user_email: str, conversation_id: str) -> Origin | None:
    """Where a conversation came from; None for what came from no other program."""
    with database.reading() as connection:
        return _origin(connection, conversation_id, user_email=user_email)


def origins_of(*, database: Database, user_email: str) -> dict[str, Origin]:
    """Where the conversations of a person came from, by their ids; without those that came from no other program."""
    names = Origin.__dataclass_fields__
    query = select(_ic.conversation_id, *(_ic[name] for name in names)).where(
        _ic.user_email == user_email, _ic.source.not_in(OWN_SOURCES)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return {row.conversation_id: Origin(**{name: getattr(row, name) for name in names}) for row in rows}


def _origin(connection: Connection, conversation_id: str, *, user_email: str) -> Origin | None:
    query = select(*(_ic[name] for name in Origin.__dataclass_fields__)).where(
        _ic.conversation_id == conversation_id, _ic.user_email == user_email, _ic.source.not_in(OWN_SOURCES)
    )
    row = connection.execute(query).first()
    return None if row is None else Origin(**row._mapping)


def origins_of_messages(
    *, database: Database, user_email: str, conversation_id: str, message_ids: Sequence[str], shown_alone: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """What their source calls messages of a conversation, by the ids of here: `{id, variant, digest}` each.

    shown_alone: only the versions that are shown.
    """
    found = dict[str, list[dict[str, Any]]]()
    with database.reading() as connection:
        if _origin(connection, conversation_id, user_email=user_email) is None:
            return found
    columns = (_im.source_id, _im.message_id, _im.number, _im.digest, _im.conversation_id)
    for start in range(0, len(message_ids), _AT_ONCE):
        # By the ids of the messages alone: by that of the conversation, databases would go through all of it.
        query = select(*columns).where(_im.message_id.in_(message_ids[start : start + _AT_ONCE]))
        if shown_alone:
            query = query.join(messages, messages.c.message_id == _im.message_id)
            query = query.where(_im.number == func.coalesce(messages.c.chosen_variant, 1))
        with database.reading() as connection:
            rows = connection.execute(query.order_by(_im.number, _im.source_id)).all()
        for row in rows:
            if row.conversation_id == conversation_id and names_source(row.source_id, row.message_id):
                origin = {"id": row.source_id, "variant": row.number, "digest": row.digest}
                found.setdefault(row.message_id, []).append(origin)
    return found


def free_origin(connection: Connection, origin: Origin | None, *, user_email: str) -> Origin | None:
    """The origin, unless the person has another conversation of it here, or in the bin."""
    return None if origin is None or _known(connection, origin, user_email=user_email) is not None else origin


def _known(connection: Connection, origin: Origin, *, user_email: str) -> str | None:
    query = select(_ic.conversation_id).where(
        _ic.user_email == user_email, _ic.source == origin.source, _ic.source_id == origin.source_id
    )
    return connection.execute(query).scalar()


def note_brought(
    notes: Notes, origin: Origin | None, *, source: str, columns: Mapping[str, Any], tags: Iterable[str]
) -> None:
    """Note a conversation of an export of ours that is new here, by what it came from where no other one is that."""
    free = free_origin(notes.connection, origin, user_email=notes.user_email)
    named = None if free is None else asdict(free)
    note_conversation(notes, source=source, columns=columns, tags=tags, origin=named)


def versions_of(said: Iterable[Said]) -> dict[tuple[str, int], int]:
    """The versions of messages with origins that are stored as they are in their file; see `Arrived`."""
    named = (each for each in said if each.get("origins"))
    own = ((each["message_id"], each.get("versions") or [{"number": 1}]) for each in named)
    return {(name, version["number"]): version["number"] for name, versions in own for version in versions}


def name_origins(notes: Notes, origin: Origin | None, arrived: Arrived) -> bool:
    """Note what an export says of where a conversation that is here came from; whether anything of it was new."""
    is_adopted = _adopt(notes, origin)
    count = note_origins(notes, origin, arrived)
    _note_digest(notes, origin, arrived.said)
    return is_adopted or count > 0


def _adopt(notes: Notes, origin: Origin | None) -> bool:
    """Let a conversation that an export of ours brought be the one of its source that a later export names.

    Whether anything changed: it has an origin already, or another conversation is that one.
    """
    connection, conversation_id = notes.connection, notes.conversation_id or ""
    known = select(_ic.source, _ic.title).where(_ic.conversation_id == conversation_id)
    row = connection.execute(known).first()
    if row is None or row.source not in OWN_SOURCES:
        return False
    free = free_origin(connection, origin, user_email=notes.user_email)
    if free is None:
        return False
    _keep_title(connection, conversation_id, row.title)
    values = {name: getattr(free, name) for name in Origin.__dataclass_fields__}
    notes.change("source", conversation_id, **values)
    return True


def _keep_title(connection: Connection, conversation_id: str, title: str) -> None:
    """Let notes that have no title of their own have the one that exports of ours said last."""
    these = (_n.conversation_id == conversation_id) & (_n.kind == STATE)
    for row in connection.execute(select(_n.import_id, _n.became).where(these)).all():
        if "title" not in row.became:
            values = {"became": {**row.became, "title": title}}
            connection.execute(update(imported_changes).where(these, _n.import_id == row.import_id).values(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """Messages of a file that are here now, in one conversation.

    said: as the file has them, by their ids of here. numbers: of their versions, as (id, number there): the number of
    here. added: versions that are new, as (id, number of here). told: the messages that say here what they say there.
    """

    said: Sequence[Said]
    numbers: Mapping[tuple[str, int], int]
    added: Collection[tuple[str, int]] = ()
    told: Collection[str] = ()

    def origins(self) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
        """The origins, each with its message and the number of its version here; those of no version are left out."""
        for message in self.said:
            for each in message.get("origins") or ():
                number = self.numbers.get((message["message_id"], each["variant"]))
                if number is not None:
                    yield (message["message_id"], number), each


def note_origins(notes: Notes, origin: Origin | None, arrived: Arrived) -> int:
    """Note what their source calls messages of a conversation that came from `origin`; how many were not known so.

    What is here already belongs to the import that brought it.
    """
    named = dict(arrived.origins())
    if notes.import_id is None or not named or not _is_of(notes, origin):
        return 0
    rows = _rows(notes)
    brought = {(row.message_id, row.number): row.import_id for row in rows}
    known = {row.source_id: row for row in rows}
    told = {version for version in named if version[0] in arrived.told}
    used = {(row.message_id, row.number) for row in rows if names_source(row.source_id, row.message_id)}
    ids = {row.message_id for row in rows} | {message_id for message_id, _ in named}
    new = dict[str, dict[str, Any]]()
    for version, each in named.items():
        source_id, row = each["id"], known.get(each["id"])
        if row is not None:
            if version in told and version == (row.message_id, row.number) and row.digest != each["digest"]:
                notes.change("identity", f"{row.message_id} {row.number} {source_id}", digest=each["digest"])
        elif version not in used and source_id.partition(" ")[0] not in ids:
            kept = brought.get(version, f"{KEPT}{notes.import_id}")
            by = {"import_id": notes.import_id if version in arrived.added else kept, "digest": each["digest"]}
            which = {"message_id": version[0], "number": version[1], "conversation_id": notes.conversation_id}
            new.setdefault(source_id, {"source_id": source_id, **which, **by})
    insert_rows(notes.connection, imported_messages, list(new.values()))
    return len(new)


def _is_of(notes: Notes, origin: Origin | None) -> bool:
    """Whether the conversation is known as the one that came from there."""
    here = _origin(notes.connection, notes.conversation_id or "", user_email=notes.user_email)
    there = None if origin is None else (origin.source, origin.source_id)
    return here is not None and (here.source, here.source_id) == there


def _rows(notes: Notes) -> Sequence[Any]:
    columns = (_im.source_id, _im.message_id, _im.number, _im.digest, _im.import_id)
    query = select(*columns).where(_im.conversation_id == notes.conversation_id)
    return notes.connection.execute(query).all()


def _note_digest(notes: Notes, origin: Origin | None, said: Sequence[Said]) -> None:
    """Let the digest of a conversation be that of the file, where it has of its source what the file has."""
    if origin is None or not _is_of(notes, origin):
        return
    known = {(row.source_id, row.digest) for row in _rows(notes) if names_source(row.source_id, row.message_id)}
    if known == {(each["id"], each["digest"]) for message in said for each in message.get("origins") or ()}:
        changed = select(_ic.digest).where(_ic.conversation_id == notes.conversation_id, _ic.digest != origin.digest)
        if notes.connection.execute(changed).first() is not None:
            notes.change("source", notes.conversation_id or "", digest=origin.digest)


def origins_beside(*, database: Database, user_email: str) -> dict[str, list[dict[str, Any]]]:
    """What documents and workspaces came from other programs, as the archive of an account has it.

    documents: by the digests of what came. workspaces: by their names there; without an id, one that is gone.
    """
    kinds = (DOCUMENT, WORKSPACE, *ORIGINS_BESIDE)
    brought = select(_n.kind, _n.thing_id, _n.became, imports.c.source).where(
        _n.user_email == user_email, _n.conversation_id.is_(None), _n.kind.in_(kinds)
    )
    own = select(workspaces.c.workspace_id).where(workspaces.c.user_email == user_email)
    with database.reading() as connection:
        there = set(connection.execute(own).scalars())
        rows = connection.execute(brought.outerjoin(imports, imports.c.import_id == _n.import_id)).all()
    documents, folders = dict[tuple[str, str], dict[str, Any]](), dict[tuple[str, str], dict[str, Any]]()
    for row in rows:
        said = row.became if row.kind in ORIGINS_BESIDE else {**row.became, "source": row.source}
        if (source := said["source"]) is None or source in OWN_SOURCES:
            continue
        if row.kind in {DOCUMENT, DOCUMENT_ORIGIN}:
            if digest := said.get("digest"):
                path = said.get("path", row.thing_id)
                documents[source, digest] = {"source": source, "digest": digest, "path": path}
        else:
            name, found = said["workspace_name"], said.get("workspace_id", row.thing_id)
            if found in there or (source, name) not in folders:
                named = {"source": source, "name": name, "workspace_id": found if found in there else None}
                folders[source, name] = named
    return {"documents": list(documents.values()), "workspaces": list(folders.values())}


def note_beside_origins(
    documents: Sequence[Mapping[str, Any]],
    folders: Sequence[Mapping[str, Any]],
    *,
    database: Database,
    user_email: str,
    import_id: str,
) -> None:
    """Note what documents and workspaces of an archive came from, each as `origins_beside` has it, by ids of here."""
    noted = {
        DOCUMENT_ORIGIN: {f"{each['source']} {each['digest']}": dict(each) for each in documents},
        WORKSPACE_ORIGIN: {
            f"{each['source']} {each['name']}": {
                "source": each["source"],
                "workspace_name": each["name"],
                "workspace_id": each["workspace_id"],
            }
            for each in folders
        },
    }

    def job(connection: Connection, kind: str, some: Mapping[str, Mapping[str, Any]]) -> None:
        mine = (_n.import_id == import_id) & (_n.kind == kind) & _n.thing_id.in_(list(some))
        connection.execute(delete(imported_changes).where(mine))
        notes = Notes(connection, user_email, import_id)
        for thing_id, became in some.items():
            notes.added(kind, [thing_id], became=became)

    for kind, things in noted.items():
        for start in range(0, len(things), _NOTES_AT_ONCE):
            some = dict(list(things.items())[start : start + _NOTES_AT_ONCE])
            database.write(partial(job, kind=kind, some=some), urgency=Urgency.INDEX)


def store_origins(
    connection: Connection, origin: Origin, said: Sequence[Said], *, user_email: str, conversation_id: str
) -> None:
    """Store the origins of a conversation of a bundle in a store of its own; its messages have one version each."""
    own = {"conversation_id": conversation_id, "import_id": KEPT}
    head = {name: getattr(origin, name) for name in Origin.__dataclass_fields__}
    connection.execute(insert(imported_conversations).values({**own, **head, "user_email": user_email}))
    notes = Notes(connection, user_email, KEPT, conversation_id)
    numbers = {
        (each["message_id"], one["variant"]): one["variant"] for each in said for one in each.get("origins") or ()
    }
    note_origins(notes, origin, Arrived(said=said, numbers=numbers))
