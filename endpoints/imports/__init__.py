"""Importing history from elsewhere."""
