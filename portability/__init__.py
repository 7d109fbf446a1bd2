"""Conversations outside of a store: portable bundles."""
