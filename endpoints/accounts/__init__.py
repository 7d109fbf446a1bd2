"""Logging in, accounts and what belongs to them."""
