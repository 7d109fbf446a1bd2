"""Keeping stores sound: check, repair, compact, statistics for the query planner."""
