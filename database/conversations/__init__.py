"""Conversations of a user: stored, listed, binned and erased.

Callers that know a data folder by its path use the names below; inside, functions take the `Database`.
"""

from database.connection import by_folder
from database.conversations import repository

addConversation = by_folder(repository.add_conversation)
conversationFriendlyIdExists = by_folder(repository.friendly_id_exists)
deleteConversationForUser = by_folder(repository.delete_conversation)
getConversationIdByFriendlyId = by_folder(repository.find_by_friendly_id)
getCoversationsForUser = by_folder(repository.get_conversations_for_user)
setConversationFriendlyId = by_folder(repository.set_friendly_id)
