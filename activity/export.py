"""Exporting the activities of a conversation, a thread or a recipe as a file; filters can be combined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, tee, zip_longest
from typing import Any

from activity.recipes import RecipeRegistry
from activity.recipes.builtin import EXPORT_KINDS
from activity.recipes.errors import RecipeNotFoundError
from database.activities.reading import MESSAGE, Activity
from database.agents.repository import find_agents
from database.conversations.conversation import ConversationRow
from database.conversations.friendly_ids import aliases_of
from database.conversations.repository import get_conversation
from database.engine.database import Database
from database.engine.errors import (
    ActivityNotFoundError,
    AmbiguousReferenceError,
    ConversationNotFoundError,
    InvalidChangeError,
    ThreadNotFoundError,
)
from database.history.threads import thread_totals
from database.imports.origins import Origin, origin_of, origins_of_messages
from database.timeline.exporting import (
    ActivityPage,
    ChosenActivity,
    RecipeAndType,
    Selection,
    choose_activities,
    find_anchors,
    read_chosen,
    read_threads,
)

from . import export_json, export_markdown
from .export_document import ENGLISH, Entry, ExportedMessage, Heading, PageWords, file_name
from .outline import OutlinePlace, in_sections, in_tree
from .resolving import find_room
from .threads import thread_titles

_EARLIER: Mapping[str, Sequence[RecipeAndType]] = {
    "tools": [("general-discussion", "tool_invocation")],
    "documents": [("documents", None)],
}
"""How earlier versions stored activities of these kinds."""
_KINDS: Mapping[str, Sequence[RecipeAndType]] = {
    kind: [MESSAGE if kind == "chat" else (recipe, None), *_EARLIER.get(kind, ())]
    for recipe, kind in EXPORT_KINDS.items()
}
OTHER = "other"
INCLUDED = (*_KINDS, OTHER)
"""What `include` may name: kinds of activities; "other" are those of recipes from outside."""
_ACTIVITIES_AT_ONCE = 500

Writer = Callable[[Heading, Iterator[Entry]], Iterator[str]]


def _page(heading: Heading, entries: Iterator[Entry]) -> Iterator[str]:
    from .export_html import render  # with a library of sixty modules, which a server may never need

    return render(heading, entries)


_FORMATS: Mapping[str, tuple[str, str, Writer]] = {
    "markdown": ("md", "text/markdown", export_markdown.render),
    "html": ("html", "text/html", _page),
    "json": ("json", "application/json", export_json.render),
}
FORMATS = tuple(_FORMATS)
MEDIA_TYPES = tuple(media for _, media, _ in _FORMATS.values())
"""The media types of all formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A file to send: its name, its media type, and its bytes, produced on demand.

    file_ids: the files of messages that the bytes which were produced so far name.
    """

    name: str
    media: str
    chunks: Iterator[bytes]
    file_ids: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """The source of a file's entries. has_totals: the file shows how many replies its threads have."""

    database: Database
    recipes: RecipeRegistry
    selection: Selection
    chosen: Sequence[ChosenActivity]
    heading: Heading
    has_totals: bool


