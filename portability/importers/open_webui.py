"""Exports of Open WebUI: one JSON array of chats, of hundreds of megabytes in long use."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedAttachment,
    ImportedConversation,
    ImportedItem,
    ImportedToolCall,
    form_of,
)
from sentences import say

from .reading.folded_blocks import folded_blocks
from .reading.json_conversations import first_items, read_conversations
from .reading.message_tree import Node, message_tree
from .reading.values import (
    embedded_file,
    embedded_name,
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

_DETAILS, _END = re.compile('<details type="'), re.compile("</details>")
_ATTRIBUTE = re.compile(r'(?<![a-z_])([a-z_]+)="([^"]*)"')
_SUMMARY = re.compile(r"<summary>[^<]*</summary>")
_CODE = "open_webui:code_interpreter"
_STATES = ("type", "id", "status")
"""Of an output: what it says of itself."""


class OpenWebUIImporter:
    """Reads what Open WebUI writes for "Export Chats"."""

    source = "open_webui"
    title, expects = form_of("open_webui")

    def recognises(self, file: ImportFile) -> bool:
        """Whether its first chats have a `chat` with a `history`, or with `messages`."""
        chats = [mapping_of(each.get("chat")) for each in first_items(file, _members(file))]
        return any(isinstance(chat.get("history"), dict) or isinstance(chat.get("messages"), list) for chat in chats)

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its chats in their order."""
        return read_conversations(file, _members(file), _conversation)


def _members(file: ImportFile) -> list[str | None]:
    return [None] if file.is_single else [name for name in file.members if name.endswith(".json")]


def _conversation(raw: Mapping[str, Any]) -> ImportedItem:
    chat = mapping_of(raw.get("chat"))
    title = line_of(raw.get("title")) or line_of(chat.get("title"))
    source_id = id_of(raw.get("id")) or id_of(chat.get("id"))
    history = mapping_of(chat.get("history"))
    nodes = _nodes(mapping_of(history.get("messages"))) or _listed(chat)
    if source_id is None or not nodes:
        return FailedItem(title or source_id or "", say("import_no_id"))
    tree = message_tree(nodes)
    current = id_of(history.get("currentId"))
    return ImportedConversation(
        source_id=source_id,
        title=title,
        created_at=time_of(raw.get("created_at")) or time_of(chat.get("timestamp")),
        updated_at=time_of(raw.get("updated_at")),
        messages=tree.messages,
        current_id=tree.message_ids.get(current if current in nodes else next(reversed(nodes))),
        archived=raw.get("archived") is True,
        pinned=raw.get("pinned") is True,
        problems=tree.problems,
    )


def _nodes(messages: Mapping[str, Any]) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for key, message in messages.items():
        if (node_id := id_of(key)) and isinstance(message, dict):
            nodes[node_id] = _node(node_id, id_of(message.get("parentId")), message)
    return nodes


def _listed(chat: Mapping[str, Any]) -> dict[str, Node]:
    """The messages of a chat without a tree, as the first versions wrote it."""
    nodes: dict[str, Node] = {}
    for message in mappings_of(chat.get("messages")):
        last = next(reversed(nodes), None)
        node_id = unique_id(message.get("id"), nodes)
        nodes[node_id] = _node(node_id, id_of(message.get("parentId")) or last, message)
    return nodes


def _node(node_id: str, parent_id: str | None, message: Mapping[str, Any]) -> Node:
    role = line_of(message.get("role"))
    node = Node(node_id=node_id, parent_id=parent_id, sender=None)
    node.created_at = time_of(message.get("timestamp"))
    node.attachments = [_attachment(each) for each in mappings_of(message.get("files"))]
    node.attachments += _pictures(message.get("content"))
    if role == "user":
        node.sender, node.text = "user", _text(message.get("content"))
    elif role == "assistant":
        node.sender, node.model = "model", id_of(message.get("model"))
        output = mappings_of(message.get("output"))
        if output:
            _add_output(node, output)
        # Content without its blocks is what is left where the output has no text.
        _add_content(node, _text(message.get("content")), is_in_output=bool(output))
        failure = _failure(message.get("error"))
        if failure not in node.text:
            node.text = f"{node.text}\n\n{failure}".strip()
        node.results += [_source(each) for each in mappings_of(message.get("sources") or message.get("citations"))]
    elif role == "tool":
        node.sender, node.continues, node.is_unknown = "model", True, True
        if result := _text(message.get("content")):
            node.results.append(ImportedToolCall(id_of(message.get("name")) or "tool", None, result))
    else:
        node.text = _text(message.get("content"))
        node.fold(role)
    return node


def _failure(error: object) -> str:
    """What went wrong while the model answered: an object with `content`, or only whether something did."""
    said = mapping_of(error).get("content", error)
    return result_of(said) if isinstance(said, str | list | dict) and said else ""


def _text(content: object) -> str:
    """The words of a message, or of its parts; a part of any other kind than a picture as JSON."""
    if isinstance(content, str):
        return text_of(content)
    parts = [content] if isinstance(content, dict) else list_of(content)
    return "\n".join(text for part in parts if (text := _part_text(part)))


