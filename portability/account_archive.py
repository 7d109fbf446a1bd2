"""The archive of an account: everything of one person's in one ZIP, packed while it is sent.

People read it without this program: `index.html` links every conversation. This program imports it again
(`importers.account_archive`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import IO, Any

import orjson

from activity.export import FORMATS, room_beside, whole_conversation
from activity.export_document import PageWords
from activity.recipes import RecipeRegistry
from database.accounts.users import UserRow, get_user
from database.activities.storing import BESIDE
from database.agents.repository import AgentRules, list_agents
from database.conversations.friendly_ids import aliases_of
from database.conversations.overview import KeptConversation, all_conversations, count_conversations
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.imports.origins import Origin, origins_beside, origins_of
from database.library import PRESETS, PROMPTS
from database.workspaces.repository import domains_with_workspaces, load_workspaces
from truth_management_system import ActionResult
from truth_management_system.interface.structured_api import StructuredAPI
from vault.documents import Vault
from vault.errors import VaultUnavailableError
from version import program

from .account_index import IndexedConversation, render_index
from .archived_files import ATTACHMENTS, ArchivedFile, packed, pieces_of

FORMAT, SCHEMA = "anaphora-account", 2
KNOWN_SCHEMAS = (1, SCHEMA)
"""Those that are imported. Schema 1 does not say what came from other programs."""
MANIFEST, SETTINGS, MEMORIES = "manifest.json", "settings.json", "memories/memories.json"
CONVERSATIONS, DOCUMENTS, ACTIVITIES = "conversations/", "documents/", "activities/"
_EXTENSIONS = {"html": "html", "markdown": "md", "json": "json"}
assert set(_EXTENSIONS) == set(FORMATS)
_IN_MEMORY = 1024 * 1024
_INDENTED = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS

Progress = Callable[[int, int], None]
"""Called with how many conversations are packed, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSource:
    """Where an account's things are read from.

    tool_servers: of the person, without keys. attachments: the files of messages, below `ATTACHMENTS`. words: of the
    pages.
    """

    user_email: str
    database: Database
    recipes: RecipeRegistry
    memories: StructuredAPI
    vault: Vault
    tool_servers: Sequence[Mapping[str, Any]] = ()
    attachments: Iterable[ArchivedFile] = ()
    words: PageWords = field(default_factory=PageWords)


def account_archive(source: AccountSource, *, progress: Progress = lambda _done, _total: None) -> Iterator[bytes]:
    """The ZIP, piece by piece. Raises UserNotFoundError before the first piece.

    A conversation that is deleted meanwhile is left out. The bin and temporary conversations are not in it.
    """
    own: dict[str, Any] = {"database": source.database, "user_email": source.user_email}
    user, total = get_user(**own), count_conversations(**own)
    return packed(_read_apart(source, user, total=total, progress=progress))


def archive_name(user_email: str) -> str:
    """The name of the file of an archive that is made now."""
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "@.-") else "-" for each in user_email)
    return f"anaphora-{plain}-{now_iso()[:10]}.zip"


def _read_apart(source: AccountSource, user: UserRow, *, total: int, progress: Progress) -> Iterator[ArchivedFile]:
    """The files, read by connections of their own: nearly all of a store may be read."""
    with source.database.read_apart() as database:
        yield from _files(replace(source, database=database), user, total=total, progress=progress)


def _files(source: AccountSource, user: UserRow, *, total: int, progress: Progress) -> Iterator[ArchivedFile]:
    yield _json(MANIFEST, _manifest(user, conversations=total))
    listed: list[IndexedConversation] = []
    yield from _conversations(source, listed, total=total, progress=progress)
    activities: list[str] = []
    yield from _activities(source, activities)
    yield from _memories(source.memories)
    documents: list[str] = []
    yield from _documents(source.vault, documents)
    yield _json(SETTINGS, _settings(source, user))
    attachments: list[tuple[str, str]] = []
    for file in source.attachments:
        attachments.append((file.path, file.name))
        yield file
    name = user.name or user.user_email
    linked: dict[str, Any] = {"documents": documents, "attachments": attachments, "activities": activities}
    index = render_index(name, listed, **linked, words=source.words)
    yield ArchivedFile(path="index.html", chunks=(piece.encode() for piece in index))


def _manifest(user: UserRow, *, conversations: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "made_by": program(),
        "created_at": now_iso(),
        "account": user.user_email,
        "conversations": conversations,
        "files": {
            "index.html": "Open this one: it leads to everything else.",
            CONVERSATIONS: "Each conversation as a page (.html), as Markdown (.md) and as JSON (.json).",
            ACTIVITIES: "What happened to memories and documents outside of conversations, as JSON.",
            "memories/": "All memories as JSON and as Markdown.",
            DOCUMENTS: "The documents as they are.",
            SETTINGS: "What you told about yourself, agents, presets, prompts, folders, tool servers without keys, and "
            "what other programs call the documents and folders that came from them.",
            ATTACHMENTS: "The files of messages. Pages, SVG and XML have .txt behind their names, and open as text.",
        },
    }