def export(
    user_email: str,
    *,
    database: Database,
    recipes: RecipeRegistry,
    room: str | None = None,
    thread: str | None = None,
    after: str | None = None,
    recipe: str | None = None,
    limit: int | None = None,
    fmt: str = "markdown",
    include: Collection[str] | None = None,
    files_in: str = "",
    words: PageWords = ENGLISH,
) -> Export:
    """What happened in a conversation, in a thread, or in a recipe's domain, as a file; together they narrow.

    Deleted activities and turns that are not kept are left out; the other branches of a conversation are not.

    room: the id, friendly id or exact title of a conversation. after: the uuid or short id of an activity, which is
    printed too, before what followed it. recipe: a domain. limit: the newest so many; with `after`, the next so many.
    fmt: one of `FORMATS`. include: some of `INCLUDED`; None: everything with a thread or a recipe, messages alone with
    only a room. files_in: the folder to whose files links lead. words: of a page. Raises ConversationNotFoundError,
    ThreadNotFoundError, RecipeNotFoundError, ActivityNotFoundError, AmbiguousReferenceError, InvalidChangeError
    without room, thread and recipe, and KeyError for another format.
    """
    extension, media, render = _FORMATS[fmt]
    which: dict[str, Any] = {"room": room, "thread": thread, "recipe": recipe, "include": include}
    selection = _selection(user_email, **which, database=database)
    chosen, is_cut = _chosen(selection, database=database, after=after, limit=limit)
    is_whole = thread is None and recipe is None and after is None and not is_cut
    heading = _heading(selection, chosen, database=database, recipes=recipes, is_whole=is_whole)
    heading = replace(heading, files_in=files_in, words=words)
    if fmt == "json" and is_whole and heading.conversation is not None:
        conversation_id = heading.conversation.conversation_id
        names = aliases_of(database=database, user_email=user_email, conversation_id=conversation_id)
        origin = origin_of(database=database, user_email=user_email, conversation_id=conversation_id)
        heading = replace(heading, aliases=names.get(conversation_id, ()), origin=origin)
    told: dict[str, Any] = {"database": database, "recipes": recipes, "selection": selection}
    source = _Source(**told, chosen=chosen, heading=heading, has_totals=fmt == "json")
    entries = _entries(source, _outline(source, by_section=recipe is not None and fmt != "json"))
    file_ids = set[str]()
    chunks = (text.encode() for text in render(heading, _noting_files(entries, file_ids)))
    return Export(name=file_name(heading.title, extension), media=media, chunks=chunks, file_ids=file_ids)


def _noting_files(entries: Iterator[Entry], file_ids: set[str]) -> Iterator[Entry]:
    for entry in entries:
        if entry.message is not None:
            file_ids |= entry.message.file_ids
        yield entry


def whole_conversation(
    user_email: str,
    conversation_id: str,
    *,
    database: Database,
    recipes: RecipeRegistry,
    files_in: str = "",
    aliases: Sequence[str] = (),
    origin: Origin | None = None,
    words: PageWords = ENGLISH,
) -> Iterator[Mapping[str, bytes]]:
    """A whole conversation in all of `FORMATS`, piece by piece: the next piece of each format, by its name.

    The store is read once for all of them. files_in, aliases, origin, words: see `Heading`.
    Raises ConversationNotFoundError, also after the first pieces.
    """
    selection = Selection(user_email=user_email, conversation_id=conversation_id, **_kinds(INCLUDED))
    chosen = choose_activities(selection, database=database)
    heading = _heading(selection, chosen, database=database, recipes=recipes, is_whole=True)
    if heading.conversation is None:
        raise ConversationNotFoundError
    heading = replace(heading, files_in=files_in, aliases=aliases, origin=origin, words=words)
    source = _Source(
        database=database, recipes=recipes, selection=selection, chosen=chosen, heading=heading, has_totals=True
    )
    # Each writer takes an entry, then gives a piece, so none of them is ahead of another.
    entries = tee(_entries(source, _outline(source, by_section=False)), len(_FORMATS))
    pieces = [render(heading, each) for (_, _, render), each in zip(_FORMATS.values(), entries, strict=True)]
    for texts in zip_longest(*pieces, fillvalue=""):
        yield {fmt: text.encode() for fmt, text in zip(_FORMATS, texts, strict=True)}


def room_beside(user_email: str, room: str, *, database: Database, recipes: RecipeRegistry) -> Iterator[bytes] | None:
    """What happened in one of the rooms `BESIDE` the conversations, as JSON; None where nothing did."""
    selection = Selection(user_email=user_email, conversation_id=f"{user_email}_{room}", is_beside=True)
    chosen = choose_activities(selection, database=database)
    if not chosen:
        return None
    heading = _heading(selection, chosen, database=database, recipes=recipes, is_whole=False)
    told: dict[str, Any] = {"database": database, "recipes": recipes, "selection": selection}
    source = _Source(**told, chosen=chosen, heading=heading, has_totals=True)
    entries = _entries(source, _outline(source, by_section=False))
    return (text.encode() for text in export_json.render(heading, entries))


