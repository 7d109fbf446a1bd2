"""The search over HTTP."""
