"""Sending messages and watching answers over HTTP."""
