"""What the first implementation kept, and bundles: folders with `<id>-messages.json` and `<id>-memory.json`.

The `<id>.index` beside them is a pickle, of a class of its own in the first implementation, which would run code: it is
never loaded. That of a bundle names its form and its domain, which are read as text. A bundle comes in with its ids,
like the exports of this program as JSON. The memories of the first implementation are in `pkb.sqlite`, alone or beside
the folders.
"""

from __future__ import annotations

import pickletools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from database.engine.text import DEEPEST_JSON
from database.messages.parts import is_file
from portability.bundles import FORMAT
from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile, members_of_files
from portability.importers.reading.imported import (
    FailedItem,
    ImportedAttachment,
    ImportedConversation,
    ImportedExport,
    ImportedItem,
    ImportedKnowledgeBase,
    form_of,
)
from portability.importers.reading.json_stream import LARGEST_ITEM, parsed_json
from sentences import say

from .earlier_export import EARLIER_FORMAT, EARLIER_VERSION
from .reading.message_tree import Node, Sender, message_tree
from .reading.values import LONGEST_ID, id_of, line_of, mapping_of, mappings_of, text_of, time_of, unique_id

_MESSAGES, _MEMORY, _INDEX = "-messages.json", "-memory.json", ".index"
_LARGEST_INDEX = 65_536
_NO_PLACE: Mapping[str, Any] = {"branch_id": None, "branch_of": None, "chosen_branch": None}
_KNOWLEDGE, _SQLITE = "pkb.sqlite", b"SQLite format 3\0"
_FRIENDLY_ID = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_SHORT_HASH = re.compile(r"[a-z0-9]{6}")
_SENDERS: dict[str, Sender] = {"user": "user", "model": "model", "assistant": "model"}


