"""Workspaces over HTTP."""
