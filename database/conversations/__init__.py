"""Conversations of a user: stored, listed, copied, binned and erased.

Older clients and scripts import these names from here.
"""

from .repository import (
    addConversation,
    conversationFriendlyIdExists,
    deleteConversationForUser,
    getConversationIdByFriendlyId,
    getCoversationsForUser,
    setConversationFriendlyId,
)

__all__ = [
    "addConversation",
    "conversationFriendlyIdExists",
    "deleteConversationForUser",
    "getConversationIdByFriendlyId",
    "getCoversationsForUser",
    "setConversationFriendlyId",
]
