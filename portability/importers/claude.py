"""Exports of Claude: `conversations.json`, alone or in the ZIP with projects and memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedAttachment,
    ImportedConversation,
    ImportedDocument,
    ImportedItem,
    ImportedToolCall,
    ImportedWorkspace,
    form_of,
)
from portability.importers.reading.json_stream import UnreadableItem
from sentences import say

from .reading.json_conversations import first_items, read_conversations, read_items
from .reading.message_tree import Node, Sender, message_tree
from .reading.values import (
    id_of,
    in_json,
    json_of,
    line_of,
    list_of,
    mapping_of,
    mappings_of,
    plain,
    result_of,
    text_of,
    time_of,
    unique_id,
)
from .reading.written_texts import Artifacts

_ROOT = "00000000-0000-4000-8000-000000000000"
_CONVERSATIONS, _PROJECTS, _MEMORIES = "conversations.json", "projects.json", "memories.json"
_SENDERS: dict[str, Sender] = {"human": "user", "assistant": "model"}
_THOUGHTS = {"thinking": "thinking", "redacted_thinking": "thinking"}
_OF_NO_WORDS = ("token_budget",)
_KNOWN_FIELDS = ("type", "text", "citations", "start_timestamp", "stop_timestamp", "flags")
"""Of a block of any kind: of unknown ones, all others are kept as they are."""
_MEMORY_NAME = "What Claude remembered.md"


class ClaudeImporter:
    """Reads what Claude sends for "Export data"."""

    source = "claude"
    title, expects = form_of("claude")

    def recognises(self, file: ImportFile) -> bool:
        """Whether its first conversations have `chat_messages`."""
        return any(isinstance(each.get("chat_messages"), list) for each in first_items(file, _members(file)))

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its conversations, then its projects with their documents, then what Claude remembered as a document.

        Most exports don't say to which project a conversation belongs.
        """
        projects = {} if file.is_single else _project_names(file)
        yield from read_conversations(file, _members(file), lambda raw: _conversation(raw, projects))
        if not file.is_single:
            yield from _documents(file)


def _members(file: ImportFile) -> list[str | None]:
    return [None] if file.is_single else [*file.named(_CONVERSATIONS)]


def _conversation(raw: Mapping[str, Any], projects: Mapping[str, str]) -> ImportedItem:
    source_id, title = id_of(raw.get("uuid")), line_of(raw.get("name"))
    if source_id is None or not isinstance(raw.get("chat_messages"), list):
        return FailedItem(title or source_id or "", say("import_no_id"))
    messages = mappings_of(raw["chat_messages"])
    # Without any parents the messages follow each other as they stand.
    has_parents = any(id_of(message.get("parent_message_uuid")) for message in messages)
    nodes: dict[str, Node] = {}
    artifacts = Artifacts()
    last: str | None = None
    for message in messages:
        node_id = unique_id(message.get("uuid"), nodes)
        parent_id = id_of(message.get("parent_message_uuid")) if has_parents else last
        node = nodes[node_id] = _node(node_id, None if parent_id == _ROOT else parent_id, message)
        node.attachments += artifacts.written(node_id, parent_id, node.calls)
        last = node_id
    tree = message_tree(nodes)
    leaf = id_of(raw.get("current_leaf_message_uuid"))
    project = mapping_of(raw.get("project"))
    project_id = id_of(raw.get("project_uuid")) or id_of(project.get("uuid")) or ""
    return ImportedConversation(
        source_id=source_id,
        title=title,
        created_at=time_of(raw.get("created_at")),
        updated_at=time_of(raw.get("updated_at")),
        messages=tree.messages,
        current_id=tree.message_ids.get(leaf if leaf in nodes else last or ""),
        pinned=raw.get("is_starred") is True,
        workspace=line_of(project.get("name")) or projects.get(project_id),
        problems=tree.problems,
    )


def _node(node_id: str, parent_id: str | None, message: Mapping[str, Any]) -> Node:
    sender = line_of(message.get("sender"))
    node = Node(node_id=node_id, parent_id=parent_id, sender=_SENDERS.get(sender))
    node.created_at = time_of(message.get("created_at"))
    node.model = id_of(message.get("model"))
    texts, thoughts = [], []
    places: dict[str, int] = {}  # of calls, by their ids
    for block in mappings_of(message.get("content")):
        kind = line_of(block.get("type"))
        if kind in _THOUGHTS:
            thoughts.append(text_of(block.get(_THOUGHTS[kind])))
        elif kind == "tool_use":
            arguments = json_of(block.get("input"))
            places[id_of(block.get("id")) or ""] = len(node.calls)
            node.calls.append(ImportedToolCall(id_of(block.get("name")) or "tool", arguments))
        elif kind == "tool_result":
            _add_result(node, block, places)
        elif kind not in _OF_NO_WORDS:
            texts.append(text_of(block.get("text")) + _sources(block))
            if kind != "text":
                _add_unknown(node, block, texts)
    node.text = "\n\n".join(text for text in texts if text.strip()) or text_of(message.get("text"))
    node.thoughts = "\n\n".join(text for text in thoughts if text)
    node.attachments = [
        _attachment(each) for name in ("attachments", "files") for each in mappings_of(message.get(name))
    ]
    if node.sender is None:
        node.fold(sender)
    return node


