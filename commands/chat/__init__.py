"""Conversations in the shell: the chat of the terminal, messages, exports, and the server that answers."""
