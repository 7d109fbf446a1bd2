"""Accounts and every way to prove who asks: passwords, sessions, tokens, one-time links."""
