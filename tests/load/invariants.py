"""What must be true of a store at every moment between two transactions, read from the file or database itself."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

SHORT_HASH = re.compile(r"(?!\d+$)[0-9a-z]{6}")
QUERIES = {
    "ordinals run from 1 to the last one without gap": """
        SELECT c.conversation_id FROM "UserToConversationId" c LEFT JOIN messages m USING (conversation_id)
        GROUP BY c.conversation_id
        HAVING count(m.seq) != c.last_ordinal OR coalesce(min(m.ordinal), 1) != 1
            OR coalesce(max(m.ordinal), 0) != c.last_ordinal OR count(DISTINCT m.ordinal) != count(m.seq)""",
    "conversations know how many live messages they have": """
        SELECT c.conversation_id FROM "UserToConversationId" c WHERE c.message_count !=
        (SELECT count(*) FROM messages m WHERE m.conversation_id = c.conversation_id AND m.deleted_at IS NULL)""",
    "no two messages of a conversation share a short hash": """
        SELECT conversation_id, message_short_hash FROM messages WHERE message_short_hash IS NOT NULL
        GROUP BY conversation_id, message_short_hash HAVING count(*) > 1""",
    "no two conversations of a person share a friendly id": """
        SELECT user_email, conversation_friendly_id FROM "UserToConversationId"
        WHERE conversation_friendly_id IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1""",
    "each message is an activity and each chat activity a message": """
        SELECT seq FROM messages WHERE (seq, message_id, conversation_id) NOT IN
            (SELECT seq, activity_id, conversation_id FROM activities)
        UNION ALL SELECT seq FROM activities WHERE recipe = 'general-discussion'
            AND type = 'chat_message' AND seq NOT IN (SELECT seq FROM messages)""",
    "each answer has the question that it names": """
        SELECT message_id FROM messages a WHERE sender != 'user' AND in_answer_to IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM messages q WHERE q.message_id = a.in_answer_to AND q.conversation_id = a.conversation_id)""",
    "events of an answer are numbered from 1 without gap": """
        SELECT message_id FROM stream_events GROUP BY message_id HAVING min(seq) != 1 OR max(seq) != count(*)""",
    "every event belongs to a message": "SELECT message_id FROM stream_events EXCEPT SELECT message_id FROM messages",
    "a running answer is the one its conversation names": """
        SELECT message_id FROM messages m JOIN "UserToConversationId" c USING (conversation_id)
        WHERE (m.status = 'streaming') != (m.message_id IS NOT DISTINCT FROM c.running_message_id)""",
    "a message with variants is the chosen one": """
        SELECT m.message_id FROM messages m LEFT JOIN message_variants v
            ON v.message_id = m.message_id AND v.number = m.chosen_variant
        WHERE m.chosen_variant IS NOT NULL AND m.text IS DISTINCT FROM v.text
        UNION ALL SELECT message_id FROM messages m
        WHERE chosen_variant IS NULL AND EXISTS (SELECT 1 FROM message_variants v WHERE v.message_id = m.message_id)""",
    "variants are numbered from 1 without gap, and there are two at least": """
        SELECT message_id FROM message_variants GROUP BY message_id
        HAVING min(number) != 1 OR max(number) != count(*) OR count(*) < 2""",
    "a variant is being written where its message is": """
        SELECT message_id FROM message_variants v JOIN messages m USING (message_id)
        WHERE v.status = 'streaming' AND m.status != 'streaming'""",
}
AT_REST = {
    "nothing is still being written": "SELECT message_id FROM messages WHERE status = 'streaming'",
    "every message has its short hash": "SELECT message_id FROM messages WHERE message_short_hash IS NULL",
    "every conversation with messages has a friendly id": """
        SELECT conversation_id FROM "UserToConversationId"
        WHERE last_ordinal > 0 AND conversation_friendly_id IS NULL""",
}


def broken_invariants(store: str | Path, *, at_rest: bool = True) -> dict[str, list[object]]:
    """What is not as it must be, with a few examples each; {} for a sound store. at_rest: no turn is running.

    store: the folder of SQLite's file, or the address of a PostgreSQL database.
    """
    queries = QUERIES | (AT_REST if at_rest else {})
    if str(store).startswith("postgresql:"):
        with psycopg.connect(str(store), options="-c search_path=anaphora") as shared:
            broken = {name: shared.execute(query.encode()).fetchmany(3) for name, query in queries.items()}
        return {name: list(rows) for name, rows in broken.items() if rows}
    with closing(sqlite3.connect(Path(store) / "users.db")) as connection:
        found = {name: connection.execute(query).fetchmany(3) for name, query in queries.items()}
        found["the file is whole"] = [row for row in connection.execute("PRAGMA integrity_check") if row != ("ok",)]
        found["no row points to nothing"] = connection.execute("PRAGMA foreign_key_check").fetchmany(3)
        hashes = connection.execute("SELECT message_short_hash FROM messages WHERE message_short_hash IS NOT NULL")
        found["short hashes look like short hashes"] = [row for row in hashes if not SHORT_HASH.fullmatch(row[0])][:3]
    return {name: list(rows) for name, rows in found.items() if rows}
