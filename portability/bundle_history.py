"""The history of a conversation in a bundle: kept in a store of its own in a temporary folder, saved as files."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attachments.storage import Attachments
from chat.turns.history import History
from database.connection import open_database
from database.conversations.consent import PERMISSIONS
from database.conversations.friendly_ids import friendly_id_candidates
from database.conversations.repository import (
    add_conversation,
    get_conversation,
    require_own_id,
    set_friendly_id,
    update_conversation,
)
from database.conversations.tags import tidy_tags
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ConflictError, ConversationNotFoundError, FriendlyIdTakenError, InvalidChangeError
from database.history.attachments import attachments_by_id
from database.history.summary import Unsummarised
from database.imports.importing import store_conversation
from database.imports.origins import Origin, origin_fields, origin_of, origins_of_messages, store_origins
from database.messages.parts import is_file
from database.messages.unkept import is_unkept
from database.turns.answers import add_answer
from database.turns.identity import AcceptedTurn, FinishedTurn, RepeatedTurn
from database.turns.turns import accept_turn, finish_turn
from portability.archived_files import place_of
from portability.bundles import Bundle, files_beside, keep_file, save_bundle
from portability.errors import BrokenBundleError
from portability.origins import tidy_origin, tidy_origins
from portability.scratch import remove_abandoned, scratch_folder

_IN_COLUMNS = {
    "title",
    "title_force_set",
    "running_summary",
    "settings",
    "flag",
    "tags",
    "created_at",
    "last_updated",
    "conversation_friendly_id",
    "summarised_messages",
    "summarised_ordinal",
    "origin",
}
_SCRATCH = "anaphora-bundle-"


def register(memory: dict[str, Any], *, database: Database, user_id: str, conversation_id: str, domain: str) -> None:
    """Give `memory` the friendly id of the conversation in `database`, assigned there if it has none yet.

    memory: title, and created_at or last_updated; without a title nothing happens. An id that exists never changes.
    """
    if memory.get("conversation_friendly_id") or not memory.get("title"):
        return
    who: dict[str, Any] = {"database": database, "user_email": user_id, "conversation_id": conversation_id}
    add_conversation(**who, domain=domain)
    row = get_conversation(**who)
    stored = row.conversation_friendly_id
    if not row.title:
        update_conversation(**who, changes={"title": memory["title"]})
    created_at = memory.setdefault("created_at", memory.get("last_updated", ""))
    candidates = [stored] if stored else friendly_id_candidates(memory["title"], created_at, conversation_id)
    for candidate in candidates:
        try:
            if candidate != stored:
                set_friendly_id(**who, conversation_friendly_id=candidate)
        except FriendlyIdTakenError:
            continue
        memory["conversation_friendly_id"] = candidate
        return


def store_turns(
    messages: Sequence[Mapping[str, Any]], *, database: Database, user_id: str, conversation_id: str, title: str
) -> None:
    """Append those turns of a bundle to its registered conversation that `database` doesn't have yet.

    messages: all of the bundle's active path, in order, each question followed by its finished answers. A conversation
    that isn't registered is left alone.
    """
    who: dict[str, Any] = {"database": database, "user_email": user_id, "conversation_id": conversation_id}
    try:
        stored = get_conversation(**who).message_count
    except ConversationNotFoundError:
        return
    question_id = ""
    for message, following in zip_longest(messages[stored:], messages[stored + 1 :]):
        if message["sender"] == "user":
            if following is None or following["sender"] == "user":
                continue  # nobody has answered it
            accepted = accept_turn(**who, text=message["text"], config=message["config"])
            question_id, answer_id = accepted.user_message_id, accepted.response_message_id
            continue
        if not question_id:
            continue
        finish_turn(
            **who,
            response_message_id=answer_id,
            text=message["text"],
            status=message["status"],
            config=message["config"],
            title=title,
            parts=message.get("parts") or (),
            documents=message.get("document_references") or (),
        )
        if following is not None and following["sender"] != "user":
            answer_id = add_answer(**who, question_id=question_id).response_message_id


class BundleHistory(History):
    """A conversation that was opened from a bundle, or that is to be saved as one.

    The files of an opened bundle are written after each change, in `folder`. registered_in: a database that gives the
    conversation its friendly id and gets a copy of its turns. Raises BrokenBundleError where identifiers in the
    bundle are not unique.
    """

    registered_in: Database | None = None

    def __init__(self, bundle: Bundle) -> None:
        _remove_abandoned()
        with ExitStack() as stack:
            folder = stack.enter_context(scratch_folder(Path(tempfile.gettempdir()), prefix=_SCRATCH))
            (folder / "users.db").write_bytes(_empty_store())
            database = open_database(folder)
            stack.callback(database.close)
            weakref.finalize(self, stack.pop_all().close)
        _store(bundle, database=database)
        self.folder, self._domain = bundle.folder, bundle.domain
        super().__init__(database=database, user_email=bundle.user_id, conversation_id=bundle.conversation_id)

    @property
    def database(self) -> Database | None:
        """None: references are looked up in the bundles beside this one."""
        return None

    def memory(self) -> dict[str, Any]:
        """`History.memory`, and how many messages the summary tells of."""
        return super().memory() | {"summarised_messages": self.count_summarised()}

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set fields of `memory`, or settings, and save them."""
        super().update(changes)
        self._save()

    def store_summary(self, summary: str, *, since: Unsummarised, read: int) -> bool:
        """Store a running summary, and save it."""
        is_stored = super().store_summary(summary, since=since, read=read)
        self._save()
        return is_stored

    def adopt_friendly_id(self, friendly_id: str) -> None:
        """Take the friendly id that another store gave; an id that the conversation has stays."""
        if friendly_id and not self.metadata()["conversation_friendly_id"]:
            set_friendly_id(**self._who, conversation_friendly_id=friendly_id)
            self._refresh()

    def accept(self, **question: Any) -> AcceptedTurn:
        """`History.accept`; `client_message_id` is ignored, since a bundle has one writer.

        Raises InvalidChangeError where the store that it is registered in can't hold the conversation.
        """
        if self.registered_in is not None:
            require_own_id(self._who["conversation_id"], user_email=self._who["user_email"])
        accepted = super().accept(**{**question, "client_message_id": None})
        self._refresh()
        return accepted

    def accept_again(self, message_id: str, *, model_name: str, **_request: Any) -> RepeatedTurn:
        """Raises InvalidChangeError: a bundle holds one text of each answer."""
        raise InvalidChangeError(
            f"The answer {message_id} can't be made again by {model_name}: a bundle holds one text of each answer."
        )

    def finish(self, response_message_id: str, *, title: str | None, **answer: Any) -> FinishedTurn:
        """`History.finish`, then save the bundle, and copy the turn to the store it is registered in."""
        if self.registered_in is not None:
            self._register(title, database=self.registered_in)
        finished = super().finish(response_message_id, title=title, **answer)
        self._refresh()
        self._save()
        if self.registered_in is not None:
            own = {"user_id": self._who["user_email"], "conversation_id": self._who["conversation_id"]}
            store_turns(self.messages(), database=self.registered_in, title=finished.title, **own)
        return finished

    def _register(self, title: str | None, *, database: Database) -> None:
        memory = self.memory()
        if memory["conversation_friendly_id"]:
            return
        if title and not memory["title_force_set"]:
            memory["title"] = title
            update_conversation(**self._who, changes={"title": title})
        own = {"user_id": self._who["user_email"], "conversation_id": self._who["conversation_id"]}
        register(memory, database=database, domain=self._domain, **own)
        self.adopt_friendly_id(memory["conversation_friendly_id"])

    def _save(self) -> None:
        if self.folder is not None:
            save_history(self, self.folder)


