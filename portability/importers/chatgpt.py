"""Exports of ChatGPT: `conversations.json`, or its numbered pieces, alone or in the ZIP with the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedAttachment,
    ImportedConversation,
    ImportedDocument,
    ImportedItem,
    ImportedToolCall,
    form_of,
)
from sentences import say

from .reading.json_conversations import first_items, read_conversations
from .reading.known_of_person import SETTINGS, KnownOfPerson
from .reading.message_tree import Node, message_tree
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
)
from .reading.written_texts import written_text

_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
_ASSET = re.compile(r"file[-_][A-Za-z0-9]+")
_CITATION_MARK = re.compile("\ue200[^\ue200\ue201]*\ue201")
_ENTITY = re.compile("\ue200entity\ue202?(\\[.*\\])\ue201")
# No sets: what a file says may be of any type.
_QUOTES = ("tether_quote", "sonic_webpage")
_CREATES, _UPDATES = "canmore.create_textdoc", "canmore.update_textdoc"
_FARTHEST = 200
"""Nodes above a change of the canvas among which the one that began it is looked for."""
_KINDS = (
    "text",
    "code",
    "execution_output",
    "multimodal_text",
    "reasoning_recap",
    "system_error",
    "tether_browsing_code",
    "tether_browsing_display",
    "thoughts",
    *_QUOTES,
)
"""Of contents, whose fields are known: of any other kind everything is kept."""
_TEXT_FIELDS = ("text", "result", "output_str", "content", "summary", "snippet", "title", "url")
_MEMORY_NAME = "What ChatGPT remembered.md"
_MOST_SOURCES = 1_000
"""Links of one message: each goes through its whole text."""
_PRIVATE_CHANNELS = ("analysis", "commentary")

Assets = Mapping[str, str]
"""Members of the ZIP by the id that asset pointers name."""


class ChatGPTImporter:
    """Reads what ChatGPT sends for "Export data"."""

    source = "chatgpt"
    title, expects = form_of("chatgpt")

    def recognises(self, file: ImportFile) -> bool:
        """Whether its first conversations have a `mapping`, the tree of ChatGPT."""
        return any(isinstance(each.get("mapping"), dict) for each in first_items(file, _pieces(file)))

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its conversations, piece by piece in the order of their numbers, then what ChatGPT knew of the person."""
        assets, known = _assets(file), KnownOfPerson()

        def read(raw: Mapping[str, Any]) -> ImportedItem:
            known.note(raw)
            return _conversation(raw, assets)

        yield from read_conversations(file, _pieces(file), read)
        if text := known.text():
            yield ImportedDocument("memories", "", _MEMORY_NAME, text, to_learn_from=True)


def _pieces(file: ImportFile) -> list[str | None]:
    if file.is_single:
        return [None]
    found = [name for name in file.members if _CONVERSATIONS.fullmatch(PurePosixPath(name).name)]
    return [*sorted(found, key=lambda name: (len(name), name))]


def _assets(file: ImportFile) -> Assets:
    found: dict[str, str] = {}
    for name in file.members:
        if match := _ASSET.match(PurePosixPath(name).name):
            found.setdefault(match[0], name)
    return found


def _conversation(raw: Mapping[str, Any], assets: Assets) -> ImportedConversation | FailedItem:
    source_id = id_of(raw.get("conversation_id")) or id_of(raw.get("id"))
    title = line_of(raw.get("title"))
    mapping = mapping_of(raw.get("mapping"))
    if source_id is None or not mapping:
        return FailedItem(title or source_id or "", say("import_no_id"))
    model = id_of(raw.get("default_model_slug"))
    nodes: dict[str, Node] = {}
    for key, value in mapping.items():
        if node_id := id_of(key):
            nodes[node_id] = _node(node_id, mapping_of(value), model=model, assets=assets)
    for node in nodes.values():
        node.attachments += _rewritten(node, nodes)
    tree = message_tree(nodes)
    return ImportedConversation(
        source_id=source_id,
        title=title,
        created_at=time_of(raw.get("create_time")),
        updated_at=time_of(raw.get("update_time")),
        messages=tree.messages,
        current_id=tree.message_ids.get(id_of(raw.get("current_node")) or ""),
        archived=raw.get("is_archived") is True,
        pinned=raw.get("is_starred") is True or raw.get("pinned_time") is not None,
        problems=tree.problems,
    )


