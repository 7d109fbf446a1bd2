"""Tests of importing over HTTP."""
