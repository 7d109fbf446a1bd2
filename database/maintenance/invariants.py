"""Invariants of the store of accounts and conversations, each as a query for the rows that break it."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from database.schema import metadata

from .findings import Rule

_MISSING = """
    SELECT value FROM json_each('{names}') WHERE value NOT IN (SELECT name FROM sqlite_master WHERE type = '{kind}')
"""


def _all_there(kind: str, names: Iterable[str | None]) -> Rule:
    """A rule that the tables or indexes of these names exist."""
    listed = orjson.dumps(sorted(filter(None, names))).decode()
    return Rule(name="tables", sql=_MISSING.format(names=listed, kind=kind), what=f"The {kind} {{}} is missing.")


TABLES = _all_there("table", metadata.tables)
"""Checked at each start too: without a table the store would fail at the first request that needs it."""
INDEXES = _all_there("index", (index.name for table in metadata.tables.values() for index in table.indexes))
"""Unique indexes guarantee that friendly ids, hashes and ordinals are given once; `file` checks their contents."""

_COUNTED = """
    SELECT {columns} FROM "UserToConversationId" AS conversation LEFT JOIN (
        SELECT conversation_id, COUNT(*) AS stored, COUNT(DISTINCT ordinal) AS places, MIN(ordinal) AS first,
            MAX(ordinal) AS last, SUM(deleted_at IS NULL AND other_branch IS NULL) AS live
        FROM messages GROUP BY conversation_id
    ) AS counted USING (conversation_id)
    WHERE conversation.incomplete_since IS NULL AND ({broken})
"""
_BROKEN_COUNTS = (
    "conversation.message_count <> COALESCE(live, 0) OR conversation.last_ordinal <> COALESCE(counted.last, 0)"
)
COUNTS, RUNNING, THREADS, REFERENCES, INDEX = "counts", "running answers", "threads", "references", "index of messages"
DOCUMENT_AND_FILE_INDEX = "index of documents and files"
VECTORS = "vectors of messages"
"""Rules about derived data."""

BROKEN_COUNTS = _COUNTED.format(columns="conversation_id", broken=_BROKEN_COUNTS)
NO_RUNNING_ANSWER = """
    SELECT conversation.conversation_id FROM "UserToConversationId" AS conversation
    WHERE conversation.running_message_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM messages WHERE messages.message_id = conversation.running_message_id
            AND messages.conversation_id = conversation.conversation_id AND messages.status = 'streaming'
    )
"""
LOST_THREADS = """
    SELECT thread_id, MIN(seq) FROM activities
    WHERE thread_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM threads WHERE threads.thread_id = activities.thread_id)
    GROUP BY thread_id
"""
WRONG_VECTORS = """
    SELECT vector_id, message_id FROM message_vectors JOIN messages USING (seq)
    WHERE message_vectors.user_email <> messages.user_email OR messages.deleted_at IS NOT NULL