def _conversations(
    source: AccountSource, listed: list[IndexedConversation], *, total: int, progress: Progress
) -> Iterator[ArchivedFile]:
    own: dict[str, Any] = {"database": source.database, "user_email": source.user_email}
    aliases, origins, found = aliases_of(**own), origins_of(**own), all_conversations(**own)
    for done, conversation in enumerate(found, 1):
        with ExitStack() as written:
            try:
                drafts = {fmt: written.enter_context(_draft()) for fmt in _EXTENSIONS}
                name = conversation.conversation_id
                _write(source, conversation, drafts, aliases=aliases.get(name, ()), origin=origins.get(name))
            except ConversationNotFoundError:
                continue
            stem = f"{CONVERSATIONS}{conversation.friendly_id or conversation.conversation_id.rpartition('_')[2]}"
            for fmt, draft in drafts.items():
                yield ArchivedFile(path=f"{stem}.{_EXTENSIONS[fmt]}", chunks=pieces_of(draft))
        listed.append(IndexedConversation(conversation=conversation, stem=stem))
        progress(done, max(done, total))


def _draft() -> IO[bytes]:
    """A file for a whole export, so that a conversation that is deleted meanwhile leaves no half of one."""
    return tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)


def _write(
    source: AccountSource,
    conversation: KeptConversation,
    drafts: Mapping[str, IO[bytes]],
    *,
    aliases: Sequence[str],
    origin: Origin | None,
) -> None:
    """Write a conversation in each form. aliases, origin: see `Heading`. Raises ConversationNotFoundError."""
    own: dict[str, Any] = {"database": source.database, "recipes": source.recipes, "files_in": f"../{ATTACHMENTS}"}
    own |= {"aliases": aliases, "origin": origin, "words": source.words}
    for pieces in whole_conversation(source.user_email, conversation.conversation_id, **own):
        for fmt, piece in pieces.items():
            drafts[fmt].write(piece)
    for draft in drafts.values():
        draft.seek(0)


def _activities(source: AccountSource, listed: list[str]) -> Iterator[ArchivedFile]:
    """What happened beside the conversations, where threads of conversations may begin."""
    for room in BESIDE:
        chunks = room_beside(source.user_email, room, database=source.database, recipes=source.recipes)
        if chunks is not None:
            listed.append(f"{ACTIVITIES}{room}.json")
            yield ArchivedFile(path=listed[-1], chunks=chunks)


def _memories(memories: StructuredAPI) -> Iterator[ArchivedFile]:
    yield _json(MEMORIES, _data_of(memories.export_data()))
    yield ArchivedFile(path="memories/memories.md", chunks=[str(_data_of(memories.export_markdown())).encode()])


def _data_of(result: ActionResult) -> Any:
    if not result.success:
        raise result.metadata["error"]
    return result.data


def _documents(vault: Vault, listed: list[str]) -> Iterator[ArchivedFile]:
    with suppress(VaultUnavailableError):  # then what the index has is all there is
        for _ in vault.refresh():
            pass
    for entry in vault.all_documents():
        # As it is, also where it is no UTF-8.
        content = vault.content_if_there(entry.path)
        if content is not None:
            listed.append(entry.path)
            yield ArchivedFile(path=f"{DOCUMENTS}{entry.path}", chunks=[content])


def _settings(source: AccountSource, user: UserRow) -> dict[str, Any]:
    own: dict[str, Any] = {"database": source.database, "user_email": source.user_email}
    with_conversations = (each.domain for each in all_conversations(**own))
    domains = sorted({"assistant", *with_conversations, *domains_with_workspaces(**own)})
    of_an_agent = ("agent_id", *AgentRules.__dataclass_fields__)
    return {
        "schema": SCHEMA,
        "name": user.name,
        "language": user.language,
        "detail": user.detail,
        "preference": user.preference,
        "agents": [{name: getattr(agent, name) for name in of_an_agent} for agent in list_agents(**own)],
        "presets": [{"name": each.name, "content": each.content} for each in PRESETS.items(**own)],
        "prompts": [{"name": each.name, "content": each.content} for each in PROMPTS.items(**own)],
        "origins": origins_beside(**own),
        "workspaces": list(chain.from_iterable(load_workspaces(**own, domain=domain) for domain in domains)),
        "tool_servers": list(source.tool_servers),
    }


def _json(path: str, content: Mapping[str, Any]) -> ArchivedFile:
    return ArchivedFile(path=path, chunks=[orjson.dumps(content, option=_INDENTED)])