class FirstImplementationImporter:
    """Reads the folders in which the first implementation kept its conversations, and its memories."""

    source = "first_implementation"
    title, expects = form_of("first_implementation")

    def recognises(self, file: ImportFile) -> bool:
        """Whether it holds a folder with messages, and an index or a memory beside them, or memories."""
        return bool(_knowledge_bases(file)) or any(
            f"{stem}{suffix}" in file.members for stem in _conversations(file)[:1] for suffix in (_INDEX, _MEMORY)
        )

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its conversations by the names of their folders, then its memories."""
        for stem in _conversations(file):
            try:
                yield _conversation(file, stem)
            except BrokenImportError as error:
                yield FailedItem(stem.rpartition("/")[2], error.message)
        for member in _knowledge_bases(file):
            yield ImportedKnowledgeBase(member or file.name, member)


def _knowledge_bases(file: ImportFile) -> list[str | None]:
    """Where memories lie, as members; None for the file itself."""
    members: list[str | None] = [None] if file.is_single else [*file.named(_KNOWLEDGE)]
    return [each for each in members if file.beginning(each, length=len(_SQLITE)) == _SQLITE]


def _conversations(file: ImportFile) -> list[str]:
    own = set(members_of_files(file.members).values())
    return sorted(name.removesuffix(_MESSAGES) for name in file.members if name.endswith(_MESSAGES) and name not in own)


def _conversation(file: ImportFile, stem: str) -> ImportedItem:
    messages = _json(file, f"{stem}{_MESSAGES}")
    memory = mapping_of(_json(file, f"{stem}{_MEMORY}")) if f"{stem}{_MEMORY}" in file.members else {}
    source_id = id_of(stem.rpartition("/")[2])
    if source_id is None or not isinstance(messages, list):
        return FailedItem(stem.rpartition("/")[2], say("import_no_id"))
    nodes: dict[str, Node] = {}
    members = members_of_files(file.members)
    for message in mappings_of(messages):
        node = _node(message, nodes, members)
        nodes[node.node_id] = node
    tree = message_tree(nodes)
    updated_at = time_of(memory.get("last_updated"))
    found = ImportedConversation(
        source_id=source_id,
        title=line_of(memory.get("title")),
        created_at=time_of(memory.get("created_at")) or updated_at,
        updated_at=updated_at,
        messages=tree.messages,
        friendly_id=_matching(_FRIENDLY_ID, memory.get("conversation_friendly_id")),
        problems=tree.problems,
    )
    # Before bundles had all that identifies their messages, they came in like those of the first implementation.
    said = mappings_of(messages)
    if not _is_bundle(file, stem) or not all("short_id" in each and "created_at" in each for each in said):
        return found
    if len(said) < len(messages):
        raise BrokenImportError(say("import_damaged"))
    return _exported(file, stem, found, memory, said)


def _is_bundle(file: ImportFile, stem: str) -> bool:
    index = f"{stem}{_INDEX}"
    return index in file.members and FORMAT.encode() in file.beginning(index, length=200)


def _exported(
    file: ImportFile,
    stem: str,
    formerly: ImportedConversation,
    memory: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
) -> ImportedExport:
    """A bundle as an export of this program, which has the same ids. formerly: see `ImportedExport`.

    Raises BrokenImportError.
    """
    head = {
        **memory,
        "conversation_id": formerly.source_id,
        "conversation_friendly_id": memory.get("conversation_friendly_id") or None,
        "title_force_set": bool(memory.get("title_force_set")),
        "domain": _domain(file, f"{stem}{_INDEX}"),
        "updated_at": memory.get("last_updated") or memory.get("created_at"),
        "summarised_ordinal": memory.get("summarised_messages", 0),
    }
    # A bundle holds one text of each answer: what is said of others is no version.
    said = [{**_NO_PLACE, **each, "config": each.get("config") or {}, "variants": []} for each in messages]
    form = {"format": EARLIER_FORMAT, "version": EARLIER_VERSION, "conversation": head, "messages": said}
    members = members_of_files(file.members)
    try:
        content = orjson.dumps(form)
    except orjson.JSONEncodeError:
        raise BrokenImportError(say("import_item_too_deep", most=DEEPEST_JSON)) from None
    return ImportedExport(stem, content, len(said), title=formerly.title, members=members, formerly=formerly)


def _domain(file: ImportFile, index: str) -> str:
    """The domain that the index of a bundle names. Its texts are read, none of its instructions is followed."""
    texts: list[str] = []
    with suppress(ValueError):
        texts += (arg for _, arg, _ in pickletools.genops(file.read(index, most=_LARGEST_INDEX)) if type(arg) is str)
    named = texts[texts.index("domain") + 1 :] if "domain" in texts else []
    return named[0] if named else "assistant"


def _json(file: ImportFile, member: str) -> Any:
    name = member.rpartition("/")[2]
    return parsed_json(file.read(member, most=LARGEST_ITEM), no_json=say("import_no_json", name=name))


def _node(message: Mapping[str, Any], nodes: dict[str, Node], members: Mapping[str, str]) -> Node:
    """A message after the last one. Equal messages had the same id, so that later ones get one of their own."""
    config = mapping_of(message.get("config"))
    return Node(
        node_id=unique_id(message.get("message_id"), nodes),
        parent_id=next(reversed(nodes), None),
        sender=_SENDERS.get(line_of(message.get("sender"))),
        text=text_of(message.get("text")),
        created_at=time_of(message.get("created_at")),
        model=id_of(config.get("model")),
        short_hash=_matching(_SHORT_HASH, message.get("message_short_hash")),
        hidden=message.get("show_hide") == "hide",
        attachments=[_attachment(part, members) for part in mappings_of(message.get("parts")) if is_file(part)],
    )


def _attachment(part: Mapping[str, Any], members: Mapping[str, str]) -> ImportedAttachment:
    """A file of a message, which bundles of this program have."""
    member = members.get(line_of(part.get("attachment_id")))
    return ImportedAttachment(name=line_of(part.get("name")), media_type=line_of(part.get("media_type")), member=member)


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    text = line_of(value)
    return text if pattern.fullmatch(text) and len(text) <= LONGEST_ID else None