@cache
def _empty_store() -> bytes:
    """The file of an empty store, made once a process: writing it takes a hundredth of the time."""
    with scratch_folder(Path(tempfile.gettempdir()), prefix=_SCRATCH) as folder:
        open_database(folder).close()
        return (folder / "users.db").read_bytes()


def save_history(history: History, folder: Path) -> Path:
    """Write a conversation as a bundle into `folder`, with the files of its messages.

    Raises OSError, BrokenBundleError.
    """
    metadata = history.metadata()
    messages, summarised = history.messages_of_all_branches()
    kept = [message for message in messages if not is_unkept(message.get("config") or {})]
    parts = [part for message in kept for part in message.get("parts", ()) if is_file(part)]
    for place, original in _files(history, {str(part.get("attachment_id")) for part in parts}):
        keep_file(original, folder / place)
    own = {"settings": metadata["conversation_settings"], "flag": metadata["flag"], "tags": metadata["tags"]}
    memory = history.memory() | own | {"summarised_messages": summarised}
    memory |= _name_origins(history, kept)
    return save_bundle(
        folder,
        conversation_id=metadata["conversation_id"],
        user_id=metadata["user_id"],
        domain=metadata["domain"],
        # A bundle's messages are numbered from 1 without gaps.
        memory=memory,
        messages=kept,
    )