def _selection(
    user_email: str,
    *,
    database: Database,
    room: str | None,
    thread: str | None,
    recipe: str | None,
    include: Collection[str] | None,
) -> Selection:
    """The selected activities. Raises InvalidChangeError if no filter is given, and the errors of `find_room`."""
    if room is None and thread is None and recipe is None:
        raise InvalidChangeError("Name a conversation, a thread or a recipe to export.")
    conversation_id = None if room is None else find_room(room, database=database, user_email=user_email)
    if include is None and thread is None and recipe is None:
        include = ("chat",)
    return Selection(
        user_email=user_email, conversation_id=conversation_id, thread_id=thread, recipe=recipe, **_kinds(include)
    )


def _kinds(include: Collection[str] | None) -> dict[str, Any]:
    """The selected recipes and types, in the form that `Selection` takes."""
    if include is None:
        return {}
    others = [kind for kinds in _KINDS.values() for kind in kinds] if OTHER in include else None
    return {"only": [kind for name in include if name != OTHER for kind in _KINDS[name]], "other_than": others}


def _outline(source: _Source, *, by_section: bool) -> Iterator[OutlinePlace]:
    if by_section:
        return in_sections(source.chosen, recipes=source.recipes)
    has_headings = source.selection.thread_id is None
    return in_tree(source.chosen, thread_titles=source.heading.thread_titles, has_headings=has_headings)


def _chosen(
    selection: Selection, *, database: Database, after: str | None, limit: int | None
) -> tuple[Sequence[ChosenActivity], bool]:
    """The activities of the file, in order: those after the anchor, or the newest; whether others are left out."""
    if after is None:
        chosen = choose_activities(selection, database=database)
        first = 0 if limit is None else max(0, len(chosen) - limit)
        return chosen[first:], first > 0
    anchor = find_anchor(selection, after, database=database)
    chosen = choose_activities(selection, database=database, anchor=anchor)
    start = next(place for place, each in enumerate(chosen) if each.seq == anchor)
    return chosen[start:] if limit is None else chosen[start : start + limit + 1], True


def find_anchor(selection: Selection, reference: str, *, database: Database) -> int:
    """`seq` of the activity after which something is asked for: a uuid or short id, with or without `#`.

    It is one of the conversation or thread of `selection`, whatever its recipe. Raises ActivityNotFoundError,
    AmbiguousReferenceError.
    """
    found = find_anchors(selection, reference.strip().removeprefix("#").lower(), database=database)
    if not found:
        raise ActivityNotFoundError(f"There is no activity {reference[:100]} to begin after.")
    if len(found) > 1:
        raise AmbiguousReferenceError(f"Several activities are called {reference[:100]}. Name the one by its uuid.")
    return found[0]


def _heading(
    selection: Selection,
    chosen: Sequence[ChosenActivity],
    *,
    database: Database,
    recipes: RecipeRegistry,
    is_whole: bool,
) -> Heading:
    domain = selection.recipe
    recipe = None if domain is None else _recipe_title(domain, recipes, is_used=bool(chosen))
    own: dict[str, Any] = {"database": database, "user_email": selection.user_email}
    thread_id = selection.thread_id
    thread_ids = {each.thread_id: None for each in chosen if each.thread_id is not None}
    threads = read_threads(list(thread_ids) if thread_id is None else [thread_id], **own)
    if thread_id is not None and thread_id not in threads:
        raise ThreadNotFoundError
    # A thread stands under the title of the conversation that it begins in.
    rooms = list(dict.fromkeys(each.conversation_id for each in chosen))
    main = selection.conversation_id or (rooms[0] if rooms and thread_id is not None else None)
    if main is not None:
        rooms = [main, *(room for room in rooms if room != main)]
    conversations = {room: _conversation(room, **own) for room in rooms}
    conversation = None if main is None else conversations.pop(main)
    return Heading(
        conversation=conversation,
        other_conversations=[row for row in conversations.values() if row is not None],
        thread=None if thread_id is None else threads[thread_id],
        threads=threads,
        thread_titles=thread_titles(selection.user_email, threads.values(), recipes=recipes, database=database),
        recipe=recipe,
        is_whole=is_whole,
        summarised=_summarised(conversation, chosen),
        agent=_agent_of(conversation, **own) if is_whole else None,
    )


