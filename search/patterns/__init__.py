"""Searching by regular expressions, in time linear in the length of what is searched."""