def _name_origins(history: History, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Let messages say what another program calls them, from which they came; what the conversation is there."""
    metadata, database = history.metadata(), history.own_database
    own: dict[str, Any] = {"database": database, "conversation_id": metadata["conversation_id"]}
    own["user_email"] = metadata["user_id"]
    origin = origin_of(**own)
    if origin is None:
        return {}
    # A bundle has one text of each answer.
    found = origins_of_messages(**own, message_ids=[each["message_id"] for each in messages], shown_alone=True)
    for each in messages:
        if each["message_id"] in found:
            each["origins"] = [{**one, "variant": 1} for one in found[each["message_id"]]]
    return {"origin": origin_fields(origin)}


def _files(history: History, file_ids: Collection[str]) -> Iterator[tuple[str, Path]]:
    """Where each of these files lies in a bundle, and where it lies now; those that are gone are left out."""
    if isinstance(history, BundleHistory):
        # The ids and the names in a bundle may be anybody's: the folder says which files there are.
        beside = files_beside(history.folder) if history.folder is not None else []
        yield from ((place, path) for file_id, place, path in beside if file_id in file_ids)
    elif history.database is not None:
        kept = Attachments(database=history.database)
        own: dict[str, Any] = {"database": kept.database, "user_email": history.metadata()["user_id"]}
        for each in attachments_by_id(**own, attachment_ids=sorted(file_ids)).values():
            if (original := kept.original(each)).is_file():
                yield place_of(each), original


def _store(bundle: Bundle, *, database: Database) -> None:
    memory = bundle.memory
    created_at = memory.get("created_at") or now_iso()
    # A turn that was running when the bundle was written has ended.
    imported = [
        {**message, "status": "interrupted"} if message.get("status") == "streaming" else message
        for message in bundle.messages
    ]
    origin = tidy_origin(memory.get("origin"))
    said = [{**each, "origins": tidy_origins(each.get("origins"))} for each in imported]
    try:
        store_conversation(
            imported,
            database=database,
            user_email=bundle.user_id,
            conversation_id=bundle.conversation_id,
            friendly_id=memory.get("conversation_friendly_id") or None,
            domain=bundle.domain,
            title=memory.get("title", ""),
            title_force_set=int(memory.get("title_force_set", False)),
            running_summary=memory.get("running_summary", ""),
            summarised_ordinal=memory.get("summarised_messages", 0),
            # A file may come from anywhere: what tools may do without asking, the person allows here.
            settings={name: value for name, value in (memory.get("settings") or {}).items() if name not in PERMISSIONS},
            flag=memory.get("flag", "none"),
            tags=tidy_tags(str(tag) for tag in memory.get("tags", ())),
            memory={name: value for name, value in memory.items() if name not in _IN_COLUMNS},
            created_at=created_at,
            updated_at=memory.get("last_updated") or created_at,
        )
        if origin is not None:
            own = {"user_email": bundle.user_id, "conversation_id": bundle.conversation_id}
            database.write(lambda connection: store_origins(connection, Origin(**origin), said, **own))
    except (ConflictError, InvalidChangeError, UnicodeError) as error:
        raise BrokenBundleError(f"The bundle of {bundle.conversation_id} can't be stored: {error}") from error


@cache
def _remove_abandoned() -> None:
    """Remove what killed processes left, once a process."""
    remove_abandoned(Path(tempfile.gettempdir()), prefix=_SCRATCH)