def _agent_of(conversation: ConversationRow | None, *, database: Database, user_email: str) -> str | None:
    """The slug of the agent that answers in a conversation, if one does."""
    if conversation is None or conversation.agent_id is None:
        return None
    found = find_agents(database=database, user_email=user_email, names=[conversation.agent_id])
    return found[conversation.agent_id].slug if found else None


def _conversation(conversation_id: str, *, database: Database, user_email: str) -> ConversationRow | None:
    """None for the rooms beside the conversations, where changes of memories and documents stand."""
    try:
        return get_conversation(database=database, user_email=user_email, conversation_id=conversation_id)
    except ConversationNotFoundError:
        return None


def _recipe_title(domain: str, recipes: RecipeRegistry, *, is_used: bool) -> str:
    """The title of a recipe, or its domain where it is not installed any more."""
    try:
        return recipes.get(domain).title
    except RecipeNotFoundError:
        if not is_used:
            raise
        return domain


def _summarised(conversation: ConversationRow | None, chosen: Sequence[ChosenActivity]) -> int:
    """How many of the messages the running summary of the conversation tells of."""
    last = 0 if conversation is None else conversation.summarised_ordinal
    return sum(each.ordinal is not None and each.ordinal <= last for each in chosen)


def _entries(source: _Source, places: Iterator[OutlinePlace]) -> Iterator[Entry]:
    """The entries of the file, read in pages.

    Raises ConversationNotFoundError if the conversation is deleted meanwhile: no file is better than half a file.
    """
    members: defaultdict[str, list[int]] = defaultdict(list)
    for chosen in source.chosen:
        if chosen.thread_id is not None:
            members[chosen.thread_id].append(chosen.seq)
    parents = {chosen.parent for chosen in source.chosen if chosen.parent}
    parents &= {chosen.seq for chosen in source.chosen} if parents else set()
    roots = {thread.root_activity_id for thread in source.heading.threads.values()} if source.has_totals else set()
    while some := list(islice(places, _ACTIVITIES_AT_ONCE)):
        seqs = [source.chosen[each.place].seq for each in some]
        page = read_chosen(source.selection, seqs, database=source.database)
        begun = {each.thread_id or "" for each in page.activities if each.activity_id in roots}
        counted = [seq for thread_id in begun for seq in members[thread_id]]
        totals = thread_totals(database=source.database, user_email=source.selection.user_email, seqs=counted)
        found = {activity.seq: activity for activity in page.activities}
        origins = _origins(source, page)
        for each, seq in zip(some, seqs, strict=True):
            if activity := found.get(seq):
                has_parent = source.chosen[each.place].parent in parents
                entry = _entry(activity, each, page, source.recipes, has_parent=has_parent, origins=origins)
                is_root = activity.activity_id in roots
                yield replace(entry, totals=totals.get(activity.thread_id or "")) if is_root else entry


def _origins(source: _Source, page: ActivityPage) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """What another program calls the messages of a page, from which the conversation came; nothing where it did not."""
    conversation = source.heading.conversation
    if source.heading.origin is None or conversation is None:
        return {}
    own: dict[str, Any] = {"database": source.database, "user_email": source.selection.user_email}
    own["conversation_id"] = conversation.conversation_id
    return origins_of_messages(**own, message_ids=list(page.messages))


def _entry(
    activity: Activity,
    place: OutlinePlace,
    page: ActivityPage,
    recipes: RecipeRegistry,
    *,
    has_parent: bool,
    origins: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Entry:
    row = page.messages.get(activity.activity_id)
    message = None
    if row is not None:
        edits, variants = page.edits.get(row.message_id, []), page.variants.get(row.message_id, [])
        question = row.in_answer_to if row.in_answer_to in page.questions else None
        said: dict[str, Any] = {"edits": edits, "variants": variants, "hashes": page.hashes}
        said["origins"] = origins.get(row.message_id, ())
        message = ExportedMessage(row=row, in_answer_to=question, **said)
    return Entry(
        activity=activity,
        position=place.place + 1,
        depth=place.depth,
        section=place.section,
        has_parent=has_parent,
        message=message,
        block=None if message else recipes.format_export(activity),
    )
