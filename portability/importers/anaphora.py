"""Importing what `activity.export` wrote as JSON, and what versions before it wrote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from activity.recipes.formatting import one_line
from conversation_reference_utils import is_friendly_id
from database.activities.reading import MESSAGE
from database.activities.storing import BESIDE, NewActivity, Place
from database.agents.repository import LONGEST_SLUG
from database.conversations.consent import PERMISSIONS
from database.conversations.repository import FIELD as PINNED_CLAIMS
from database.conversations.repository import MOST_PINNED
from database.conversations.tags import tidy_tags
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.engine.text import DEEPEST_JSON
from database.imports.changes import BroughtBy
from database.imports.exported import update_from_file
from database.imports.importing import ImportedActivity, ImportedConversation, ImportedFile, store_file
from database.imports.origins import Origin
from database.imports.outside import NOTHING, KnownAlready, Outside, known_already
from database.imports.standing import binned_rooms
from database.imports.workspaces import Folder
from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile, members_of_files
from portability.importers.reading.imported import FailedItem, ImportedExport, ImportedItem, form_of
from portability.importers.reading.json_stream import parsed_json
from portability.origins import MessageOrigins, TidyOrigin, has_ids_of_source
from sentences import say

from .earlier_export import EARLIER_FORMAT, EARLIER_VERSION, SCHEMA, of_earlier
from .exported_files import KeepFiles, files_of, own_files, with_files
from .reading.values import line_of

_LARGEST = 256 * 2**20
"""In bytes, of one file: it is read whole."""
_MOST_LOOKED_AT = 20
_MOST_ALIASES = 1_000
_TITLE = re.compile(rb'"title"\s*:\s*("(?:[^"\\]|\\.)*")')
_BEGINNING = 8_192


def _existing(time: str) -> str:
    """`time`. Raises ValueError for a day or an hour that there is not."""
    datetime.fromisoformat(time)
    return time


# `\d` would also be the digits of other scripts.
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|\+00:00)?$"
Time = Annotated[str, Field(pattern=_TIME), AfterValidator(_existing)]


def _check_depth(value: Any, depth: int = 0) -> Any:
    if depth > DEEPEST_JSON:
        raise ValueError(f"nested more than {DEEPEST_JSON} levels deep")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, depth + 1)
    return value


_Shallow = BeforeValidator(_check_depth)
Json = Annotated[dict[str, Any], _Shallow]
Status = Literal["streaming", "complete", "cancelled", "interrupted", "failed"]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Open(BaseModel):
    """Fields that other kinds add are kept."""

    __pydantic_extra__: dict[str, Annotated[Any, _Shallow]]
    model_config = ConfigDict(extra="allow", strict=True)


class _Part(_Open):
    id: int
    kind: str
    at: int


class _Document(_Open):
    wikilink: str
    reference_type: str
    relative_path: str | None = None
    summary: str | None = None


class _Version(_Fields):
    number: int
    text: str
    status: Status
    config: Json
    created_at: Time
    parts: list[_Part] = Field(default_factory=list)
    document_references: list[_Document] = Field(default_factory=list)


class _Edit(_Fields):
    text: str
    replaced_at: Time


class _Message(_Fields):
    sender: Literal["user", "model"]
    message_short_hash: str | None = None
    status: Status = "complete"
    show_hide: Literal["show", "hide"] = "show"
    config: Json = Field(default_factory=dict)
    in_answer_to: str | None = None
    pinned_at: Time | None = None
    edited_at: Time | None = None
    chosen_variant: int | None = None
    source_agent_title: str | None = None
    branch_id: str | None = None
    branch_of: str | None = None
    chosen_branch: int | None = None
    deleted_at: Time | None = None
    parts: list[_Part] = Field(default_factory=list)
    variants: list[_Version] = Field(default_factory=list)
    edits: list[_Edit] = Field(default_factory=list)
    origins: MessageOrigins = Field(default_factory=list)


class _Actor(_Fields):
    type: Literal["user", "assistant", "agent", "system"]
    id: str
    name: str


class _Activity(_Fields):
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    short_id: Annotated[str, Field(pattern=r"^[0-9a-f]{6,32}$")]
    type: str
    recipe: str
    actor: _Actor
    created_at: Time
    position: int
    conversation_id: str
    session_id: str | None = None
    reply_to_id: str | None = None
    thread_id: str | None = None
    content: str | None = None
    payload: Json = Field(default_factory=dict)
    references: list[Json] = Field(default_factory=list)
    document_references: list[_Document] = Field(default_factory=list)
    message: _Message | None = None


class _Conversation(_Fields):
    conversation_id: str
    conversation_friendly_id: str | None = None
    title: str = ""
    title_force_set: bool = False
    domain: str = "assistant"
    flag: str = "none"
    tags: list[str] = Field(default_factory=list)
    created_at: Time
    updated_at: Time
    settings: Json = Field(default_factory=dict)
    archived: bool = False
    stateless: bool = False
    pinned_at: Time | None = None
    workspace_id: str | None = None
    running_summary: str = ""
    summarised_messages: int = 0
    agent_slug: Annotated[str, Field(max_length=LONGEST_SLUG)] | None = None
    aliases: Annotated[list[str], Field(max_length=_MOST_ALIASES)] = Field(default_factory=list)
    origin: TidyOrigin = None
    pinned_claim_ids: Annotated[list[str], Field(max_length=MOST_PINNED)] = Field(default_factory=list)


class _Thread(_Fields):
    thread_id: str
    title: Annotated[str, AfterValidator(one_line)] = ""
    is_renamed: bool = False
    is_made: bool = False
    root_activity_id: str
    session_key: str | None = None
    created_at: Time


@dataclass(frozen=True, slots=True)
class _File:
    conversations: Sequence[_Conversation]
    threads: Sequence[_Thread]
    activities: Sequence[_Activity]
    dropped: int = 0
    outside: Outside = NOTHING


def import_export(
    content: bytes,
    *,
    database: Database,
    user_email: str,
    keep_files: KeepFiles | None = None,
    folders: Mapping[str, Sequence[Folder]] = MappingProxyType({}),
    workspace_id: str | None = None,
    by: BroughtBy | None = None,
) -> ImportedFile:
    """Store what an exported JSON file holds, whole or not at all; what was stored.

    keep_files: see `KeepFiles`; without it, messages keep the files that are the person's. folders: into which
    conversations go, from the top down, by the ids that the export has for the workspaces they lie in. workspace_id:
    for conversations in no folder. by: the import that notes what it brings, so that it can be taken back.

    Ids, short ids, hashes and friendly ids stay, as far as they are free; in another account conversations get new ids.
    An activity or a thread whose id is taken in another account gets a new one, as if it were free.
    What answers an activity outside of the file answers it here, if the person has it, or the import that `by` says
    brings it; else that, and what names a thread outside of the file, is dropped, and counted. References lead to what
    they name as it is here; what is not here is no target.
    A conversation that is here already is brought up to date, where the file has all of one conversation; messages
    that say something else in it than here, which stays, are counted.
    Raises BrokenImportError for anything else than such a file, OverlapError where something of it is in this account
    already, and what is new can't be told apart from that, or nothing is new.
    A file without messages leaves conversations that are in the bin as they are, and brings the rest.
    """
    live, binned = _without_binned(_read(content), database=database, user_email=user_email)
    file = _within_itself(live)
    said = {each.id: each.message.origins for each in file.activities if each.message is not None}
    keeps_origins = not has_ids_of_source(said)
    conversations = [
        replace(
            _conversation(each, keeps_origins),
            folders=folders.get(each.workspace_id or "", ()),
            workspace_id=workspace_id,
        )
        for each in file.conversations
    ]
    owners = {each.conversation_id.rpartition("_")[0] for each in file.conversations}
    owners |= {each.conversation_id.rpartition("_")[0] for each in file.activities}
    kept = (keep_files or own_files(database, user_email))(files_of(_parts_of(file)))
    activities = [with_files(_activity(each, owners=owners, user_email=user_email), kept) for each in file.activities]
    threads = [_thread(each) for each in file.threads]
    own: dict[str, Any] = {"database": database, "user_email": user_email, "by": by}
    own["new_ids"] = {former: each.attachment_id for former, each in kept.items()}
    own["outside"] = file.outside
    try:
        stored = update_from_file(activities, conversations, threads, **own)
        if stored is None:
            stored = store_file(activities, conversations, threads, **own)
    except ConflictError as error:
        ids = [each.id for each in file.activities]
        known = known_already(ids, database=database, user_email=user_email)
        raise OverlapError(error.message, known, binned) from error
    return replace(stored, dropped=stored.dropped + file.dropped, binned=binned)


def _without_binned(file: _File, *, database: Database, user_email: str) -> tuple[_File, Sequence[tuple[str, int]]]:
    """A file without messages, without what happened in conversations that are in the bin here; see `ImportedFile`.

    A file with messages, or of which nothing would be left, stays whole.
    """
    if any(each.message is not None for each in file.activities):
        return file, ()
    rooms = [each.conversation_id for each in file.conversations]
    binned = binned_rooms(rooms, database=database, user_email=user_email)
    left = [each for each in file.activities if each.conversation_id not in binned]
    if not (binned and left):
        return file, ()
    counts = Counter(each.conversation_id for each in file.activities)
    told = [(each.title, counts[each.conversation_id]) for each in file.conversations if each.conversation_id in binned]
    conversations = [each for each in file.conversations if each.conversation_id not in binned]
    return _File(conversations, file.threads, left), told


class OverlapError(ConflictError):
    """A file of which something is here already. known: how much of it; see `known_already`.

    binned: conversations that were left out of it before, which `known` does not count; see `ImportedFile`.
    """

    def __init__(self, message: str, known: KnownAlready, binned: Sequence[tuple[str, int]] = ()) -> None:
        super().__init__(message)
        self.known, self.binned = known, binned


def _parts_of(file: _File) -> Iterator[Mapping[str, Any]]:
    for message in (each.message for each in file.activities if each.message is not None):
        for parts in (message.parts, *(version.parts for version in message.variants)):
            yield from (part.model_dump() for part in parts)


def _read(content: bytes) -> _File:
    raw = parsed_json(content)
    if not isinstance(raw, dict):
        raise BrokenImportError(say("import_export_no_object"))
    if (raw.get("format"), raw.get("version")) == (EARLIER_FORMAT, EARLIER_VERSION):
        raw = of_earlier(raw)
    if raw.get("schema") != SCHEMA:
        raise BrokenImportError(say("import_export_schema", known=SCHEMA))
    try:
        file = _checked(raw)
    except (ValidationError, AttributeError, KeyError, TypeError) as error:
        raise BrokenImportError(say("import_export_broken", why=_complaint(error))) from None
    _check_places(file)
    return file


def _complaint(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
    return "a part of it is not what it should be."


def _checked(raw: Mapping[str, Any]) -> _File:
    conversations = [raw.get("conversation"), *raw.get("other_conversations", [])]
    threads = [raw.get("thread"), *raw.get("threads", [])]
    activities = sorted(_flat(raw.get("activities", [])), key=lambda each: each.position)
    return _File(
        conversations=[_Conversation.model_validate(each) for each in conversations if each is not None],
        threads=[_Thread.model_validate(each) for each in threads if each is not None],
        activities=activities,
    )


def _flat(items: Sequence[Mapping[str, Any]]) -> Iterator[_Activity]:
    """All activities, also those nested in others."""
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        waiting += item.get("replies", [])
        yield _Activity.model_validate(item)


def _check_places(file: _File) -> None:
    """Raise BrokenImportError where an activity lies nowhere, or a message is none."""
    here = {each.conversation_id for each in file.conversations}
    for each in file.activities:
        is_message = (each.recipe, each.type) == MESSAGE
        if is_message != (each.message is not None) or (is_message and each.content is None):
            raise BrokenImportError(say("import_half_message", short_id=each.short_id))
        is_beside = not is_message and each.conversation_id.rpartition("_")[2] in BESIDE
        if each.conversation_id not in here and not is_beside:
            raise BrokenImportError(say("import_activity_elsewhere", short_id=each.short_id))


def _within_itself(file: _File) -> _File:
    """The file without references to what it does not hold, which may be another person's: they are told apart.

    A thread whose root is not in the file begins with its first activity there; without any, it is dropped.
    """
    first: dict[str, str] = {}
    for each in file.activities:
        if each.thread_id is not None:
            first.setdefault(each.thread_id, each.id)
    ids = {each.id for each in file.activities}
    rootless = [each for each in file.threads if each.root_activity_id not in ids]
    threads = [each for each in file.threads if each.root_activity_id in ids] + [
        each.model_copy(update={"root_activity_id": first[each.thread_id]})
        for each in rootless
        if each.thread_id in first
    ]
    known = {"reply_to_id": {None, *ids}, "thread_id": {None, *(each.thread_id for each in threads)}}
    activities, dropped, answered = [], 0, dict[str, str]()
    for each in file.activities:
        foreign = {name: None for name, here in known.items() if getattr(each, name) not in here}
        dropped += "thread_id" in foreign
        if each.reply_to_id is not None and "reply_to_id" in foreign:
            answered[each.id] = each.reply_to_id
        activities.append(each.model_copy(update=foreign) if foreign else each)
    begun = [each.thread_id for each in rootless]
    referring = [each.id for each in file.activities if any(entry.get("target") for entry in each.references)]
    return _File(file.conversations, threads, activities, dropped, Outside(answered, begun, referring))


def _thread(thread: _Thread) -> dict[str, Any]:
    """The columns of a thread; one that nobody named is called by its first words, and no model is asked again."""
    titles = {
        "title": thread.title if thread.is_renamed else "",
        "made_title": thread.title if thread.is_made and not thread.is_renamed else "",
    }
    return {**thread.model_dump(exclude={"is_renamed", "is_made"}), **titles}


def _conversation(told: _Conversation, keeps_origin: bool) -> ImportedConversation:
    return ImportedConversation(
        conversation_id=told.conversation_id,
        friendly_id=told.conversation_friendly_id,
        tags=tidy_tags(told.tags),
        columns=_columns(told),
        agent=told.agent_slug,
        aliases=[name for name in told.aliases if is_friendly_id(name)],
        origin=Origin(**told.origin) if keeps_origin and told.origin is not None else None,
    )


def _columns(conversation: _Conversation) -> dict[str, Any]:
    settings = {name: value for name, value in conversation.settings.items() if name not in PERMISSIONS}
    copied = ("title", "domain", "flag", "created_at", "updated_at", "pinned_at", "running_summary")
    flags = ("title_force_set", "archived", "stateless")
    return {
        **{name: getattr(conversation, name) for name in copied},
        **{name: int(getattr(conversation, name)) for name in flags},
        "settings": settings,
        "summarised_ordinal": conversation.summarised_messages,
        "memory": {PINNED_CLAIMS: conversation.pinned_claim_ids} if conversation.pinned_claim_ids else {},
    }


def _activity(item: _Activity, *, owners: set[str], user_email: str) -> ImportedActivity:
    actor_id = user_email if item.actor.type == "user" and item.actor.id in owners else item.actor.id
    new = NewActivity(
        activity_id=item.id,
        recipe=item.recipe,
        type=item.type,
        actor_type=item.actor.type,
        actor_id=actor_id,
        actor_name=item.actor.name,
        created_at=item.created_at,
        place=Place(reply_to_id=item.reply_to_id, thread_id=item.thread_id),
        session_id=item.session_id,
        payload=item.payload,
        short_id=item.short_id,
    )
    message = None if item.message is None else _message(item, item.message)
    return ImportedActivity(conversation_id=item.conversation_id, activity=new, message=message)


def _message(item: _Activity, message: _Message) -> dict[str, Any]:
    fields = message.model_dump(exclude_unset=True)
    versions = fields.pop("variants", [])
    own = {
        "message_id": item.id,
        "text": item.content,
        "created_at": item.created_at,
        "references": item.references,
        "document_references": [each.model_dump() for each in item.document_references],
        # A turn that was running when the file was written has ended.
        "status": "interrupted" if message.status == "streaming" else message.status,
        "versions": versions,
    }
    return fields | own


class AnaphoraImporter:
    """Reads the JSON that `activity.export` wrote; each file is stored whole or not at all."""

    source = "anaphora"
    title, expects = form_of("anaphora")

    def recognises(self, file: ImportFile) -> bool:
        """See `Importer`."""
        names = _exports(file)
        return bool(names) and all(_is_ours(file.beginning(name)) for name in names[:_MOST_LOOKED_AT])

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """See `Importer`."""
        beside = members_of_files(file.members)
        for name in _exports(file):
            try:
                content = file.read(name, most=_LARGEST)
            except BrokenImportError as error:
                yield FailedItem(name or file.name, error.message)
            else:
                messages = content.count(b'"message_short_hash"')
                yield ImportedExport(name or file.name, content, messages, title=title_of(content), members=beside)


def _exports(file: ImportFile) -> list[str | None]:
    """The members that are exports, not files of messages; None for a file that is no ZIP."""
    if file.is_single:
        return [None]
    own = set(members_of_files(file.members).values())
    return [name for name in file.members if name.endswith(".json") and name not in own]


def title_of(export: bytes) -> str:
    """The title in the beginning of an export, "" where none stands there; nothing else of it is read."""
    found = _TITLE.search(export[:_BEGINNING])
    try:
        return line_of(orjson.loads(found[1])) if found else ""
    except orjson.JSONDecodeError:
        return ""


def _is_ours(beginning: bytes) -> bool:
    head = beginning.lstrip()[:1_000]
    return head.startswith(b"{") and (
        re.search(rb'"schema"\s*:\s*1\b', head) is not None or EARLIER_FORMAT.encode() in head
    )
