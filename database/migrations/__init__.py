"""Ordered, forward-only changes of the schema: one module each, `m0001_….py`, with `upgrade(connection)`.

Run at start, each in its own transaction that holds the write lock from its beginning, so that two processes starting
at once apply each change once. An empty database gets all of them in one transaction.

An empty PostgreSQL database begins with the tables of `postgresql.sql`, those of version POSTGRESQL_BASELINE. A later
migration runs on both engines: where their SQL differs, it asks `connection.dialect.name`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, inspect, select

from database.engine.clock import now_iso
from database.engine.errors import DatabaseDamagedError, DatabaseTooNewError, SearchIndexDamagedError
from database.migrations import (
    m0001_initial,
    m0002_living_with_it,
    m0003_pinned_messages,
    m0004_listed_words,
    m0005_shares_by_conversation,
    m0006_password_links,
    m0007_client_message_ids,
    m0008_account_erasure,
    m0009_titles,
    m0010_purge_clock,
    m0011_share_pages,
    m0012_message_parts,
    m0013_changes,
    m0014_message_vectors,
    m0015_leases,
    m0016_jobs,
    m0017_branches,
    m0018_change_epoch,
    m0019_presets_prompts_tags,
    m0020_languages,
    m0021_fulltext_without_pending_list,
    m0022_agents,
    m0023_documents,
    m0024_document_references,
    m0025_proposals,
    m0026_packed_lengths,
    m0027_activities,
    m0028_words,
    m0029_thread_titles,
    m0030_inbox,
    m0031_imports,
    m0032_attachments,
    m0033_duties,
    m0034_passages,
    m0035_former_short_ids,
    m0036_waiting_imports,
    m0037_sign_in,
    m0038_administration,
    m0039_activities_by_recipe,
    m0040_changes_of_imports,
    m0041_proposals_of_programs,
    m0042_server_processes,
    m0043_sizes_of_documents,
    m0044_length_of_conversations,
    m0045_words_of_their_owner,
    m0046_blocks_of_messages,
    m0047_running_turns,
    m0048_waiting_work,
)
from database.schema import metadata, schema_version

if TYPE_CHECKING:
    from database.engine.database import Database

log = logging.getLogger(__name__)

MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    m0001_initial.upgrade,
    m0002_living_with_it.upgrade,
    m0003_pinned_messages.upgrade,
    m0004_listed_words.upgrade,
    m0005_shares_by_conversation.upgrade,
    m0006_password_links.upgrade,
    m0007_client_message_ids.upgrade,
    m0008_account_erasure.upgrade,
    m0009_titles.upgrade,
    m0010_purge_clock.upgrade,
    m0011_share_pages.upgrade,
    m0012_message_parts.upgrade,
    m0013_changes.upgrade,
    m0014_message_vectors.upgrade,
    m0015_leases.upgrade,
    m0016_jobs.upgrade,
    m0017_branches.upgrade,
    m0018_change_epoch.upgrade,
    m0019_presets_prompts_tags.upgrade,
    m0020_languages.upgrade,
    m0021_fulltext_without_pending_list.upgrade,
    m0022_agents.upgrade,
    m0023_documents.upgrade,
    m0024_document_references.upgrade,
    m0025_proposals.upgrade,
    m0026_packed_lengths.upgrade,
    m0027_activities.upgrade,
    m0028_words.upgrade,
    m0029_thread_titles.upgrade,
    m0030_inbox.upgrade,
    m0031_imports.upgrade,
    m0032_attachments.upgrade,
    m0033_duties.upgrade,
    m0034_passages.upgrade,
    m0035_former_short_ids.upgrade,
    m0036_waiting_imports.upgrade,
    m0037_sign_in.upgrade,
    m0038_administration.upgrade,
    m0039_activities_by_recipe.upgrade,
    m0040_changes_of_imports.upgrade,
    m0041_proposals_of_programs.upgrade,
    m0042_server_processes.upgrade,
    m0043_sizes_of_documents.upgrade,
    m0044_length_of_conversations.upgrade,
    m0045_words_of_their_owner.upgrade,
    m0046_blocks_of_messages.upgrade,
    m0047_running_turns.upgrade,
    m0048_waiting_work.upgrade,
)

WHERE_DAMAGED: Mapping[int, tuple[Callable[[Connection], None], ...]] = {
    28: (m0028_words.upgrade_with_new_index, m0028_words.upgrade_with_empty_list),
    45: (m0045_words_of_their_owner.upgrade_with_old_index,),
}
"""What is tried in turn instead of a migration that meets damaged data of SQLite's, by its number.

Each in a transaction of its own: after it has met a damaged page, SQLite writes nothing more in the same one.
"""

POSTGRESQL_BASELINE = 16


def current_version(connection: Connection) -> int:
    """How many migrations this database has had; 0 for an empty file."""
    if not inspect(connection).has_table(schema_version.name):
        return 0
    return max(connection.execute(select(schema_version.c.version)).scalars(), default=0)


def migrate(store: Database) -> None:
    """Apply the migrations that are missing.

    Raises:
        DatabaseTooNewError: the database knows more migrations than we do.
        DatabaseDamagedError: a table is missing nevertheless.
    """
    with store.reading() as connection:
        version = current_version(connection)
        where_damaged = WHERE_DAMAGED if connection.dialect.name == "sqlite" else {}
    if version > len(MIGRATIONS):
        raise DatabaseTooNewError(
            f"The database has schema version {version}, this program knows {len(MIGRATIONS)}. Start the newer version."
        )
    if version == 0:
        store.write(_apply_all)
    elif version < len(MIGRATIONS):
        log.info("bringing the store from schema version %d to %d", version, len(MIGRATIONS))
        for number in range(version + 1, len(MIGRATIONS) + 1):
            _migrate_to(number, store, where_damaged.get(number, ()))
    with store.reading() as connection:
        missing = sorted(set(metadata.tables) - set(inspect(connection).get_table_names()))
    if missing:
        raise DatabaseDamagedError(
            f"The database lacks tables: {', '.join(missing)}. `flask --app server data restore --force` puts a backup "
            "in its place and keeps the file beside it."
        )


def _apply_all(connection: Connection) -> None:
    for number, upgrade in enumerate(MIGRATIONS, 1):
        _apply(number, upgrade, connection)


def _migrate_to(number: int, store: Database, where_damaged: Sequence[Callable[[Connection], None]]) -> None:
    upgrade = MIGRATIONS[number - 1]
    for instead in where_damaged:
        try:
            store.write(partial(_apply, number, upgrade))
        except (DatabaseDamagedError, SearchIndexDamagedError):
            upgrade = instead
        else:
            return
    store.write(partial(_apply, number, upgrade))


def _apply(number: int, upgrade: Callable[[Connection], None], connection: Connection) -> None:
    if current_version(connection) >= number:
        return  # another process was first
    if number <= POSTGRESQL_BASELINE and connection.dialect.name == "postgresql":
        number = POSTGRESQL_BASELINE
        tables = Path(__file__).with_name("postgresql.sql").read_text(encoding="utf-8")
        connection.connection.cursor().execute(tables)
    else:
        schema_version.create(connection, checkfirst=True)
        upgrade(connection)
        if number == 1:
            number = m0001_initial.VERSION
    connection.execute(insert(schema_version).values(version=number, applied_at=now_iso()))
