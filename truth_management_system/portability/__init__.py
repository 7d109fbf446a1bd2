"""Taking a whole knowledge base out, and putting one in."""

from .exporting import export_data
from .importing import import_data
from .markdown import export_markdown

__all__ = ["export_data", "export_markdown", "import_data"]
