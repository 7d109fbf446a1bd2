"""The tools that come with the product; installed packages may add others."""

from __future__ import annotations

from .agents import ask_agent
from .conversations import list_conversations, read_conversation
from .documents import find_documents, find_excerpts, read_document
from .proposals import add_memory
from .references import read_file, resolve_reference
from .registry import CodeOf, ToolRegistry
from .search import regex_search, search_memories, search_messages
from .writing import append_to_document, delete_document, rename_document, replace_lines, write_document

BUILT_IN = (
    list_conversations,
    read_conversation,
    search_messages,
    search_memories,
    regex_search,
    resolve_reference,
    read_document,
    read_file,
    find_excerpts,
    find_documents,
    write_document,
    append_to_document,
    replace_lines,
    rename_document,
    delete_document,
    add_memory,
    ask_agent,
)


def all_tools(*, code_of: CodeOf) -> ToolRegistry:
    """A registry with the tools of the product and those of installed packages."""
    registry = ToolRegistry(BUILT_IN, code_of=code_of)
    registry.register_installed()
    return registry
