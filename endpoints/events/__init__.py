"""Watching the changes of one's things over HTTP."""
