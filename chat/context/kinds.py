"""Kinds of things that a message can name: conversations, messages, files, activities, agents, memories, documents.

A further kind is one object with the shape of `ReferenceKind` and one line in `KINDS`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from activity.recipes.formatting import one_line
from attachments.storage import Attachments
from chat.exchange.documents import DocumentLinks, is_wikilink, written
from chat.exchange.files import PictureRoom, resolve_files
from chat.exchange.report import ReportEntry, Resolution
from chat.exchange.turn import MOST_ANSWERERS
from conversation_reference_utils import (
    AGENT_PREFIX,
    classify_conversation_reference,
    is_activity_name,
    joined_groups,
    parse_file_reference,
)
from database.activities.reading import Activity, suggest_activities
from database.agents.repository import Agent, find_agents, suggest_agents
from database.engine.database import Database
from search.language import beginnings, nearest_names
from search.things.conversations import autocomplete_conversations, conversations_spelled_like
from sentences import say
from vault.content.wikilinks import parse_wikilink, without_extension

from .activities import ActivityReferences
from .conversations import ConversationReferences, kind_of
from .memories import Knowledge

_UNKNOWN = frozenset({"not_found", "unavailable"})
_MOST_CORRECTED = 10
"""Each takes dozens of statements, and a pasted text may hold thousands of names that are nobody's."""
_MOST_CANDIDATES = 3
_SUGGESTED = 50
_AROUND = 500
_SHORTEST_PART = 3
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceScope:
    """What the names of one message are looked up in. Everything here sees the things of `user_email` alone.

    database: None for a bundle beside which there is none. recipes: of activities.
    """

    user_email: str
    database: Database | None
    conversations: ConversationReferences
    knowledge: Knowledge
    documents: DocumentLinks = field(default_factory=DocumentLinks)
    attachments: Attachments | None = None
    room_for_pictures: PictureRoom | None = None
    recipes: RecipeRegistry = field(default_factory=partial(RecipeRegistry, BUILT_IN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something that a person may mean who has typed the beginning of a name. reference: without "@"."""

    kind: str
    reference: str
    title: str


class ReferenceKind(Protocol):
    """A kind of things, or a family of kinds that are looked up together.

    Names come as typed, without "@"; those between brackets with them, those behind a "#" with it.
    signs: with which its names begin where a person types them, so that they are completed: "@", "#" or "[[". icons:
    that of the page for each `kind` of report entry that this family gives.
    """

    @property
    def signs(self) -> Sequence[str]:
        """See above."""
        ...

    @property
    def icons(self) -> Mapping[str, str]:
        """See above."""
        ...

    @abstractmethod
    def recognise(self, name: str) -> str | None:
        """The kind of thing that `name` seems to be, judged by its form alone; None: nothing of this family."""

    @abstractmethod
    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        """One resolution for each of `names`, which are all recognised, in order. Raises nothing for one that fails.

        A resolution that `passes_on` leaves its name to the kinds behind this one.
        """

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        """At most `limit` things of each kind that `typed`, with its sign but "@", may be the beginning of.

        Best first. Names that are suggested begin with that sign, too. None, where a kind does not say otherwise.
        """
        del typed, scope, limit
        return []

    def permalink(self, entry: Mapping[str, Any]) -> str | None:
        """Where the page shows what a resolved report entry names: a path on this server, or None.

        Where a kind does not say otherwise, what lies in a conversation is shown there.
        """
        target = entry["target"]
        if "conversation_id" not in target:
            return None
        message = f"?{urlencode({'message': target['message_id']})}" if target.get("message_id") else ""
        return f"/interface/{quote(target['conversation_id'], safe='')}{message}"


def _may_be_another(entry: ReportEntry) -> bool:
    """Whether something that is no conversation may have the name. With a title, the conversation is there."""
    return entry.status in ("not_found", "malformed") and not entry.title


class _Conversations(ReferenceKind):
    """Conversations, messages and ranges of messages."""

    signs = ("@",)
    icons = MappingProxyType({"message": "chat-square-text", "message_range": "collection", "conversation": "chat"})

    def recognise(self, name: str) -> str | None:
        return kind_of(name)

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        # What begins like a conversation and is none may be the name of something else.
        return [
            replace(found, passes_on=True) if _may_be_another(found.entry) else found
            for found in scope.conversations.resolve(names)
        ]

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        if scope.database is None:
            return []
        found = autocomplete_conversations(database=scope.database, user_email=scope.user_email, q=typed, limit=limit)
        return [
            Suggestion(kind="conversation", reference=f"conversation_{each['friendly_id']}", title=each["title"])
            for each in found
        ]


class _Files(ReferenceKind):
    """Files of messages, and pages of them. They are suggested with their messages."""

    signs = ("@",)
    icons = MappingProxyType({"file": "paperclip"})

    def recognise(self, name: str) -> str | None:
        return "file" if parse_file_reference(name) is not None else None

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        parsed = [parse_file_reference(name) for name in names]
        lookup = scope.conversations.without_files()
        messages = lookup.resolve([reference.message for reference in parsed if reference is not None])
        return resolve_files(
            names,
            messages,
            user_email=scope.user_email,
            database=scope.database,
            attachments=scope.attachments,
            cap=scope.conversations.caps.conversation,
            room=scope.room_for_pictures,
        )


class _Activities(ReferenceKind):
    """Activities by their short ids; in the conversation that names them, messages by their hashes, too."""

    signs = ("#",)
    icons = MappingProxyType({"activity": "hash"})

    def recognise(self, name: str) -> str | None:
        return "activity" if is_activity_name(name) else None

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        activities = ActivityReferences(
            user_email=scope.user_email,
            database=scope.database,
            conversations=scope.conversations,
            recipes=scope.recipes,
        )
        return activities.resolve(names)

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        if scope.database is None:
            return []
        found = suggest_activities(
            database=scope.database,
            user_email=scope.user_email,
            typed=typed.removeprefix("#"),
            conversation_id=scope.conversations.here,
            limit=limit,
        )
        return [
            Suggestion(kind="activity", reference=f"#{each.short_id}", title=self._title(each, scope)) for each in found
        ]

    def _title(self, activity: Activity, scope: ReferenceScope) -> str:
        line = scope.recipes.format_line(activity).removeprefix(f"[#{activity.short_id}] ")
        return one_line(line)[:_LONGEST_TITLE]


def answering_agents(names: Iterable[str], found: Mapping[str, Agent]) -> list[Agent]:
    """The agents that answer a message: those that it names, in order, each once, at most `MOST_ANSWERERS`.

    found: the known ones by name.
    """
    named = {found[name].agent_id: found[name] for name in names if name in found and found[name].service != "later"}
    return list(named.values())[:MOST_ANSWERERS]


class _Agents(ReferenceKind):
    """Agents of the person, who answer the message that names them. They bring no items."""

    signs = ("@",)
    icons = MappingProxyType({"agent": "robot"})

    def recognise(self, name: str) -> str | None:
        return "agent" if name.lower().startswith(AGENT_PREFIX) else None

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        named = {name: name[len(AGENT_PREFIX) :] for name in names}
        found: dict[str, Agent] = {}
        if scope.database is not None:
            slugs = set(named.values())
            found = find_agents(database=scope.database, user_email=scope.user_email, names=slugs)
        answering = answering_agents(named.values(), found)
        return [self._resolution(name, found.get(slug), answering) for name, slug in named.items()]

    def _resolution(self, name: str, agent: Agent | None, answering: Sequence[Agent]) -> Resolution:
        ref = f"@{name}"
        if agent is None:
            note = say("no_agent")
            return Resolution(
                entry=ReportEntry(ref=ref, kind="agent", status="not_found", notes=(note,)), passes_on=True
            )
        entry = ReportEntry(
            ref=ref,
            kind="agent",
            status="resolved",
            title=agent.title,
            target={"agent_id": agent.agent_id, "slug": agent.slug},
        )
        if agent.service == "later":
            entry = replace(entry, notes=(say("agent_later"),))
        elif agent not in answering:
            entry = entry.marked("unavailable", say("most_agents", most=MOST_ANSWERERS))
        return Resolution(entry=entry)

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        if scope.database is None:
            return []
        # "@agent_bo" and "@bo" both find the Botanist.
        beginning = typed.lower().removeprefix(AGENT_PREFIX)
        if AGENT_PREFIX.startswith(beginning):
            beginning = ""
        found = suggest_agents(database=scope.database, user_email=scope.user_email, typed=beginning, limit=limit)
        return [Suggestion(kind="agent", reference=f"{AGENT_PREFIX}{each.slug}", title=each.title) for each in found]

    def permalink(self, entry: Mapping[str, Any]) -> str | None:
        return "/settings#agents" if "agent_id" in entry["target"] else None


class _Documents(ReferenceKind):
    """Documents of the vault, by wikilinks."""

    signs = ("[[",)
    icons = MappingProxyType({"document": "file-text"})

    def recognise(self, name: str) -> str | None:
        return "document" if is_wikilink(name) else None

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        return scope.documents.resolve(names)

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        found = scope.documents.suggest(typed, limit=limit)
        return [Suggestion(kind="document", reference=link, title=path) for link, path in found]

    def permalink(self, entry: Mapping[str, Any]) -> str | None:
        path = entry["target"].get("path")
        return f"/interface?{urlencode({'panel': 'documents', 'document': path})}" if path else None


class _Memories(ReferenceKind):
    """Memories, and the contexts, entities, tags and domains that hold some. Any name may be one of these."""

    signs = ("@", "#")
    icons = MappingProxyType(
        {"claim": "bookmark", "context": "folder", "entity": "person", "tag": "tag", "domain": "collection"}
    )
    _groups = (("context", "contexts"), ("entity", "entities"), ("tag", "tags"), ("domain", "domains"))

    def recognise(self, name: str) -> str:
        del name
        return "claim"

    def resolve(self, names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
        return scope.knowledge.resolve(names)

    def suggest(self, typed: str, scope: ReferenceScope, *, limit: int) -> list[Suggestion]:
        found = scope.knowledge.beginning_with(typed, limit=limit)
        memories = [
            Suggestion(kind="claim", reference=each["friendly_id"], title=each["statement"])
            for each in found.get("memories", ())
        ]
        groups = [
            Suggestion(kind=kind, reference=each["friendly_id"], title=each["name"])
            for kind, name in self._groups
            for each in found.get(name, ())
        ]
        return memories + groups

    def permalink(self, entry: Mapping[str, Any]) -> str | None:
        """None: the page shows memories in a panel, which has no address."""
        del entry
        return None


KINDS: list[ReferenceKind] = [_Documents(), _Activities(), _Files(), _Conversations(), _Agents(), _Memories()]
"""All kinds, in the order in which they are asked. Memories take any name, so further kinds stand before them."""


def resolve(names: Sequence[str], scope: ReferenceScope) -> list[Resolution]:
    """One resolution for each of `names`, which differ, in order; each kind is asked once for all names it may know."""
    found: dict[str, Resolution] = {}
    left = list(names)
    for kind in KINDS:
        own = [name for name in left if kind.recognise(name)]
        for name, resolution in zip(own, kind.resolve(own, scope) if own else (), strict=True):
            if name not in found or resolution.entry.status not in _UNKNOWN:
                found[name] = resolution
        left = [name for name in left if name not in found or found[name].passes_on]
    for place, name in enumerate(name for name in names if _names_nothing(name, found[name])):
        entry = found[name].entry
        if place < _MOST_CORRECTED:
            entry = replace(entry, candidates=tuple(did_you_mean(name, scope)))
        else:
            entry = entry.with_note(say("not_corrected", most=_MOST_CORRECTED))
        found[name] = replace(found[name], entry=entry)
    return [found[name] for name in names]


def did_you_mean(name: str, scope: ReferenceScope) -> list[dict[str, str]]:
    """The things of the person whose names are spelled much like `name`: `{kind, ref, title}` each, nearest first."""
    if is_wikilink(name):
        return _documents_meant(name, scope)
    if joined := joined_groups(name):
        return _groups_meant(joined, scope)
    typed, rest = _taken_apart(name)
    bare = typed.removeprefix("conversation_").removeprefix("conv_")
    suggested = (
        each
        for beginning in beginnings(bare)
        for kind in _offering(beginning)
        for each in kind.suggest(beginning, scope, limit=_SUGGESTED)
    )
    # What all conversations' names begin with makes none of them alike.
    shared = "conversation_" if bare != typed else ""
    known = {
        each.reference.removeprefix(shared): each
        for each in (*_spelled_like(bare, scope), *suggested)
        if each.kind == "conversation" or not rest
    }
    nearest = [known[near] for near in nearest_names(bare, known, most=_MOST_CANDIDATES)]
    kind = kind_by_form(name) if rest else ""
    return [
        {"kind": kind or near.kind, "ref": f"{written(near.reference)}{rest}", "title": near.title} for near in nearest
    ]


def _taken_apart(name: str) -> tuple[str, str]:
    """The name of the conversation in a reference into it, and what follows; of another name, all of it and ""."""
    file = parse_file_reference(name)
    parts = classify_conversation_reference(name if file is None else file.message)
    if parts is None or parts.kind not in ("message", "range"):
        return name, ""
    # Of a message or a file, the conversation is misspelled: what follows its name is kept.
    prefix, _, _ = name.partition("_")
    return f"conversation_{parts.conv_fid}", name[len(prefix) + 1 + len(parts.conv_fid) :]


def _spelled_like(name: str, scope: ReferenceScope) -> list[Suggestion]:
    """Of the ids of conversations and memories those that share the most with a misspelled one, a thousand of each.

    A list that begins so holds the newest alone; these are found however many begin alike.
    """
    memories = [
        Suggestion(kind=each["kind"], reference=each["friendly_id"], title=each["title"])
        for each in scope.knowledge.spelled_like(name, limit=_AROUND)
    ]
    if scope.database is None:
        return memories
    own: dict[str, Any] = {"database": scope.database, "user_email": scope.user_email}
    conversations = conversations_spelled_like(**own, typed=name, limit=_AROUND)
    return memories + [
        Suggestion(kind="conversation", reference=f"conversation_{each['friendly_id']}", title=each["title"])
        for each in conversations
    ]


def _documents_meant(link: str, scope: ReferenceScope) -> list[dict[str, str]]:
    """The documents whose names are spelled much like that of a link; its anchor and its alias are kept."""
    parsed = parse_wikilink(link)
    if parsed is None:
        return []
    name = without_extension(parsed.target.rpartition("/")[2])
    half = len(name) // 2
    # Of a name that is misspelled in one place, one of these is right; the shorter parts are of the names of many.
    parts = [part for part in (name[:-1], name[1:], name[:half], name[half:]) if len(part) >= _SHORTEST_PART]
    known = {
        each.reference: each
        for beginning in [*parts, *beginnings("_".join(name.split())), *(word[:3] for word in name.split())]
        for each in _Documents().suggest(f"[[{beginning}", scope, limit=_SUGGESTED)
    }
    nearest = [known[near] for near in nearest_names(f"[[{name}]]", known, most=_MOST_CANDIDATES)]
    rest = f"#{parsed.anchor}" if parsed.anchor else ""
    rest += f"|{parsed.alias}" if parsed.alias else ""
    return [{"kind": near.kind, "ref": f"{near.reference[:-2]}{rest}]]", "title": near.title} for near in nearest]


def _groups_meant(names: Sequence[str], scope: ReferenceScope) -> list[dict[str, str]]:
    """The same groups, the first one that is nobody's as what is spelled much like it."""
    found = zip(names, scope.knowledge.resolve(names), strict=True)
    missing = next((name for name, each in found if each.entry.status == "not_found"), "")
    joined = [
        (near, "&".join(near["ref"].removeprefix("@") if name == missing else name for name in names))
        for near in (did_you_mean(missing, scope) if missing else ())
    ]
    return [{**near, "ref": f"@{name}"} for near, name in joined if joined_groups(name)]


def _names_nothing(name: str, found: Resolution) -> bool:
    """Whether a name that was surely meant as one is nobody's; with a title, only the message is missing."""
    is_meant = not found.entry.muted or classify_conversation_reference(name) is not None
    return found.entry.status == "not_found" and not found.entry.title and is_meant


def kind_by_form(name: str) -> str:
    """The kind of thing that `name` seems to be, before anything is looked up."""
    return next(filter(None, (kind.recognise(name) for kind in KINDS)))


def suggest(typed: str, scope: ReferenceScope, *, limit: int, without: Collection[str] = ()) -> list[dict[str, str]]:
    """What `typed` may be the beginning of: `{kind, reference, title, icon}` each, at most `limit` of a kind.

    without: kinds that are not wanted; nobody is asked for those alone.
    """
    return [
        {"kind": found.kind, "reference": found.reference, "title": found.title, "icon": kind.icons[found.kind]}
        for kind in _offering(typed)
        if not kind.icons.keys() <= set(without)
        for found in kind.suggest(typed, scope, limit=limit)
        if found.kind not in without
    ]


def _offering(typed: str) -> list[ReferenceKind]:
    """The kinds that complete `typed`, by the sign that it begins with; without one, those behind an "@"."""
    sign = next((sign for sign in ("[[", "#") if typed.startswith(sign)), "@")
    return [kind for kind in KINDS if sign in kind.signs]


def shown(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A report entry with the `icon` of its kind and the `permalink` of what it names; None where there is none."""
    kind = next((kind for kind in KINDS if entry["kind"] in kind.icons), None)
    if kind is None:
        return {**entry, "icon": None, "permalink": None}
    return {**entry, "icon": kind.icons[entry["kind"]], "permalink": kind.permalink(entry)}
