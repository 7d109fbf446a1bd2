"""Taking a whole knowledge base out, and putting one in."""

from .exporting import export_data as export_data
from .importing import import_data as import_data
from .markdown import export_markdown as export_markdown
