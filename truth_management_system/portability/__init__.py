"""Taking a whole knowledge base out, and putting one in."""

from .copying import CopiedMemories, copy_memories, people_with_memories
from .exporting import export_data
from .first_implementation import read_first_knowledge_base
from .importing import import_data
from .markdown import export_markdown
from .transfer import knowledge_tables

__all__ = [
    "CopiedMemories",
    "copy_memories",
    "export_data",
    "export_markdown",
    "import_data",
    "knowledge_tables",
    "people_with_memories",
    "read_first_knowledge_base",
]
