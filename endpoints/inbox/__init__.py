"""Inboxes of agents over HTTP."""