def _add_unknown(node: Node, block: Mapping[str, Any], texts: list[str]) -> None:
    """Keep what a block of an unknown kind has beside its text: of an answer as a call, else as JSON in the text."""
    node.is_unknown = True
    rest = {name: value for name, value in block.items() if name not in _KNOWN_FIELDS and value}
    if rest and node.sender == "user":
        texts.append(in_json("", rest))
    elif rest:
        node.calls.append(ImportedToolCall(id_of(block.get("type")) or "content", plain(rest), ""))


def _add_result(node: Node, block: Mapping[str, Any], places: Mapping[str, int]) -> None:
    """Give the result to the call that it names, else to the first one of its tool that has none, else to none.

    places: of the calls in the message, by their ids.
    """
    name, failed = id_of(block.get("name")) or "tool", block.get("is_error") is True
    result = _result(block.get("content"))
    named = places.get(id_of(block.get("tool_use_id")) or "-")
    for place, call in enumerate(node.calls):
        if call.result is None and (call.name == name if named is None else place == named):
            node.calls[place] = ImportedToolCall(call.name, call.arguments, result, failed=failed)
            return
    node.results.append(ImportedToolCall(name, None, result, failed=failed))


def _result(content: object) -> str:
    """What a tool gave; pages that it found with their titles and addresses."""
    parts = list_of(content)
    if not any(mapping_of(part).get("url") for part in parts):
        return result_of(content)
    return "\n\n".join(map(_found, parts))


def _found(part: object) -> str:
    """A part of a result; of a page, its title and address before its words."""
    page, words = mapping_of(part), result_of([part])
    if not page.get("url"):
        return words
    head = " ".join(text for text in (line_of(page.get("title")), line_of(page.get("url"))) if text)
    return f"{head}\n{words}" if text_of(page.get("text")) else head


def _sources(block: Mapping[str, Any]) -> str:
    """Links to what a text cites."""
    found: dict[str, str] = {}
    for each in mappings_of(block.get("citations")):
        details = mapping_of(each.get("details"))
        url = line_of(each.get("url")) or line_of(details.get("url"))
        if url.startswith(("https://", "http://")) and not any(sign in url for sign in "()<> "):
            found[url] = line_of(each.get("title")).translate({91: "(", 93: ")"}) or url
    return "".join(f" ([{title}]({url}))" for url, title in found.items())


def _attachment(raw: Mapping[str, Any]) -> ImportedAttachment:
    name = line_of(raw.get("file_name")) or line_of(raw.get("file_uuid")) or "file"
    text = raw.get("extracted_content")
    return ImportedAttachment(name, line_of(raw.get("file_type")), text_of(text) if isinstance(text, str) else None)


def _projects(file: ImportFile) -> Iterator[Mapping[str, Any]]:
    """The projects, of one file or of a file each. Projects that can't be read are left out."""
    folder = [name for name in file.members if PurePosixPath(name).parent.name == "projects" and name.endswith(".json")]
    for member in [*file.named(_PROJECTS), *folder]:
        try:
            yield from (each for each in read_items(file, member) if isinstance(each, dict))
        except BrokenImportError:
            continue


def _project_names(file: ImportFile) -> dict[str, str]:
    found = {id_of(each.get("uuid")) or "": line_of(each.get("name")) for each in _projects(file)}
    return {project_id: name for project_id, name in found.items() if project_id and name}


def _documents(file: ImportFile) -> Iterator[ImportedItem]:
    for project in _projects(file):
        folder = line_of(project.get("name")) or "Claude"
        project_id = id_of(project.get("uuid")) or folder
        if project.get("name"):
            yield ImportedWorkspace(folder)
        if prompt := text_of(project.get("prompt_template")):
            yield ImportedDocument(f"{project_id}/instructions", folder, "Instructions.md", prompt)
        for number, each in enumerate(mappings_of(project.get("docs")), 1):
            source_id = id_of(each.get("uuid")) or f"{project_id}/{number}"
            name = line_of(each.get("filename")) or f"Document {number}.md"
            yield ImportedDocument(source_id, folder, name, text_of(each.get("content")))
    yield from _memories(file)


def _memories(file: ImportFile) -> Iterator[ImportedItem]:
    """What Claude remembered, as one document: the person decides what of it becomes a memory."""
    names = _project_names(file)
    texts = []
    for member in file.named(_MEMORIES):
        try:
            for each in read_items(file, member):
                if isinstance(each, UnreadableItem):
                    yield FailedItem(member, each.reason)
                texts += _memory_texts(mapping_of(each), names)
        except BrokenImportError as error:
            yield FailedItem(member, error.message)
    if texts:
        yield ImportedDocument("memories", "", _MEMORY_NAME, "\n\n".join(texts), to_learn_from=True)


def _memory_texts(raw: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    texts = [text_of(raw.get("conversations_memory"))]
    for project_id, text in mapping_of(raw.get("project_memories")).items():
        if isinstance(text, str):
            # No heading: the first one of a document is taken for its title.
            texts.append(f"**{names.get(project_id, 'Project')}**\n\n{text_of(text)}")
    return [text for text in texts if text.strip()]
