"""Tests of the stream of changes over HTTP."""
