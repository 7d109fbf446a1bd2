"""Bringing a conversation up to date with a longer export of it: what is new is added, what was said here stays.

Messages are known by their ids. A text is taken over where the export has the text of here among its earlier ones.
Bundles have no earlier texts: of them, one is taken over that was edited after the one of here, which is as an import
brought it. What the report of a message has in the export alone is added. Title, tags, flag and whether it is archived
are taken over where they are as an import left them. Where the person went on here, what the export has new begins a
branch, and the active path stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from database.activities.renaming import ids_known
from database.activities.storing import insert_activities
from database.changes import MESSAGE, record
from database.conversations.conversation import record_listed, update_keeping_time
from database.conversations.repository import read_live
from database.conversations.tags import MOST_TAGS, insert_tags
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.engine.text import storable
from database.history.editing import keep_text
from database.history.summary import forget_summary
from database.messages.branch_tree import branches_of
from database.messages.documents import document_rows
from database.messages.message import rows_where
from database.messages.parts import part_rows
from database.schema import (
    conversation_tags,
    conversations,
    document_references,
    imported_conversations,
    imported_messages,
    message_edits,
    message_parts,
    message_variants,
    messages,
    threads,
)
from database.search import index as fulltext_index
from database.search.vectors import renew_vectors_of_title
from sentences import say

from .changes import BroughtBy, Notes, digest_of_said, note_said, note_state, state_brought
from .importing import (
    ImportedActivity,
    ImportedConversation,
    ImportedFile,
    Message,
    Room,
    add_stored_messages,
    numbers_of,
    thread_rows,
    with_new_ids,
)
from .origins import OWN_SOURCES, Arrived, name_origins, versions_of
from .outside import NOTHING, Outside, cite_or_note, link_or_note, threads_to_store
from .standing import Places, live_room
from .updating import renew_path

_c, _m, _v, _e, _im = conversations.c, messages.c, message_variants.c, message_edits.c, imported_messages.c
_ic, _t = imported_conversations.c, conversation_tags.c
_STATE = ("flag", "archived")
_TOLD_MESSAGES = 50


def update_from_file(
    imported: Sequence[ImportedActivity],
    conversations_of_file: Sequence[ImportedConversation],
    threads_of_file: Sequence[Mapping[str, Any]],
    *,
    database: Database,
    user_email: str,
    new_ids: Mapping[str, str],
    outside: Outside = NOTHING,
    by: BroughtBy | None = None,
) -> ImportedFile | None:
    """Bring the conversation of a file up to date; None where it is not here, or the file has not all of it.

    new_ids: of other things that messages name, by their ids there. outside: see `store_file`. by: the import that
    notes what is changed.
    Raises ConflictError where nothing in it is new, or what the file holds contradicts itself.
    """
    if len(conversations_of_file) != 1 or not _is_whole(imported, conversations_of_file[0]):
        return None
    there = conversations_of_file[0]
    source_id = there.conversation_id

    def job(connection: Connection) -> ImportedFile | None:
        here = live_room(connection, source_id, user_email)
        if here is None:
            return None
        thread_ids = [each["thread_id"] for each in threads_of_file]
        activity_ids = [each.activity.activity_id for each in imported]
        known, own_ids = ids_known(connection, activity_ids=activity_ids, thread_ids=thread_ids, user_email=user_email)
        all_ids = {**new_ids, **own_ids, source_id: here}
        activities = with_new_ids(connection, imported, all_ids)
        new = [each for each in activities if each.activity.activity_id not in known]
        update_ = _Update(Notes(connection, user_email, None if by is None else by.import_id, here))
        if update_.rows and len(new) == len(activities):
            return None
        update_.merge([each.message for each in activities if each.message is not None], new)
        is_retitled = update_.renew_head(there, is_newer=bool(new or update_.changed))
        is_named = update_.name(there)
        if not (new or update_.changed or is_retitled):
            return _nothing_new(update_.differing, is_named=is_named)
        rows = thread_rows(connection, threads_of_file, all_ids, user_email=user_email)
        named = outside.renamed(all_ids)
        if new_threads := threads_to_store(connection, rows, named, user_email=user_email):
            connection.execute(insert(threads), new_threads)
        dropped = link_or_note(update_.notes, named, {each.activity.activity_id: here for each in new})
        cite_or_note(update_.notes, update_.cited)
        update_.finish(there.columns["updated_at"])
        return ImportedFile(
            conversations=0, activities=len(new), dropped=dropped, updated=1, differing=update_.differing
        )

    try:
        return database.write(job)
    except IntegrityError as error:
        raise ConflictError(say("import_contradiction")) from error


def _nothing_new(differing: int, *, is_named: bool) -> ImportedFile:
    """What is stored where nothing is new. Raises ConflictError where nothing is told otherwise either.

    is_named: what is here is known now by what another program calls it, which is stored.
    """
    if not (differing or is_named):
        raise ConflictError(say("file_is_here_already"))
    return ImportedFile(conversations=0, activities=0, differing=differing, is_here=not differing)


def _is_whole(imported: Sequence[ImportedActivity], conversation: ImportedConversation) -> bool:
    """Whether a file has this one conversation, with its branches."""
    return all(each.conversation_id == conversation.conversation_id for each in imported) and all(
        "branch_id" in each.message for each in imported if each.message is not None
    )


@dataclass(slots=True)
class _Update:
    """The update of one conversation within a transaction. rows: its messages by id, in order, deleted ones too.

    differing: how many messages say something else in the file, which is not known here and is not taken over.
    """

    notes: Notes
    connection: Connection = field(init=False)
    user_email: str = field(init=False)
    conversation_id: str = field(init=False)
    friendly_id: str | None = field(init=False)
    last_ordinal: int = field(init=False)
    updated_at: str = field(init=False)
    rows: dict[str, Any] = field(init=False)
    is_continued: bool = False
    differing: int = 0
    changed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    cited: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """New entries of reports of messages that are here, by their ids."""
    said: Sequence[Message] = ()
    told: list[str] = field(default_factory=list)
    """The messages that say here what they say in the file, at last."""
    numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    """Of versions of messages of the file: their numbers here."""
    new_versions: list[tuple[str, int]] = field(default_factory=list)
    """Versions that were added to messages, by their numbers here."""

    def __post_init__(self) -> None:
        self.connection, self.user_email = self.notes.connection, self.notes.user_email
        self.conversation_id = self.notes.conversation_id or ""
        columns = (_c.conversation_friendly_id, _c.last_ordinal, _c.updated_at)
        head = self.connection.execute(select(*columns).where(_c.conversation_id == self.conversation_id)).one()
        self.friendly_id, self.last_ordinal, self.updated_at = head
        names = ("message_id", "ordinal", "sender", "branch_id", "branch_of", "text", "status", "edited_at")
        more = (_m.deleted_at, _m.chosen_variant, _m.created_at, _m.report)
        here = select(*(_m[name] for name in names), *more).where(_m.conversation_id == self.conversation_id)
        self.rows = {row.message_id: row for row in self.connection.execute(here.order_by(_m.ordinal))}

    def merge(self, said: Sequence[Message], new: Sequence[ImportedActivity]) -> None:
        """Add what is new and change what has changed. said: all messages of the file; new: what is not here."""
        self.said, self.numbers = said, versions_of(said)
        in_file = {message["message_id"] for message in said}
        ours = [row for row in self.rows.values() if row.message_id not in in_file and row.deleted_at is None]
        self.is_continued = bool(ours)
        for message in said:
            row = self.rows.get(message["message_id"])
            if row is not None and row.deleted_at is None:
                is_told = self._renew_text(message, row)
                self.told += [row.message_id] if is_told else []
                self._add_variants(message, row)
                self._note_cited(message, row, is_told=is_told)
        places = Places(self.rows, ours, {each.activity.activity_id for each in new})
        placed = {message["message_id"]: message for message in places.placed(said)}
        self._add([(each, each.message and placed[each.activity.activity_id]) for each in new])
        self._choose(said, places.forked)

    def _add(self, new: Sequence[tuple[ImportedActivity, Message | None]]) -> None:
        room = Room(self.user_email, self.conversation_id, self.friendly_id, self.last_ordinal)
        stored = insert_activities(self.connection, [each.activity for each, _ in new], **room.own)
        pairs = [(message, row) for (_, message), row in zip(new, stored, strict=True) if message is not None]
        self.notes.added("activity", [each.activity.activity_id for each, message in new if message is None])
        if not pairs:
            return
        said, activities_of = [message for message, _ in pairs], [row for _, row in pairs]
        rows = add_stored_messages(self.connection, said, activities_of, room)
        self.last_ordinal += len(rows)
        self.added = [row["message_id"] for row in rows]
        note_said(self.notes, zip(rows, map(numbers_of, said), strict=True))

    def _choose(self, said: Sequence[Message], forked: set[str]) -> None:
        """Let the path be that of the file, unless the person went on here."""
        groups: dict[str, list[str]] = {}
        for message in said:
            if message.get("branch_of"):
                groups.setdefault(message["branch_of"], [message["branch_of"]]).append(message["message_id"])
        first_ones = [*forked, *groups]
        unchosen = select(_m.message_id).where(_m.message_id.in_(first_ones), _m.chosen_branch.is_(None))
        for message_id in self.connection.execute(unchosen).scalars().all():
            self._set(message_id, chosen_branch=1)
        if self.is_continued or not self.added:
            return
        tree = branches_of(self.connection, self.conversation_id)
        for message in said:
            group = groups.get(message["message_id"], [])
            number = message.get("chosen_branch") or 0
            here = [fork.message_id for fork in tree.group(message["message_id"])] if group else []
            if 0 < number <= len(group) and group[number - 1] in here:
                self._set(message["message_id"], chosen_branch=here.index(group[number - 1]) + 1)

    def _note_cited(self, message: Message, row: Any, *, is_told: bool) -> None:
        """Note what the report of a message has in the file alone, where what the message says there is here.

        is_told: whether the message says the same here. The variants of an answer share one report.
        """
        if is_told or len(message.get("versions") or ()) > 1:
            known = {entry["ref"] for entry in row.report}
            new = [entry for entry in message.get("references") or () if entry["ref"] not in known]
            if new:
                self.cited[row.message_id] = new
                self.changed.append(row.message_id)

    def _renew_text(self, message: Message, row: Any) -> bool:
        """Take over a text that follows from the one here; whether the message says here what the file says."""
        text, edits = storable(message["text"]), message.get("edits") or ()
        goes_on = row.status == "interrupted" and message.get("status") == "complete" and text.startswith(row.text)
        if text == row.text:
            return True
        if not edits and self._was_edited_there(message, row):
            edits = [{"text": row.text, "replaced_at": message["edited_at"]}]
        is_ahead = goes_on or row.text in {storable(each["text"]) for each in edits}
        is_same = (row.chosen_variant or 1) == (message.get("chosen_variant") or 1)
        if not is_ahead or not is_same:
            self.differing += not self._is_known(message, text, row)
            return False
        known = select(_e.text, _e.replaced_at).where(_e.message_id == row.message_id)
        here = {(each.text, each.replaced_at) for each in self.connection.execute(known)}
        missing = [each for each in edits if (each["text"], each["replaced_at"]) not in here]
        for edit in missing:
            said = {"message_id": row.message_id, "text": edit["text"], "replaced_at": edit["replaced_at"]}
            edit_id = keep_text(self.connection, **said)
            self.notes.added("edit", [f"{row.message_id} {edit_id}"])
        number, edited_at = row.chosen_variant or 1, message.get("edited_at")
        self.notes.change("variant", f"{row.message_id} {number}", text=text)
        self.notes.change("said", f"{row.message_id} {number}", digest=digest_of_said(text, edited_at))
        self._show(row, text=text, status=message.get("status", "complete"), edited_at=edited_at)
        return True

    def _was_edited_there(self, message: Message, row: Any) -> bool:
        """Whether a text was edited in the file after it was here, where it is as an import brought it."""
        if (message.get("edited_at") or "") <= (row.edited_at or ""):
            return False
        came = select(_im.digest).where(_im.message_id == row.message_id, _im.number == (row.chosen_variant or 1))
        return digest_of_said(row.text, row.edited_at) in set(self.connection.execute(came).scalars())

    def _is_known(self, message: Message, text: str, row: Any) -> bool:
        """Whether another text of a message is nothing new: an earlier one of here, a variant, or unfinished."""
        if len(message.get("versions") or ()) > 1:
            return True  # they become variants
        if message.get("deleted_at") or (message.get("status", "complete") != "complete" and row.text.startswith(text)):
            return True
        earlier = select(_e.text).where(_e.message_id == row.message_id)
        variants = select(_v.text).where(_v.message_id == row.message_id)
        return text in set(self.connection.execute(earlier.union(variants)).scalars())

    def _add_variants(self, message: Message, row: Any) -> None:
        """Add the variants of an answer that was made again."""
        versions: Sequence[Message] = message.get("versions") or []
        if len(versions) < 2:
            return
        here = self._variants_here(row, versions[0])
        new = list[Message]()
        for version in versions:
            number_here = here.get(version["created_at"])
            if number_here is None:
                new.append(version)
            else:
                self.numbers[row.message_id, version["number"]] = number_here
        for number, version in enumerate(new, max(here.values()) + 1):
            self._add_variant(row.message_id, number, version)
            self.numbers[row.message_id, version["number"]] = number
            self.new_versions.append((row.message_id, number))
            is_chosen = version["number"] == message.get("chosen_variant")
            if is_chosen and not self.is_continued and row.edited_at is None:
                said = {name: version[name] for name in ("status", "config", "created_at")}
                self._show(row, text=storable(version["text"]), chosen_variant=number, **said)
        if new:
            self.changed.append(row.message_id)

    def _variants_here(self, row: Any, first: Mapping[str, Any]) -> dict[str, int]:
        """The numbers of the variants by their times; an answer that was never made again becomes the first one."""
        known = select(_v.created_at, _v.number).where(_v.message_id == row.message_id)
        here = {each.created_at: each.number for each in self.connection.execute(known)}
        if here:
            return here
        values = {"message_id": row.message_id, "number": 1, "created_at": first["created_at"]}
        said = {"text": row.text, "status": row.status, "config": first["config"]}
        self.connection.execute(insert(message_variants).values({**values, **said}))
        self.notes.added("first_variant", [row.message_id])
        self._set(row.message_id, chosen_variant=1)
        return {first["created_at"]: 1}

    def _add_variant(self, message_id: str, number: int, version: Mapping[str, Any]) -> None:
        said = {name: version[name] for name in ("text", "status", "config", "created_at")}
        self.connection.execute(insert(message_variants).values({"message_id": message_id, "number": number, **said}))
        self.notes.added("variant", [f"{message_id} {number}"])
        if parts := part_rows(message_id, version.get("parts") or (), version=number):
            self.connection.execute(insert(message_parts), parts)
            self._set(message_id, has_parts=1)
        documents = version.get("document_references") or ()
        if documents:
            rows = document_rows(message_id, documents, user_email=self.user_email, version=number)
            self.connection.execute(insert(document_references), rows)
            self._set(message_id, has_documents=1)

    def _show(self, row: Any, *, text: str, **values: Any) -> None:
        message = rows_where(self.connection, _m.message_id == row.message_id)[0]
        fulltext_index.reindex(self.connection, message, text=text)
        forget_summary(self.connection, self.conversation_id, ordinal=row.ordinal)
        self._set(row.message_id, text=text, **values)
        self.changed.append(row.message_id)

    def _set(self, message_id: str, **values: Any) -> None:
        self.notes.change("message", message_id, **values)

    def renew_head(self, there: ImportedConversation, *, is_newer: bool) -> bool:
        """Take over what the file says of the conversation itself; whether anything was.

        is_newer: whether the file has something new beside that, by which it is known to be no earlier export where no
        import noted when what it brought was written.
        """
        brought, said = state_brought(self.connection, self.conversation_id), there.columns
        if not (is_newer if brought is None else said["updated_at"] >= brought["updated_at"]):
            return False
        columns = (_c.title, _ic.title.label("title_there"), _ic.source, _c.flag, _c.archived)
        query = select(*columns).join(imported_conversations, _ic.conversation_id == _c.conversation_id)
        head = self.connection.execute(query.where(_c.conversation_id == self.conversation_id)).first()
        if head is None:
            return False
        # The title at another source is for the exports of that one to change.
        is_ours = head.source in OWN_SOURCES
        title_there = head.title_there if is_ours or brought is None else brought.get("title", head.title_there)
        new: dict[str, Any] = {}
        if said["title"] and head.title == title_there != said["title"]:
            new |= {"title": said["title"], "title_force_set": said["title_force_set"]}
        if brought is not None:
            new |= {name: said[name] for name in _STATE if brought[name] == head._mapping[name] != said[name]}
        if new:
            self.notes.change("conversation", self.conversation_id, **new)
        if "title" in new:
            renew_vectors_of_title(self.connection, self.conversation_id)
        if is_ours and said["title"] != title_there:
            self.notes.change("source", self.conversation_id, title=said["title"])
        tags, has_more = self._tagged(there.tags, None if brought is None else brought["tags"])
        note_state(self.notes, said, tags)
        return bool(new) or has_more

    def name(self, there: ImportedConversation) -> bool:
        """Note what the file says of where the conversation and its messages came from; whether anything was new."""
        arrived = Arrived(said=self.said, numbers=self.numbers, added=set(self.new_versions), told=set(self.told))
        return name_origins(self.notes, there.origin, arrived)

    def _tagged(self, there: Sequence[str], left: Sequence[str] | None) -> tuple[Sequence[str], bool]:
        """Add new tags where those of here are as an import left them. What imports left now; whether any was added."""
        known = select(_t.tag).where(_t.conversation_id == self.conversation_id)
        here = list(self.connection.execute(known).scalars())
        if left is None or set(here) != set(left):
            return left or here, False
        folded = {tag.casefold() for tag in here}
        new = [tag for tag in there if tag.casefold() not in folded][: MOST_TAGS - len(here)]
        insert_tags(self.connection, new, user_email=self.user_email, conversation_id=self.conversation_id)
        self.notes.added("tag", [f"{self.conversation_id} {tag}" for tag in new])
        return [*here, *new], bool(new)

    def finish(self, updated_at: str) -> None:
        """Count the messages, renew the path, and tell open pages."""
        renew_path(self.connection, self.conversation_id)
        here = _m.conversation_id == self.conversation_id
        has_documents = self.connection.execute(select(func.max(_m.has_documents)).where(here)).scalar() or 0
        if updated_at > self.updated_at:
            self.notes.change("conversation", self.conversation_id, updated_at=updated_at)
        update_keeping_time(
            self.connection, self.conversation_id, has_documents=has_documents, last_ordinal=self.last_ordinal
        )
        who: dict[str, Any] = {"user_email": self.user_email, "conversation_id": self.conversation_id}
        if 0 < len(self.added) <= _TOLD_MESSAGES:
            record(self.connection, MESSAGE, "created", ids=self.added, **who)
        if 0 < len(self.changed) <= _TOLD_MESSAGES:
            record(self.connection, MESSAGE, "changed", ids=self.changed, **who)
        record_listed(self.connection, [read_live(self.connection, **who)], "changed")
