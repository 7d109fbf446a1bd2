"""The tables of `users.db` as they are today; `database.migrations` leads there from every earlier state.

Times are text (`database.engine.clock.iso`), ids are text, flags are integers, structured values are JSON. `seq` is
the one order of everything that happens: it only grows. A message is the activity of the same id and `seq`.
"""

from __future__ import annotations

from .accounts import (
    api_tokens,
    audit_log,
    invitations,
    is_closed,
    library,
    login_attempts,
    password_links,
    quotas,
    sessions,
    sign_in_identities,
    usage_days,
    users,
)
from .agents import agents, inbox_items
from .attachments import attachments, file_passages, passage_vectors
from .base import metadata
from .conversations import (
    conversation_tags,
    conversation_workspaces,
    conversations,
    share_pages,
    shares,
    workspaces,
)
from .imports import (
    conversation_aliases,
    filled_conversations,
    imported_changes,
    imported_conversations,
    imported_messages,
    imports,
)
from .messages import (
    IS_FILE,
    IS_NO_MESSAGE,
    activities,
    document_references,
    former_short_ids,
    message_edits,
    message_parts,
    message_references,
    message_variants,
    message_vectors,
    message_words,
    messages,
    threads,
    unembedded_messages,
)
from .proposals import proposals
from .upkeep import (
    change_epoch,
    changes,
    duties,
    jobs,
    purge_clock,
    schema_version,
    search_state,
    server_processes,
    stop_requests,
    stream_events,
)
from .vault import document_chunks, document_links, document_names, document_summaries, documents

__all__ = [
    "IS_FILE",
    "IS_NO_MESSAGE",
    "activities",
    "agents",
    "api_tokens",
    "attachments",
    "audit_log",
    "change_epoch",
    "changes",
    "conversation_aliases",
    "conversation_tags",
    "conversation_workspaces",
    "conversations",
    "document_chunks",
    "document_links",
    "document_names",
    "document_references",
    "document_summaries",
    "documents",
    "duties",
    "file_passages",
    "filled_conversations",
    "former_short_ids",
    "imported_changes",
    "imported_conversations",
    "imported_messages",
    "imports",
    "inbox_items",
    "invitations",
    "is_closed",
    "jobs",
    "library",
    "login_attempts",
    "message_edits",
    "message_parts",
    "message_references",
    "message_variants",
    "message_vectors",
    "message_words",
    "messages",
    "metadata",
    "passage_vectors",
    "password_links",
    "proposals",
    "purge_clock",
    "quotas",
    "schema_version",
    "search_state",
    "server_processes",
    "sessions",
    "share_pages",
    "shares",
    "sign_in_identities",
    "stop_requests",
    "stream_events",
    "threads",
    "unembedded_messages",
    "usage_days",
    "users",
    "workspaces",
]
