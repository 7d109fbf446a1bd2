"""The history of a conversation: messages read, edited, arranged in branches, with their files and references."""
