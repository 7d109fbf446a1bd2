"""Keeping stores sound: check, repair, compact, erase closed accounts, statistics for the query planner."""