def _node(node_id: str, raw: Mapping[str, Any], *, model: str | None, assets: Assets) -> Node:
    message = mapping_of(raw.get("message"))
    node = Node(node_id=node_id, parent_id=id_of(raw.get("parent")), sender=None, is_continued=True)
    author = mapping_of(message.get("author"))
    role = author.get("role")
    metadata, content = mapping_of(message.get("metadata")), mapping_of(message.get("content"))
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    if content.get("content_type") in SETTINGS or (is_hidden and role == "user"):
        return node  # ChatGPT never shows it
    node.created_at = time_of(message.get("create_time"))
    node.attachments = _attachments(content, metadata, assets)
    node.is_unknown = not _is_known(content)
    if role == "user":
        node.sender, node.text = "user", in_json(_text(content), _rest(content))
    elif role in ("assistant", "tool"):
        node.sender, node.model = "model", id_of(metadata.get("model_slug")) or model
        if role == "tool":
            node.results = _results(author, content, metadata)
        else:
            _add_answer(node, message, content, is_hidden=is_hidden)
            if rest := _rest(content):
                node.calls.append(ImportedToolCall(_kind(content), plain(rest), ""))
    return node


def _kind(content: Mapping[str, Any]) -> str:
    return id_of(content.get("content_type")) or "content"


def _is_known(content: Mapping[str, Any]) -> bool:
    return content.get("content_type") in (None, *_KINDS)


