"""Taking a whole knowledge base out, and putting one in."""

from .exporting import export_data
from .first_implementation import read_first_knowledge_base
from .importing import import_data, own_ids
from .markdown import export_markdown
from .transfer import knowledge_tables

__all__ = [
    "export_data",
    "export_markdown",
    "import_data",
    "knowledge_tables",
    "own_ids",
    "read_first_knowledge_base",
]
