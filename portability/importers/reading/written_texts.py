"""Texts that a model wrote beside its answers, into a window of their own: canvas of ChatGPT, artifacts of Claude.

They stand in the arguments of tool calls, where no search finds them. What a message made of each becomes a text file
of this message, which is opened, found and named by references like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from .imported import ImportedAttachment, ImportedToolCall
from .values import line_of, mapping_of, text_of

_LONGEST_NAME = 120
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
"""Begins with a letter: the end of "Plan v1.2" is none."""
_FARTHEST = 200
"""Messages that made something, before a change, among which the last version is looked for."""
_MOST_REWRITTEN = 4_000_000
"""Characters of versions that stand in no file, but follow from one there and a change, in one conversation."""
_ENDINGS = {
    "c": ".c",
    "c++": ".cpp",
    "cpp": ".cpp",
    "csharp": ".cs",
    "css": ".css",
    "go": ".go",
    "html": ".html",
    "java": ".java",
    "javascript": ".js",
    "json": ".json",
    "kotlin": ".kt",
    "php": ".php",
    "python": ".py",
    "react": ".jsx",
    "ruby": ".rb",
    "rust": ".rs",
    "shell": ".sh",
    "bash": ".sh",
    "sql": ".sql",
    "swift": ".swift",
    "typescript": ".ts",
    "xml": ".xml",
    "yaml": ".yaml",
}
_ENDINGS_OF_TYPES = {
    "document": ".md",
    "text/markdown": ".md",
    "text/html": ".html",
    "image/svg+xml": ".svg",
    "application/vnd.ant.mermaid": ".mmd",
    "application/vnd.ant.react": ".jsx",
}


def written_text(name: object, text: str, *, kind: str = "", language: str = "") -> ImportedAttachment:
    """A version of such a text as a file. kind: the type that the source says; language: of a program."""
    ending = _ENDINGS_OF_TYPES.get(kind) or _ENDINGS.get(language.lower()) or ".txt"
    stem = line_of(name)[:_LONGEST_NAME].strip().replace("/", "-") or "Text"
    has_ending = bool(_ENDING.search(stem)) if ending == ".txt" else stem.lower().endswith(ending)
    return ImportedAttachment(stem if has_ending else f"{stem}{ending}", "text/plain", text)


class _Step(NamedTuple):
    """What a message made, by the ids of artifacts and the paths of files, and the last message before that made any.

    Only the difference: all that is known behind each message would grow with the square of their number.
    """

    made: Mapping[str, ImportedAttachment]
    before: _Step | None


class Artifacts:
    """The artifacts and files that Claude writes and changes in one conversation, message by message.

    A message goes on from what the message that it follows had.
    """

    def __init__(self) -> None:
        self._steps: dict[str, _Step | None] = {}
        self._left = _MOST_REWRITTEN

    def written(
        self, node_id: str, parent_id: str | None, calls: Sequence[ImportedToolCall]
    ) -> list[ImportedAttachment]:
        """What the calls of a message made, each thing as it was behind the last of them."""
        before = self._steps.get(parent_id or "")
        made: dict[str, ImportedAttachment] = {}
        step = _Step(made, before)
        for call in calls:
            said = mapping_of(call.arguments)
            if call.name == "artifacts":
                self._add_artifact(said, step, made)
            elif call.name == "create_file" and (text := text_of(said.get("file_text"))):
                path = line_of(said.get("path"))
                made[path] = written_text(PurePosixPath(path).name, text)
            elif call.name == "str_replace" and not call.failed:
                self._change(line_of(said.get("path")), said, step, made)
        self._steps[node_id] = step if made else before
        return list(made.values())

    def _add_artifact(self, said: Mapping[str, Any], step: _Step, made: dict[str, ImportedAttachment]) -> None:
        key = line_of(said.get("id"))
        if said.get("command") == "update":
            self._change(key, said, step, made)
        elif text := text_of(said.get("content")):
            before = _known(key, step)
            kind, language = line_of(said.get("type")), line_of(said.get("language"))
            fresh = written_text(said.get("title") or key, text, kind=kind, language=language)
            # A new version of a known one often says neither title nor type.
            made[key] = replace(before, text=text) if before is not None and not kind else fresh

    def _change(self, key: str, said: Mapping[str, Any], step: _Step, made: dict[str, ImportedAttachment]) -> None:
        before = _known(key, step)
        if before is not None and (text := self._changed(before.text or "", said)) is not None:
            made[key] = replace(before, text=text)

    def _changed(self, text: str, said: Mapping[str, Any]) -> str | None:
        """The text with a change; None where it has not what is to be changed, or it became too much."""
        old, new = text_of(said.get("old_str")), text_of(said.get("new_str"))
        self._left -= len(text) + len(new)
        return text.replace(old, new, 1) if old and old in text and self._left >= 0 else None


def _known(key: str, step: _Step) -> ImportedAttachment | None:
    """The last version of a thing, in a message or in those before it."""
    at: _Step | None = step
    for _ in range(_FARTHEST):
        if at is None or key in at.made:
            break
        at = at.before
    return at.made.get(key) if at else None
