"""The tables of `users.db` as they are today; `database.migrations` leads there from every earlier state.

Times are text (`database.engine.clock.iso`), ids are text, flags are integers, structured values are JSON. `seq` is
the one order of everything that happens: it only grows. A message is the activity of the same id and `seq`.
"""

from __future__ import annotations

from .accounts import api_tokens as api_tokens
from .accounts import audit_log as audit_log
from .accounts import invitations as invitations
from .accounts import is_closed as is_closed
from .accounts import is_open as is_open
from .accounts import is_shut as is_shut
from .accounts import library as library
from .accounts import login_attempts as login_attempts
from .accounts import password_links as password_links
from .accounts import quotas as quotas
from .accounts import sessions as sessions
from .accounts import sign_in_identities as sign_in_identities
from .accounts import usage_days as usage_days
from .accounts import users as users
from .agents import agents as agents
from .agents import inbox_items as inbox_items
from .agents import proposals as proposals
from .attachments import attachments as attachments
from .attachments import file_passages as file_passages
from .attachments import passage_vectors as passage_vectors
from .base import metadata as metadata
from .conversations import conversation_tags as conversation_tags
from .conversations import conversation_workspaces as conversation_workspaces
from .conversations import conversations as conversations
from .conversations import share_pages as share_pages
from .conversations import shares as shares
from .conversations import workspaces as workspaces
from .imports import conversation_aliases as conversation_aliases
from .imports import filled_conversations as filled_conversations
from .imports import imported_changes as imported_changes
from .imports import imported_conversations as imported_conversations
from .imports import imported_messages as imported_messages
from .imports import imports as imports
from .messages import IS_FILE as IS_FILE
from .messages import IS_NO_MESSAGE as IS_NO_MESSAGE
from .messages import activities as activities
from .messages import document_references as document_references
from .messages import former_short_ids as former_short_ids
from .messages import message_edits as message_edits
from .messages import message_parts as message_parts
from .messages import message_references as message_references
from .messages import message_variants as message_variants
from .messages import message_vectors as message_vectors
from .messages import message_words as message_words
from .messages import messages as messages
from .messages import threads as threads
from .messages import unembedded_messages as unembedded_messages
from .upkeep import change_epoch as change_epoch
from .upkeep import changes as changes
from .upkeep import duties as duties
from .upkeep import jobs as jobs
from .upkeep import purge_clock as purge_clock
from .upkeep import schema_version as schema_version
from .upkeep import search_state as search_state
from .upkeep import server_processes as server_processes
from .upkeep import stop_requests as stop_requests
from .upkeep import stream_events as stream_events
from .vault import document_chunks as document_chunks
from .vault import document_links as document_links
from .vault import document_names as document_names
from .vault import document_summaries as document_summaries
from .vault import documents as documents