"""

RULES: tuple[Rule, ...] = (
    Rule(
        name="friendly ids",
        sql='SELECT conversation_id, conversation_friendly_id FROM "UserToConversationId" '
        "WHERE conversation_friendly_id = '' OR conversation_friendly_id GLOB '*[^a-z0-9_]*'",
        what="Conversation {0} is called {1!r}, which no reference can say.",
    ),
    Rule(
        name="message hashes",
        sql="SELECT message_id, message_short_hash FROM messages WHERE message_short_hash IS NOT NULL AND "
        "(length(message_short_hash) <> 6 OR message_short_hash GLOB '*[^a-z0-9]*' "
        "OR message_short_hash NOT GLOB '*[a-z]*')",
        what="Message {0} has the hash {1!r}: six letters and digits were expected, not digits alone.",
    ),
    Rule(
        name="order of messages",
        sql=_COUNTED.format(
            columns="conversation_id, stored, first, counted.last",
            broken="stored <> places OR first <> 1 OR counted.last <> stored",
        ),
        what="The {1} messages of conversation {0} are not numbered from 1 on, but from {2} to {3}.",
    ),
    Rule(
        name=COUNTS,
        sql=_COUNTED.format(
            columns="conversation_id, conversation.message_count, conversation.last_ordinal, COALESCE(live, 0), "
            "COALESCE(counted.last, 0)",
            broken=_BROKEN_COUNTS,
        ),
        what="Conversation {0} says {1} messages and the last number {2}; there are {3}, and the last number is {4}.",
        derived=True,
    ),
    Rule(
        name="activities",
        sql="SELECT messages.message_id FROM messages LEFT JOIN activities ON activities.seq = messages.seq "
        "WHERE activities.activity_id IS NOT messages.message_id OR activities.user_email <> messages.user_email "
        "OR activities.conversation_id <> messages.conversation_id",
        what="Message {0} has no activity of its own.",
    ),
    Rule(
        name="activities",
        sql="SELECT activity_id FROM activities WHERE recipe = 'general-discussion' AND type = 'chat_message' "
        "AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.seq = activities.seq) "
        # The empty rows of erased messages that others still reply to.
        "AND NOT (deleted_at IS NOT NULL AND actor_id = '')",
        what="Activity {0} is that of a message that is not there.",
    ),
    Rule(
        name="owners",
        sql='SELECT messages.message_id, messages.user_email FROM messages JOIN "UserToConversationId" AS conversation '
        "USING (conversation_id) WHERE conversation.user_email <> messages.user_email",
        what="Message {0} of {1} lies in somebody else's conversation.",
    ),
    Rule(
        name="messages",
        sql="SELECT message_id, sender, status FROM messages WHERE sender NOT IN ('user', 'model') "
        "OR status NOT IN ('streaming', 'complete', 'cancelled', 'interrupted', 'failed')",
        what="Message {0} is by {1!r} and in the state {2!r}, which there is not.",
    ),
    Rule(
        name="messages",
        sql="SELECT message_id FROM messages WHERE NOT (json_valid(config) AND json_valid(report))",
        what="What is kept beside the text of message {0} is no JSON.",
    ),
    Rule(
        name="questions",
        sql="SELECT answer.message_id, answer.in_answer_to FROM messages AS answer LEFT JOIN messages AS question "
        "ON question.message_id = answer.in_answer_to AND question.conversation_id = answer.conversation_id "
        "WHERE answer.in_answer_to IS NOT NULL AND question.seq IS NULL",
        what="Message {0} answers {1}, which is not there.",
    ),
    Rule(
        name="replies",
        sql="SELECT activity_id, reply_to_id FROM activities AS reply WHERE reply_to_id IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM activities WHERE activities.activity_id = reply.reply_to_id)",
        what="Activity {0} replies to {1}, which is not there.",
    ),
    Rule(
        name=THREADS,
        sql=LOST_THREADS,
        what="Thread {0} is not there, but activity number {1} is in it.",
        derived=True,
    ),
    Rule(
        name="threads",
        sql="SELECT thread_id, root_activity_id FROM threads WHERE NOT EXISTS "
        "(SELECT 1 FROM activities WHERE activities.activity_id = threads.root_activity_id)",
        what="Thread {0} begins with activity {1}, which is not there.",
    ),
    Rule(
        name="variants",
        sql="SELECT message_id, chosen_variant FROM messages WHERE chosen_variant IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM message_variants WHERE message_variants.message_id = messages.message_id "
        "AND message_variants.number = messages.chosen_variant)",
        what="Message {0} shows version {1}, which is not there.",
    ),
    Rule(
        name="branches",
        sql="SELECT message_id, branch_of FROM messages AS question WHERE branch_of IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM messages AS first WHERE first.message_id = question.branch_of "
        "AND first.conversation_id = question.conversation_id AND first.chosen_branch IS NOT NULL)",
        what="Message {0} was asked instead of {1}, which is not there.",
    ),
    Rule(
        name="branches",
        sql="SELECT message_id, branch_id FROM messages AS inside WHERE branch_id IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM messages AS question WHERE question.message_id = inside.branch_id "
        "AND question.conversation_id = inside.conversation_id AND question.branch_of IS NOT NULL)",
        what="Message {0} lies in the branch {1}, which is not there.",
    ),
    Rule(
        name="parts",
        sql="SELECT message_id, kind FROM message_parts JOIN messages USING (message_id) "
        "WHERE has_parts = 0 OR NOT json_valid(data) OR (version > 1 AND NOT EXISTS "
        "(SELECT 1 FROM message_variants WHERE message_variants.message_id = message_parts.message_id "
        "AND message_variants.number = message_parts.version))",
        what="Message {0} has a part of kind {1!r} that no version of it shows.",
    ),
    Rule(
        name="documents",
        sql="SELECT message_id, wikilink FROM document_references JOIN messages USING (message_id) "
        "WHERE has_documents = 0 OR document_references.user_email <> messages.user_email "
        "OR (version > 1 AND NOT EXISTS "
        "(SELECT 1 FROM message_variants WHERE message_variants.message_id = document_references.message_id "
        "AND message_variants.number = document_references.version))",
        what="Message {0} refers to the document {1!r} in a version that it does not have, or as somebody else.",
    ),
    Rule(
        name=VECTORS,
        sql=WRONG_VECTORS,
        what="Vector {0} is that of message {1}, which is deleted or somebody else's.",
        derived=True,
    ),
    Rule(
        name=RUNNING,
        sql=NO_RUNNING_ANSWER,
        what="Conversation {0} waits for an answer that nobody writes.",
        derived=True,
    ),
    Rule(
        name="running answers",
        sql='SELECT messages.message_id FROM messages JOIN "UserToConversationId" AS conversation '
        "USING (conversation_id) WHERE messages.status = 'streaming' AND conversation.incomplete_since IS NULL "
        "AND conversation.running_message_id IS NOT messages.message_id",
        what="Message {0} is being written, and its conversation does not know; the next start of a server closes it.",
    ),
    Rule(
        name="changes",
        sql="SELECT user_email, COUNT(*), MIN(seq), MAX(seq) FROM changes "
        "GROUP BY user_email HAVING COUNT(*) <> MAX(seq) - MIN(seq) + 1",
        what="The {1} changes of {0} are numbered from {2} to {3}, with gaps.",
    ),
    Rule(
        name="targets of references",
        sql="SELECT message_references.message_id, ref FROM message_references JOIN messages AS target "
        "ON target.message_id = message_references.target_message_id "
        "WHERE target.user_email <> message_references.user_email "
        "OR target.conversation_id <> message_references.target_conversation_id",
        what="The reference {1} in message {0} leads to another conversation than it says.",
    ),
)

ERASED_TARGETS = """
    SELECT COUNT(*) FROM message_references WHERE target_message_id IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM messages WHERE messages.message_id = message_references.target_message_id)
"""
"""References to what was deleted for good, which is not wrong."""

NOT_INDEXED = Rule(
    name=INDEX,
    sql="SELECT message_id FROM messages WHERE deleted_at IS NULL "
    "AND seq <= (SELECT indexed_seq FROM search_state WHERE name = 'message_terms') "
    "AND NOT EXISTS (SELECT 1 FROM messages_fts_docsize AS known WHERE known.id = messages.seq)",
    what="The full-text index does not know message {0}.",
    derived=True,
)
WRONGLY_INDEXED = Rule(
    name=INDEX,
    sql="SELECT known.id FROM messages_fts_docsize AS known LEFT JOIN messages ON messages.seq = known.id "
    "WHERE messages.seq IS NULL OR messages.deleted_at IS NOT NULL "
    "OR messages.seq > (SELECT indexed_seq FROM search_state WHERE name = 'message_terms')",
    what="The full-text index holds number {0}, which is no live message, or not yet indexed.",
    derived=True,
)
