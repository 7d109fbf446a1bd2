"""Tests of importing history from elsewhere."""
