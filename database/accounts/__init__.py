"""Accounts and credentials: passwords, sessions, API tokens, one-time links."""
