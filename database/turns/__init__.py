"""Turns in the store: accepted, streamed, finished, closed after a crash."""
