"""What of a knowledge base is copied into one that another kind of database holds."""

from __future__ import annotations

from collections.abc import Mapping

from database.transfer.tables import StoreTables, in_order

from ..database import PKBDatabase
from ..schema import metadata

NOT_COPIED: Mapping[str, str] = {"schema_version": "each database was migrated by itself"}
"""Tables that are not copied, each with the reason. Indexes of words are kept by the databases themselves."""


def knowledge_tables(database: PKBDatabase) -> StoreTables:
    """The tables of a knowledge base, for `database.transfer`."""
    return StoreTables(name="memories", database=database.store, tables=in_order(metadata, without=NOT_COPIED))
