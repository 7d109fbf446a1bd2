"""Sharing conversations by link, and the shared page."""