def _part_text(part: object) -> str:
    fields = mapping_of(part)
    if text := text_of(part) or text_of(fields.get("text")):
        return text
    is_filled = any(value for name, value in fields.items() if name != "type")
    return in_json("", fields) if is_filled and not any(_pictures([fields])) else ""


def _add_output(node: Node, output: list[Mapping[str, Any]]) -> None:
    """Read the list of what the model gave, in the form of the Responses API."""
    texts, thoughts = [], []
    results = {
        id_of(item.get("call_id")): result_of(item.get("output"))
        for item in output
        if item.get("type") == "function_call_output"
    }
    for item in output:
        kind = line_of(item.get("type"))
        if kind == "message":
            texts.append(_text(item.get("content")))
        elif kind == "reasoning":
            thoughts.append(_text(item.get("summary")) or _text(item.get("content")))
        elif kind == "function_call":
            name, arguments = id_of(item.get("name")) or "tool", json_of(item.get("arguments"))
            node.calls.append(ImportedToolCall(name, arguments, results.pop(id_of(item.get("call_id")), None)))
        elif kind == _CODE:
            arguments = {"code": text_of(item.get("code"))}
            node.calls.append(ImportedToolCall("code_interpreter", arguments, result_of(item.get("output"))))
        elif kind != "function_call_output":
            _add_unknown(node, item)
    node.results += [ImportedToolCall("tool", None, result) for result in results.values() if result]
    node.text = "\n\n".join(text for text in texts if text.strip())
    node.thoughts = "\n\n".join(text for text in thoughts if text.strip())


def _add_unknown(node: Node, item: Mapping[str, Any]) -> None:
    """Keep what an output of an unknown kind has as a call of a tool."""
    node.is_unknown = True
    if rest := {name: value for name, value in item.items() if name not in _STATES and value}:
        node.calls.append(ImportedToolCall(id_of(item.get("type")) or "output", plain(rest), ""))


def _add_content(node: Node, content: str, *, is_in_output: bool) -> None:
    """Read the text of an answer; thoughts and calls are blocks of HTML in it, unless they were in the output."""
    texts = []
    for attributes, text in _blocks(content):
        if attributes is None:
            texts.append(text)
        elif not is_in_output:
            _add_block(node, attributes, text)
    if not node.text:
        node.text = "".join(texts).strip()


def _blocks(content: str) -> Iterator[tuple[dict[str, str] | None, str]]:
    """The pieces of a text: plain ones with None, and what stands in `<details type="…">` with its attributes."""
    for head, body in folded_blocks(content, opening=_DETAILS, head_ends=">", closing=_END):
        if head is None:
            yield None, body
        else:
            yield dict(_ATTRIBUTE.findall(head)), _SUMMARY.sub("", body, count=1).strip("\n")


def _add_block(node: Node, attributes: Mapping[str, str], body: str) -> None:
    kind = attributes.get("type")
    if kind == "reasoning":
        lines = [line.removeprefix("> ").removeprefix(">") for line in html.unescape(body).splitlines()]
        node.thoughts = "\n\n".join(text for text in (node.thoughts, "\n".join(lines).strip()) if text)
    elif kind == "tool_calls":
        name = id_of(html.unescape(attributes.get("name", ""))) or "tool"
        result = _unquoted(attributes.get("result", "")) or html.unescape(body)
        node.calls.append(ImportedToolCall(name, _unquoted(attributes.get("arguments", "")), result_of(result) or None))
    else:
        output = result_of(_unquoted(attributes.get("output", "")))
        node.calls.append(ImportedToolCall(id_of(kind) or "tool", {"input": body}, output or None))


def _unquoted(attribute: str) -> Any:
    """The JSON in an attribute. Arguments are a text of JSON that is quoted as JSON once more."""
    value = json_of(html.unescape(attribute))
    return json_of(value) if isinstance(value, str) else value


def _source(raw: Mapping[str, Any]) -> ImportedToolCall:
    """A document that was searched for the answer, with what was found in it."""
    source = mapping_of(raw.get("source"))
    name = line_of(source.get("name")) or line_of(source.get("url")) or "source"
    return ImportedToolCall(
        "sources", {"source": name}, "\n\n".join(filter(None, map(text_of, list_of(raw.get("document")))))
    )


def _pictures(content: object) -> Iterator[ImportedAttachment]:
    """The pictures among the parts of a text, in the form of the Chat Completions API."""
    for part in mappings_of(content):
        picture = mapping_of(part.get("image_url"))
        if embedded_file(picture.get("url")) is not None:
            yield _attachment({"type": "image", **picture})


def _attachment(raw: Mapping[str, Any]) -> ImportedAttachment:
    inner = mapping_of(raw.get("file"))
    if (embedded := embedded_file(raw.get("url"))) is not None:
        kind, content = embedded
        return ImportedAttachment(line_of(raw.get("name")) or embedded_name(kind), kind, content=content)
    name = line_of(raw.get("name")) or line_of(inner.get("filename")) or line_of(raw.get("type")) or "file"
    text = mapping_of(inner.get("data")).get("content")
    kind = line_of(mapping_of(inner.get("meta")).get("content_type")) or (
        "image/*" if raw.get("type") == "image" else ""
    )
    return ImportedAttachment(name, kind, text_of(text) if isinstance(text, str) and text else None)
