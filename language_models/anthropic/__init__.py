"""Anthropic's Messages API through the package `anthropic`, which is optional: `chat` has the model.

The transport, the wire format and the events are its own; retries, limits and state are those of `openai`.
"""
