"""Where memories lie: the database, its audit log with undo, and the check of what is stored."""

from .pkb_database import PKBDatabase, Prepared, get_database, get_memory_database

__all__ = ["PKBDatabase", "Prepared", "get_database", "get_memory_database"]