def _rest(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a content of an unknown kind, all that is not in its text."""
    if _is_known(content):
        return {}
    said = next((name for name in ("parts", *_TEXT_FIELDS) if _text({name: content.get(name)})), None)
    return {name: value for name, value in content.items() if name not in ("content_type", said) and value}


def _add_answer(node: Node, message: Mapping[str, Any], content: Mapping[str, Any], *, is_hidden: bool) -> None:
    """Put what the model wrote where it belongs: its thoughts, a call of a tool, or its text."""
    kind, recipient = content.get("content_type"), id_of(message.get("recipient")) or "all"
    if kind in ("thoughts", "reasoning_recap"):
        node.thoughts = _thoughts(content)
    elif recipient != "all":
        arguments = json_of(_text(content))
        node.calls = [ImportedToolCall(recipient, {"input": arguments} if isinstance(arguments, str) else arguments)]
        if recipient == _CREATES and (text := text_of(mapping_of(arguments).get("content"))):
            node.attachments.append(_canvas(mapping_of(arguments), text))
    elif is_hidden or message.get("channel") in _PRIVATE_CHANNELS:
        node.thoughts = _text(content)
    elif kind == "code":
        node.text = f"```{line_of(content.get('language')).replace('unknown', '')}\n{_text(content)}\n```"
    elif kind == "execution_output":
        node.results = [ImportedToolCall("python", None, _text(content))]
    else:
        node.text = _with_sources(_text(content), mapping_of(message.get("metadata")))


def _canvas(created: Mapping[str, Any], text: str) -> ImportedAttachment:
    """A text of the canvas, as the call that began it names it: a `document`, or `code/python`."""
    kind, _, language = line_of(created.get("type")).partition("/")
    return written_text(created.get("name"), text, kind=kind, language=language)


def _rewritten(node: Node, nodes: Mapping[str, Node]) -> Iterator[ImportedAttachment]:
    """The text of the canvas where this node writes it anew. Changes of parts are read in the call alone."""
    if not node.calls or node.calls[0].name != _UPDATES:
        return
    updates = mappings_of(mapping_of(node.calls[0].arguments).get("updates"))
    text = text_of(updates[0].get("replacement")) if len(updates) == 1 and updates[0].get("pattern") == ".*" else ""
    above: Node | None = node
    for _ in range(_FARTHEST if text else 0):
        above = nodes.get(above.parent_id or "") if above else None
        if above and above.calls and above.calls[0].name == _CREATES:
            yield _canvas(mapping_of(above.calls[0].arguments), text)
            return


def _text(content: Mapping[str, Any]) -> str:
    """The words of a message: of its parts, or of the field in which its kind has them, below what they quote."""
    if content.get("content_type") in _QUOTES:
        fields = ("title", "url", *(name for name in _TEXT_FIELDS if name not in ("title", "url")))
        return "\n\n".join(dict.fromkeys(text for name in fields if (text := text_of(content.get(name)).strip())))
    parts = [text for part in list_of(content.get("parts")) if (text := _part_text(part))]
    if parts:
        return "\n".join(parts)
    return next((text for name in _TEXT_FIELDS if (text := text_of(content.get(name)))), "")


def _part_text(part: object) -> str:
    """A text, what was said in a voice chat, "" for a picture; a part of any other kind as it is."""
    if isinstance(part, str):
        return text_of(part)
    fields = mapping_of(part)
    is_known = line_of(fields.get("content_type")).endswith(("asset_pointer", "audio_transcription"))
    return text_of(fields.get("text")) or ("" if is_known else in_json("", fields))


def _thoughts(content: Mapping[str, Any]) -> str:
    thoughts = []
    for each in mappings_of(content.get("thoughts")):
        summary, body = line_of(each.get("summary")), text_of(each.get("content"))
        thoughts.append("\n".join(text for text in (f"**{summary}**" if summary else "", body) if text))
    return "\n\n".join(each for each in thoughts if each) or _text(content)


def _results(
    author: Mapping[str, Any], content: Mapping[str, Any], metadata: Mapping[str, Any]
) -> list[ImportedToolCall]:
    name = id_of(author.get("name")) or "tool"
    outcome = line_of(mapping_of(metadata.get("aggregate_result")).get("status"))
    rest = result_of(_rest(content) or None)
    text = "\n".join(each for each in (_text(content), rest) if each)
    text = text or result_of(metadata.get("citations") or metadata.get("_cite_metadata"))
    failed = content.get("content_type") == "system_error" or outcome.startswith("failed")
    return [ImportedToolCall(name, None, text, failed=failed)]


def _with_sources(text: str, metadata: Mapping[str, Any]) -> str:
    """The text with links in place of the marks that ChatGPT puts where it cites."""
    # Places are those of the text as it came: links move what stands behind them.
    cited = [_cited(text, each) for each in mappings_of(metadata.get("citations"))[:_MOST_SOURCES]]
    for each in mappings_of(metadata.get("content_references"))[:_MOST_SOURCES]:
        mark = text_of(each.get("matched_text"))
        if mark.strip() and (mark.startswith(("\ue200", "\u3010"))):
            text = text.replace(mark, text_of(each.get("alt")) or _links(each) or _entity(mark))
    for mark, link in cited:
        if link and mark.startswith("\u3010") and mark.endswith("\u3011"):
            text = text.replace(mark, link)
    return _CITATION_MARK.sub(lambda found: _entity(found[0]), text)


def _cited(text: str, citation: Mapping[str, Any]) -> tuple[str, str]:
    """The mark of a citation in its message, and the link to what it cites; "" for what it doesn't say."""
    start, end = citation.get("start_ix"), citation.get("end_ix")
    mark = text[start:end] if isinstance(start, int) and isinstance(end, int) and 0 <= start < end else ""
    return mark, _link(mapping_of(citation.get("metadata")))


def _links(reference: Mapping[str, Any]) -> str:
    """Links to what a mark names: one source, or several items."""
    items = mappings_of(reference.get("items"))[:_MOST_SOURCES]
    return _link(reference) or "".join(dict.fromkeys(filter(None, map(_link, items))))


def _entity(mark: str) -> str:
    """The word in a mark that names a place, a person or the like, which is a word of its sentence; "" for others."""
    match = _ENTITY.fullmatch(mark)
    names = list_of(json_of(match[1])) if match else ()
    return line_of(names[1]) if len(names) > 1 else ""


def _link(source: Mapping[str, Any]) -> str:
    url, title = line_of(source.get("url")), line_of(source.get("title"))
    if not url.startswith(("https://", "http://")) or any(sign in url for sign in "()<> "):
        return ""
    return f" ([{title.replace('[', '(').replace(']', ')') or url}]({url}))"


def _attachments(content: Mapping[str, Any], metadata: Mapping[str, Any], assets: Assets) -> list[ImportedAttachment]:
    uploads = {}
    for each in mappings_of(metadata.get("attachments")):
        asset = _asset_id(each.get("id"))
        name = line_of(each.get("name")) or asset
        kind = line_of(each.get("mimeType") or each.get("mime_type"))
        uploads[asset or name] = ImportedAttachment(name, kind, member=assets.get(asset))
    for part in (*mappings_of(content.get("parts")), mapping_of(content.get("screenshot"))):
        for pointer in _pointers(part):
            asset = _asset_id(pointer)
            member = assets.get(asset)
            name = PurePosixPath(member).name if member else asset
            if asset:
                uploads.setdefault(asset, ImportedAttachment(name, _media_type(part), member=member))
    return list(uploads.values())


def _pointers(part: Mapping[str, Any]) -> Iterator[object]:
    yield part.get("asset_pointer")
    for name in ("audio_asset_pointer", "video_container_asset_pointer"):
        yield mapping_of(part.get(name)).get("asset_pointer")
    for frame in mappings_of(part.get("frames_asset_pointers")):
        yield frame.get("asset_pointer")


def _asset_id(pointer: object) -> str:
    """The id in an asset pointer: "file-Ab1" in "file-service://file-Ab1", or in "sediment://file-Ab1#p_0.png"."""
    match = _ASSET.search(line_of(pointer).rpartition("://")[2])
    return match[0] if match else ""


def _media_type(part: Mapping[str, Any]) -> str:
    return "" if part.get("content_type") != "image_asset_pointer" else "image/*"
